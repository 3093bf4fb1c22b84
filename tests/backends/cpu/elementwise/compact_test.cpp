// SPDX-License-Identifier: Apache-2.0
// Kernels of compact values: the bits of loading them, computing and storing the result,
// under every instruction set and for every remainder of a vector.
#include "backends/cpu/elementwise/compact.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "instruction_sets.h"

namespace mt::cpu {
namespace {

constexpr size_t most = 300;
using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes result(bytes);
  // Few different bytes, so that some are equal, and zeros.
  for (uint8_t& byte : result)
    byte = static_cast<uint8_t>(random() % 3 ? random() % 4 * 85 : random());
  return result;
}

Bytes converted(Kernel kernel, const void* in, size_t n) {
  Bytes out(n * 8);
  const void* inputs[] = {in};
  kernel(out.data(), inputs, static_cast<int64_t>(n));
  return out;
}
Bytes loaded(const Bytes& x, Dtype dtype, size_t n) {
  return converted(load_kernel(dtype), x.data(), n);
}

// What the kernel for compute types makes of the operands, stored as `result`.
Bytes wanted(Operator kernel, const Bytes& a, const Bytes& b, Dtype result, size_t n) {
  Bytes out(n * 8);
  const Input inputs[] = {{a.data()}, {b.data()}, {}};
  kernel(out.data(), inputs, 1, static_cast<int64_t>(n));
  Bytes stored = converted(store_kernel(result), out.data(), n);
  stored.resize(n * size_of(result));
  return stored;
}

// In two rows, of which the second operand's may be one number repeated.
Bytes got(Operator kernel, const Bytes& a, const Bytes& b, Dtype operands, Dtype result, size_t n,
          bool repeated) {
  const auto pitch = static_cast<int64_t>(n * size_of(operands));
  Bytes out(2 * n * size_of(result) + 1, 77);
  const Input inputs[] = {{a.data(), -pitch}, {b.data(), repeated ? 0 : -pitch, repeated}, {}};
  Input rows[] = {inputs[0], inputs[1], inputs[2]};
  rows[0].data = a.data() + pitch;
  if (!repeated) rows[1].data = b.data() + pitch;
  kernel(out.data(), rows, 2, static_cast<int64_t>(n));
  EXPECT_EQ(out.back(), 77);
  out.pop_back();
  return out;
}

void agrees(Elementwise code, Dtype operands, size_t n) {
  Operator kernel = compact_operator(code, operands);
  const Dtype result = info(code).boolean_result ? Dtype::boolean : operands;
  const size_t row = n * size_of(operands);
  const Bytes a = random_bytes(2 * row, 1);
  Bytes b = random_bytes(2 * row, 2);
  // Which of two NaNs a product within an operator keeps is for the compiler to choose.
  for (size_t i = 1; code == Elementwise::leaky_relu && i < b.size(); i += 2) b[i] &= 0x3f;
  for (bool repeated : {false, true}) {
    Bytes second = b;
    for (size_t i = 0; repeated && i < second.size(); ++i) second[i] = b[i % size_of(operands)];
    const Bytes want =
        wanted(elementwise_operator(code, compute_of(operands)), loaded(a, operands, 2 * n),
               loaded(second, operands, 2 * n), result, 2 * n);
    const Bytes have = got(kernel, a, repeated ? second : b, operands, result, n, repeated);
    const auto half = static_cast<std::ptrdiff_t>(want.size() / 2);
    ASSERT_EQ(Bytes(want.begin(), want.begin() + half), Bytes(have.begin() + half, have.end()));
    ASSERT_EQ(Bytes(want.begin() + half, want.end()), Bytes(have.begin(), have.begin() + half));
  }
}

// The operators that have a kernel of their own, so that none is lost unnoticed.
std::string with_kernel(Dtype operands) {
  const std::string compare = "equal not_equal less less_equal greater greater_equal";
  const std::string logic = "logical_not logical_and logical_or logical_xor";
  const std::string bits = "bitwise_and bitwise_or bitwise_xor";
  if (instruction_set() == std::string("SCALAR")) return "";
  switch (operands) {
    case Dtype::boolean: return compare + " " + logic + " " + bits;
    case Dtype::float16:
      return "neg abs square sqrt relu leaky_relu add sub mul div maximum minimum "
             "copysign";
    case Dtype::bfloat16:
      return "neg abs sign square sqrt floor ceil trunc round relu leaky_relu add sub mul div "
             "maximum "
             "minimum copysign " +
             compare + " isnan isinf isfinite signbit";
    default:
      return "neg abs sign square relu add sub mul maximum minimum " + compare + " " + logic +
             " bitwise_invert " + bits;
  }
}

TEST(ElementwiseCompact, OperatorsGiveTheBitsOfTheirComputeType) {
  for_each_instruction_set([] {
    for (Dtype operands : {Dtype::boolean, Dtype::uint8, Dtype::int8, Dtype::uint16, Dtype::int16,
                           Dtype::float16, Dtype::bfloat16}) {
      SCOPED_TRACE(name_of(operands));
      std::string names;
      for (int c = 0; c < static_cast<int>(Elementwise::count); ++c) {
        const auto code = static_cast<Elementwise>(c);
        SCOPED_TRACE(info(code).name);
        if (!compact_operator(code, operands)) continue;
        names += names.empty() ? info(code).name : std::string(" ") + info(code).name;
        for (size_t n = 1; n <= most; n += n < 70 ? 1 : 43) agrees(code, operands, n);
      }
      EXPECT_EQ(names, with_kernel(operands));
    }
    EXPECT_FALSE(compact_operator(Elementwise::exp, Dtype::bfloat16));
    EXPECT_FALSE(compact_operator(Elementwise::add, Dtype::float32));
  });
}

TEST(ElementwiseCompact, BooleanResultsAreBytes) {
  for_each_instruction_set([] {
    for (Compute type : {Compute::f32, Compute::f64, Compute::i32, Compute::i64, Compute::u64}) {
      for (int c = 0; c < static_cast<int>(Elementwise::count); ++c) {
        const auto code = static_cast<Elementwise>(c);
        Operator kernel = truth_operator(code, type);
        if (!kernel) continue;
        SCOPED_TRACE(info(code).name);
        for (size_t n : {1, 7, 16, 33, 100}) {
          const Bytes a = random_bytes(n * size_of(type), 1),
                      b = random_bytes(n * size_of(type), 2);
          const Bytes want = wanted(elementwise_operator(code, type), a, b, Dtype::boolean, n);
          Bytes have(n + 1, 77);
          const Input inputs[] = {{a.data()}, {b.data()}, {}};
          kernel(have.data(), inputs, 1, static_cast<int64_t>(n));
          ASSERT_EQ(have.back(), 77);
          have.pop_back();
          ASSERT_EQ(want, have);
          Bytes true_bytes = converted(truth_kernel(type), a.data(), n);
          Bytes true_numbers = converted(store_kernel(Dtype::boolean),
                                         converted(to_boolean_kernel(type), a.data(), n).data(), n);
          ASSERT_EQ(true_bytes, true_numbers);
        }
      }
    }
  });
}

template <class T>
void chooses() {
  for (size_t n = 1; n < 140; ++n) {
    Bytes condition(n);
    std::vector<T> a(n), b(n), out(n + 1, T(77));
    for (size_t i = 0; i < n; ++i) {
      condition[i] = static_cast<uint8_t>(i % 3 * 128);
      a[i] = static_cast<T>(i + 1), b[i] = static_cast<T>(100 + i);
    }
    const Input inputs[] = {{condition.data()}, {a.data()}, {b.data()}};
    compact_select_operator(sizeof(T))(out.data(), inputs, 1, static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], condition[i] ? a[i] : b[i]);
    ASSERT_EQ(out[n], T(77));
  }
}
TEST(ElementwiseCompact, ConditionsAreBytes) {
  for_each_instruction_set([] {
    chooses<uint8_t>();
    chooses<uint16_t>();
    chooses<uint32_t>();
    chooses<uint64_t>();
  });
}

