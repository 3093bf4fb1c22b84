// SPDX-License-Identifier: Apache-2.0
#include "nn/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mt {
namespace {

TEST(ScheduleTest, FollowTheirFormulas) {
  EXPECT_DOUBLE_EQ(schedule_step(0.1, 0, 10, 0.5), 0.1);
  EXPECT_DOUBLE_EQ(schedule_step(0.1, 9, 10, 0.5), 0.1);
  EXPECT_DOUBLE_EQ(schedule_step(0.1, 25, 10, 0.5), 0.025);
  EXPECT_DOUBLE_EQ(schedule_cosine(0.1, 0, 10, 0.02), 0.1);
  EXPECT_DOUBLE_EQ(schedule_cosine(0.1, 5, 10, 0.02), 0.06);
  EXPECT_DOUBLE_EQ(schedule_cosine(0.1, 10, 10, 0.02), 0.02);
  EXPECT_DOUBLE_EQ(schedule_cosine(0.1, 99, 10, 0.02), 0.02);
  EXPECT_DOUBLE_EQ(schedule_cosine(0.1, 0, 0, 0.02), 0.02);
  EXPECT_DOUBLE_EQ(schedule_warmup(0.1, 0, 4), 0.025);
  EXPECT_DOUBLE_EQ(schedule_warmup(0.1, 3, 4), 0.1);
  EXPECT_DOUBLE_EQ(schedule_warmup(0.1, 50, 4), 0.1);
  EXPECT_DOUBLE_EQ(schedule_warmup(0.1, 0, 0), 0.1);
  EXPECT_DOUBLE_EQ(schedule_one_cycle(1, 0, 100), 1.0 / 25);
  EXPECT_DOUBLE_EQ(schedule_one_cycle(1, 29, 100), 1);
  EXPECT_DOUBLE_EQ(schedule_one_cycle(1, 99, 100), 1.0 / 250000);
  EXPECT_DOUBLE_EQ(schedule_one_cycle(1, 1000, 100), 1.0 / 250000);
  EXPECT_NEAR(schedule_one_cycle(1, 64, 100), (1 + 1.0 / 250000) / 2, 1e-15);
  for (int64_t length : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, INT64_MAX}) {
    for (int64_t step : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
      for (double rate : {schedule_step(1, step, length, 0.5), schedule_cosine(1, step, length, 0),
                          schedule_warmup(1, step, length), schedule_one_cycle(1, step, length)}) {
        EXPECT_TRUE(rate >= 0 && rate <= 1) << step << ' ' << length;
      }
    }
  }
}

}  // namespace
}  // namespace mt
