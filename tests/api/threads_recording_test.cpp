// SPDX-License-Identifier: Apache-2.0
// Traces and tapes on any thread, through the C interface. Meant to be run under the thread
// sanitizer too, which sees what the values here do not show.
#include <cmath>

#include "api/threads.h"

namespace {

class ThreadsRecording : public Api {};

mt_status affine(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  mt_tensor** w = static_cast<mt_tensor**>(user);
  results[0] = mt_add(mt_mul(inputs[0], w[0]), w[1]);
  return mt_error();
}

TEST_F(ThreadsRecording, OneTraceServesAllThreads) {
  mt_tensor* w[] = {floats({2, 3, 4}), floats({1, 1, 1})};
  mt_trace* trace = mt_trace_new(affine, w);
  for (int round = 0; round < 10; ++round) {
    on_threads([&](int i) {
      for (int k = 1; k < 5; ++k) {
        float number = static_cast<float>(i);
        mt_tensor* x = floats(std::vector<float>(static_cast<size_t>(3 * k), number), {k, 3});
        mt_tensor* y = nullptr;
        ASSERT_EQ(mt_trace_call(trace, &x, 1, &y, 1), MT_OK) << mt_error_message();
        EXPECT_EQ(mt_item(total(y)), k * (9 * i + 3));
        mt_free_string(mt_explain_trace(trace));
        EXPECT_LE(mt_trace_count(trace), 4u);
      }
    });
  }
  mt_trace_release(trace);
}

TEST_F(ThreadsRecording, TracesAndPlainCallsReadTheSameTensors) {
  mt_tensor* w[] = {mt_require_grad(floats({2, 3, 4})), floats({1, 1, 1})};
  mt_assign(w[1], floats({1, 1, 1}));  // lasting state, as a running average is
  for (int round = 0; round < 20; ++round) {
    on_threads([&](int i) {
      mt_trace* trace = mt_trace_new(affine, w);
      for (int k = 0; k < 4; ++k) {
        mt_tensor *x = floats({1, 10, 100}), *y = nullptr;
        if (i % 2) {
          affine(w, &x, 1, &y, 1);
        } else {
          mt_trace_call(trace, &x, 1, &y, 1);
        }
        EXPECT_EQ(numbers_of(y), Numbers({3, 31, 401}));
        EXPECT_TRUE(mt_requires_grad(w[0]));
        mt_tensor* gradient = nullptr;
        if (i % 2) {
          mt_tensor* loss = total(y);
          ASSERT_EQ(mt_grad(&loss, 1, &w[0], 1, nullptr, &gradient), MT_OK) << mt_error_message();
          EXPECT_EQ(numbers_of(gradient), Numbers({1, 10, 100}));
        }
      }
      mt_trace_release(trace);
    });
  }
}

TEST_F(ThreadsRecording, WhatATraceMakesIsNotComputedElsewhere) {
  struct Leak {
    mt_tensor* inside = nullptr;
    double read = 0;
    mt_status error = MT_OK;
  } leak;
  mt_trace* trace = mt_trace_new(
      [](void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) -> mt_status {
        Leak& leak = *static_cast<Leak*>(user);
        leak.inside = mt_retain(mt_exp(inputs[0]));
        std::thread([&] {
          leak.read = mt_item(leak.inside);
          leak.error = mt_error();
        }).join();
        results[0] = mt_mul(leak.inside, mt_number(2));
        return mt_error();
      },
      &leak);
  mt_tensor *x = floats({1}), *y = nullptr;
  ASSERT_EQ(mt_trace_call(trace, &x, 1, &y, 1), MT_OK) << mt_error_message();
  EXPECT_EQ(leak.error, MT_ETRACE);
  EXPECT_NEAR(mt_item(y), 2 * std::exp(1), 1e-5);
  mt_release(leak.inside);
  mt_trace_release(trace);
}

TEST_F(ThreadsRecording, TapesEndElsewhere) {
  for (int round = 0; round < 30; ++round) {
    mt_tape* tape = nullptr;
    std::thread([&] {
      mt_scope* scope = mt_scope_begin();
      tape = mt_tape_begin();
      total(mt_exp(counted(5)));
      mt_scope_end(scope);
    }).join();
    // A thread that takes over what the first has left, and one that ends its tape.
    on_threads(
        [&](int i) {
          if (i == 0) {
            EXPECT_EQ(mt_tape_end(tape), MT_OK);
          } else {
            mt_tape* own = mt_tape_begin();
            mt_sin(counted(5));
            mt_tape_end(own);
            EXPECT_GE(mt_tape_length(own), 2u);
            mt_tape_release(own);
          }
        },
        2);
    EXPECT_GE(mt_tape_length(tape), 2u);
    mt_tape_release(tape);
  }
}

// As a collector of garbage does that finds one that was never ended.
TEST_F(ThreadsRecording, TapesAreReleasedElsewhere) {
  std::atomic<mt_tape*> box{nullptr};
  std::atomic<bool> done{false};
  std::thread releaser([&] {
    while (!done) mt_tape_release(box.exchange(nullptr));
  });
  mt_tensor* x = floats({1, 2});
  for (int round = 0; round < 200; ++round) {
    MT_SCOPE {
      box = mt_tape_begin();
      mt_tensor* y = x;
      for (int i = 0; box && i < 500; ++i) y = mt_mul(y, x);
      mt_tape_release(box.exchange(nullptr));
      EXPECT_EQ(mt_item(mt_sum(mt_mul(x, x), nullptr, 0)), 5);
    }
  }
  done = true;
  releaser.join();
  EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
}

}  // namespace
