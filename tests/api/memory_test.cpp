// SPDX-License-Identifier: Apache-2.0
// Memory that runs out, at every place of a training step in turn.
#include <atomic>
#include <thread>

#include "api/support.h"
#include "base/allocator.h"

namespace {

class Memory : public Api {};

struct Model {
  mt_tensor* weight[2];
  Model() {
    weight[0] = mt_require_grad(
        mt_copy(mt_reshape(mt_linspace(-1, 1, 12, MT_F32, nullptr), MT_DIMS(3, 4))));
    weight[1] = mt_require_grad(mt_copy(mt_linspace(1, 2, 4, MT_F32, nullptr)));
    mt_eval(weight, 2);
  }
  void step(mt_tensor* x) {
    MT_SCOPE {
      mt_tensor* hidden = mt_relu(mt_matmul(x, weight[0]));
      mt_tensor* loss =
          mt_mean(mt_square(mt_sub(mt_mul(hidden, weight[1]), mt_number(1))), nullptr, 0);
      mt_backward(loss);
      mt_sgd(weight, 2, 0.1);
      mt_zero_grad(weight, 2);
      mt_eval(weight, 2);
    }
  }
  std::vector<Numbers> numbers() { return {numbers_of(weight[0]), numbers_of(weight[1])}; }
};

TEST_F(Memory, RunsOutAnywhereInAStep) {
  mt_tensor* x = mt_copy(mt_reshape(mt_linspace(-2, 3, 30, MT_F32, nullptr), MT_DIMS(10, 3)));
  mt_eval(&x, 1);
  std::vector<Numbers> before, after;
  MT_SCOPE {
    Model model;
    before = model.numbers();
    model.step(x);
    after = model.numbers();
  }
  ASSERT_NE(before, after);
  int failures = 0;
  for (bool eager : {false, true}) {
    mt_set_eager(eager);
    for (int64_t n = 0;; ++n) {
      bool failed = false;
      int64_t used = used_bytes();
      MT_SCOPE {
        Model model;
        mt::fail_allocation_after(n);
        model.step(x);
        mt::fail_allocation_after(-1);
        failed = mt_error() != MT_OK;
        if (failed) {
          EXPECT_TRUE(failed_with(MT_ENOMEM, "memory"));
          ++failures;
          // Either nothing has happened, or the step is recorded and can still be computed.
          std::vector<Numbers> now = model.numbers();
          EXPECT_TRUE(now == before || now == after) << "allocation " << n;
          if (now == before) {
            mt_zero_grad(model.weight, 2);
            model.step(x);
          }
        }
        EXPECT_EQ(model.numbers(), after) << "allocation " << n;
      }
      EXPECT_EQ(used_bytes(), used);
      if (!failed) break;
    }
  }
  mt_set_eager(false);
  EXPECT_GT(failures, 5);
}

#ifndef __SANITIZE_ADDRESS__  // under which nothing is cached
int64_t cached_bytes() {
  mt_memory memory = MT_MEMORY_INIT;
  mt_memory_read("cpu", &memory);
  return memory.cached;
}

void make_and_release(int count, int64_t elements) {
  MT_SCOPE {
    for (int i = 0; i < count; ++i) {
      mt_tensor* x = mt_full(MT_DIMS(elements), i, MT_F32, nullptr);
      mt_eval(&x, 1);
    }
  }
}

TEST_F(Memory, WhatIsFreedIsCountedAndGivenBack) {
  for (int64_t elements : {100, 8192, 1 << 20}) {
    mt_release_cached_memory("cpu");
    EXPECT_EQ(cached_bytes(), 0);
    make_and_release(32, elements);
    EXPECT_GE(cached_bytes(), 32 * 4 * elements);
  }
  mt_release_cached_memory("cpu");
  EXPECT_EQ(cached_bytes(), 0);
}

TEST_F(Memory, AThreadKeepsLittle) {
  mt_release_cached_memory("cpu");
  std::atomic<int> at{0};
  std::thread other([&] {
    make_and_release(100, 16 << 10);
    at = 1;
    while (at < 2) std::this_thread::yield();
  });
  while (at < 1) std::this_thread::yield();
  EXPECT_GE(cached_bytes(), 100 * 4 * (16 << 10));
  mt_release_cached_memory("cpu");
  EXPECT_LE(cached_bytes(), 300 << 10);
  at = 2;
  other.join();
  mt_release_cached_memory("cpu");
  EXPECT_EQ(cached_bytes(), 0);
}
#endif

TEST_F(Memory, ALimitHoldsBeforeAnythingRuns) {
  mt_tensor* x = mt_ones(MT_DIMS(1000), MT_F32, nullptr);
  mt_eval(&x, 1);
  mt_set_memory_limit("cpu", used_bytes() + 10000);
  mt_reset_peak_memory("cpu");
  mt_tensor* y = mt_matmul(mt_reshape(x, MT_DIMS(1000, 1)), mt_reshape(x, MT_DIMS(1, 1000)));
  EXPECT_EQ(mt_eval(&y, 1), MT_ENOMEM);
  EXPECT_TRUE(failed_with(MT_ENOMEM, "out of memory"));
  mt_memory memory = MT_MEMORY_INIT;
  mt_memory_read("cpu", &memory);
  EXPECT_LE(memory.peak, memory.limit);
  mt_set_memory_limit("cpu", 0);
  EXPECT_EQ(mt_item(mt_mean(y, nullptr, 0)), 1);
}

}  // namespace
