// SPDX-License-Identifier: Apache-2.0
// Copying elements that lie next to each other along another dimension than the one they are wanted
// along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace mt::cpu {

constexpr int64_t turned_rows = 16;
// Bytes of neighbouring rows' elements that are read together.
constexpr int64_t turned_stretch = 256;
// How many lines ahead memory is asked for: strides this far are nothing that hardware foresees.
constexpr int64_t turned_ahead = 32;
// Up to so many columns are interleaved instead (strided.cpp).
constexpr int64_t most_interleaved = 4;

// Whether elements this far apart lie in different lines of memory.
inline bool lies_far(int64_t stride, size_t element_size) {
  const int64_t bytes = stride * static_cast<int64_t>(element_size);
  return bytes >= 64 || bytes <= -64;
}

// Four rows and columns, in registers.
template <class T>
inline void turn(T* to, int64_t pitch, const T* from, int64_t stride) {
  static_assert(sizeof(T) == 4);
  typedef uint32_t Four __attribute__((vector_size(16)));
  auto load = [&](int i) {
    Four column;
    std::memcpy(&column, from + i * stride, sizeof(Four));
    return column;
  };
  const Four c[4] = {load(0), load(1), load(2), load(3)};
  const Four low[2] = {__builtin_shufflevector(c[0], c[1], 0, 4, 1, 5),
                       __builtin_shufflevector(c[2], c[3], 0, 4, 1, 5)};
  const Four high[2] = {__builtin_shufflevector(c[0], c[1], 2, 6, 3, 7),
                        __builtin_shufflevector(c[2], c[3], 2, 6, 3, 7)};
  // Written out, because gcc leaves loops over four of them as they are, with arrays in memory.
  auto store = [&](int i, Four row) { std::memcpy(to + i * pitch, &row, sizeof(Four)); };
  store(0, __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5));
  store(1, __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7));
  store(2, __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5));
  store(3, __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7));
}

// Begins to fetch `count` elements.
template <class T>
[[gnu::always_inline]] inline void fetch_elements(uintptr_t address, int64_t count) {
  const uintptr_t last = address + static_cast<uintptr_t>(count) * sizeof(T) - 1;
  for (; address < last; address += 64) __builtin_prefetch(reinterpret_cast<const void*>(address));
  __builtin_prefetch(reinterpret_cast<const void*>(last));
}

// out[row * pitch + column] = from[column * stride + row], some lines of memory at a time.
template <class T>
void copy_turned(T* out, int64_t pitch, const T* from, int64_t stride, int64_t rows,
                 int64_t columns) {
  constexpr int64_t side = sizeof(T) == 4 ? 4 : 1, size = static_cast<int64_t>(sizeof(T));
  constexpr int64_t together = turned_stretch / size;
  const bool far = lies_far(stride, sizeof(T));
  const int64_t ahead = turned_ahead * 64 / std::max<int64_t>(std::min(rows, together) * size, 64);
  auto copy_one_by_one = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    for (; row < row_end; ++row) {
      for (int64_t c = column; c < column_end; ++c) out[row * pitch + c] = from[c * stride + row];
    }
  };
  for (int64_t begin = 0; begin < rows; begin += together) {
    const int64_t end = std::min(begin + together, rows), whole = end - (end - begin) % side;
    const uintptr_t address = reinterpret_cast<uintptr_t>(from + begin);
    int64_t column = 0;
    for (; column + side <= columns; column += side) {
      for (int64_t c = column; far && c < column + side; ++c) {
        const int64_t later = (c + ahead) * stride * size;
        fetch_elements<T>(address + static_cast<uintptr_t>(later), end - begin);
      }
      for (int64_t row = begin; row < whole; row += side) {
        T* to = out + row * pitch + column;
        const T* first = from + column * stride + row;
        if constexpr (side > 1) {
          turn(to, pitch, first, stride);
        } else {
          *to = *first;
        }
      }
      copy_one_by_one(whole, end, column, column + side);
    }
    copy_one_by_one(begin, end, column, columns);
  }
}

}  // namespace mt::cpu
