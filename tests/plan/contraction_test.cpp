// SPDX-License-Identifier: Apache-2.0
#include "plan/contraction.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/plan.h"

namespace {

using namespace mt;

using Listed = std::vector<std::array<int64_t, 3>>;

Listed listed(const std::vector<ContractionDim>& dims) {
  Listed result;
  for (const ContractionDim& dim : dims) result.push_back({dim.size, dim.a_stride, dim.b_stride});
  return result;
}

Operand operand(const Layout& layout) { return {0, Dtype::float32, layout}; }

TEST(Contraction, OfMatrices) {
  Contraction c = canonical_contraction({0, 1, 1, 1}, operand(contiguous_layout({2, 4})),
                                        operand({{3, 4}, {1, 3}, 0}), Dtype::float64);
  EXPECT_EQ(listed(c.batch), Listed());
  EXPECT_EQ(listed(c.m), (Listed{{2, 4, 0}}));
  EXPECT_EQ(listed(c.n), (Listed{{3, 0, 1}}));
  EXPECT_EQ(listed(c.k), (Listed{{4, 1, 3}}));
  EXPECT_EQ(c.out, Dtype::float64);
}

TEST(Contraction, JoinsDimensionsThatBothStepThroughEvenly) {
  // Batch [2, 3], which b has once; m [5, 6]; k [7, 8].
  Contraction c =
      canonical_contraction({2, 2, 0, 2}, operand(contiguous_layout({2, 3, 5, 6, 7, 8})),
                            operand({{2, 3, 7, 8}, {0, 0, 8, 1}, 0}), Dtype::float32);
  EXPECT_EQ(listed(c.batch), (Listed{{6, 1680, 0}}));
  EXPECT_EQ(listed(c.m), (Listed{{30, 56, 0}}));
  EXPECT_EQ(listed(c.n), Listed());
  EXPECT_EQ(listed(c.k), (Listed{{56, 1, 1}}));
}

TEST(Contraction, KeepsDimensionsApartWhereOneOperandJumps) {
  Contraction c = canonical_contraction({0, 0, 0, 2}, operand(contiguous_layout({4, 8})),
                                        operand({{4, 8}, {16, 1}, 0}), Dtype::float32);
  EXPECT_EQ(listed(c.k), (Listed{{4, 8, 16}, {8, 1, 1}}));
}

TEST(Contraction, DropsDimensionsOfOne) {
  Contraction c = canonical_contraction({1, 2, 1, 1}, operand(contiguous_layout({1, 1, 3, 4})),
                                        operand(contiguous_layout({1, 1, 4})), Dtype::float32);
  EXPECT_EQ(listed(c.batch), Listed());
  EXPECT_EQ(listed(c.m), (Listed{{3, 4, 0}}));
  EXPECT_EQ(listed(c.n), Listed());
  EXPECT_EQ(listed(c.k), (Listed{{4, 1, 1}}));
}

}  // namespace
