// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Convolution how(Dims stride, Dims padding, Dims dilation, int64_t groups = 1,
                Dims output_padding = {0, 0}) {
  return {stride, padding, dilation, output_padding, groups};
}

// The definition, as loops.
std::vector<double> by_loops(const Tensor& x, const Tensor& w, const Convolution& c) {
  std::vector<double> input = read(x), weight = read(w), result;
  const Shape &s = x.shape(), &k = w.shape();
  int64_t per_group = k[0] / c.groups;
  int64_t out[2];
  for (int i = 0; i < 2; ++i) {
    out[i] = (s[2 + i] + 2 * c.padding[i] - c.dilation[i] * (k[2 + i] - 1) - 1) / c.stride[i] + 1;
  }
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t o = 0; o < k[0]; ++o)
      for (int64_t p = 0; p < out[0]; ++p)
        for (int64_t q = 0; q < out[1]; ++q) {
          double sum = 0;
          for (int64_t i = 0; i < k[1]; ++i)
            for (int64_t t = 0; t < k[2]; ++t)
              for (int64_t u = 0; u < k[3]; ++u) {
                int64_t row = p * c.stride[0] + t * c.dilation[0] - c.padding[0];
                int64_t column = q * c.stride[1] + u * c.dilation[1] - c.padding[1];
                if (row < 0 || row >= s[2] || column < 0 || column >= s[3]) continue;
                int64_t channel = o / per_group * k[1] + i;
                sum += input[static_cast<size_t>(((n * s[1] + channel) * s[2] + row) * s[3] +
                                                 column)] *
                       weight[static_cast<size_t>(((o * k[1] + i) * k[2] + t) * k[3] + u)];
              }
          result.push_back(sum);
        }
  return result;
}

struct Case {
  Shape x, w;
  Convolution c;
};
const Case cases[] = {
    {{2, 3, 5, 6}, {4, 3, 3, 3}, how({1, 1}, {0, 0}, {1, 1})},
    {{2, 3, 5, 6}, {4, 3, 3, 2}, how({1, 1}, {1, 2}, {1, 1})},
    {{1, 2, 7, 8}, {3, 2, 3, 3}, how({2, 3}, {1, 1}, {1, 1})},
    {{2, 2, 7, 8}, {3, 2, 2, 3}, how({2, 1}, {2, 0}, {3, 2})},
    {{2, 4, 5, 5}, {6, 2, 3, 3}, how({2, 2}, {1, 1}, {1, 1}, 2)},
    {{2, 3, 4, 4}, {3, 1, 3, 3}, how({1, 1}, {1, 1}, {1, 1}, 3)},
    {{1, 1, 4, 4}, {1, 1, 1, 1}, how({2, 2}, {3, 3}, {1, 1})},
    {{1, 1, 1, 1}, {2, 1, 1, 1}, how({1, 1}, {0, 0}, {1, 1})},
    {{1, 2, 6, 5}, {2, 2, 3, 3}, how({2, 3}, {7, 5}, {1, 1})},
    {{1, 2, 9, 8}, {2, 2, 3, 3}, how({3, 2}, {4, 5}, {2, 3})},
    {{1, 1, 5, 6}, {2, 1, 3, 4}, how({1 << 30, 9}, {2, 0}, {1, 1})},
    {{2, 1, 9, 8}, {2, 1, 7, 4}, how({2, 2}, {3, 1}, {1, 2})},
    // Sums of so many terms that few outputs, or channels of x, are not computed alone.
    {{2, 8, 4, 3}, {3, 8, 3, 3}, how({1, 1}, {1, 1}, {1, 1})},
    {{1, 2, 4, 5}, {9, 2, 3, 3}, how({1, 1}, {1, 1}, {1, 1})},
    {{1, 1, 7, 6}, {18, 1, 4, 4}, how({2, 2}, {1, 2}, {1, 1})},
    // To so many channels phase by phase: as many taps for each or not, or one more position, or
    // none; padding on a side that y does not reach; and a kernel that reaches a single phase.
    {{2, 32, 5, 4}, {2, 32, 3, 3}, how({2, 2}, {1, 1}, {1, 1})},
    {{1, 32, 7, 6}, {2, 32, 2, 5}, how({3, 2}, {0, 4}, {1, 1})},
    {{1, 64, 8, 5}, {2, 32, 4, 3}, how({2, 2}, {1, 1}, {1, 1}, 2)},
    {{1, 32, 3, 2}, {1, 32, 4, 3}, how({5, 3}, {1, 2}, {1, 1})},
    {{1, 32, 9, 4}, {1, 32, 7, 1}, how({3, 2}, {3, 1}, {1, 1})},
    {{1, 16, 10, 9}, {1, 16, 3, 3}, how({2, 2}, {1, 1}, {1, 1})},
    {{2, 2, 4, 5}, {3, 2, 1, 1}, how({2, 3}, {1, 2}, {1, 1})},
    {{1, 1, 2, 1}, {1, 1, 1, 1}, how({4, 4}, {1, 2}, {1, 1})},
};

