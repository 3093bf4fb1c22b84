// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt is told of a product, by what a library in its place makes of it in host memory
// (cublaslt_stand_in.cpp); MT_CUBLASLT names that.
#include "backends/cuda/driver/blas.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "ops/half.h"

namespace mt::cuda {

void use_device(int) {}

namespace {

// Small whole numbers, whose sums are exact in every type.
std::vector<uint16_t> numbers(int64_t count, Dtype dtype, int seed) {
  std::vector<uint16_t> made;
  for (int64_t i = 0; i < count; ++i) {
    auto x = static_cast<float>((i * 7 + seed) % 5 - 2);
    made.push_back(dtype == Dtype::bfloat16 ? float_to_bfloat16(x) : float_to_float16(x));
  }
  return made;
}
float value_of(uint16_t bits, Dtype dtype) {
  return dtype == Dtype::bfloat16 ? bfloat16_to_float(bits) : float16_to_float(bits);
}

// Makes the product and compares it with the loop that says what it is.
void check(const BlasProduct& p) {
  auto extent = [&](const BlasProduct::Operand& o, int64_t rows) {
    return (p.batch - 1) * o.batch + (o.along_k ? rows : p.k) * o.line;
  };
  const std::vector<uint16_t> a = numbers(extent(p.a, p.m), p.numbers, 1);
  const std::vector<uint16_t> b = numbers(extent(p.b, p.n), p.numbers, 3);
  std::vector<char> out(static_cast<size_t>(p.batch * p.m * p.n) * size_of(p.result));
  std::shared_ptr<const BlasPlan> plan = plan_blas(0, p);
  ASSERT_TRUE(plan);
  char workspace;
  run_blas(*plan, reinterpret_cast<const char*>(a.data()), reinterpret_cast<const char*>(b.data()),
           out.data(), &workspace, nullptr);
  for (int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
    auto at = [&](const std::vector<uint16_t>& from, const BlasProduct::Operand& o, int64_t row,
                  int64_t k) {
      int64_t place = i / (p.m * p.n) * o.batch + (o.along_k ? row * o.line + k : k * o.line + row);
      return value_of(from[static_cast<size_t>(place)], p.numbers);
    };
    float sum = 0, found;
    for (int64_t k = 0; k < p.k; ++k) sum += at(a, p.a, i / p.n % p.m, k) * at(b, p.b, i % p.n, k);
    if (p.result == Dtype::float32) {
      found = reinterpret_cast<const float*>(out.data())[i];
    } else {
      found = value_of(reinterpret_cast<const uint16_t*>(out.data())[i], p.result);
    }
    ASSERT_EQ(found, sum) << "element " << i;
  }
}

TEST(Blas, DescribesEveryLayout) {
  for (int layout = 0; layout < 4; ++layout) {
    const bool a_along_k = layout & 1, b_along_k = layout & 2;
    for (Dtype numbers : {Dtype::bfloat16, Dtype::float16}) {
      for (Dtype result : {numbers, Dtype::float32}) {
        const int64_t m = 5, n = 7, k = 3;
        check({numbers,
               result,
               1,
               m,
               n,
               k,
               {a_along_k, a_along_k ? k : m, 0},
               {b_along_k, b_along_k ? k : n, 0}});
        // Views of something larger; and batches, of which one operand is all entries'.
        check({numbers, result, 1, m, n, k, {a_along_k, 8, 0}, {b_along_k, 16, 0}});
        check({numbers, result, 4, m, n, k, {a_along_k, 8, 48}, {b_along_k, 8, 64}});
        check({numbers, result, 4, m, n, k, {a_along_k, 8, 0}, {b_along_k, 8, 64}});
        check({numbers, result, 4, m, n, k, {a_along_k, 8, 48}, {b_along_k, 8, 0}});
      }
    }
  }
}

TEST(Blas, LeavesWhatItDoesNotTake) {
  EXPECT_FALSE(plan_blas(
      0, {Dtype::float16, Dtype::float16, 1, 5, 7, 3, {true, 2, 0}, {true, 3, 0}}));  // lines that
                                                                                      // overlap
}

}  // namespace
}  // namespace mt::cuda
