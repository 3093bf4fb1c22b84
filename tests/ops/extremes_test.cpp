// SPDX-License-Identifier: Apache-2.0
// The gradient of the extremes of windows, which has a pass of its own.
#include "ops/extremes.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "autodiff/backward.h"
#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

std::vector<uint32_t> bits(const Tensor& x) {
  Tensor whole = copy(x);
  evaluate(whole);
  std::vector<uint32_t> result(static_cast<size_t>(whole.size()));
  std::memcpy(result.data(), whole->data(), result.size() * sizeof(uint32_t));
  return result;
}

// Few different numbers, so that many windows have several extremes.
Tensor steps(const Shape& shape, unsigned seed, Device& device = cpu()) {
  Tensor x = noise(shape, seed, Dtype::float32, device);
  return trunc(x * 4.0);
}

Tensor shared(const Tensor& x, const Tensor& dy, const Dims& axes) {
  return share_among_extremes(x, max(x, axes), dy, axes);
}

TEST(Extremes, WindowsOfEveryWidthHaveTheNaiveBits) {
  cpu::for_each_instruction_set([] {
    for (int64_t wide : {2, 3, 4}) {
      for (int64_t high : {1, 2, 4}) {
        for (int64_t columns : {1, 5, 14, 16, 31, 33, 300, 521}) {
          const Shape shape{2, 3, 5, high, columns, wide};
          std::vector<uint32_t> found[2];
          for (Device* device : {&cpu(), &reference()}) {
            Tensor x = steps(shape, 1, *device);
            Tensor dy = noise({2, 3, 5, columns}, 2, Dtype::float32, *device);
            Tensor dx = shared(x, dy, {3, 5});
            EXPECT_STREQ(dx->op->name, "share_among_extremes");
            found[device == &reference()] = bits(dx);
          }
          ASSERT_EQ(found[0], found[1]) << high << " x " << wide << ", " << columns;
        }
      }
    }
  });
}

TEST(Extremes, OperandsMayLieAnyhow) {
  Tensor x = steps({4, 12, 9, 40}, 1), dy = noise({5, 6, 4, 12}, 2, Dtype::float32);
  Tensor cut = slice(slice(x, 2, 0, 8, 1), 3, 1, 36, 1);
  Tensor windows = reshape(cut, {4, 12, 4, 2, 18, 2});
  Tensor lines = expand(reshape(noise({4}, 3, Dtype::float32), {1, 1, 4, 1}), {4, 12, 4, 18});
  Tensor turned = permute(reshape(x, {4, 12, 3, 3, 10, 4}), {0, 1, 5, 3, 4, 2});
  Tensor other = permute(noise({10, 4, 12, 4}, 4, Dtype::float32), {1, 2, 3, 0});
  EXPECT_EQ(bits(shared(windows, lines, {3, 5})), bits(shared(copy(windows), copy(lines), {3, 5})));
  EXPECT_EQ(bits(shared(turned, other, {3, 5})), bits(shared(copy(turned), copy(other), {3, 5})));
  // Short lines that lie apart, and such of which only pairs do.
  for (int64_t columns : {3, 10, 15}) {
    Tensor far = slice(steps({3, 2, 8, 2 * columns + 3}, 8), 3, 1, 2 * columns, 1);
    Tensor pairs = slice(steps({3, 2, 12, 2 * columns}, 9), 2, 2, 8, 1);
    Tensor of = noise({3, 2, 4, columns}, 10, Dtype::float32);
    for (Tensor some : {far, pairs}) {
      Tensor at = reshape(some, {3, 2, 4, 2, columns, 2});
      EXPECT_EQ(bits(shared(at, of, {3, 5})), bits(shared(copy(at), of, {3, 5}))) << columns;
    }
  }
  // Lines that are gone through in stretches, of more windows than divide evenly.
  Tensor wide = steps({2, 3, 2, 2, 963, 2}, 5);
  Tensor same = expand(make({}, {0.3}, Dtype::float32), {2, 3, 2, 963});
  EXPECT_EQ(bits(shared(wide, same, {3, 5})), bits(shared(copy(wide), copy(same), {3, 5})));
  for (int64_t columns : {3, 18, 963}) {
    Tensor channels_last = permute(steps({2, 4, 2, columns, 2, 3}, 6), {0, 5, 1, 2, 3, 4});
    Tensor of = noise({2, 3, 4, columns}, 7, Dtype::float32);
    EXPECT_EQ(bits(shared(channels_last, of, {3, 5})),
              bits(shared(copy(channels_last), of, {3, 5})))
        << columns;
  }
}

