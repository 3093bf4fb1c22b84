// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/panel.h"

namespace mt::cpu {
namespace {

constexpr int64_t line_bytes = 64;
// How many columns ahead memory is asked for: strides this far are nothing that hardware foresees.
constexpr int64_t ahead = 32;

template <class T>
void fill(T* panel, const T* from, int64_t stride, int64_t rows, int64_t columns) {
  if (rows == panel_rows) {
    uintptr_t address = reinterpret_cast<uintptr_t>(from);
    int64_t stride_bytes = stride * static_cast<int64_t>(sizeof(T));
    for (int64_t column = 0; column < columns; ++column) {
      uintptr_t later = address + static_cast<uintptr_t>((column + ahead) * stride_bytes);
      __builtin_prefetch(reinterpret_cast<const void*>(later));
      __builtin_prefetch(reinterpret_cast<const void*>(later + panel_rows * sizeof(T) - 1));
      for (int64_t row = 0; row < panel_rows; ++row) {
        panel[row * panel_pitch + column] = from[column * stride + row];
      }
    }
    return;
  }
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      panel[row * panel_pitch + column] = from[column * stride + row];
    }
  }
}

}  // namespace

PanelOrder panel_order(const Segment& segment) {
  for (size_t m = 0; m < segment.memory.size(); ++m) {
    const Memory& memory = segment.memory[m];
    const Layout& layout = memory.layout;
    int rank = layout.shape.rank();
    if (memory.buffer < 0 || memory.contiguous || memory.row || rank < 2) continue;
    int64_t stride = layout.strides[rank - 1] * static_cast<int64_t>(size_of(memory.dtype));
    int64_t rows = layout.shape[rank - 2], columns = layout.shape[rank - 1];
    bool far = stride >= line_bytes || stride <= -line_bytes;
    if (!far || layout.strides[rank - 2] != 1 || rows < panel_rows || columns < panel_rows)
      continue;
    int64_t count = element_count(layout.shape);
    if (count != segment.rows * segment.columns) continue;
    return {static_cast<int>(m), count / (rows * columns), rows, columns};
  }
  return {};
}

void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                int64_t first, int64_t rows, int64_t columns) {
  int64_t position = 0;
  for (int d = layout.shape.rank() - 1; d >= 0; --d) {
    position += first % layout.shape[d] * layout.strides[d];
    first /= layout.shape[d];
  }
  int64_t stride = layout.strides[layout.shape.rank() - 1];
  switch (element_size) {
    case 1:
      return fill(static_cast<uint8_t*>(panel), static_cast<const uint8_t*>(base) + position,
                  stride, rows, columns);
    case 2:
      return fill(static_cast<uint16_t*>(panel), static_cast<const uint16_t*>(base) + position,
                  stride, rows, columns);
    case 4:
      return fill(static_cast<uint32_t*>(panel), static_cast<const uint32_t*>(base) + position,
                  stride, rows, columns);
    default:
      return fill(static_cast<uint64_t*>(panel), static_cast<const uint64_t*>(base) + position,
                  stride, rows, columns);
  }
}

}  // namespace mt::cpu
