// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "api/support.h"

constexpr int thread_count = 4;

// Runs body(i) on several threads at once; each has a scope and must end without an error.
inline void on_threads(const std::function<void(int)>& body, int count = thread_count) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      mt_scope* scope = mt_scope_begin();
      --waiting;
      while (waiting > 0) std::this_thread::yield();  // all begin together
      body(i);
      mt_scope_end(scope);
      EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline mt_tensor* total(mt_tensor* x) { return mt_sum(x, nullptr, 0); }
inline mt_tensor* turned(mt_tensor* x) { return mt_transpose(x, 0, 1); }

inline mt_tensor* counted(int64_t n) {
  std::vector<float> numbers(static_cast<size_t>(n));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 7) - 3;
  return floats(numbers);
}
