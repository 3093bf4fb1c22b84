// SPDX-License-Identifier: Apache-2.0
#include "base/owner_lock.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace mt {
namespace {

TEST(OwnerLock, IsRecursiveForTheOwnerAndForVisitors) {
  int owner = 0, visitor = 0;
  OwnerLock lock;
  lock.set_owner(&owner);
  for (const void* self : {&owner, &visitor}) {
    OwnerLock::Hold outer(lock, self);
    { OwnerLock::Hold inner(lock, self); }
    EXPECT_EQ(lock.is_inside(), self == &owner);
  }
  EXPECT_FALSE(lock.is_inside());
  bool entered = false;
  std::thread([&] {
    int other = 0;
    OwnerLock::Hold hold(lock, &other);
    entered = !lock.is_inside();
  }).join();
  EXPECT_TRUE(entered);
}

// The counters are plain, so a lock that lets two in loses counts (and the thread sanitizer sees
// it). The owner goes in and out as fast as it can, as it does when recording.
void let_one_in_at_a_time(OwnerLock& lock) {
  int64_t first = 0, second = 0;
  std::atomic<bool> done{false};
  std::atomic<int64_t> by_owner{0};
  std::thread owner([&] {
    int self = 0;
    lock.set_owner(&self);
    while (!done) {
      OwnerLock::Hold hold(lock, &self);
      ASSERT_EQ(first, second);
      ++first;
      ++second;
      by_owner.store(by_owner.load() + 1);
    }
    lock.set_owner(nullptr);
  });
  constexpr int visits = 2000, visitor_count = 3;
  std::vector<std::thread> visitors;
  for (int i = 0; i < visitor_count; ++i) {
    visitors.emplace_back([&] {
      int self = 0;
      for (int visit = 0; visit < visits; ++visit) {
        OwnerLock::Hold hold(lock, &self);
        ASSERT_EQ(first, second);
        ++first;
        ++second;
      }
    });
  }
  for (std::thread& visitor : visitors) visitor.join();
  done = true;
  owner.join();
  EXPECT_EQ(first, visits * visitor_count + by_owner);
}
TEST(OwnerLock, LetsOneInAtATime) {
  OwnerLock lock;
  let_one_in_at_a_time(lock);
}
TEST(OwnerLock, LetsOneInAtATimeWithoutBarriers) {
  OwnerLock lock(false);
  let_one_in_at_a_time(lock);
}

TEST(OwnerLock, AVisitorWaitsForTheOwner) {
  int self = 0;
  OwnerLock lock;
  lock.set_owner(&self);
  std::atomic<bool> entered{false};
  std::optional<OwnerLock::Hold> held(std::in_place, lock, &self);
  std::thread visitor([&] {
    int other = 0;
    OwnerLock::Hold hold(lock, &other);
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(entered);
  held.reset();
  visitor.join();
  EXPECT_TRUE(entered);
  OwnerLock::Hold again(lock, &self);
}

}  // namespace
}  // namespace mt
