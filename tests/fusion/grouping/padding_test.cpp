// SPDX-License-Identifier: Apache-2.0
// Padding that an element-wise group reads is made in its registers, with the bits of a padded
// copy.
#include <gtest/gtest.h>

#include <string>

#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/explain.h"
#include "fusion/planned.h"
#include "fusion/support.h"
#include "graph/modes.h"

namespace mt::testing {
namespace {

Tensor stored(const Tensor& x) {
  evaluate(x);
  return x;
}

// Groups of a plan that call a kernel of their own.
int calls(const Plan& plan) {
  int count = 0;
  for (const Group& group : plan.groups) count += group.kind() == GroupKind::call;
  return count;
}

struct Widths {
  Shape shape;
  Dims before, after;
  Shape padded() const {
    Shape result = shape;
    for (int d = 0; d < shape.rank(); ++d) result[d] += before[d] + after[d];
    return result;
  }
};
const Widths all_widths[] = {
    {{5}, {2}, {0}},
    {{3000}, {1500}, {7}},
    {{40, 30}, {0, 1}, {0, 0}},
    {{40, 30}, {3, 0}, {2, 0}},
    {{1, 70}, {9, 5}, {9, 3000}},
    {{2, 3, 17, 19}, {0, 0, 1, 2}, {0, 0, 2, 1}},
    {{2, 3, 17, 19}, {1, 0, 0, 3}, {0, 4, 0, 0}},
    {{3, 4, 33, 65}, {0, 0, 1, 0}, {0, 0, 0, 0}},
};

template <class Make>
void expect_bits_of_stored(const Tensor& x, const Widths& widths, double fill, Make&& make) {
  const auto padded = [&] { return pad(x, widths.before, widths.after, fill); };
  const Value expected = value_of(make(stored(padded())));
  for (int threads : {1, 2, 3}) {
    cpu::set_thread_count(threads);
    const Tensor y = make(padded());
    EXPECT_EQ(value_of(y), expected) << "threads: " << threads;
  }
  cpu::set_thread_count(0);
  const Tensor y = make(padded());
  EXPECT_EQ(calls(planned(y)), 0);
  evaluate(y);
}

TEST(PaddingInGroups, HasTheBitsOfAPaddedCopy) {
  install_fusing_evaluator();
  for (const Widths& widths : all_widths) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int64, Dtype::int8,
                        Dtype::uint16}) {
      SCOPED_TRACE(name_of(dtype) + (" " + to_string(widths.shape)));
      const Tensor x = stored(cast(random_leaf(widths.shape, 1) * 9.0, dtype));
      const Tensor other = stored(cast(random_leaf(widths.padded(), 2) * 9.0, dtype));
      for (double fill : {0.0, 3.0}) {
        expect_bits_of_stored(x, widths, fill, [&](const Tensor& y) { return y * other + y; });
      }
    }
    const Tensor x = stored(greater(random_leaf(widths.shape, 1), number(0, find_device("cpu"))));
    const Tensor a = random_leaf(widths.padded(), 2), b = random_leaf(widths.padded(), 3);
    expect_bits_of_stored(x, widths, 1, [&](const Tensor& y) { return where(y, a, b); });
  }
}

TEST(PaddingInGroups, ReadsWhatLiesInAnyOrder) {
  install_fusing_evaluator();
  const Tensor whole = random_leaf({50, 40}, 1), row = random_leaf({40}, 2);
  const Tensor other = random_leaf({43, 51}, 3), bias = random_leaf({51}, 4);
  const Widths widths{{40, 50}, {1, 0}, {2, 1}};
  const auto used = [&](const Tensor& y) { return relu(y + bias) - other; };
  expect_bits_of_stored(transpose(whole), widths, 0, used);
  expect_bits_of_stored(flip(transpose(whole), {0, 1}), widths, 0, used);
  expect_bits_of_stored(expand(reshape(row, {40, 1}), {40, 50}), widths, 2, used);
  expect_bits_of_stored(expand(random_leaf({}, 6), {40, 50}), widths, 2, used);
  expect_bits_of_stored(slice(random_leaf({40, 100}, 5), 1, 0, 50, 2), widths, 0, used);
}

// Of what `make` returns, computed in eager mode.
template <class Make>
Value eager_value(Make&& make) {
  set_eager_mode(true);
  const Value result = value_of(make());
  set_eager_mode(false);
  return result;
}

