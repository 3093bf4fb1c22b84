// SPDX-License-Identifier: Apache-2.0
#include "nn/layers.h"
#include "nn/support.h"

namespace mt {
namespace {

class RecurrentLayerTest : public LayerTest {};

TEST_F(RecurrentLayerTest, GoesOnFromItsStates) {
  for (RecurrentKind kind : {RecurrentKind::rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    for (bool bias : {true, false}) {
      std::string name = std::to_string(static_cast<int>(kind)) + (bias ? "b" : "");
      Layer& layer = add_recurrent(*parameters_, name, kind, 3, 4, 2, bias);
      Tensor x = random({2, 5, 3}, 1), first = slice(x, 1, 0, 2, 1), rest = slice(x, 1, 2, 3, 1);
      Layer::Run whole = layer.run(x, nullptr, nullptr);
      expect_near(whole.y, layer.apply(x));
      EXPECT_EQ(whole.states.shape(), Shape({2, 2, 4}));
      EXPECT_EQ(bool(whole.cells), kind == RecurrentKind::lstm);
      Layer::Run half = layer.run(first, nullptr, nullptr);
      Layer::Run end = layer.run(rest, half.states, half.cells);
      expect_near(concat({half.y, end.y}, 1), whole.y);
      expect_near(end.states, whole.states);
      if (end.cells) expect_near(end.cells, whole.cells);
      expect_near(select(whole.states, 0, 1), select(whole.y, 1, 4));
    }
  }
}

TEST_F(RecurrentLayerTest, RefusesStatesThatDoNotFit) {
  Layer& layer = add_recurrent(*parameters_, "gru", RecurrentKind::gru, 3, 4, 2, true);
  Tensor x = random({2, 5, 3}, 1), states = random({2, 2, 4}, 2);
  auto code = [&](const Tensor& given, const Tensor& cells) {
    return error_of([&] { layer.run(x, given, cells); }).code();
  };
  EXPECT_EQ(code(states, states), Code::invalid);
  EXPECT_EQ(code(random({3, 2, 4}, 2), nullptr), Code::shape);
  EXPECT_EQ(code(random({2, 4}, 2), nullptr), Code::shape);
  EXPECT_EQ(code(random({2, 3, 4}, 2), nullptr), Code::shape);
  Layer& other = add_dropout(*parameters_, 0.5);
  EXPECT_EQ(error_of([&] { other.run(x, nullptr, nullptr); }).code(), Code::invalid);
}

}  // namespace
}  // namespace mt
