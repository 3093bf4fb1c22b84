// SPDX-License-Identifier: Apache-2.0
// Contractions of random shapes and strides, every type, any number of threads, every instruction
// set.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "backends/cpu/contract/contract_check.h"

namespace mt::cpu {
namespace {

std::vector<ContractionDim> random_group(Random& random, int64_t most, bool has_a, bool has_b) {
  std::vector<ContractionDim> dims(random() % 3 + (most > 8));
  int64_t left = most;
  for (auto& dim : dims) {
    dim.size = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(left));
    left = std::max<int64_t>(1, left / dim.size);
    dim.a_stride = has_a ? pick(random, {0, 1, 1, 1, 2, -1, 3, 17, -40, 64}) : 0;
    dim.b_stride = has_b ? pick(random, {0, 1, 1, 1, 2, -1, 3, 17, -40, 64}) : 0;
  }
  return dims;
}

TEST(Contract, RandomShapesAndStridesMatchTheOrder) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    bool batch_a = random() % 4, batch_b = random() % 4;
    Contraction c{random_group(random, 4, batch_a, batch_b),
                  random_group(random, pick(random, {1, 4, 30, 90}), true, false),
                  random_group(random, pick(random, {1, 4, 30, 90}), false, true),
                  random_group(random, pick(random, {1, 7, 80, 300}), true, true),
                  Dtype::float32,
                  Dtype::float32,
                  Dtype::float32};
    if (i % 3 == 0) c.a = c.b = c.out = Dtype::float64;
    check(c, random, {1, 3});
    if (HasFatalFailure()) return;
  }
}

