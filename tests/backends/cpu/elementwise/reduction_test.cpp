// SPDX-License-Identifier: Apache-2.0
// Row reductions against the order as it is written down, bit for bit.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/elementwise/one_hot.h"
#include "instruction_sets.h"
#include "ops/math/scalar.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

template <class T>
T combine(Reduction reduction, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (reduction == Reduction::sum) return integer::add(a, b);
    if (reduction == Reduction::prod) return integer::multiply(a, b);
  }
  switch (reduction) {
    case Reduction::sum: return a + b;
    case Reduction::prod: return a * b;
    case Reduction::max: return scalar::max(a, b);
    case Reduction::min: return scalar::min(a, b);
  }
  return a;
}
template <class T>
T identity(Reduction reduction) {
  using limits = std::numeric_limits<T>;
  switch (reduction) {
    case Reduction::sum: return 0;
    case Reduction::prod: return 1;
    case Reduction::max: return limits::has_infinity ? -limits::infinity() : limits::lowest();
    case Reduction::min: return limits::has_infinity ? limits::infinity() : limits::max();
  }
  return 0;
}

template <class T>
T reduce(Reduction reduction, const T* x, size_t n) {
  T lanes[row_lanes];
  for (T& lane : lanes) lane = identity<T>(reduction);
  for (size_t j = 0; j < n; ++j)
    lanes[j % row_lanes] = combine(reduction, lanes[j % row_lanes], x[j]);
  for (int half = row_lanes / 2; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = combine(reduction, lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <class T>
bool same_bits(T a, T b) {
  return memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
}

template <class T>
void check(Compute type) {
  std::mt19937_64 random(5);
  for_each_instruction_set([&] {
    for (size_t columns :
         {0, 1, 2, 3, 4, 7, 8, 10, 15, 16, 17, 31, 32, 33, 63, 64, 100, 1000, 16384}) {
      size_t rows = columns > 1000 ? 1 : 5;
      std::vector<T> x(rows * columns);
      x.reserve(1);  // no elements lie somewhere, too
      for (T& v : x) {
        v = std::is_floating_point_v<T>
                ? static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 0.9995)
                : static_cast<T>(random());
      }
      for (int special = 0; special < 4; ++special) {
        if (special && (!std::is_floating_point_v<T> || x.empty())) break;
        if (special == 1) x[x.size() / 2] = static_cast<T>(-0.0), x[0] = 0;
        if (special == 2) x[x.size() - 1] = std::numeric_limits<T>::quiet_NaN();
        if (special == 3) {  // the order decides the sign of the largest one
          for (T& v : x) v = static_cast<T>(random() % 2 ? -0.0 : random() % 3 ? 0.0 : -1.0);
        }
        for (Reduction r : {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min}) {
          if (!row_reduction(r, type)) continue;  // sums and products of short integers
          std::vector<T> out(rows + 1, T(99));
          const Input input{x.data(), static_cast<int64_t>(columns * sizeof(T))};
          row_reduction(r, type)(out.data(), &input, static_cast<int64_t>(rows),
                                 static_cast<int64_t>(columns));
          for (size_t i = 0; i < rows; ++i) {
            T want = reduce(r, x.data() + i * columns, columns);
            ASSERT_TRUE(same_bits(out[i], want))
                << columns << " columns: " << out[i] << " is not " << want;
          }
          ASSERT_EQ(out[rows], T(99));
        }
      }
    }
  });
}
TEST(RowReduction, Float32) { check<float>(Compute::f32); }
TEST(RowReduction, Float64) { check<double>(Compute::f64); }
TEST(RowReduction, Int32) { check<int32_t>(Compute::i32); }
TEST(RowReduction, Int64) { check<int64_t>(Compute::i64); }
TEST(RowReduction, Uint64) { check<uint64_t>(Compute::u64); }

template <class T>
void sums_terms(Compute type) {
  std::mt19937_64 random(6);
  for_each_instruction_set([&] {
    for (size_t columns : {1, 5, 16, 33, 100, 1000}) {
      constexpr size_t rows = 6;
      std::vector<T> x(rows * columns), y(rows * columns), squares, products, out(rows);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<T>(random() % 2001) / 1000 - 1;
        y[i] = static_cast<T>(random() % 2001) / 1000 - 1;
        squares.push_back(x[i] * x[i]);
        products.push_back(x[i] * y[i]);
      }
      const int64_t pitch = static_cast<int64_t>(columns * sizeof(T));
      const Input inputs[] = {{x.data(), pitch}, {y.data(), pitch}};
      row_sum_of_squares(type)(out.data(), inputs, rows, static_cast<int64_t>(columns));
      for (size_t r = 0; r < rows; ++r) {
        ASSERT_EQ(out[r], reduce(Reduction::sum, squares.data() + r * columns, columns));
      }
      row_sum_of_products(type)(out.data(), inputs, rows, static_cast<int64_t>(columns));
      for (size_t r = 0; r < rows; ++r) {
        ASSERT_EQ(out[r], reduce(Reduction::sum, products.data() + r * columns, columns));
      }
    }
  });
}
TEST(RowReduction, SumsOfSquaresAndProducts) {
  sums_terms<float>(Compute::f32);
  sums_terms<double>(Compute::f64);
}

template <class T>
void sums_exponentials(Compute type) {
  std::mt19937_64 random(7);
  for_each_instruction_set([&] {
    for (size_t columns : {1, 5, 16, 33, 100, 1000}) {
      constexpr size_t rows = 3;
      std::vector<T> x(rows * columns), shift(rows), exponentials, out(rows), kept(x.size() + 1, 9);
      for (T& v : shift) v = static_cast<T>(random() % 100) / 7;
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<T>(random() % 20001) / 100 - 180;
        exponentials.push_back(scalar::exp(x[i] - shift[i / columns]));
      }
      x[0] = exponentials[0] = std::numeric_limits<T>::infinity();
      if (columns > 1) x[1] = -x[0], exponentials[1] = 0;
      const int64_t size = sizeof(T), pitch = static_cast<int64_t>(columns) * size;
      const Input inputs[] = {{x.data(), pitch}, {shift.data(), size, true}, {kept.data(), pitch}};
      for (bool keeps : {false, true}) {
        const Operator sum = row_sum_of_exponentials(type, keeps);
        ASSERT_TRUE(sum || type == Compute::f64);  // which not every instruction set has
        if (!sum) return;
        sum(out.data(), inputs, rows, static_cast<int64_t>(columns));
        for (size_t r = 0; r < rows; ++r) {
          ASSERT_EQ(out[r], reduce(Reduction::sum, exponentials.data() + r * columns, columns));
        }
      }
      exponentials.push_back(9);
      ASSERT_EQ(kept, exponentials);
    }
  });
}
TEST(RowReduction, SumsOfExponentials) {
  sums_exponentials<float>(Compute::f32);
  sums_exponentials<double>(Compute::f64);
}

