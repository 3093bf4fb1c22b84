// SPDX-License-Identifier: Apache-2.0
// Operands that go on evenly over some rows, or pieces of a row, give the bits that their copies
// do.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

std::vector<char> bits(const Tensor& x) {
  Tensor whole = copy(x);
  evaluate(whole);
  auto* data = static_cast<const char*>(whole->data());
  return {data, data + whole->bytes()};
}

using Expression = std::function<Tensor(const Tensor& x, const Tensor& w, const Tensor& b)>;
const Expression expressions[] = {
    [](const Tensor& x, const Tensor& w, const Tensor& b) { return relu(x * w + b); },
    [](const Tensor& x, const Tensor& w, const Tensor& b) { return where(less(w, b), x, w - x); },
    [](const Tensor& x, const Tensor& w, const Tensor& b) {  // a row of several channels
      Tensor deviation = x - mean(x, {2, 3, 4}, true);
      return deviation * rsqrt(mean(square(deviation), {2, 3, 4}, true)) * w + b;
    },
    [](const Tensor& x, const Tensor& w, const Tensor&) {
      return sum(x * w, {2, 3, 4});
    },
    [](const Tensor& x, const Tensor& w, const Tensor&) {
      return sum(where(less(x, w), x, w), {4});
    },
    [](const Tensor& x, const Tensor& w, const Tensor& b) {  // beside sums over all rows
      Tensor y = x - mean(x, {2, 3, 4}, true);
      return sum(y * w, {0}) + sum(y * b, {0});
    },
};

Tensor evaluated(const Tensor& x) {
  evaluate(x);
  return x;
}

// Of images in groups of channels: a number for each channel, for each place, or for each row of
// each image, a part of another image, and one image for all.
void check(int64_t height, int64_t width) {
  const Shape shape{3, 2, 6, height, width};
  const Tensor x = evaluated(noise(shape, 1, Dtype::float32));
  const Tensor larger = evaluated(noise({3, 2, 6, height + 1, width}, 5, Dtype::float32));
  const std::vector<Tensor> operands = {
      expand(evaluated(noise({2, 6, 1, 1}, 2, Dtype::float32)), shape),
      expand(evaluated(noise({height, width}, 3, Dtype::float32)), shape),
      expand(evaluated(noise({3, 1, 6, height, 1}, 4, Dtype::float32)), shape),
      slice(larger, 3, 1, height, 1),
      expand(evaluated(noise({2, 6, height, width}, 6, Dtype::float32)), shape),
  };
  for (const Tensor& w : operands) {
    for (const Tensor& b : operands) {
      const Tensor whole_w = evaluated(copy(w)), whole_b = evaluated(copy(b));
      for (const Expression& expression : expressions) {
        for (int threads : {1, 3}) {
          cpu::set_thread_count(threads);
          ASSERT_EQ(bits(expression(x, w, b)), bits(expression(x, whole_w, whole_b)))
              << height << " x " << width << ", expression " << &expression - expressions;
        }
      }
    }
  }
  cpu::set_thread_count(0);
}

TEST(Pieces, HaveTheBitsOfCopies) {
  cpu::for_each_instruction_set([] {
    for (auto [height, width] :
         {std::pair<int64_t, int64_t>{28, 28}, {7, 40}, {56, 48}, {13, 13}, {2, 600}}) {
      check(height, width);
    }
  });
}

}  // namespace
}  // namespace mt::testing
