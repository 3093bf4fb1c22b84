// SPDX-License-Identifier: Apache-2.0
#include "ops/lstm.h"

#include <algorithm>
#include <cmath>

#include "autodiff/backward.h"
#include "graph/modes.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// The states, then the last cells, in one row. inputs: gates, weight, state, cell.
Tensor all_of(const LstmStates& lstm) {
  return concat({reshape(lstm.states, {-1}), reshape(lstm.cell, {-1})}, 0);
}
Tensor at_once(const std::vector<Tensor>& inputs) {
  return all_of(lstm_states(inputs[0], inputs[1], inputs[2], inputs[3]));
}

// As it is written down, one position after another.
Tensor by_positions(const std::vector<Tensor>& inputs) {
  const Tensor &gates = inputs[0], &weight = inputs[1];
  Tensor h = inputs[2], c = inputs[3];
  const int64_t hidden = weight.shape()[1];
  std::vector<Tensor> states;
  for (int64_t t = 0; t < gates.shape()[1]; ++t) {
    const Tensor all = select(gates, 1, t) + linear(h, weight, nullptr);
    const auto gate = [&](int i) { return slice(all, 1, i * hidden, hidden, 1); };
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
    states.push_back(h);
  }
  return all_of({stack(states, 1), c});
}

std::vector<Shape> shapes_of(int64_t batch, int64_t n, int64_t hidden) {
  return {{batch, n, 4 * hidden}, {4 * hidden, hidden}, {batch, hidden}, {batch, hidden}};
}
std::vector<Tensor> noises(const std::vector<Shape>& shapes, Dtype dtype) {
  std::vector<Tensor> result;
  for (const Shape& shape : shapes) result.push_back(noise(shape, result.size() + 1, dtype));
  return result;
}

// Few rows and few hidden values, in any combination; [batch, n, hidden].
const std::vector<std::vector<int64_t>> sizes = {{1, 1, 1},  {2, 5, 4},   {1, 4, 65}, {4, 3, 64},
                                                 {5, 3, 64}, {11, 7, 17}, {33, 4, 16}};

TEST(Lstm, HasTheBitsOfOnePositionAfterAnother) {
  for (const auto& s : sizes) {
    const auto inputs = noises(shapes_of(s[0], s[1], s[2]), Dtype::float32);
    EXPECT_EQ(group_count(lstm_states(inputs[0], inputs[1], inputs[2], inputs[3]).states), 1);
    EXPECT_EQ(read(at_once(inputs)), read(by_positions(inputs)));
  }
}

// Those of f, and those of the sum of their squares.
std::vector<Numbers> gradients_of(const Function& f, const std::vector<Tensor>& inputs,
                                  bool again) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(detach(x));
    require_gradient(leaves.back());
  }
  const Tensor loss = project(f(leaves));
  std::vector<Numbers> result;
  GradientMode mode(again);
  const std::vector<Tensor> first = gradients({loss}, {}, leaves);
  Tensor squares;
  for (const Tensor& gradient : first) {
    result.push_back(read(gradient));
    squares = squares ? squares + sum(square(gradient)) : sum(square(gradient));
  }
  if (!again) return result;
  for (const Tensor& gradient : gradients({squares}, {}, leaves)) result.push_back(read(gradient));
  return result;
}

void expect_gradients_of_positions(const Function& f, const Function& positions,
                                   const std::vector<Tensor>& inputs) {
  for (const bool again : {false, true}) {
    const auto have = gradients_of(f, inputs, again), want = gradients_of(positions, inputs, again);
    ASSERT_EQ(have.size(), want.size());
    for (size_t i = 0; i < have.size(); ++i) {
      double largest = 0, difference = 0;
      for (size_t j = 0; j < want[i].size(); ++j) {
        largest = std::max(largest, std::fabs(want[i][j]));
        difference = std::max(difference, std::fabs(have[i][j] - want[i][j]));
      }
      EXPECT_GT(largest, 0);
      EXPECT_LE(difference, 2e-5 * largest) << "gradient " << i << (again ? ", twice" : "");
    }
  }
}

TEST(Lstm, GradientsAreThoseOfOnePositionAfterAnother) {
  for (const auto& s : sizes) {
    SCOPED_TRACE(to_string(Shape{s[0], s[1], s[2]}));
    expect_gradients_of_positions(at_once, by_positions,
                                  noises(shapes_of(s[0], s[1], s[2]), Dtype::float32));
  }
}

// Of the last cells alone, and of one state.
TEST(Lstm, GradientsOfPartsOfItsResults) {
  const auto inputs = noises(shapes_of(6, 3, 8), Dtype::float32);
  const auto cells = [](const Function& f) {
    return [&f](const std::vector<Tensor>& x) { return slice(f(x), 0, 6 * 3 * 8, 6 * 8, 1); };
  };
  const auto states = [](const Function& f) {
    return [&f](const std::vector<Tensor>& x) { return slice(f(x), 0, 8, 8, 1); };
  };
  const Function once = at_once, positions = by_positions;
  expect_gradients_of_positions(cells(once), cells(positions), inputs);
  expect_gradients_of_positions(states(once), states(positions), inputs);
}

TEST(Lstm, ReadsOperandsWhereverTheyLie) {
  const auto inputs = noises(shapes_of(6, 5, 8), Dtype::float32);
  std::vector<Tensor> strided;
  for (const Tensor& x : inputs) strided.push_back(transpose(copy(transpose(x))));
  EXPECT_EQ(read(at_once(strided)), read(at_once(inputs)));
  strided[0] = flip(copy(flip(inputs[0], {0, 1, 2})), {0, 1, 2});
  strided[2] = expand(slice(inputs[2], 0, 0, 1, 1), {6, 8});
  auto repeated = inputs;
  repeated[2] = copy(strided[2]);
  EXPECT_EQ(read(at_once(strided)), read(at_once(repeated)));
  expect_gradients_of_positions(at_once, by_positions, strided);
}

// What a user calls: in float32 at once, in float64 and on the reference device by positions.
TEST(Lstm, IsTheSameOnEveryDevice) {
  const Function f = [](const std::vector<Tensor>& x) {
    const Recurrent all =
        recurrent(RecurrentKind::lstm, x[0], nullptr, nullptr, {x[1], x[2], x[3], x[4]});
    return concat({reshape(all.y, {-1}), reshape(all.state, {-1}), reshape(all.cell, {-1})}, 0);
  };
  const std::vector<Shape> shapes = {{6, 4, 3}, {32, 3}, {32, 8}, {32}, {32}};
  check_devices(f, shapes, Dtype::float32, 1e-5);
  check_gradients(f, noises(shapes, Dtype::float64));
}

}  // namespace
}  // namespace mt::testing
