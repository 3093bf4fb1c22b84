// SPDX-License-Identifier: Apache-2.0
#include "nn/clip.h"

#include "nn/support.h"

namespace mt {
namespace {

using Vector = std::vector<double>;

class ClipTest : public FileTest {};

TEST_F(ClipTest, ScalesByTheNormOfAll) {
  for (Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16}) {
    Ref<Parameters> parameters = make_parameters(dtype);
    Device& device = parameters->device;
    Binding& a = parameters->create("a", full({2}, 0, dtype, device), false);
    Binding& b = parameters->create("b", full({1, 2}, 0, dtype, device), false);
    parameters->create("c", full({2}, 0, dtype, device), false);
    a.set_gradient(from_doubles({3, 0}, {2}, dtype, device));
    b.set_gradient(from_doubles({0, -4}, {1, 2}, dtype, device));
    Tensor norm = clip_gradient_norm(*parameters, 10);
    EXPECT_EQ(to_doubles(norm), Vector({5}));
    EXPECT_EQ(norm.rank(), 0);
    EXPECT_EQ(to_doubles(a.gradient()), Vector({3, 0}));  // below the bound nothing changes
    norm = clip_gradient_norm(*parameters, 1);
    EXPECT_EQ(to_doubles(norm), Vector({5}));
    double tolerance = dtype == Dtype::float64 ? 1e-15 : dtype == Dtype::float32 ? 1e-7 : 4e-3;
    EXPECT_EQ(a.gradient().dtype(), dtype);
    EXPECT_NEAR(to_doubles(a.gradient())[0], 3 / 5.000001, tolerance);
    EXPECT_NEAR(to_doubles(b.gradient())[1], -4 / 5.000001, tolerance);
    EXPECT_EQ(error_of([&] { clip_gradient_norm(*parameters, -1); }).code(), Code::invalid);
    parameters->zero_gradients();
    EXPECT_EQ(to_doubles(clip_gradient_norm(*parameters, 1)), Vector({0}));
  }
}

}  // namespace
}  // namespace mt