// Rows of every length, against the kernels of what they are loaded as.
void reduces(Reduction reduction, Dtype operand, size_t n) {
  const Operator kernel = compact_reduction(reduction, operand);
  if (!kernel) return;  // the baseline has none
  const bool sums = reduction == Reduction::sum;
  const size_t row = n * size_of(operand);
  const Bytes x = random_bytes(2 * row, n);
  const Bytes wide = loaded(x, operand, 2 * n);
  std::vector<int64_t> numbers(2 * n);
  for (size_t i = 0; i < 2 * n; ++i) {
    int32_t number;
    std::memcpy(&number, wide.data() + 4 * i, 4);
    numbers[i] = number;
  }
  const auto pitch = static_cast<int64_t>(row);
  const Input in{x.data(), pitch}, of_numbers{numbers.data(), static_cast<int64_t>(8 * n)};
  int64_t want[2], have[2] = {};
  row_reduction(reduction, Compute::i64)(want, &of_numbers, 2, static_cast<int64_t>(n));
  int32_t narrow[2];
  kernel(sums ? static_cast<void*>(have) : narrow, &in, 2, static_cast<int64_t>(n));
  for (int r = 0; r < 2; ++r) ASSERT_EQ(sums ? have[r] : narrow[r], want[r]) << n;
}

TEST(CompactReduction, IsThatOfTheNumbers) {
  for_each_instruction_set([] {
    for (Dtype operand : {Dtype::boolean, Dtype::uint8, Dtype::int8, Dtype::uint16, Dtype::int16}) {
      for (Reduction reduction : {Reduction::sum, Reduction::max, Reduction::min}) {
        SCOPED_TRACE(static_cast<int>(operand) * 10 + static_cast<int>(reduction));
        for (size_t n = 1; n < most; ++n) reduces(reduction, operand, n);
      }
    }
    EXPECT_FALSE(compact_reduction(Reduction::prod, Dtype::uint8));
    EXPECT_FALSE(compact_reduction(Reduction::max, Dtype::float16));
  });
}

}  // namespace
}  // namespace mt::cpu