TEST(Extremes, NobodySharesWhatANaNHas) {
  const double nan = std::nan(""), endless = std::numeric_limits<double>::infinity();
  const Shape shape{1, 2, 1, 2, 2, 2};
  Tensor x = make(shape, {1, nan, 3, 3, 0, 1, 2, 2, endless, 1, -0.0, 0, endless, 1, -1, -2},
                  Dtype::float32);
  Tensor dy = make({1, 2, 1, 2}, {1, 2, endless, 4}, Dtype::float32);
  const std::vector<double> expected = {0, 0, 1, 1, 0, 0, 0, 0, endless, 0, 2, 2, endless, 0, 0, 0};
  std::vector<double> found = read(shared(x, dy, {3, 5}));
  EXPECT_EQ(found, expected);
  // The same for a reduction that is no pass of its own.
  EXPECT_EQ(read(shared(cast(x, Dtype::float64), cast(dy, Dtype::float64), {3, 5})), expected);
}

// What relu passes on is taken before it is shared, which no bit tells, nor does asking for what is
// shared itself.
TEST(Extremes, ReluBeforePoolingPassesOnTheSameBits) {
  const Pooling tiles{{2, 2}, {2, 2}, {0, 0}, {1, 1}};
  Tensor dy = noise({3, 4, 5, 7}, 2, Dtype::float32);
  auto gradient = [&](bool computed, bool asked) {
    Tensor x = leaf(steps({3, 4, 10, 14}, 1));
    Tensor z = relu(x), y = max_pool(z, tiles);
    if (computed) {
      Tensor of_z = gradients({y}, {dy}, {z})[0];
      evaluate(of_z);
      return bits(
          where(greater(z, make({}, {0}, Dtype::float32)), of_z, make({}, {0}, Dtype::float32)));
    }
    std::vector<Tensor> both = gradients({y}, {dy}, asked ? std::vector{x, z} : std::vector{x});
    if (asked) {
      EXPECT_EQ(bits(both[1]), bits(gradients({y}, {dy}, {z})[0]));
    }
    return bits(both[0]);
  };
  EXPECT_EQ(gradient(false, false), gradient(true, false));
  EXPECT_EQ(gradient(false, true), gradient(true, false));
  Tensor x = leaf(steps({3, 4, 10, 14}, 1));
  evaluate(x);
  Tensor z = relu(x), y = max_pool(z, tiles);
  evaluate(z);
  evaluate(y);
  // Only what is kept of dy, and the pass.
  EXPECT_EQ(group_count(gradients({y}, {dy}, {x})[0]), 2);
}

TEST(Extremes, GradientsAndDevices) {
  const Pooling tiles{{2, 3}, {2, 3}, {0, 0}, {1, 1}};
  Function f = [&](const std::vector<Tensor>& t) { return max_pool(relu(t[0]), tiles); };
  check_devices(f, {{2, 3, 4, 9}});
  check_gradients(f, {noise({2, 4, 9}, 1)}, 2);
  // Of the pass itself, which float64 has none of: linear in what is shared.
  Tensor x = steps({2, 4, 2, 6, 2}, 1), dy = leaf(noise({2, 4, 6}, 2, Dtype::float32));
  Tensor dx = shared(x, dy, {2, 4}), weights = noise(x.shape(), 3, Dtype::float32);
  Tensor found = gradients({dx}, {weights}, {dy})[0];
  Tensor chosen = cast(equal(x, max(x, {2, 4}, true)), Dtype::float32);
  Tensor expected = sum(chosen * weights, {2, 4}) / sum(chosen, {2, 4});
  expect_near(found, read(expected), 1e-6);
}

}  // namespace
}  // namespace mt::testing
