// SPDX-License-Identifier: Apache-2.0
// A convolution's weight gradient whose sums have panels has the bits that it has over a padded
// copy of all images.
#include "backends/cpu/contract/windows/panel_lines.h"

#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "backends/cpu/contract/bits.h"
#include "backends/cpu/contract/contract_check.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/evaluator.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::cpu {
namespace {

struct Case {
  Shape images, weight;
  Dims stride, padding, dilation;
  Dtype dtype = Dtype::float32;
};

TEST(PanelLines, HaveTheBitsOfAPaddedCopy) {
  install_fusing_evaluator();
  const Case cases[] = {
      {{9, 4, 20, 24}, {6, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{3, 2, 50, 40}, {5, 2, 3, 5}, {1, 1}, {1, 2}, {1, 1}},  // panels within an image
      {{110, 3, 7, 7}, {17, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{30, 3, 24, 30}, {8, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {{12, 2, 20, 24}, {6, 2, 3, 3}, {1, 1}, {4, 3}, {1, 1}},  // lines of padding alone
      {{12, 2, 20, 24}, {6, 2, 3, 3}, {1, 1}, {2, 2}, {2, 2}},
      {{4, 2, 8, 12, 16}, {6, 2, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{9, 4, 20, 24}, {6, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, Dtype::float64},
      {{9, 4, 20, 24}, {6, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, Dtype::bfloat16},
  };
  for (const Case& c : cases) {
    const int axes = c.images.rank() - 2;
    const Convolution how{c.stride, c.padding, c.dilation, Dims::filled(axes, 0), 1};
    Convolution bare = how;
    bare.padding = Dims::filled(axes, 0);
    Tensor x = testing::noise(c.images, 1, c.dtype), weight = testing::noise(c.weight, 2, c.dtype);
    Dims border{0, 0};
    for (int64_t each : c.padding) border.push_back(each);
    const Tensor padded = pad(x, border, border, 0);
    for (const Tensor& t : {x, weight, padded}) evaluate(t);
    auto gradient = [&](const Tensor& of, const Convolution& convolves) {
      Tensor parameter = testing::leaf(weight);
      Tensor y = convolution(of, parameter, nullptr, convolves);
      return gradients({y}, {testing::noise(y.shape(), 3, c.dtype)}, {parameter})[0];
    };
    const auto expected = bits(gradient(padded, bare));
    for (int threads : {1, 3, 16}) {
      set_thread_count(threads);
      on_every_target([&](const char* target) {
        EXPECT_EQ(bits(gradient(x, how)), expected)
            << target << " " << to_string(c.images) << " " << threads;
      });
    }
    set_thread_count(0);
  }
}

}  // namespace
}  // namespace mt::cpu
