// SPDX-License-Identifier: Apache-2.0
#include "base/pointer_index.h"

#include <gtest/gtest.h>

namespace mt {
namespace {

TEST(PointerIndex, NumbersStayWhileItGrows) {
  constexpr int64_t count = 1000;
  const std::vector<char> objects(count * 64);
  auto object = [&](int64_t i) { return &objects[static_cast<size_t>(i) * 64]; };
  PointerIndex index;
  EXPECT_EQ(index.find(object(0)), -1);
  for (int64_t i = 0; i < count; i += 2) EXPECT_TRUE(index.find_or_add(object(i), i).is_new);
  for (int64_t i = 0; i < count; ++i) EXPECT_EQ(index.find(object(i)), i % 2 ? -1 : i);
  const auto [entry, is_new] = index.find_or_add(object(6), 7);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(entry->number, 6);
  entry->number = 8;
  EXPECT_EQ(index.find(object(6)), 8);
  index.clear();
  EXPECT_EQ(index.find(object(6)), -1);
}

}  // namespace
}  // namespace mt