TEST(Contract, EveryTypeMatches) {
  Random random(2);
  for (int type = 0; type < dtype_count; ++type) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{5, 7, 9},
                           {40, 70, 66},
                           {90, 9, 30},
                           {1, 130, 100},
                           {3, 2, 5000}}) {
      Contraction c = matrices(m, n, k, n != 9, type % 2, static_cast<Dtype>(type));
      c.batch = {{2, m * k, n * k}};
      check(c, random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, SmallAndThinProductsOfEveryType) {
  Random random(30);
  for (int type = 0; type < dtype_count; ++type) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{3, 3, 3},
                           {8, 8, 8},
                           {20, 17, 9},
                           {9, 32, 40},
                           {8, 1, 8},
                           {70, 1, 33},
                           {1, 70, 33},
                           {1, 130, 530},
                           {130, 1, 530},
                           {3, 300, 70}}) {
      for (int layout = 0; layout < 4; ++layout) {
        Contraction c = matrices(m, n, k, layout & 1, layout & 2, static_cast<Dtype>(type));
        c.batch = {{3, m * k, n * k}};
        check(c, random, {1, 2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Contract, MixedFloatingTypesSumInTheWider) {
  Random random(3);
  Dtype types[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
  for (Dtype a : types) {
    for (Dtype b : types) {
      for (Dtype out : types) {
        Contraction c = matrices(9, 20, 70, true, false, out);
        c.a = a;
        c.b = b;
        check(c, random, {1});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Contract, EveryLayoutAcrossBlockEdges) {
  Random random(4);
  for (auto [m, n, k] : {std::array<int64_t, 3>{150, 200, 300},
                         {64, 64, 64},
                         {13, 530, 257},
                         {200, 10, 300},
                         {10, 200, 520},
                         {5, 800, 1000},
                         {120, 300, 1100},
                         {5, 1200, 900},
                         {1, 300, 700},
                         {2, 1300, 263},
                         {300, 4, 700},
                         {2, 2, 64}}) {
    for (int layout = 0; layout < 4; ++layout) {
      check(matrices(m, n, k, layout & 1, layout & 2, Dtype::float32), random, {1, 2, 7});
      check(matrices(m, n, k, layout & 1, layout & 2, Dtype::float64), random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

// So many small ones that threads share them out.
TEST(Contract, BatchesOfSmallProducts) {
  Random random(29);
  for (auto [m, n, k] : {std::array<int64_t, 3>{24, 20, 30},
                         {130, 70, 64},
                         {10, 100, 100},
                         {10, 100, 2},
                         {100, 2, 10}}) {
    for (int layout = 0; layout < 4; ++layout) {
      Contraction c = matrices(m, n, k, layout & 1, layout & 2, Dtype::float32);
      c.batch = {{40, m * k, n * k}};
      check(c, random, {1, 2, 7});
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of b so far apart that the first rows of a pack it as they go.
TEST(Contract, PacksWhatLiesFarApart) {
  Random random(14);
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{40, 300, 500}, {80, 300, 530}, {150, 280, 260}, {260, 150, 530}}) {
    for (bool a_along_k : {true, false}) {
      for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
        Contraction c = matrices(m, n, k, a_along_k, false, dtype);
        c.k[0].b_stride = 2000;
        check(c, random, {1, 2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Few rows read b where it lies, whose rows are pages apart.
TEST(Contract, ReadsRowsThatArePagesApart) {
  Random random(30);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t m : {7, 20}) {
      Contraction c = matrices(m, 150, 400, true, false, dtype);
      c.k[0].b_stride = 4096 / static_cast<int64_t>(size_of(dtype));
      check(c, random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

// Both operands are packed, a from rows that are pages apart.
TEST(Contract, PacksRowsThatArePagesApart) {
  Random random(31);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (auto [n, k] : {std::array<int64_t, 2>{300, 530}, {100, 1030}}) {
      Contraction c = matrices(210, n, k, false, false, dtype);
      c.k[0].a_stride = 4096 / static_cast<int64_t>(size_of(dtype));
      check(c, random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

// Rows in lanes: few columns of every layout, rows beyond whole vectors, terms beyond whole squares
// and beyond a block of them.
TEST(Contract, TallProductsOfFewColumns) {
  Random random(31);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t n = 4; n <= 13; ++n) {
      for (int64_t k : {47, 48, 49, 66, 1029, 3003}) {
        const bool short_terms = k < 100;
        Contraction c = matrices(short_terms ? 150 : 35, n, k, true, n % 2 == k % 2, dtype);
        check(c, random, {1, 3});
        if (HasFatalFailure()) return;
        c.m[0].a_stride = k + 5;                    // gaps between rows,
        c.k[0].b_stride = n % 3 == 0 ? -n : n + 2;  // and between terms of b,
        c.n[0].b_stride = 1;
        if (n % 3 == 2) c.n = {{n, 0, 2}}, c.k[0].b_stride = 2 * n;        // between its columns,
        if (n % 4 == 1 && dtype == Dtype::float32) c.b = Dtype::bfloat16;  // of another type
        check(c, random, {2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A layer's few rows, which are turned beside its weights' rows in lanes.
TEST(Contract, FewRowsOfALayer) {
  Random random(34);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t m : {5, 8, 11, 12}) {
      const Contraction c = matrices(m, 259, 260, true, true, dtype);
      EXPECT_TRUE(Schedule(c, 1).transposed || dtype == Dtype::float64 || m < 8) << m;
      check(c, random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

// Where vectors cannot be read in part, the last panel of columns overlaps the one before, in one
// block of terms and in several, whose sums so far lie in the result.
TEST(Contract, ColumnsBeyondWholeVectors) {
  Random random(36);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (int64_t m : {1, 5, 10, 31, 70}) {
      for (int64_t n : {5, 9, 12, 15, 17, 23, 31, 33, 100, 131}) {
        for (int64_t k : {1, 10, 100, 700, 1300}) {
          Contraction c = matrices(m, n, k, m % 2 == 0, false, dtype);
          check(c, random, {1, 2});
          c.k[0].b_stride = k % 100 == 0 ? n + 3 : -n;
          check(c, random, {1});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Contract, TallProductsOfATranspose) {
  Random random(32);
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    for (int64_t n : {16, 17, 24, 33, 48, 49, 72, 100}) {
      check(matrices(n % 2 == 0 ? 256 : 210, n, 70, false, n % 3 == 0, dtype), random, {1, 3});
      if (HasFatalFailure()) return;
    }
  }
}

// Several tiles, and entries of the batch, with the same columns of b, which is packed once for
// them, or with other columns at the same place; in one block of k and in two.
TEST(Contract, PacksAnewWhatIsNotTheSame) {
  Random random(15);
  for (int64_t k : {300, 1100}) {
    for (bool b_along_k : {true, false}) {
      for (int64_t b_entry : {int64_t{0}, 100 * k}) {
        Contraction c = matrices(300, 100, k, true, b_along_k, Dtype::float32);
        c.batch = {{3, 300 * k, b_entry}};
        if (!b_along_k) c.k[0].b_stride = 2000;
        check(c, random, {1, 2, 5});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Tiles that read b in place pack their rows of a where others have b; so often that threads take
// each other's tiles.
TEST(Contract, PacksAnewWhatOthersOverwrote) {
  Random random(16);
  Contraction c = matrices(194, 417, 88, false, false, Dtype::float32);
  c.batch = {{2, 194 * 88, 0}};
  check(c, random, std::vector<int>(60, 2));
}

TEST(Contract, PanelsOfALongSumAreAddedPairwise) {
  Random random(5);
  for (int64_t k : {4096, 5000, 70001}) {
    for (auto [m, n] : {std::array<int64_t, 2>{1, 1}, {4, 3}, {20, 6}, {50, 7}}) {
      Contraction c = matrices(m, n, k, m % 2, true, Dtype::float32);
      check(c, random, {1, 3});
      c.batch = {{3, 0, 0}};
      c.out = Dtype::bfloat16;
      check(c, random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, LanesKeepTheSignOfZero) {
  // Each product underflows to -0, which a padded +0 would turn into +0.
  Contraction whole = matrices(1, 1, 70, true, true, Dtype::float32), stretches = whole;
  stretches.k = {{2, 40, 40}, {35, 1, 1}};
  std::vector<float> a(75, 1e-30f), b(75, -1e-30f);
  float out = 1;
  for (const Contraction& c : {whole, stretches}) {
    on_every_target([&](const char* target) {
      const PreparedContraction prepared(c, 1);
      void* scratch = std::aligned_alloc(64, (prepared.scratch() + 127) / 64 * 64);
      prepared.run(a.data(), b.data(), &out, scratch);
      std::free(scratch);
      EXPECT_TRUE(out == 0 && std::signbit(out)) << target;
    });
  }
}

TEST(Contract, EmptyGroups) {
  Random random(7);
  Contraction c = matrices(3, 5, 0, true, true, Dtype::float32);
  check(c, random, {1, 2});
  check(matrices(0, 5, 4, true, true, Dtype::float32), random, {1});
  check(matrices(5, 0, 4, true, true, Dtype::float32), random, {1});
  c = matrices(3, 5, 2, true, true, Dtype::float32);
  c.batch = {{0, 1, 1}};
  check(c, random, {1});
}

// Beside operands, or with a result, that threads would share.
TEST(Contract, EmptyGroupsOfLargeProducts) {
  Random random(17);
  for (auto [batch, m, n, k] : {std::array<int64_t, 4>{1, 0, 8192, 32},
                                {1, 8192, 0, 32},
                                {1, 0, 3, 70000},
                                {1, 3, 0, 70000},
                                {1, 0, 300, 5000},
                                {1, 300, 400, 0},
                                {0, 300, 400, 50},
                                {0, 10, 20, 5000}}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int32}) {
      for (int layout = 0; layout < 4; ++layout) {
        Contraction c = matrices(m, n, k, layout & 1, layout & 2, dtype);
        c.batch = {{batch, m * k, n * k}};
        check(c, random, {2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace mt::cpu
