// SPDX-License-Identifier: Apache-2.0
// The order in which a contraction's tiles are shared out: a thread takes consecutive items, and
// finds in its caches what they have in common.
#pragma once

#include <cstdint>

namespace mt::cpu {

// What there is to share out: `rows` x `columns` tiles for each batch entry, and `panels` panels of
// terms for each tile.
struct TileGrid {
  int64_t entries, rows, columns, panels;
  int64_t tiles() const { return rows * columns; }
  int64_t items() const { return entries * tiles() * panels; }
};

struct TileIndex {
  int64_t entry, row, column, panel;
};

// Entry by entry; in each, panel by panel; in each, the tiles column by column, from top to bottom.
// With these exceptions:
struct TileOrder {
  int64_t parts = 1;  // an entry's rows of tiles are divided evenly into so many parts, which are
                      // taken one after the other
  bool parts_outermost = false;   // a part of all entries before the next part; for one panel only
  bool panels_innermost = false;  // all panels of a tile follow each other

  TileIndex at(int64_t item, const TileGrid& grid) const {
    const int64_t tiles = grid.tiles(), of_part = tiles / parts;
    if (parts_outermost) {
      const int64_t of_all = grid.entries * of_part;
      item = item % of_all / of_part * tiles + item / of_all * of_part + item % of_part;
    }
    const int64_t entry = item / (tiles * grid.panels), rest = item % (tiles * grid.panels);
    const int64_t panel = panels_innermost ? rest % grid.panels : rest / tiles;
    const int64_t tile = panels_innermost ? rest / grid.panels : rest % tiles;
    const int64_t high = grid.rows / parts, within = tile % of_part;
    return {entry, tile / of_part * high + within % high, within / high, panel};
  }
};

}  // namespace mt::cpu
