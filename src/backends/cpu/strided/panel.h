// SPDX-License-Identifier: Apache-2.0
// Reads an operand that is contiguous along another dimension than the last, such as a transpose.
// Read one element after another, each cache line would be fetched many times. A panel takes a few
// rows at once, where a row is all that follows that dimension, so that each line is used whole.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/strided/turn.h"
#include "plan/program.h"

namespace mt::cpu {

// Rows of a panel, and columns of each.
struct PanelSize {
  int64_t rows, columns;
};
constexpr PanelSize panel_size{turned_rows, 512};
// Reads adjacent lines together, for memory that is slower if a single line is read at a time.
constexpr PanelSize stretched_panel_size(int64_t element_size) {
  return {std::max(turned_rows, turned_stretch / element_size), 256};
}
// Elements between rows, so that they are no power of two apart, which would map all of them to the
// same cache sets.
constexpr int64_t panel_gap = 16;
constexpr int64_t panel_bytes = turned_stretch * (stretched_panel_size(1).columns + panel_gap);
static_assert(panel_size.rows * (panel_size.columns + panel_gap) * 8 <= panel_bytes);
// Rows of up to this many elements lie in the panel as they do in the result, so that several are
// computed together.
constexpr int64_t panel_dense = 128;

// The order of a segment's elements in panels: `outer` times `rows` rows of `columns`, at most
// `together` rows and `width` columns at once.
struct PanelOrder {
  int memory = -1;    // the memory read or written in panels; -1: no panels
  int dimension = 0;  // the dimension of the rows
  int64_t outer = 1, rows = 1, columns = 1;
  int64_t together = 1, width = 1;
  bool of_result = false;  // the memory is written in panels, the others are read in order

  bool dense() const { return columns <= panel_dense; }
  int64_t pitch() const { return dense() ? columns : width + panel_gap; }
  int64_t blocks_of_rows() const { return (rows + together - 1) / together; }
};

// The order for the first operand of an element-wise segment that panels pay for, if there is one.
PanelOrder panel_order(const Segment& segment);

// If all large operands of an element-wise segment are the same transpose, makes it go through the
// elements in their order, so that only `result` is transposed, as it is written.
bool turn_result(int result, Segment* segment, PanelOrder* panels);

// Whether a segment has rows that lie side by side in memory, so that several share cache lines.
bool has_turned_rows(const Segment& segment);

// Copies `columns` elements of each of `rows` rows, from element `first` of the layout on, to the
// panel.
void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                const PanelOrder& order, int64_t first, int64_t rows, int64_t columns);

// Prefetches what write_panel() will write.
void fetch_result(void* result, size_t element_size, const PanelOrder& order, int64_t first,
                  int64_t rows, int64_t columns);

// Copies a panel to a transposed result: `rows` rows of `columns` elements, from element `first` of
// the order on.
void write_panel(void* result, const void* panel, size_t element_size, const PanelOrder& order,
                 int64_t first, int64_t rows, int64_t columns);

}  // namespace mt::cpu
