// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/panel.h"

#include <algorithm>
#include <cstring>

namespace mt::cpu {
namespace {

constexpr int64_t line_bytes = 64;
// How many columns ahead memory is asked for: strides this far are nothing that hardware foresees.
constexpr int64_t ahead = 32;
// Rows of so few elements are gathered as they are (strided.cpp).
constexpr int64_t most_interleaved = 4;

// panel[row][column] = from[column][row] for four of each, in registers.
void turn(uint32_t* panel, int64_t pitch, const uint32_t* from, int64_t stride) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  Four c[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&c[i], from + i * stride, sizeof(Four));
  const Four low[2] = {__builtin_shufflevector(c[0], c[1], 0, 4, 1, 5),
                       __builtin_shufflevector(c[2], c[3], 0, 4, 1, 5)};
  const Four high[2] = {__builtin_shufflevector(c[0], c[1], 2, 6, 3, 7),
                        __builtin_shufflevector(c[2], c[3], 2, 6, 3, 7)};
  const Four rows[4] = {__builtin_shufflevector(low[0], low[1], 0, 1, 4, 5),
                        __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7),
                        __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5),
                        __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(panel + i * pitch, &rows[i], sizeof(Four));
}

template <class T>
void fill(T* panel, int64_t pitch, const T* from, int64_t stride, int64_t rows, int64_t columns) {
  int64_t column = 0;
  if (rows == panel_rows) {
    constexpr int64_t side = sizeof(T) == 4 ? 4 : 1;
    uintptr_t address = reinterpret_cast<uintptr_t>(from);
    int64_t stride_bytes = stride * static_cast<int64_t>(sizeof(T));
    for (; column + side <= columns; column += side) {
      for (int64_t c = 0; c < side; ++c) {
        uintptr_t later = address + static_cast<uintptr_t>((column + c + ahead) * stride_bytes);
        __builtin_prefetch(reinterpret_cast<const void*>(later));
        __builtin_prefetch(reinterpret_cast<const void*>(later + panel_rows * sizeof(T) - 1));
      }
      for (int64_t row = 0; row < panel_rows; row += side) {
        T* to = panel + row * pitch + column;
        const T* first = from + column * stride + row;
        if constexpr (side > 1) {
          turn(to, pitch, first, stride);
        } else {
          *to = *first;
        }
      }
    }
  }
  for (; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      panel[row * pitch + column] = from[column * stride + row];
    }
  }
}

// The same for columns that are of several dimensions, line by line.
template <class T>
void fill_lines(T* panel, const T* base, const Layout& layout, const PanelOrder& order,
                int64_t first, int64_t rows, int64_t columns) {
  const int last = layout.shape.rank() - 1;
  int64_t index[max_rank];
  int64_t position = 0;
  for (int d = last; d >= 0; --d) {
    index[d] = first % layout.shape[d];
    first /= layout.shape[d];
    position += index[d] * layout.strides[d];
  }
  while (true) {
    const int64_t count = std::min(columns, layout.shape[last] - index[last]);
    fill(panel, order.pitch(), base + position, layout.strides[last], rows, count);
    columns -= count;
    if (columns == 0) return;
    panel += count;
    position -= index[last] * layout.strides[last];
    index[last] = 0;
    for (int d = last - 1; d > order.dimension; --d) {
      position += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      position -= layout.shape[d] * layout.strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace

PanelOrder panel_order(const Segment& segment) {
  for (size_t m = 0; m < segment.memory.size(); ++m) {
    const Memory& memory = segment.memory[m];
    const Layout& layout = memory.layout;
    const int rank = layout.shape.rank();
    if (memory.buffer < 0 || memory.contiguous || memory.row || rank < 2) continue;
    int64_t stride = layout.strides[rank - 1] * static_cast<int64_t>(size_of(memory.dtype));
    int64_t count = element_count(layout.shape);
    bool far = stride >= line_bytes || stride <= -line_bytes;
    if (!far || count != segment.rows * segment.columns) continue;
    int64_t columns = layout.shape[rank - 1];
    for (int d = rank - 2; d >= 0; --d) {
      int64_t rows = layout.shape[d];
      if (layout.strides[d] == 1 && rows >= panel_rows && columns > most_interleaved) {
        return {static_cast<int>(m), d, count / (rows * columns), rows, columns};
      }
      columns *= rows;
    }
  }
  return {};
}

void fill_panel(void* panel, const void* base, size_t element_size, const Layout& layout,
                const PanelOrder& order, int64_t first, int64_t rows, int64_t columns) {
  auto fill_as = [&]<class T>(T) {
    fill_lines(static_cast<T*>(panel), static_cast<const T*>(base), layout, order, first, rows,
               columns);
  };
  switch (element_size) {
    case 1:
      return fill_as(uint8_t());
    case 2:
      return fill_as(uint16_t());
    case 4:
      return fill_as(uint32_t());
    default:
      return fill_as(uint64_t());
  }
}

}  // namespace mt::cpu