TEST(Convolution, EqualsItsDefinition) {
  for (const Case& c : cases) {
    Tensor x = noise(c.x, 1), w = noise(c.w, 2);
    expect_near(convolution(x, w, nullptr, c.c), by_loops(x, w, c.c));
  }
}

TEST(Convolution, GradientsOfBothOrders) {
  for (const Case& c : cases) {
    check_gradients(
        [&](const std::vector<Tensor>& t) { return convolution(t[0], t[1], t[2], c.c); },
        {noise(c.x, 1), noise(c.w, 2), noise({c.w[0]}, 3)}, 2);
    if (HasFailure()) return;
  }
}

// Padding that only a convolution reads is made where it is read; what it is made from may be an
// intermediate value, or be read by others too.
TEST(Convolution, PaddingOfIntermediateValues) {
  const Convolution same = how({1, 1}, {1, 1}, {1, 1}), each = how({1, 1}, {1, 1}, {1, 1}, 6);
  check_devices(
      [&](const std::vector<Tensor>& t) {
        Tensor y = relu(convolution(t[0], t[1], nullptr, same));
        Tensor z = convolution(convolution(y, t[2], nullptr, same), t[3], nullptr, each);
        return z * 2.0 + convolution(y, t[1], nullptr, same) + tanh(y);
      },
      {{5, 6, 20, 22}, {6, 6, 3, 3}, {6, 6, 3, 3}, {6, 1, 3, 3}});
  // Channels for themselves, whose weights' gradients sum over images.
  check_devices(
      [&](const std::vector<Tensor>& t) {
        return convolution(t[0], t[1], nullptr, how({1, 1}, {1, 2}, {1, 1}, 12));
      },
      {{7, 24, 14, 19}, {24, 2, 3, 3}});
  // So many images and tiles that threads share them, and a view as the input.
  check_devices(
      [&](const std::vector<Tensor>& t) {
        Tensor view = flip(permute(t[0], {0, 1, 3, 2}), {0, 2});
        return convolution(view, t[1], nullptr, how({1, 1}, {2, 1}, {1, 1}));
      },
      {{6, 16, 40, 42}, {24, 16, 3, 3}}, Dtype::float32, 1e-4);
  check_devices(
      [&](const std::vector<Tensor>& t) {
        return convolution_transpose(t[0], t[1], nullptr, how({2, 2}, {1, 1}, {1, 1}, 1, {1, 1}));
      },
      {{3, 8, 12, 12}, {8, 5, 3, 3}});
}

// Against the definition, and on each device. A gradient times any direction is what the direction
// alone, taken for its operand, gives.
void check_images(const Tensor& x, const Tensor& w, const Convolution& c) {
  const Tensor y = convolution(x, w, nullptr, c);
  expect_near(y, by_loops(x, w, c), 1e-11);
  const Tensor dy = noise(y.shape(), 3), dx = noise(x.shape(), 4), dw = noise(w.shape(), 5);
  const Tensor leaves[] = {leaf(x), leaf(w)};
  const auto found =
      gradients({convolution(leaves[0], leaves[1], nullptr, c)}, {dy}, {leaves[0], leaves[1]});
  const double along_x = read(sum(convolution(dx, w, nullptr, c) * dy))[0];
  const double along_w = read(sum(convolution(x, dw, nullptr, c) * dy))[0];
  EXPECT_NEAR(read(sum(found[0] * dx))[0], along_x, 1e-9);
  EXPECT_NEAR(read(sum(found[1] * dw))[0], along_w, 1e-9);
  check_devices(
      [&](const std::vector<Tensor>& t) { return relu(convolution(t[0], t[1], t[2], c)); },
      {x.shape(), w.shape(), {w.shape()[0]}}, Dtype::float32, 1e-4);
}

