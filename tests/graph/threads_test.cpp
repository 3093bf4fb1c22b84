// SPDX-License-Identifier: Apache-2.0
// Any handle on any thread. Meant to be run under the thread sanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fusion/training.h"

namespace mt::testing {
namespace {

class Threads : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }
};

std::vector<Value> trained(uint64_t seed, int steps) {
  Network network(32, 16, 24, seed);
  for (int i = 0; i < steps; ++i) {
    Tensor loss = network.step();
    if (i % 3 == 0) value_of(loss);
  }
  return evaluated(network.state());
}

TEST_F(Threads, TwoThreadsTrainTwoModels) {
  std::vector<Value> alone[2] = {trained(1, 30), trained(100, 30)}, together[2];
  std::thread first([&] { together[0] = trained(1, 30); });
  std::thread second([&] { together[1] = trained(100, 30); });
  first.join();
  second.join();
  EXPECT_EQ(difference(alone[0], together[0]), "");
  EXPECT_EQ(difference(alone[1], together[1]), "");
}

TEST_F(Threads, PendingValuesAreReadByOthers) {
  Tensor x = random_leaf({100});
  Value expected = value_of(tanh(x) * 2.0);
  for (int round = 0; round < 50; ++round) {
    Tensor pending = tanh(x) * 2.0;
    Value seen[3];
    std::vector<std::thread> readers;
    for (Value& value : seen) {
      readers.emplace_back([&value, pending] { value = value_of(pending); });
    }
    Tensor own = pending + 1.0;  // the owner goes on meanwhile
    flush();
    for (std::thread& reader : readers) reader.join();
    for (const Value& value : seen) EXPECT_EQ(value, expected);
  }
}

TEST_F(Threads, PendingValuesAreOperandsOnOtherThreads) {
  Tensor x = random_leaf({100});
  Value expected = value_of(exp(sin(x)));
  for (int round = 0; round < 50; ++round) {
    Tensor pending = sin(x);
    Value seen;
    std::thread other([&seen, pending] { seen = value_of(exp(pending)); });
    Tensor own = cos(pending);
    flush();
    other.join();
    EXPECT_EQ(seen, expected);
  }
}

TEST_F(Threads, ViewsAreRecordedWhileOthersCompute) {
  const Tensor x = random_leaf({4, 5});
  const Value expected = value_of(transpose(exp(x)));
  std::atomic<Tensor*> box{nullptr};
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      if (Tensor* given = box.exchange(nullptr)) {
        evaluate(*given);
        delete given;
      }
    }
  });
  for (int round = 0; round < 1000; ++round) {
    const Tensor pending = exp(x);
    box = new Tensor(pending);
    while (box) {
    }
    for (int i = 0; i < round % 8; ++i) cos(x);
    const Tensor view = transpose(pending);
    evaluate(pending);
    EXPECT_EQ(value_of(view), expected);
    delete box.exchange(nullptr);
  }
  done = true;
  other.join();
}

// What padding has been computed from is seen through it for as long as its gradient needs it.
TEST_F(Threads, InputsAreLookedAtWhileABackwardLetsGoOfThem) {
  const Value expected = value_of(square(random_leaf({64})));
  for (int round = 0; round < 30; ++round) {
    const Tensor x = parameter({64});
    const Tensor padded = pad(square(x), {1}, {1}, 0), loss = sum(padded);
    evaluate(padded);
    evaluate(loss);
    std::atomic<bool> begun{false};
    std::thread other([&] {
      begun = true;
      backward(loss, nullptr, false);
    });
    while (!begun) {
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(value_of(slice(padded, 0, 1, 64, 1)), expected);
    other.join();
  }
}

// One thread records and evaluates, another drops the handles as soon as it gets them.
TEST_F(Threads, HandlesAreReleasedElsewhere) {
  constexpr int rounds = 3000;
  Tensor x = random_leaf({64});
  std::atomic<Tensor*> box{nullptr};
  std::atomic<bool> done{false};
  std::thread releaser([&] {
    while (!done) delete box.exchange(nullptr);
  });
  for (int i = 0; i < rounds; ++i) {
    Tensor y = i % 2 ? sum(x * static_cast<double>(i)) : exp(x) + 1.0;
    delete box.exchange(new Tensor(y));
    y = nullptr;
    if (i % 3 == 0) flush();
    if (i % 7 == 0) evaluate_held();
  }
  done = true;
  releaser.join();
  delete box.exchange(nullptr);
  EXPECT_EQ(value_of(x), value_of(random_leaf({64})));
}

TEST_F(Threads, AThreadEndsWithPendingNodes) {
  Tensor x = random_leaf({50});
  Value expected = value_of(square(x) + 1.0);
  for (int round = 0; round < 20; ++round) {
    Tensor left;
    std::thread([&] { left = square(x) + 1.0; }).join();
    Value seen;
    std::thread([&] { seen = value_of(left); }).join();
    EXPECT_EQ(seen, expected);
    std::thread([&] { left = square(x) + 1.0; }).join();
    // Another thread takes the window over and releases what is in it.
    std::thread([&] {
      Tensor more = left * 2.0;
      left = nullptr;
      value_of(more);
    }).join();
  }
}

TEST_F(Threads, OneValueIsReadByManyAtOnce) {
  Tensor x = random_leaf({40, 50});
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  Value expected = value_of(sum(x, {0}));
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) wrong += value_of(sum(x, {0})) != expected;
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mt::testing
