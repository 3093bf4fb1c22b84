// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::test {
namespace {

std::vector<double> gelu_slopes(const Tensor& x) {
  Tensor parameter = leaf(x);
  Tensor y = gelu(parameter);
  return read(gradients({y}, {ones_like(y)}, {parameter})[0]);
}

TEST(Gelu, SlopeEndsInZeroAndOne) {
  constexpr double inf = INFINITY;
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    EXPECT_EQ(gelu_slopes(make({4}, {-inf, -1e3, 1e3, inf}, dtype)),
              (std::vector<double>{0, 0, 1, 1}));
  }
}

TEST(Gelu, SlopesAreNeverDenormal) {
  Tensor x = arange(-16, 16, 1.0 / 64, Dtype::float32, cpu());
  for (double slope : gelu_slopes(x)) {
    bool normal = slope == 0 || std::abs(slope) >= std::numeric_limits<float>::min();
    EXPECT_TRUE(normal) << slope;
  }
}

}  // namespace
}  // namespace mt::test