// With so large a weight all images are columns of one product.
TEST(Convolution, SmallImagesTogether) {
  for (const Convolution& c :
       {how({1, 1}, {1, 1}, {1, 1}), how({2, 2}, {1, 0}, {1, 1}), how({1, 2}, {2, 2}, {2, 1}, 2)}) {
    const Tensor x = noise({3, 128 * c.groups, 5, 4}, 1);
    const Tensor w = noise({256 * c.groups, 128, 3, 3}, 2);
    check_images(x, w, c);
  }
  const Convolution c = how({2, 1}, {1, 1}, {1, 1}, 1, {1, 0});
  const Tensor y = noise({4, 256, 3, 4}, 1), w = noise({256, 256, 3, 3}, 2);
  const Tensor leaves[] = {leaf(y), leaf(w)};
  const Tensor x = convolution_transpose(leaves[0], leaves[1], nullptr, c);
  const Tensor dx = noise(x.shape(), 3), dy = noise(y.shape(), 4), dw = noise(w.shape(), 5);
  const auto found = gradients({x}, {dx}, {leaves[0], leaves[1]});
  for (int64_t i = 0; i < 4; ++i) {  // one image is not
    const Tensor one = convolution_transpose(slice(y, 0, i, 1, 1), w, nullptr, c);
    expect_near(slice(x, 0, i, 1, 1), read(one), 1e-11);
  }
  EXPECT_NEAR(read(sum(found[0] * dy))[0],
              read(sum(convolution_transpose(dy, w, nullptr, c) * dx))[0], 1e-9);
  EXPECT_NEAR(read(sum(found[1] * dw))[0],
              read(sum(convolution_transpose(y, dw, nullptr, c) * dx))[0], 1e-9);
}

// Of kernels of one element smaller weights do, if positions leave much of vectors empty.
TEST(Convolution, SmallImagesOfPointsTogether) {
  for (const Convolution& c : {how({1, 1}, {0, 0}, {1, 1}), how({2, 2}, {0, 0}, {1, 1})}) {
    check_images(noise({5, 256, 7, 7}, 1), noise({320, 256, 1, 1}, 2), c);
  }
}

// A row of weights for each channel: windows of any size and steps, of which lines have few
// elements or many, with as much around the image as a window has, or nothing, or more.
TEST(Convolution, ChannelByChannel) {
  struct Windows {
    Dims image, kernel, stride, padding;
  };
  for (const Windows& w : {Windows{{28, 28}, {3, 3}, {2, 2}, {1, 1}},
                           {{9, 7}, {5, 5}, {1, 1}, {2, 2}},
                           {{14, 14}, {7, 7}, {1, 1}, {3, 3}},
                           {{7, 41}, {3, 5}, {2, 2}, {1, 2}},
                           {{13, 33}, {5, 3}, {1, 2}, {0, 0}},
                           {{12, 70}, {4, 6}, {3, 3}, {2, 5}},
                           {{5, 5}, {3, 3}, {1, 1}, {1, 1}},
                           {{4, 3}, {3, 3}, {1, 1}, {4, 3}},
                           {{2, 2}, {2, 2}, {2, 1}, {0, 1}},
                           {{40, 2}, {7, 2}, {7, 1}, {3, 0}},
                           {{1, 90}, {3, 21}, {1, 4}, {1, 9}}}) {
    const Convolution c{w.stride, w.padding, {1, 1}, {0, 0}, 6};
    for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_devices(
          [&](const std::vector<Tensor>& t) { return relu(convolution(t[0], t[1], t[2], c)); },
          {{3, 6, w.image[0], w.image[1]}, {6, 1, w.kernel[0], w.kernel[1]}, {6}}, dtype,
          dtype == Dtype::float32 ? 1e-4 : 1e-12);
    }
    Tensor x = noise({2, 6, w.image[0], w.image[1]}, 1);
    Tensor k = noise({6, 1, w.kernel[0], w.kernel[1]}, 2);
    Tensor y = convolution(cast(x, Dtype::float32), cast(k, Dtype::float32), nullptr, c);
    expect_near(cast(y, Dtype::float64), by_loops(x, k, c), 1e-4);
    if (HasFailure()) return;
  }
}

