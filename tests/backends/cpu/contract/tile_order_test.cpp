// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/tile_order.h"

#include <vector>

#include <gtest/gtest.h>

namespace mt::cpu {
namespace {

using Places = std::vector<std::vector<int64_t>>;  // [item]: entry, row, column, panel

Places places(const TileOrder& order, const TileGrid& grid) {
  Places result;
  for (int64_t item = 0; item < grid.items(); ++item) {
    const TileIndex at = order.at(item, grid);
    result.push_back({at.entry, at.row, at.column, at.panel});
  }
  return result;
}

TEST(TileOrder, HasEachTileOnce) {
  for (int64_t parts : {1, 2, 3, 6}) {
    for (bool outermost : {false, true}) {
      for (bool innermost : {false, true}) {
        const TileGrid grid{4, 6, 5, outermost ? 1 : 3};
        std::vector<int> times(static_cast<size_t>(grid.items()));
        for (const auto& at : places({parts, outermost, innermost}, grid)) {
          const int64_t tile = (at[0] * grid.rows + at[1]) * grid.columns + at[2];
          ++times[static_cast<size_t>(tile * grid.panels + at[3])];
        }
        EXPECT_EQ(times, std::vector<int>(times.size(), 1));
      }
    }
  }
}

TEST(TileOrder, GoesDownColumnsOfOnePanelAfterAnother) {
  const Places expected{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 1, 1, 0},
                        {0, 0, 0, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {0, 1, 1, 1}};
  EXPECT_EQ(places({}, {1, 2, 2, 2}), expected);
}

TEST(TileOrder, PanelsMayBeInnermost) {
  const Places expected{{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 0, 0}, {0, 1, 0, 1}};
  EXPECT_EQ(places({1, false, true}, {1, 2, 1, 2}), expected);
}

TEST(TileOrder, PartsGoDownTheirOwnColumns) {
  const Places expected{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 1, 1, 0},
                        {0, 2, 0, 0}, {0, 3, 0, 0}, {0, 2, 1, 0}, {0, 3, 1, 0}};
  EXPECT_EQ(places({2, false, false}, {1, 4, 2, 1}), expected);
}

TEST(TileOrder, PartsMayBeOutermost) {
  const Places expected{{0, 0, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}, {1, 0, 1, 0},
                        {0, 1, 0, 0}, {0, 1, 1, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}};
  EXPECT_EQ(places({2, true, false}, {2, 2, 2, 1}), expected);
}

}  // namespace
}  // namespace mt::cpu
