// SPDX-License-Identifier: Apache-2.0
// Contractions of integers go one way for small numbers and another for others, block by block:
// sums of either way, and of both, wrap like those of the loop.
#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/contract.h"

#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/instruction_sets.h"

namespace mt::cpu {
namespace {

std::vector<int64_t> numbers(int64_t count, int bits, std::mt19937_64& random) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& x : values) x = static_cast<int64_t>(random()) >> (64 - bits);
  return values;
}

void expect_wrapping_sums(int64_t m, int64_t n, int64_t k, const std::vector<int64_t>& a,
                          const std::vector<int64_t>& b) {
  Contraction product;
  product.a = product.b = product.out = Dtype::int64;
  product.m = {{m, k, 0}};
  product.n = {{n, 0, 1}};
  product.k = {{k, 1, n}};
  const PreparedContraction prepared(product, 1);
  std::vector<int64_t> out(static_cast<size_t>(m * n));
  void* scratch = std::aligned_alloc(64, (prepared.scratch() + 127) / 64 * 64);
  prepared.run(a.data(), b.data(), out.data(), scratch);
  std::free(scratch);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      uint64_t want = 0;
      for (int64_t l = 0; l < k; ++l) {
        want += static_cast<uint64_t>(a[static_cast<size_t>(i * k + l)]) *
                static_cast<uint64_t>(b[static_cast<size_t>(l * n + j)]);
      }
      ASSERT_EQ(out[static_cast<size_t>(i * n + j)], static_cast<int64_t>(want))
          << m << " x " << n << " x " << k << " at " << i << ", " << j;
    }
  }
}

TEST(ExactProduct, WrapsForNumbersOfEverySize) {
  for_each_instruction_set([] {
    std::mt19937_64 random(5);
    for (int bits : {1, 8, 23, 24, 40, 64}) {
      for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {3, 130, 65}, {70, 9, 200}}) {
        std::vector<int64_t> a = numbers(m * k, bits, random), b = numbers(k * n, 23, random);
        expect_wrapping_sums(m, n, k, a, b);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

// The largest sums of products that are made of doubles, and the first that are not.
// Smaller products are not made of doubles at all.
TEST(ExactProduct, HoldsItsLargestSums) {
  for_each_instruction_set([] {
    for (int64_t x : {-(int64_t{1} << 22), (int64_t{1} << 22) - 1, int64_t{1} << 22}) {
      for (int64_t y : {-(int64_t{1} << 22), (int64_t{1} << 22) - 1, -(int64_t{1} << 22) - 1}) {
        expect_wrapping_sums(20, 6, 200, std::vector<int64_t>(4000, x),
                             std::vector<int64_t>(1200, y));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

}  // namespace
}  // namespace mt::cpu