// One element of each row and another number elsewhere, the same for all rows or its own for each.
template <class T>
void sums_one_hot(Compute type) {
  for_each_instruction_set([&] {
    for (size_t columns : {1, 7, 25, 32, 33, 100, 1000}) {
      const int64_t count = static_cast<int64_t>(columns);
      std::vector<int64_t> sought = {0, count / 2, count - 1, -1, count};
      for (int64_t r = 0; r < 15; ++r) sought.push_back(r * 7 % count);
      const size_t rows = sought.size();
      std::vector<T> x(rows * columns), out(rows);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = i % 3 ? static_cast<T>(i) / 7 : static_cast<T>(-0.0);
      }
      const int64_t size = sizeof(T), pitch = static_cast<int64_t>(columns) * size;
      for (T other : {T(0), T(-0.0), T(0.1), T(-1), -std::numeric_limits<T>::infinity()}) {
        for (bool same : {true, false}) {
          std::vector<T> others(rows, other);
          for (size_t r = 0; r < rows && !same; ++r) others[r] *= static_cast<T>(r % 3);
          const Input inputs[] = {
              {sought.data(), 8, true}, {x.data(), pitch}, {others.data(), same ? 0 : size, true}};
          row_sum_of_one_hot(type, false)(out.data(), inputs, static_cast<int64_t>(rows), count);
          for (size_t r = 0; r < rows; ++r) {
            std::vector<T> row(columns, others[r]);
            if (sought[r] >= 0 && sought[r] < count) {
              const size_t at = static_cast<size_t>(sought[r]);
              row[at] = x[r * columns + at];
            }
            ASSERT_TRUE(same_bits(out[r], reduce(Reduction::sum, row.data(), columns)));
          }
          if (count < 2 || count > narrow_columns || !same) continue;
          // Transposed rows, whose lanes begin with a zero.
          std::vector<T> turned(x.size()), sums(rows);
          for (size_t i = 0; i < x.size(); ++i) turned[i % columns * rows + i / columns] = x[i];
          const Input across[] = {{sought.data()},
                                  {turned.data(), static_cast<int64_t>(rows) * size},
                                  {others.data(), 0, true}};
          row_sum_of_one_hot(type, true)(sums.data(), across, static_cast<int64_t>(rows), count);
          for (size_t r = 0; r < rows; ++r) ASSERT_TRUE(same_bits(sums[r], T(0) + out[r]));
        }
      }
    }
  });
}
TEST(RowReduction, SumsOfOneHot) {
  sums_one_hot<float>(Compute::f32);
  sums_one_hot<double>(Compute::f64);
}

template <class T>
void expands() {
  for_each_instruction_set([&] {
    for (size_t columns : {0, 1, 3, 10, 16, 17, 64, 100}) {
      std::vector<T> x = {T(1), T(2), T(3)}, out(3 * columns + 1, T(99));
      row_expansion(sizeof(T))(out.data(), x.data(), 3, static_cast<int64_t>(columns));
      for (size_t i = 0; i < 3 * columns; ++i) ASSERT_EQ(out[i], x[i / columns]);
      ASSERT_EQ(out[3 * columns], T(99));
    }
  });
}
TEST(RowExpansion, RepeatsEachValue) {
  expands<uint8_t>();
  expands<uint16_t>();
  expands<uint32_t>();
  expands<uint64_t>();
}

}  // namespace
}  // namespace mt::cpu