TEST(Convolution, DevicesAgree) {
  for (const Case& c : cases) {
    check_devices(
        [&](const std::vector<Tensor>& t) { return relu(convolution(t[0], t[1], t[2], c.c)); },
        {c.x, c.w, {c.w[0]}});
    check_devices(
        [&](const std::vector<Tensor>& t) { return convolution(t[0], t[1], nullptr, c.c); },
        {c.x, c.w}, Dtype::bfloat16, 0.05);
  }
}

// Though there are others beside them that are computed.
TEST(Convolution, FewOutputsKeepNoOthers) {
  Tensor x = noise({2, 8, 6, 7}, 1), w = noise({3, 8, 3, 3}, 2), back = noise({9, 2, 3, 3}, 3);
  const Convolution same = how({1, 1}, {1, 1}, {1, 1});
  for (const Tensor& y : {convolution(x, w, nullptr, same),
                          convolution_transpose(noise({2, 9, 6, 7}, 4), back, nullptr, same)}) {
    evaluate(y);
    EXPECT_EQ(y->storage->bytes(), static_cast<size_t>(y->bytes()));
  }
}

TEST(Convolution, OneAxis) {
  Tensor x = make({1, 1, 5}, {1, 2, 3, 4, 5}), w = make({1, 1, 2}, {1, 10});
  Convolution c{{1}, {1}, {1}, {0}, 1};
  expect_near(convolution(x, w, make({1}, {100}), c), {110, 121, 132, 143, 154, 105});
  expect_near(convolution_transpose(make({1, 1, 2}, {1, 2}), w, nullptr, {{2}, {0}, {1}, {0}, 1}),
              {1, 10, 2, 20});
}

// The transposed convolution is the gradient of the convolution to its input.
TEST(Convolution, PaddingThatKeepsTheSize) {
  Convolution same = how({1, 1}, {5, 5}, {2, 1}), halves = how({1, 1}, {2, 1}, {2, 1});
  same.same = true;
  Tensor x = noise({2, 3, 5, 6}, 1), w = noise({4, 3, 3, 3}, 2), even = noise({4, 3, 3, 4}, 3);
  expect_near(convolution(x, w, {}, same), by_loops(x, w, halves));
  Tensor longer = concat({x, full({2, 3, 5, 1}, 0, Dtype::float64, x.device())}, -1);
  Tensor y = convolution(x, even, {}, same);
  EXPECT_EQ(y.shape(), (Shape{2, 4, 5, 6}));
  expect_near(y, by_loops(longer, even, halves));
  Function f = [&](const std::vector<Tensor>& in) {
    return convolution(in[0], in[1], in[2], same);
  };
  check_gradients(f, {noise({1, 2, 3, 4}, 4), noise({2, 2, 2, 4}, 5), noise({2}, 6)}, 2);
  check_devices(f, {{2, 3, 5, 6}, {4, 3, 2, 4}, {4}});
  EXPECT_EQ(message_of([&] { convolution_transpose(x, w, {}, same); }),
            "conv_transpose2d: no padding keeps the size");
  same.stride[1] = 2;
  EXPECT_EQ(message_of([&] { convolution(x, w, {}, same); }),
            "conv2d: padding that keeps the size needs stride 1, got [1,2]");
}

TEST(Convolution, TransposeIsTheGradient) {
  for (const Case& c : cases) {
    Tensor x = noise(c.x, 1), w = noise(c.w, 2);
    Tensor y = convolution(x, w, nullptr, c.c);
    Convolution back = c.c;
    for (int i = 0; i < 2; ++i) {
      int64_t reached = (y.shape()[2 + i] - 1) * c.c.stride[i] - 2 * c.c.padding[i] +
                        c.c.dilation[i] * (c.w[2 + i] - 1) + 1;
      back.output_padding[i] = c.x[2 + i] - reached;
    }
    Tensor dy = noise(y.shape(), 5);
    // <convolution(x), dy> = <x, transpose(dy)>
    Tensor transposed = convolution_transpose(dy, w, nullptr, back);
    ASSERT_EQ(to_string(transposed.shape()), to_string(c.x));
    EXPECT_NEAR(read(sum(y * dy))[0], read(sum(x * transposed))[0], 1e-10);
  }
}

