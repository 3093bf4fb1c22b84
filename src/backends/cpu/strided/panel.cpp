// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided/panel.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/cache.h"
#include "backends/cpu/strided/turn.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

// Copies columns that are of several dimensions, line by line.
template <class T>
void fill_lines(T* panel, const T* base, const Layout& layout, const PanelOrder& order,
                int64_t first, int64_t rows, int64_t columns) {
  const int last = layout.shape.rank() - 1;
  int64_t index[max_rank];
  int64_t position = locate(layout, first, index);
  while (true) {
    const int64_t count = std::min(columns, layout.shape[last] - index[last]);
    copy_turned(panel, order.pitch(), base + position, layout.strides[last], rows, count);
    columns -= count;
    if (columns == 0) return;
    panel += count;
    position -= index[last] * layout.strides[last];
    index[last] = 0;
    position += step_on(layout, order.dimension + 1, last - 1, index);
  }
}

// Whether memory gives lines that lie next to each other sooner than as many apart: what no cache
// keeps, and of what only the last one does that of rows which share pages or meet in few sets of a
// cache, and narrow elements, of which a line has many rows.
bool gains_by_stretches(int64_t bytes, int64_t element_size, int64_t stride) {
  constexpr int64_t near_by = 8 << 20, short_pitch = 1536, crowding_pitch = 2048;
  const int64_t pitch = std::abs(stride) * element_size;
  return bytes > last_cache || (bytes > near_by && (element_size < 4 || pitch < short_pitch ||
                                                    pitch % crowding_pitch == 0));
}

}  // namespace

PanelOrder panel_order(const Segment& segment) {
  for (size_t m = 0; m < segment.memory.size(); ++m) {
    const Memory& memory = segment.memory[m];
    const Layout& layout = memory.layout;
    const int rank = layout.shape.rank();
    if (memory.buffer < 0 || memory.contiguous || memory.row || rank < 2) continue;
    int64_t count = element_count(layout.shape);
    bool far = lies_far(layout.strides[rank - 1], size_of(memory.dtype));
    if (!far || count != segment.rows * segment.columns) continue;
    int64_t columns = layout.shape[rank - 1];
    for (int d = rank - 2; d >= 0; --d) {
      int64_t rows = layout.shape[d];
      if (layout.strides[d] == 1 && rows >= turned_rows && columns > most_interleaved) {
        const int64_t size = static_cast<int64_t>(size_of(memory.dtype));
        const PanelSize panel = gains_by_stretches(count * size, size, layout.strides[rank - 1])
                                    ? stretched_panel_size(size)
                                    : panel_size;
        return {.memory = static_cast<int>(m),
                .dimension = d,
                .outer = count / (rows * columns),
                .rows = rows,
                .columns = columns,
                .together = panel.rows,
                .width = std::min(panel.columns, columns)};
      }
      columns *= rows;
    }
  }
  return {};
}

bool has_turned_rows(const Segment& segment) {
  return std::any_of(segment.memory.begin(), segment.memory.end(), [](const Memory& memory) {
    const Layout& layout = memory.layout;
    const int rank = layout.shape.rank();
    return memory.buffer >= 0 && !memory.contiguous && !memory.row && rank >= 2 &&
           layout.strides[rank - 2] == 1 &&
           lies_far(layout.strides[rank - 1], size_of(memory.dtype));
  });
}

void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                const PanelOrder& order, int64_t first, int64_t rows, int64_t columns) {
  auto fill_as = [&]<class T>(T) {
    fill_lines(static_cast<T*>(panel), static_cast<const T*>(base), layout, order, first, rows,
               columns);
  };
  switch (element_size) {
    case 1: return fill_as(uint8_t());
    case 2: return fill_as(uint16_t());
    case 4: return fill_as(uint32_t());
    default: return fill_as(uint64_t());
  }
}

}  // namespace mt::cpu
