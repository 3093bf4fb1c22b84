// SPDX-License-Identifier: Apache-2.0
#include "graph/history.h"

#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "base/error.h"
#include "fusion/support.h"
#include "graph/tape.h"

namespace mt::testing {
namespace {

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor x = parameter({5});
};

TEST_F(HistoryTest, HoldsInputsBeforeConsumersOnce) {
  Tensor e = exp(x), y = sum(e * e + x);
  History history({y, e});
  const std::vector<Tensor>& nodes = history.nodes();
  ASSERT_EQ(nodes.size(), 5u);  // x, e, e * e, the sum with x, y
  EXPECT_EQ(nodes.front().node(), x.node());
  EXPECT_EQ(nodes.back().node(), y.node());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Tensor& input : nodes[i]->inputs) {
      bool before = false;
      for (size_t j = 0; j < i; ++j) before |= nodes[j].node() == input.node();
      EXPECT_TRUE(before);
    }
  }
}

// Whether the values are there or not, the last one to need the inputs lets go of them.
TEST_F(HistoryTest, AWalkKeepsWhatOthersForget) {
  for (bool computed : {false, true}) {
    Tensor e = exp(x), y = sum(e);
    if (computed) evaluate(y);
    {
      History walk({y});
      backward(y, nullptr, false);
      EXPECT_TRUE(y.requires_gradient());
      EXPECT_FALSE(y->inputs.empty());
      try {
        History late({y});
        ADD_FAILURE() << "the history is forgotten";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::no_gradient);
      }
    }
    EXPECT_FALSE(y.requires_gradient());
    evaluate(y);
    EXPECT_TRUE(y->inputs.empty());
  }
}

TEST_F(HistoryTest, ATapeKeepsWhatBackwardForgets) {
  Tensor y;
  {
    Tape tape;
    tape.begin();
    y = sum(exp(x));
    tape.end();
    evaluate(y);
    backward(y, nullptr, false);
    EXPECT_FALSE(y.requires_gradient());
    EXPECT_FALSE(y->inputs.empty());
  }
  EXPECT_TRUE(y->inputs.empty());
}

}  // namespace
}  // namespace mt::testing
