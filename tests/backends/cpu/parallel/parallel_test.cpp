// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace mt::cpu {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_thread_count(0); }
};

TEST_F(Parallel, covers_every_index_once) {
  for (int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    for (int64_t count : {0, 1, 2, 6, 7, 8, 1000, 1001}) {
      for (int64_t grain : {int64_t{1}, int64_t{5}, count}) {
        std::vector<int> visits(static_cast<size_t>(count), 0);  // disjoint, so not atomic
        parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          ASSERT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (int visit : visits) ASSERT_EQ(visit, 1) << threads << " " << count << " " << grain;
      }
    }
  }
}

TEST_F(Parallel, what_is_written_inside_is_seen_after) {
  set_thread_count(4);
  std::vector<int64_t> values(10000);
  for (int round = 0; round < 20; ++round) {
    parallel_for(10000, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] = i + round;
    });
    int64_t sum = 0;
    for (int64_t value : values) sum += value;
    ASSERT_EQ(sum, int64_t{10000} * 9999 / 2 + int64_t{10000} * round);
  }
}

TEST_F(Parallel, stays_on_this_thread_up_to_the_grain) {
  set_thread_count(4);
  int calls = 0;
  parallel_for(100, 100, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
  });
  EXPECT_EQ(calls, 1);
}

#ifdef __SSE2__
// A host may have the processor flush small numbers to zero, and its threads inherit that.
TEST_F(Parallel, workers_have_the_standard_float_mode) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  std::vector<int> flushed(16, 0);
  for (int round = 0; round < 20; ++round) {
    parallel_items(64, 16, [&](int64_t, int worker) {
      volatile float smallest = std::numeric_limits<float>::min();
      if (worker > 0 && smallest * 0.5f == 0) ++flushed[static_cast<size_t>(worker)];
    });
  }
  _mm_setcsr(before);
  EXPECT_EQ(flushed, std::vector<int>(16, 0));
}
#endif

// Also where the pool has more: no two run as one worker, and none as one beyond those asked for.
TEST_F(Parallel, uses_no_more_threads_than_asked_for) {
  set_thread_count(7);
  parallel_for(1000, 1, [](int64_t, int64_t) {});
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running[3] = {};
    parallel_workers(1000, 1, 3, [&](int worker, int64_t, int64_t) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, 3);
      ASSERT_EQ(++running[worker], 1);
      std::this_thread::yield();
      --running[worker];
    });
  }
}

TEST_F(Parallel, shares_are_no_more_than_threads) {
  set_thread_count(3);
  for (int64_t count : {1, 2, 3, 1000}) {
    std::atomic<int> ranges{0};
    std::atomic<int64_t> covered{0};
    parallel_shares(count, 1, [&](int64_t begin, int64_t end) {
      ++ranges;
      covered += end - begin;
    });
    EXPECT_LE(ranges, 3);
    EXPECT_EQ(covered, count);
  }
}

TEST_F(Parallel, every_item_is_one_workers) {
  for (int threads : {1, 2, 7}) {
    set_thread_count(threads);
    for (int64_t items : {0, 1, 2, 6, 7, 8, 1001, 40'000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
      parallel_items(items, threads, [&](int64_t item, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        ++visits[static_cast<size_t>(item)];
      });
      for (auto& visit : visits) ASSERT_EQ(visit, 1) << threads << " " << items;
    }
  }
}

// One that is held up keeps no more than the range that it has begun.
TEST_F(Parallel, others_help_out) {
  set_thread_count(2);
  std::atomic<bool> held{false}, done{false};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<int64_t> rest{0};
  parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
    if (!held.exchange(true)) {
      while (!done && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      return;
    }
    if ((rest += end - begin) >= 1000 - 1000 / 4) done = true;
  });
  EXPECT_GE(rest, 750);
}

TEST_F(Parallel, is_serial_within_a_range) {
  set_thread_count(4);
  std::atomic<int> inner{0}, outer{0};
  parallel_for(8, 1, [&](int64_t, int64_t) {
    ++outer;
    std::thread::id self = std::this_thread::get_id();
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
      ++inner;
      EXPECT_EQ(end - begin, 1000);
      EXPECT_EQ(std::this_thread::get_id(), self);
    });
  });
  EXPECT_EQ(inner, outer);
}

TEST_F(Parallel, serves_several_callers_at_once) {
  set_thread_count(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        parallel_for(100, 10, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 100);
}

TEST_F(Parallel, zero_means_the_cores_at_hand) {
  set_thread_count(0);
  int all = thread_count();
  EXPECT_GE(all, 1);
  set_thread_count(-5);
  EXPECT_EQ(thread_count(), all);
}

}  // namespace
}  // namespace mt::cpu
