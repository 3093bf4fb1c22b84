// SPDX-License-Identifier: Apache-2.0
// Few rows of many terms: 16-bit floats, which are widened as they are read or before, and matrices
// that no cache holds: along the terms all panels of some rows follow each other, across them
// strips.
#include <gtest/gtest.h>

#include <array>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/contract_check.h"

namespace mt::cpu {
namespace {

TEST(Lanes, HalfFloatsOfEveryLayout) {
  Random random(1);
  for (Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
    for (int64_t few : {1, 2, 4}) {
      for (auto [many, k] :
           {std::array<int64_t, 2>{6, 64}, {7, 79}, {131, 330}, {300, 100}, {9, 5003}}) {
        for (bool along_k : {true, false}) {
          check(matrices(few, many, k, along_k, along_k, dtype), random, {1, 3});
          check(matrices(many, few, k, along_k, !along_k, dtype), random, {2});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Lanes, HalfFloatsBesideFloat32) {
  Random random(2);
  for (bool along_k : {true, false}) {
    Contraction c = matrices(1, 70, 1100, true, along_k, Dtype::bfloat16);
    c.a = c.out = Dtype::float32;
    check(c, random, {1, 2});
    c.k[0].a_stride = 3;  // terms apart
    check(c, random, {1, 2});
    c.k[0].b_stride *= 2;
    check(c, random, {1, 2});
    c.out = Dtype::float16;
    check(c, random, {1, 2});
    if (HasFatalFailure()) return;
  }
}

TEST(Lanes, PanelsOfFarRowsFollowEachOther) {
  Random random(3);
  for (Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    for (int64_t few : {1, 3}) {
      Contraction c = matrices(few, 290, 4100, true, true, dtype);

      EXPECT_TRUE(Schedule(c, 1).order.panels_innermost);
      EXPECT_TRUE(Schedule(c, 3).order.panels_innermost);
      check(c, random, {1, 3});
      c.batch = {{2, few * 4100, 290 * 4100}};
      check(c, random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Lanes, StripsOfWhatNoCacheHolds) {
  Random random(4);
  for (int64_t few : {1, 3}) {
    Contraction c = matrices(few, 4101, 2100, true, false, Dtype::float32);

    EXPECT_GE(4101 * 2100 * 4, last_cache);
    check(c, random, {1, 2});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace mt::cpu
