// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mt {
namespace {

using Key = std::vector<uint64_t>;

std::shared_ptr<const Plan> plan_of_bytes(int64_t bytes) {
  auto plan = std::make_shared<Plan>();
  plan->prepared_bytes = bytes;
  return plan;
}

TEST(PlanCache, FindsPlansByTheirWholeKeys) {
  PlanCache cache;
  const Key one{1, 2, 3}, other{1, 2, 4};
  EXPECT_EQ(cache.find(one), nullptr);
  const auto plan = plan_of_bytes(0), second = plan_of_bytes(0);
  cache.insert(one, plan);
  EXPECT_EQ(cache.find(one), plan);
  EXPECT_EQ(cache.find(other), nullptr);
  cache.insert(other, second);
  cache.insert(other, plan_of_bytes(0));  // too late
  EXPECT_EQ(cache.find(one), plan);
  EXPECT_EQ(cache.find(other), second);
  cache.clear();
  EXPECT_EQ(cache.find(one), nullptr);
  EXPECT_EQ(cache.find(other), nullptr);
}

// Plans for which there is not quite enough room, in the same order over and over.
TEST(PlanCache, KeepsSomeOfTooManyPlans) {
  constexpr int64_t size = 15 << 20, room = 64 << 20;
  constexpr uint64_t count = 5, rounds = 40;
  PlanCache cache;
  std::vector<std::weak_ptr<const Plan>> made;
  int found = 0;
  for (uint64_t i = 0; i < count * rounds; ++i) {
    const Key key{7, i % count};
    if (cache.find(key)) {
      ++found;
      continue;
    }
    const auto plan = plan_of_bytes(size);
    made.push_back(plan);
    cache.insert(key, plan);
    ASSERT_EQ(cache.find(key), plan);
    const auto kept =
        std::count_if(made.begin(), made.end(), [](const auto& each) { return !each.expired(); });
    ASSERT_LE(kept * size, room);
  }
  EXPECT_GT(found, static_cast<int>(count * rounds / 4));
  for (uint64_t i = 0; i < count; ++i) {
    const auto plan = cache.find({7, i});
    EXPECT_TRUE(!plan || plan->prepared_bytes == size);
  }
}

// One that is larger than there is room for is kept until the next.
TEST(PlanCache, KeepsTheLastPlan) {
  PlanCache cache;
  const auto large = plan_of_bytes(int64_t{1} << 30), small = plan_of_bytes(0);
  cache.insert({1}, small);
  cache.insert({2}, large);
  EXPECT_EQ(cache.find({1}), nullptr);
  EXPECT_EQ(cache.find({2}), large);
  cache.insert({1}, small);
  EXPECT_EQ(cache.find({1}), small);
  EXPECT_EQ(cache.find({2}), nullptr);
}

}  // namespace
}  // namespace mt