TEST(Convolution, TransposeGradients) {
  for (Convolution c : {how({2, 1}, {1, 0}, {1, 2}, 1, {1, 0}), how({2, 3}, {0, 1}, {1, 1}, 2),
                        how({1, 2}, {0, 0}, {2, 3}, 1, {1, 2})}) {
    check_gradients(
        [&](const std::vector<Tensor>& t) { return convolution_transpose(t[0], t[1], t[2], c); },
        {noise({2, 4, 3, 2}, 1), noise({4, 2, 2, 3}, 2), noise({2 * c.groups}, 3)}, 2);
    check_devices(
        [&](const std::vector<Tensor>& t) { return convolution_transpose(t[0], t[1], t[2], c); },
        {{2, 4, 3, 2}, {4, 2, 2, 3}, {2 * c.groups}});
  }
}

TEST(Convolution, StridedAndEmptyInputs) {
  Convolution c = how({1, 1}, {1, 1}, {1, 1});
  Tensor x = noise({5, 6, 2, 3}, 1), w = noise({3, 3, 3, 2}, 2);
  Tensor view = permute(x, {2, 3, 0, 1}), turned = permute(w, {2, 1, 0, 3});
  expect_near(convolution(view, turned, nullptr, c), by_loops(copy(view), copy(turned), c));
  Tensor none = convolution(noise({0, 3, 4, 4}, 1), noise({2, 3, 3, 3}, 2), nullptr, c);
  EXPECT_EQ(to_string(none.shape()), "[0,2,4,4]");
  EXPECT_TRUE(read(none).empty());
  // All there is of an axis is padding.
  for (const Shape& shape : {Shape{1, 2, 0, 4}, {1, 2, 3, 0}, {0, 2, 0, 3}, {1, 2, 0, 0}}) {
    check_gradients([&](const std::vector<Tensor>& t) { return convolution(t[0], t[1], t[2], c); },
                    {noise(shape, 1), noise({2, 2, 2, 2}, 2), noise({2}, 3)});
  }
}

TEST(Convolution, NamesFaults) {
  Convolution c = how({1, 1}, {0, 0}, {1, 1});
  EXPECT_EQ(message_of([&] {
              convolution(noise({1, 3, 2, 2}, 1), noise({1, 3, 3, 3}, 2), nullptr, c);
            }),
            "conv2d: [1,3,2,2] with weight [1,3,3,3], padding [0,0], dilation [1,1]: the kernel is "
            "larger than the padded input");
  EXPECT_EQ(
      message_of([&] {
        convolution(noise({1, 2, 4, 4}, 1), noise({1, 3, 3, 3}, 2), nullptr, c);
      }),
      "conv2d: [1,2,4,4] with weight [1,3,3,3] in 1 groups: weight must be [out, in / groups, "
      "...]");
  EXPECT_EQ(message_of([&] {
              convolution(noise({1, 4, 4}, 1), noise({1, 3, 3, 3}, 2), nullptr, c);
            }),
            "conv2d: [1,4,4] with weight [1,3,3,3]: both need 4 dimensions");
  c.output_padding = {1, 0};
  EXPECT_EQ(message_of([&] {
              convolution_transpose(noise({1, 1, 4, 4}, 1), noise({1, 3, 3, 3}, 2), nullptr, c);
            }),
            "conv_transpose2d: output_padding 1 must be less than stride 1 or dilation 1");
}

TEST(Convolution, SizesThatOverflow) {
  constexpr int64_t far = int64_t{1} << 31, long_axis = int64_t{1} << 40;
  Tensor one = noise({1, 1, 1}, 1), endless = expand(one, {1, 1, long_axis});
  Convolution c = how({far}, {0}, {far});
  EXPECT_EQ(message_of([&] { convolution_transpose(endless, one, nullptr, c); }),
            "conv_transpose1d: 1099511627775 steps of 2147483648 are too long for an axis");
  EXPECT_EQ(message_of([&] { convolution_transpose(one, endless, nullptr, c); }),
            "conv_transpose1d: 1099511627775 steps of 2147483648 are too long for an axis");
  EXPECT_EQ(message_of([&] { convolution(endless, endless, nullptr, c); }),
            "conv1d: 1099511627775 steps of 2147483648 are too long for an axis");
}

}  // namespace
}  // namespace mt::testing
