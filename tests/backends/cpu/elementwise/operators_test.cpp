// SPDX-License-Identifier: Apache-2.0
// Every row of the table, in every compute type, under every instruction set: the same bits as the
// scalar code, in exactly the elements asked for.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "instruction_sets.h"
#include "ops/math/scalar.h"

// The table's & and | join masks; for numbers these are bools.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#endif

namespace mt::scalar {

// The table once more, for plain numbers.
#define UNARY(name, domain, result, value, gradient) \
  template <class V>                                 \
  auto name##_value(V x, V) {                        \
    return value;                                    \
  }
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  template <class V>                                                \
  auto name##_value(V a, V b) {                                     \
    return value;                                                   \
  }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

}  // namespace mt::scalar

namespace mt::cpu {
namespace {

template <class T>
using Value = std::conditional_t<std::is_floating_point_v<T>, T, scalar::Integer<T>>;

// A result as the 8 bytes that a kernel writes at most.
template <class T>
uint64_t pattern_of(T value) {
  uint64_t pattern = 0;
  memcpy(&pattern, &value, sizeof(T));
  return pattern;
}
template <class T>
uint64_t pattern_of(scalar::Integer<T> value) {
  return pattern_of(value.value);
}
uint64_t pattern_of(bool value) { return value; }

struct Row {
  const char* name;
  Elementwise code;
  int arity;
  bool boolean;
};

template <class T>
using Reference = uint64_t (*)(T, T);
template <class T>
struct RowOf {
  Row row;
  Reference<T> reference;  // nullptr where the row has no meaning for T
};

#define MT_ROW(name, arity, domain, outcome)                                                    \
  if constexpr (has_values<T>(Domain::domain)) {                                                \
    rows.push_back(                                                                             \
        {{#name, Elementwise::name, arity, strcmp(#outcome, "boolean") == 0},                   \
         [](T a, T b) { return pattern_of(scalar::name##_value(Value<T>(a), Value<T>(b))); }}); \
  } else {                                                                                      \
    rows.push_back({{#name, Elementwise::name, arity, false}, nullptr});                        \
  }
template <class T>
std::vector<RowOf<T>> rows_of() {
  std::vector<RowOf<T>> rows;
#define UNARY(name, domain, result, value, gradient) MT_ROW(name, 1, domain, result)
#define BINARY(name, domain, result, value, gradient_a, gradient_b) MT_ROW(name, 2, domain, result)
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  return rows;
}

template <class T>
std::vector<T> edges() {
  using limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           T(1),
                           T(2),
                           T(3),
                           T(7),
                           T(31),
                           T(32),
                           T(63),
                           T(64),
                           T(100),
                           limits::max(),
                           limits::lowest(),
                           T(limits::max() / 2),
                           T(-1),
                           T(-2),
                           T(-5)};
  if constexpr (std::is_floating_point_v<T>) {
    for (T x : {T(-0.0), T(0.5), T(-0.5), T(1.5), T(2.5), limits::min(), limits::denorm_min(),
                T(1e-4), T(89), T(-104), T(710), T(1e10), T(16385), T(3e6), limits::infinity(),
                -limits::infinity(), limits::quiet_NaN()}) {
      values.push_back(x);
    }
  }
  return values;
}

// Every pair of edges, then numbers of every magnitude.
template <class T>
void make_operands(std::vector<T>& a, std::vector<T>& b, size_t random_count) {
  for (T x : edges<T>()) {
    for (T y : edges<T>()) a.push_back(x), b.push_back(y);
  }
  std::mt19937_64 random(3);
  auto draw = [&](bool near_one) {
    uint64_t bits = random();
    T x;
    if (near_one) return static_cast<T>(static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-60);
    memcpy(&x, &bits, sizeof(T));
    return x;
  };
  for (size_t i = 0; i < random_count; ++i) a.push_back(draw(i & 1)), b.push_back(draw(i & 2));
}

template <class T>
bool same(uint64_t got, uint64_t want, bool boolean) {
  if (got == want) return true;
  if (boolean || std::is_integral_v<T>) return false;
  T x, y;
  memcpy(&x, &got, sizeof(T));
  memcpy(&y, &want, sizeof(T));
  return x != x && y != y;  // a NaN's sign and payload are nobody's promise
}

template <class T>
void equals_scalar(Compute type) {
  std::vector<T> a, b;
  make_operands(a, b, 3000);
  size_t n = a.size();
  std::vector<std::vector<uint64_t>> wanted;
  auto rows = rows_of<T>();
  for (const auto& [row, reference] : rows) {
    std::vector<uint64_t> values;
    for (size_t i = 0; reference && i < n; ++i) values.push_back(reference(a[i], b[i]));
    wanted.push_back(std::move(values));
  }
  for_each_instruction_set([&] {
    for (size_t r = 0; r < rows.size(); ++r) {
      const Row& row = rows[r].row;
      Operator kernel = elementwise_operator(row.code, type);
      ASSERT_EQ(kernel != nullptr, rows[r].reference != nullptr) << row.name;
      if (!kernel) continue;
      size_t size = row.boolean ? 4 : sizeof(T);
      std::vector<unsigned char> out(n * size);
      const Input inputs[] = {{a.data()}, {b.data()}};
      kernel(out.data(), inputs, 1, static_cast<int64_t>(n));
      int wrong = 0;
      for (size_t i = 0; i < n && wrong < 3; ++i) {
        uint64_t got = 0;
        memcpy(&got, out.data() + i * size, size);
        if (!same<T>(got, wanted[r][i], row.boolean)) {
          ++wrong;
          ADD_FAILURE() << row.name << "(" << std::hexfloat << a[i] << ", " << b[i] << ") is "
                        << std::hex << got << ", scalar code gives " << wanted[r][i];
        }
      }
    }
  });
}
TEST(ElementwiseOperators, EqualScalarFloat32) { equals_scalar<float>(Compute::f32); }
TEST(ElementwiseOperators, EqualScalarFloat64) { equals_scalar<double>(Compute::f64); }
TEST(ElementwiseOperators, EqualScalarInt32) { equals_scalar<int32_t>(Compute::i32); }
TEST(ElementwiseOperators, EqualScalarInt64) { equals_scalar<int64_t>(Compute::i64); }
TEST(ElementwiseOperators, EqualScalarUint64) { equals_scalar<uint64_t>(Compute::u64); }

// Any count, anywhere, in place or not: the same values, and nothing written beside them. Inputs
// end where their allocation ends, so that the address sanitizer sees a read beyond.
template <class T>
void exactly_n(Compute type) {
  std::vector<T> a, b;
  make_operands(a, b, 0);
  for_each_instruction_set([&] {
    for (const auto& [row, reference] : rows_of<T>()) {
      if (!reference) continue;
      Operator kernel = elementwise_operator(row.code, type);
      size_t size = row.boolean ? 4 : sizeof(T);
      for (size_t n = 0; n <= 35; ++n) {
        std::vector<T> x(a.begin() + 40, a.begin() + 40 + static_cast<ptrdiff_t>(n));
        std::vector<T> y(b.begin() + 40, b.begin() + 40 + static_cast<ptrdiff_t>(n));
        Input inputs[] = {{x.data()}, {y.data()}};
        std::vector<unsigned char> out(n * size + 128, 0xA5);
        kernel(out.data() + 64, inputs, 1, static_cast<int64_t>(n));
        for (size_t i = 0; i < 64; ++i) {
          ASSERT_EQ(out[i], 0xA5) << row.name << " n " << n;
          ASSERT_EQ(out[64 + n * size + i], 0xA5) << row.name << " n " << n;
        }
        for (size_t i = 0; i < n; ++i) {
          uint64_t got = 0;
          memcpy(&got, out.data() + 64 + i * size, size);
          ASSERT_TRUE(same<T>(got, reference(x[i], y[i]), row.boolean)) << row.name << " n " << n;
        }
        if (size != sizeof(T) || n == 0) continue;
        std::vector<T> in_place = row.arity == 2 ? y : x;
        inputs[row.arity - 1].data = in_place.data();
        kernel(in_place.data(), inputs, 1, static_cast<int64_t>(n));
        for (size_t i = 0; i < n; ++i) {
          uint64_t got = pattern_of(in_place[i]);
          ASSERT_TRUE(same<T>(got, reference(x[i], y[i]), row.boolean)) << row.name << " in place";
        }
      }
    }
  });
}
TEST(ElementwiseOperators, TouchExactlyNFloat32) { exactly_n<float>(Compute::f32); }
TEST(ElementwiseOperators, TouchExactlyNFloat64) { exactly_n<double>(Compute::f64); }
TEST(ElementwiseOperators, TouchExactlyNInt32) { exactly_n<int32_t>(Compute::i32); }
TEST(ElementwiseOperators, TouchExactlyNInt64) { exactly_n<int64_t>(Compute::i64); }
TEST(ElementwiseOperators, TouchExactlyNUint64) { exactly_n<uint64_t>(Compute::u64); }

// Rows of elements that are next to each other or further apart, and numbers repeated along a row:
// the same values as element by element.
template <class T>
void reads_rows(Compute type) {
  std::vector<T> a, b;
  make_operands(a, b, 3000);
  constexpr size_t rows = 3;
  for_each_instruction_set([&] {
    for (const auto& [row, reference] : rows_of<T>()) {
      if (!reference) continue;
      Operator kernel = elementwise_operator(row.code, type);
      size_t size = row.boolean ? 4 : sizeof(T);
      for (size_t columns : {1, 7, 33, 100}) {
        size_t pitch = columns + 5;
        for (size_t start = 0; start + rows * pitch <= a.size(); start += 1009) {
          for (int form = 0; form < 4; ++form) {
            bool repeated[2] = {(form & 1) != 0, (form & 2) != 0};
            int64_t bytes = static_cast<int64_t>(pitch * sizeof(T));
            const Input inputs[] = {{a.data() + start, bytes, repeated[0]},
                                    {b.data() + start, bytes, repeated[1]}};
            std::vector<unsigned char> out(rows * columns * size);
            kernel(out.data(), inputs, rows, static_cast<int64_t>(columns));
            for (size_t r = 0; r < rows; ++r) {
              for (size_t j = 0; j < columns; ++j) {
                size_t at = start + r * pitch;
                T x = a[at + (repeated[0] ? 0 : j)], y = b[at + (repeated[1] ? 0 : j)];
                uint64_t got = 0;
                memcpy(&got, out.data() + (r * columns + j) * size, size);
                ASSERT_TRUE(same<T>(got, reference(x, y), row.boolean))
                    << row.name << "(" << +x << ", " << +y << "), form " << form;
              }
            }
          }
        }
      }
    }
  });
}
TEST(ElementwiseOperators, ReadRowsFloat32) { reads_rows<float>(Compute::f32); }
TEST(ElementwiseOperators, ReadRowsFloat64) { reads_rows<double>(Compute::f64); }
TEST(ElementwiseOperators, ReadRowsInt32) { reads_rows<int32_t>(Compute::i32); }
TEST(ElementwiseOperators, ReadRowsInt64) { reads_rows<int64_t>(Compute::i64); }
TEST(ElementwiseOperators, ReadRowsUint64) { reads_rows<uint64_t>(Compute::u64); }

// Division by a number that stays takes a way of its own, which must end at the same bits.
template <class T>
void divides(Compute type) {
  std::mt19937_64 random(7);
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  auto number = [&](int most_exponent) {
    int shift = static_cast<int>(random() % 4) * mantissa / 4;  // also short mantissas
    auto digits = static_cast<Bits>(random() % (Bits{1} << mantissa)) >> shift << shift;
    if (random() % 4 == 0) digits = (Bits{1} << mantissa) - 1 - static_cast<Bits>(random() % 4);
    T value = static_cast<T>(digits | Bits{1} << mantissa);
    int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * most_exponent + 1));
    value = std::ldexp(value, exponent - most_exponent - mantissa);
    return random() % 2 ? value : -value;
  };
  constexpr size_t n = 4099;
  Operator kernel = elementwise_operator(Elementwise::div, type);
  for (int round = 0; round < 2000; ++round) {
    // Mostly everyday numbers, then everything there is.
    int exponent = round % 4 ? 8 : std::numeric_limits<T>::max_exponent + mantissa;
    std::vector<T> x(n), y(n);
    for (T& v : x) v = random() % 64 ? number(exponent) : T(0) * number(1);
    if (round % 5 == 0) x[n / 2] = std::numeric_limits<T>::infinity();
    T d = number(exponent);
    const Input inputs[] = {{x.data()}, {&d, 0, true}};
    kernel(y.data(), inputs, 1, n);
    for (size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same<T>(pattern_of(y[i]), pattern_of(x[i] / d), false))
          << std::hexfloat << x[i] << " / " << d << " is not " << y[i];
    }
  }
}
TEST(ElementwiseOperators, DivideByTheSameNumberExactly) {
  divides<float>(Compute::f32);
  divides<double>(Compute::f64);
}

// A pair gives what its operators give one after the other.
template <class T>
void pairs(Compute type) {
  std::vector<T> a, b;
  make_operands(a, b, 500);
  size_t n = a.size();
  int64_t count = static_cast<int64_t>(n);
  std::vector<T> c(a.rbegin(), a.rend()), between(n), want(n), got(n);
  int found = 0;
  for_each_instruction_set([&] {
    for (int f = 0; f < static_cast<int>(Elementwise::count); ++f) {
      for (int s = 0; s < static_cast<int>(Elementwise::count); ++s) {
        for (bool right : {false, true}) {
          auto first = static_cast<Elementwise>(f), second = static_cast<Elementwise>(s);
          Operator pair = paired_operator(first, second, right, type);
          if (!pair) continue;
          ++found;
          Input inputs[] = {{a.data()}, {b.data()}, {c.data()}};
          elementwise_operator(first, type)(between.data(), inputs, 1, count);
          if (info(first).arity == 1) inputs[1] = inputs[2];
          Input last[] = {{between.data()}, {c.data()}};
          if (right && info(second).arity == 2) std::swap(last[0], last[1]);
          elementwise_operator(second, type)(want.data(), last, 1, count);
          pair(got.data(), inputs, 1, count);
          for (size_t i = 0; i < n; ++i) {
            ASSERT_TRUE(same<T>(pattern_of(got[i]), pattern_of(want[i]), false))
                << info(first).name << ", " << info(second).name << " of " << a[i] << ", " << b[i]
                << ", " << c[i];
          }
        }
      }
    }
  });
  EXPECT_GT(found, 0);
}
TEST(ElementwiseOperators, PairsEqualOneAfterTheOther) {
  pairs<float>(Compute::f32);
  pairs<double>(Compute::f64);
}

template <class T>
void selects(Compute type) {
  for_each_instruction_set([&] {
    for (size_t n = 0; n < 40; ++n) {
      std::vector<int32_t> condition(n);
      std::vector<T> a(n), b(n);
      for (size_t i = 0; i < n; ++i) {
        condition[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : INT32_MIN;
        a[i] = T(i + 1), b[i] = T(100 + i);
      }
      std::vector<T> out(n + 1, T(77));
      const Input inputs[] = {{condition.data()}, {a.data()}, {b.data()}};
      select_operator(type)(out.data(), inputs, 1, static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], condition[i] ? a[i] : b[i]);
      ASSERT_EQ(out[n], T(77));
    }
  });
}
TEST(ElementwiseOperators, Select) {
  selects<float>(Compute::f32);
  selects<double>(Compute::f64);
  selects<int32_t>(Compute::i32);
  selects<int64_t>(Compute::i64);
  selects<uint64_t>(Compute::u64);
}

TEST(ElementwiseOperators, AnUnknownInstructionSetIsRefused) {
  EXPECT_FALSE(set_instruction_set("AVX9"));
  EXPECT_TRUE(set_instruction_set(nullptr));
}

}  // namespace
}  // namespace mt::cpu
