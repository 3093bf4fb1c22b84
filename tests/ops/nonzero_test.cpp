// SPDX-License-Identifier: Apache-2.0
// What depends on values.
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(nonzero, positions_in_row_major_order) {
  Tensor x = make({2, 3}, {0, 2, 0, 0, -1, 0.5}, Dtype::float32);
  EXPECT_EQ(read(nonzero(x)), (Numbers{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(nonzero(make({0, 3}, {}, Dtype::float32)).shape(), (Shape{0, 2}));
  EXPECT_EQ(nonzero(make({}, {5}, Dtype::float32)).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(make({}, {0}, Dtype::float32)).shape(), (Shape{0, 0}));
  EXPECT_EQ(read(masked_select(x, make({3}, {1, 0, 1}, Dtype::boolean))), (Numbers{0, 0, 0, 0.5}));
  EXPECT_EQ(code_of([&] { masked_select(x, x); }), Code::dtype);
  everywhere([](const Make& given) {
    return nonzero(transpose(given({300, 300}, scattered(90000, 3), Dtype::int16)));
  });
}

TEST(unique, values_and_the_rest) {
  Tensor x = make({2, 3}, {3, 1, 3, 2, 1, 3}, Dtype::int32);
  EXPECT_EQ(read(unique_values(x)), (Numbers{1, 2, 3}));
  Unique all = unique_all(x);
  EXPECT_EQ(read(all.values), (Numbers{1, 2, 3}));
  EXPECT_EQ(read(all.indices), (Numbers{1, 3, 0}));
  EXPECT_EQ(read(all.inverse_indices), (Numbers{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(all.inverse_indices.shape(), (Shape{2, 3}));
  EXPECT_EQ(read(all.counts), (Numbers{2, 1, 3}));
  EXPECT_EQ(unique_values(make({0}, {}, Dtype::float32)).shape(), (Shape{0}));
  EXPECT_EQ(unique_all(make({0}, {}, Dtype::float32)).counts.shape(), (Shape{0}));
  Numbers with_nan = read(unique_values(make({4}, {NAN, 1, NAN, 1}, Dtype::float32)));
  EXPECT_EQ(with_nan.size(), 3u);
  everywhere([](const Make& given) {
    return unique_all(given({50, 100}, scattered(5000, 300), Dtype::float32)).inverse_indices;
  });
}

TEST(masked_select, gradients) {
  check_gradient(make({3, 3}, scattered(9, 9)),
                 [&](const Tensor& x) { return masked_select(x, x > 3.5); });
}

}  // namespace
}  // namespace mt::testing
