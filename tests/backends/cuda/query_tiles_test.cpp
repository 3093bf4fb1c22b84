// SPDX-License-Identifier: Apache-2.0
// Which block has which queries of attention on Hopper: each tile is some block's, and blocks have
// nearly the same to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "backends/cuda/attention/attention_hopper.h"

namespace {

using namespace mt::cuda;
using Plan = AttentionPlan<Factor::bfloat16, 128, false>;

// For each tile that a block has, in turn: its batch entry, its first query, the end of its keys.
__global__ void tiles_kernel(const __grid_constant__ HopperAttention of, int most, int* out) {
  if (threadIdx.x > 0) return;
  int i = static_cast<int>(blockIdx.x) * most;
  for (QueryTiles<Plan> tiles(of); tiles.next(); ++i) {
    store(out, 3 * i, tiles.entry);
    store(out, 3 * i + 1, tiles.first);
    store(out, 3 * i + 2, tiles.end);
  }
}

struct Tile {
  int block, entry, first, end;
};
std::vector<Tile> tiles_of(int batch, int n, int m, bool causal, int together, unsigned grid) {
  HopperAttention of{};
  of.batch = batch;
  of.n = n;
  of.m = m;
  of.causal = causal;
  of.together = together;
  const int most = batch * (n + Plan::queries - 1) / Plan::queries + batch;
  std::vector<int> numbers(static_cast<size_t>(most) * grid * 3, -1);
  void* memory = grid::allocate(numbers.size() * sizeof(int));
  grid::hand_out(memory, numbers.size() * sizeof(int));
  grid::copy_in(memory, numbers.data(), numbers.size() * sizeof(int));
  launch("tiles", tiles_kernel, {grid}, {32}, 0, Stream{}, of, most, static_cast<int*>(memory));
  grid::copy_out(numbers.data(), memory, numbers.size() * sizeof(int));
  grid::take_back(memory);
  grid::release(memory);
  std::vector<Tile> tiles;
  for (size_t i = 0; i < numbers.size(); i += 3) {
    int block = static_cast<int>(i) / 3 / most;
    if (numbers[i] >= 0) tiles.push_back({block, numbers[i], numbers[i + 1], numbers[i + 2]});
  }
  return tiles;
}

TEST(QueryTiles, AreEachABlocks) {
  for (auto [batch, n, m, causal, together, grid] :
       {std::tuple{1, 64, 300, false, 1, 1u}, std::tuple{5, 700, 300, true, 2, 3u},
        std::tuple{7, 513, 600, true, 3, 4u}, std::tuple{6, 512, 512, false, 6, 5u},
        std::tuple{3, 128, 1000, true, 1, 3u}}) {
    std::vector<std::tuple<int, int>> found, expected;
    for (const Tile& tile : tiles_of(batch, n, m, causal, together, grid)) {
      found.emplace_back(tile.entry, tile.first);
      EXPECT_EQ(tile.end, causal ? std::min(m, tile.first + Plan::queries) : m);
    }
    for (int entry = 0; entry < batch; ++entry) {
      for (int first = 0; first < n; first += Plan::queries) expected.emplace_back(entry, first);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
}

TEST(QueryTiles, AreSharedOutEvenly) {
  std::map<int, int> keys;
  int all = 0;
  for (const Tile& tile : tiles_of(16, 4096, 4096, true, 16, 132)) {
    keys[tile.block] += tile.end;
    all += tile.end;
  }
  EXPECT_EQ(keys.size(), 132u);
  for (auto [block, sum] : keys) EXPECT_LE(sum, all / 132 * 1.05) << block;
}

TEST(QueryTiles, AreOfFewEntriesAtOnce) {
  std::vector<Tile> of_one = tiles_of(9, 1024, 1024, true, 2, 1);
  EXPECT_EQ(of_one.size(), 9u * 8);
  for (size_t i = 0; i < of_one.size(); ++i) {
    EXPECT_EQ(of_one[i].entry / 2, static_cast<int>(i) / 16) << i;
    if (i % 16 > 0) {
      EXPECT_LE(of_one[i].end, of_one[i - 1].end);
    }
  }
}

}  // namespace