// What is added up where a tensor was read in several parts.
TEST(PaddingInGroups, ServesTheGradientsOfSlices) {
  install_fusing_evaluator();
  const Tensor x = parameter({300, 7}, 1);
  const auto gradient = [&] {
    const auto part = [&](int64_t start) { return slice(x, 0, start, 298, 1); };
    const Tensor y = part(0) * 2 + part(2) * part(1);
    const Tensor loss = sum(y * y);
    GradientMode mode(false);
    return gradients({loss}, {}, {x})[0];
  };
  const Tensor y = gradient();
  EXPECT_EQ(calls(planned(y)), 0) << explain(y);
  EXPECT_EQ(value_of(y), eager_value(gradient));
}

// Each of which is one number.
TEST(PaddingInGroups, ServesTheGradientsOfSums) {
  install_fusing_evaluator();
  const Tensor x = parameter({6, 5}, 1), scale = random_leaf({}, 2);
  const auto gradient = [&] {
    const Tensor loss = sum(slice(x, 0, 1, 3, 1)) * scale + sum(slice(x, 0, 2, 4, 1));
    GradientMode mode(false);
    return gradients({loss}, {}, {x})[0];
  };
  const Tensor y = gradient();
  EXPECT_EQ(value_of(y), eager_value(gradient));
}

// Many of one kind are one group, each with margins of its own.
TEST(PaddingInGroups, MayDifferBetweenTheSegmentsOfAGroup) {
  install_fusing_evaluator();
  const Tensor other = random_leaf({41, 6}, 2);
  std::vector<Tensor> leaves;
  for (int i = 0; i < 20; ++i) leaves.push_back(random_leaf({20 + i % 10, 5}, 10 + uint64_t(i)));
  const auto all = [&] {
    std::vector<Tensor> results;
    for (int i = 0; i < 20; ++i) {
      const Tensor y = pad(leaves[i], {i / 2, i % 2}, {21 - i % 10 - i / 2, 1 - i % 2}, i);
      results.push_back(y * other);
    }
    return results;
  };
  set_eager_mode(true);
  const std::vector<Value> expected = evaluated(all());
  set_eager_mode(false);
  EXPECT_EQ(evaluated(all()), expected);
}

// Memory that an update takes over is not what is padded.
TEST(PaddingInGroups, SeesWhatWasThereBeforeAnUpdate) {
  install_fusing_evaluator();
  const auto results = [] {
    Tensor weight = random_leaf({50, 40}, 1);
    const Tensor other = random_leaf({52, 40}, 2);
    const Tensor padded = pad(weight, {1, 0}, {1, 0}, 0) * other;
    weight = weight * 0.5 - slice(other, 0, 1, 50, 1);
    const Tensor after = relu(padded) + pad(weight, {2, 0}, {0, 0}, 1);
    return evaluated({weight, after});
  };
  set_eager_mode(true);
  const std::vector<Value> expected = results();
  set_eager_mode(false);
  EXPECT_EQ(results(), expected);
}

TEST(PaddingInGroups, StaysApartForOthers) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({20, 30}, 1), other = random_leaf({21, 30}, 2);
  const auto padded = [&] { return pad(x, {1, 0}, {0, 0}, 0); };
  {
    const Tensor held = padded();
    const Tensor y = held + other;
    EXPECT_EQ(calls(planned(y)), 1);  // its value is wanted
    evaluate(y);
  }
  const auto count = [&](auto make) {  // of what nothing else is held
    const Tensor y = make();
    const int result = calls(planned(y));
    evaluate(y);
    return result;
  };
  const Tensor repeated = random_leaf({4, 21, 30}, 3), wide = random_leaf({39, 30}, 4);
  EXPECT_EQ(count([&] { return padded() + other; }), 0);
  EXPECT_EQ(count([&] { return sum(padded(), {1}); }), 1);
  EXPECT_EQ(count([&] { return matmul(padded(), random_leaf({30, 4}, 3)); }), 1);
  EXPECT_EQ(count([&] { return softmax(padded() + other, 1); }), 1);
  EXPECT_EQ(count([&] { return padded() + repeated; }), 1);
  EXPECT_EQ(count([&] { return place(x, {39, 30}, Dims{9, 0}, Dims{1, 1}, 0) + wide; }), 0);
  EXPECT_EQ(count([&] { return place(x, {39, 30}, Dims{0, 0}, Dims{2, 1}, 0) + wide; }), 1);
}

}  // namespace
}  // namespace mt::testing
