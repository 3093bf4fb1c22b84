// SPDX-License-Identifier: Apache-2.0
// Windows, and what adds them up again.
#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(fold, every_way_of_running_agrees) {
  for (Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
    for (int64_t step : {1, 2, 3}) {
      for (int64_t dilation : {1, 2}) {
        for (int axis : {0, 1, 2}) {
          Shape shape{12, 13, 14};
          everywhere([&](const Make& given) {
            Shape windows = shape;
            windows[axis] = (shape[axis] - 2 * dilation - 1) / step + 1;
            windows.push_back(3);
            Numbers values = scattered(element_count(windows), 9);
            return fold(given(windows, values, dtype), shape, axis, step, dilation);
          });
        }
      }
    }
    everywhere([&](const Make& given) {  // longer than one chunk of sums
      return fold(given({2, 1500, 5}, scattered(2 * 1500 * 5, 9), dtype), {2, 3003}, 1, 2, 1);
    });
  }
}

TEST(fold, of_what_repeats_is_as_if_it_did_not) {
  const Numbers values = scattered(2 * 5 * 3, 9);
  const auto folded = [](const Tensor& windows) { return fold(windows, {2, 4, 11}, 2, 2, 1); };
  everywhere([&](const Make& given) {
    return folded(expand(given({2, 1, 5, 3}, values, Dtype::float32), {2, 4, 5, 3}));
  });
  const Tensor repeated = expand(make({2, 1, 5, 3}, values), {2, 4, 5, 3});
  EXPECT_EQ(read(folded(repeated)), read(folded(copy(repeated))));
  check_gradient(make({2, 1, 5, 3}, values), [&](const Tensor& x) {
    return folded(expand(x, {2, 4, 5, 3}));
  });
  // Each repetition has a gradient of its own.
  const auto gradient = [&](const Tensor& at) {
    const Tensor x = leaf(at);
    return read(gradients({sum(folded(x) * noise({2, 4, 11}, 3))}, {}, {x})[0]);
  };
  EXPECT_EQ(gradient(repeated), gradient(copy(repeated)));
}

TEST(window, gradients) {
  const Numbers at_x = scattered(12, 9);
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return window(x, 1, 2, 2, 1); });
  check_gradient(make({3, 4}, at_x),
                 [](const Tensor& x) { return window(window(x, 1, 2, 1, 2), 0, 2, 1, 1); });
}

}  // namespace
}  // namespace mt::testing
