// SPDX-License-Identifier: Apache-2.0
// Reading an operand whose elements lie next to each other along another dimension than the last,
// such as a transpose. Taken one after another each cache line would be fetched many times over. A
// panel takes a few rows at once, where a row is all that follows that dimension, so that each line
// is used whole.
#pragma once

#include <cstdint>

#include "backends/cpu/strided/turn.h"
#include "plan/program.h"

namespace mt::cpu {

constexpr int64_t panel_rows = turned_rows;
constexpr int64_t panel_columns = 512;
constexpr int64_t panel_pitch = panel_columns + 16;  // elements; no power of two, which would crowd
                                                     // all rows into the same places of the cache
constexpr int64_t panel_bytes = panel_rows * panel_pitch * 8;
// Rows of up to so many elements lie in the panel as they do in the result, so that several are
// computed together.
constexpr int64_t panel_dense = 128;

// How the elements of a segment are gone through in panels: `outer` times `rows` rows of `columns`.
struct PanelOrder {
  int memory = -1;    // whose elements they are; -1: no panels
  int dimension = 0;  // the rows
  int64_t outer = 1, rows = 1, columns = 1;

  bool dense() const { return columns <= panel_dense; }
  int64_t pitch() const { return dense() ? columns : panel_pitch; }
  int64_t blocks_of_rows() const { return (rows + panel_rows - 1) / panel_rows; }
};

// The order for the first operand of an element-wise segment that is worth it, if one is.
PanelOrder panel_order(const Segment& segment);

// Whether a segment's rows lie side by side in memory, so that a few of them share its lines.
bool has_turned_rows(const Segment& segment);

// Copies `columns` elements of each of `rows` rows, from element `first` of the layout on, to the
// panel.
void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                const PanelOrder& order, int64_t first, int64_t rows, int64_t columns);

}  // namespace mt::cpu
