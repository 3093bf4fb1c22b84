// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided/panel.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/cache.h"
#include "backends/cpu/strided/turn.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

// Copies columns that span several dimensions, line by line.
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

// Whether to read adjacent lines together: if the data exceeds the last-level cache, or if only
// that holds it and its pitch makes rows share pages or few cache sets, or elements are narrow, so
// that a line has many rows.
bool gains_by_stretches(int64_t bytes, int64_t element_size, int64_t stride) {
  constexpr int64_t near_by = 8 << 20, short_pitch = 1536, crowding_pitch = 2048;
  const int64_t pitch = std::abs(stride) * element_size;
  return bytes > last_cache || (bytes > near_by && (element_size < 4 || pitch < short_pitch ||
                                                    pitch % crowding_pitch == 0));
}

// Where an element of the order lies in a transposed result.
int64_t turned_place(const PanelOrder& order, int64_t element) {
  const int64_t within = element % (order.rows * order.columns);
  return element - within + within % order.columns * order.rows + within / order.columns;
}

}  // namespace

PanelOrder panel_order(const Segment& segment) {
  for (size_t m = 0; m < segment.memory.size(); ++m) {
    const Memory& memory = segment.memory[m];
    const Layout& layout = memory.layout;
    const int rank = layout.shape.rank();
    if (memory.buffer < 0 || memory.contiguous || memory.row || memory.is_padded() || rank < 2)
      continue;
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

bool turn_result(int result, Segment* segment, PanelOrder* panels) {
  const PanelOrder order = *panels;
  const Layout read = segment->memory[static_cast<size_t>(order.memory)].layout;
  const int last = read.shape.rank() - 1;
  const int64_t area = order.rows * order.columns;
  if (order.dimension != last - 1 || last > 2 || read.strides[last] != order.rows ||
      (last == 2 && read.strides[0] != area)) {
    return false;
  }
  std::vector<Memory> memory = segment->memory;
  int alike = 0;
  for (size_t m = 0; m < memory.size(); ++m) {
    if (static_cast<int>(m) == result) continue;
    std::optional<Layout> layout = reshape(memory[m].layout, read.shape);
    if (!layout || memory[m].row || memory[m].contiguous || memory[m].is_padded()) return false;
    std::swap(layout->shape[last], layout->shape[last - 1]);
    std::swap(layout->strides[last], layout->strides[last - 1]);
    memory[m].layout = collapse(*layout);
    memory[m].contiguous = is_contiguous(memory[m].layout);
    const int64_t step = layout->strides[last];
    if (memory[m].contiguous) {
      ++alike;
    } else if (step != 0 && step != 1) {
      return false;
    }
  }
  if (alike < 2) return false;
  panels->memory = result;
  panels->rows = order.columns;
  panels->columns = order.rows;
  panels->together = std::min(order.together, panels->rows);
  const bool stretched = order.together > turned_rows;
  const int64_t most = stretched ? stretched_panel_size(1).columns : panel_size.columns;
  panels->width = std::min(most, panels->columns);
  panels->of_result = true;
  segment->memory = std::move(memory);
  return true;
}

bool has_turned_rows(const Segment& segment) {
  return std::any_of(segment.memory.begin(), segment.memory.end(), [](const Memory& memory) {
    const Layout& layout = memory.layout;
    const int rank = layout.shape.rank();
    return memory.buffer >= 0 && !memory.contiguous && !memory.row && !memory.is_padded() &&
           rank >= 2 && layout.strides[rank - 2] == 1 &&
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

void fetch_result(void* result, size_t element_size, const PanelOrder& order, int64_t first,
                  int64_t rows, int64_t columns) {
  const auto size = static_cast<int64_t>(element_size), pitch = order.rows * size;
  const char* at = static_cast<const char*>(result) + turned_place(order, first) * size;
  for (; columns > 0; --columns, at += pitch) {
    for (int64_t byte = 0; byte < rows * size; byte += 64) __builtin_prefetch(at + byte, 1);
  }
}

void write_panel(void* result, const void* panel, size_t element_size, const PanelOrder& order,
                 int64_t first, int64_t rows, int64_t columns) {
  const int64_t to = turned_place(order, first);
  auto write_as = [&]<class T>(T) {
    copy_turned(static_cast<T*>(result) + to, order.rows, static_cast<const T*>(panel),
                order.pitch(), columns, rows);
  };
  switch (element_size) {
    case 1: return write_as(uint8_t());
    case 2: return write_as(uint16_t());
    case 4: return write_as(uint32_t());
    default: return write_as(uint64_t());
  }
}

}  // namespace mt::cpu
