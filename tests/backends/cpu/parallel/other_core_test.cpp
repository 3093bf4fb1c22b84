// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/other_core.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "backends/cpu/parallel/parallel.h"

namespace mt::cpu {
namespace {

std::vector<int> cores_of(pid_t thread) {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}
void set_cores(pid_t thread, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
}

TEST(OtherCore, is_all_that_a_thread_may_use_until_it_says_so) {
  const std::vector<int> before = cores_of(0);
  if (before.size() < 2) GTEST_SKIP() << "one core";
  OtherCore other;
  other.keep_off(pthread_self(), before[0]);
  EXPECT_EQ(cores_of(0), std::vector<int>(before.begin() + 1, before.end()));
  other.allow_all();
  EXPECT_EQ(cores_of(0), before);
  other.allow_all();
  EXPECT_EQ(cores_of(0), before);
}

TEST(OtherCore, changes_nothing_where_there_is_none) {
  const std::vector<int> before = cores_of(0);
  if (before.size() < 2) GTEST_SKIP() << "one core";
  OtherCore other;
  set_cores(0, {before[0]});
  for (int core : {before[0], before[1], -1}) {  // its only one; not one of its; nobody knows which
    other.keep_off(pthread_self(), core);
    EXPECT_EQ(cores_of(0), std::vector<int>{before[0]});
    other.allow_all();
    EXPECT_EQ(cores_of(0), std::vector<int>{before[0]});
  }
  set_cores(0, before);
}

// Runs something that takes a millisecond, after the other thread has begun to sleep, until it has
// taken part. Returns which one it is, 0 if it never did, and tells what it may use.
pid_t wake_other(std::vector<int>* cores) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pid_t other = 0;
  while (other == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    parallel_items(8, 2, [&](int64_t, int worker) {
      if (worker == 1) {
        other = gettid();
        *cores = cores_of(0);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(250));
    });
  }
  return other;
}

TEST(OtherCore, workers_have_again_what_they_had_or_were_given_asleep) {
  const std::vector<int> all = cores_of(0);
  std::vector<int> cores;
  const pid_t other = wake_other(&cores);
  ASSERT_NE(other, 0) << "no second thread";
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(wake_other(&cores), other);
    EXPECT_EQ(cores, all);
  }
  for (int core : all) {
    set_cores(other, {core});
    ASSERT_EQ(wake_other(&cores), other);
    EXPECT_EQ(cores, std::vector<int>{core});
  }
  set_cores(other, all);
}

}  // namespace
}  // namespace mt::cpu
