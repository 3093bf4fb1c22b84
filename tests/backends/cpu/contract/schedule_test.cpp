// SPDX-License-Identifier: Apache-2.0
// How products are cut into tiles and shared out, which changes no bit of their results.
#include "backends/cpu/contract/schedule.h"

#include <gtest/gtest.h>

#include <array>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/contract_check.h"

namespace mt::cpu {
namespace {

// A product that repays packing b is not cut into tiles that do not.
TEST(ProductSchedule, TilesPackWhatTheWholeWould) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t m : {128, 192, 256, 1024}) {
      const Contraction c = matrices(m, 512, 512, true, false, dtype);
      const Schedule schedule(c, 2);
      EXPECT_GE(schedule.tiles(), 4) << m;
      EXPECT_FALSE(reads_b_in_place(operand_b(c), schedule.sum, schedule.rows, schedule.columns,
                                    schedule.panel))
          << m;
    }
  }
}

// Where a's rows are neighbours and b lies along the sum, only the result's transpose is turned.
TEST(ProductSchedule, NeitherIsPackedOfTwoTransposes) {
  Random random(36);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{48, 100, 300}, {130, 70, 520}}) {
      const Contraction c = matrices(m, n, k, false, true, dtype);
      EXPECT_TRUE(Schedule(c, 1).transposed) << m;
      check(c, random, {1, 2, 3});
      if (HasFatalFailure()) return;
    }
  }
}

// On one thread, too, what is packed leaves room in the second-level cache; what does already is
// not cut further, nor what packs a as well.
TEST(ProductSchedule, PackedColumnsLeaveRoom) {
  Random random(37);
  const bool long_vectors = strided_kernels(Dtype::float32).lanes == 16;
  const Contraction c = matrices(258, 512, 514, true, false, Dtype::float32);
  EXPECT_EQ(Schedule(c, 1).columns, long_vectors ? 128 : 512);
  check(c, random, {1});
  const auto columns = [](int64_t n, int64_t k, bool a_along_k, Dtype dtype) {
    return Schedule(matrices(260, n, k, a_along_k, false, dtype), 1).columns;
  };
  EXPECT_EQ(columns(512, 512, true, Dtype::float32), long_vectors ? 128 : 512);
  EXPECT_EQ(columns(512, 512, true, Dtype::float64), long_vectors ? 64 : 256);
  EXPECT_EQ(columns(512, 1030, true, Dtype::float64), long_vectors ? 128 : 256);
  EXPECT_EQ(columns(384, 1030, true, Dtype::float32), 384);
  EXPECT_EQ(columns(512, 256, true, Dtype::float32), 512);
  EXPECT_EQ(columns(512, 1030, false, Dtype::float32), 512);
}

// Square images of so many channels and outputs, with windows of `kernel` squared.
Contraction windows(int64_t channels, int64_t outputs, int64_t size, int64_t kernel) {
  const int64_t width = size + kernel - 1, terms = channels * kernel * kernel;
  return {{{2, 0, channels * width * width}},
          {{outputs, terms, 0}},
          {{size, 0, width}, {size, 0, 1}},
          {{channels, kernel * kernel, width * width}, {kernel, kernel, width}, {kernel, 1, 1}},
          Dtype::float32,
          Dtype::float32,
          Dtype::float32};
}

// Vectors over positions compute what lies between lines as well; over outputs they do not, but
// these have to fill them, and results are turned.
TEST(ProductSchedule, WindowsAreBroadcastWhereOutputsFillVectors) {
  Random random(38);
  struct Case {
    int64_t channels, outputs, size, kernel;
    bool transposed;
  };
  for (const Case& given : {
           Case{8, 32, 28, 5, true}, Case{8, 48, 28, 5, true},
           Case{8, 20, 28, 5, false},   // fills one vector of two and a quarter of the other
           Case{1, 32, 28, 5, false},   // few terms for as many results to turn
           Case{8, 32, 112, 3, false},  // little lies between long lines
       }) {
    const Contraction c = windows(given.channels, given.outputs, given.size, given.kernel);
    EXPECT_EQ(Schedule(c, 1).transposed, given.transposed)
        << given.channels << ", " << given.outputs << ", " << given.size;
    if (given.size < 100) check(c, random, {1, 2, 3});
    if (HasFatalFailure()) return;
  }
}

// Threads have as much to do, and what a tile packs is packed once.
TEST(ProductSchedule, FewTilesAreEven) {
  Random random(35);
  struct Case {
    int64_t m, n, k;
    bool a_along_k, b_along_k;
    int64_t rows, columns;
  };
  for (const Case& given : {
           Case{256, 160, 128, true, false, 128, 160},  // not 128 columns and 32
           Case{128, 96, 784, true, true, 128, 48},     // nor 64 and 32
           Case{48, 256, 1024, false, false, 24, 256},  // of whose rows none is packed again
           Case{32, 256, 256, true, true, 132, 32},     // a vector of columns is too narrow
       }) {
    const Contraction c =
        matrices(given.m, given.n, given.k, given.a_along_k, given.b_along_k, Dtype::float32);
    const Schedule schedule(c, 2);
    EXPECT_EQ(schedule.rows, given.rows) << given.m << " x " << given.n;
    EXPECT_EQ(schedule.columns, given.columns) << given.m << " x " << given.n;
    check(c, random, {2, 3});
    if (HasFatalFailure()) return;
  }
}

// Each thread takes all columns of its part of many rows.
TEST(ProductSchedule, TallProductsAreSharedByRows) {
  Random random(32);
  const Contraction c = matrices(2050, 130, 514, true, true, Dtype::float32);
  const Schedule schedule(c, 2);
  EXPECT_EQ(schedule.order.parts, 2);
  EXPECT_GT(schedule.n, schedule.columns);
  EXPECT_EQ(Schedule(c, 3).order.parts, 1);
  check(c, random, {2});
}

// A weight's rows that are updated later are not read by two threads, unless each had too few.
TEST(ProductSchedule, RowsThatAreReplacedStayWithTheirThread) {
  Random random(33);
  const Contraction c = matrices(128, 100, 784, true, true, Dtype::float32);
  const Surroundings around{nullptr, false, true};
  const Schedule schedule(c, 2, around);
  EXPECT_TRUE(schedule.transposed);
  EXPECT_EQ(schedule.rows, 50);
  EXPECT_EQ(schedule.order.parts, 2);
  EXPECT_EQ(Schedule(c, 2).order.parts, 1);
  EXPECT_EQ(Schedule(c, 8, around).order.parts, 1);
  check(c, random, {2, 3});
}

}  // namespace
}  // namespace mt::cpu
