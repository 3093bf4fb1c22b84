// SPDX-License-Identifier: Apache-2.0
// Reading an operand whose rows, not whose columns, lie next to each other in memory, such as a
// transpose. Taken column by column each cache line would be fetched many times over; a panel takes
// a few rows at once, so that each line is used whole.
#pragma once

#include <cstdint>

#include "plan/program.h"

namespace mt::cpu {

constexpr int64_t panel_rows = 16;
constexpr int64_t panel_columns = 512;
constexpr int64_t panel_pitch = panel_columns + 16;  // elements; no power of two, which would crowd
                                                     // all rows into the same places of the cache
constexpr int64_t panel_bytes = panel_rows * panel_pitch * 8;

// How the elements of a segment are gone through in panels: `outer` times `rows` rows of `columns`.
struct PanelOrder {
  int memory = -1;  // whose elements they are; -1: no panels
  int64_t outer = 1, rows = 1, columns = 1;

  int64_t blocks_of_rows() const { return (rows + panel_rows - 1) / panel_rows; }
};

// The order for the first operand of an element-wise segment that is worth it, if one is.
PanelOrder panel_order(const Segment& segment);

// Copies `rows` rows of `columns` elements, from element `first` of the layout on, to the panel.
void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                int64_t first, int64_t rows, int64_t columns);

}  // namespace mt::cpu
