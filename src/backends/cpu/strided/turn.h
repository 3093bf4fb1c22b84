// SPDX-License-Identifier: Apache-2.0
// Transposes: copies elements that are contiguous along another dimension than the one they are
// wanted along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mt::cpu {

constexpr int64_t turned_rows = 16;
// Bytes of neighbouring rows' elements that are read together.
constexpr int64_t turned_stretch = 256;
// How many lines ahead to prefetch: the hardware does not prefetch strides this long.
constexpr int64_t turned_ahead = 32;
// Up to this many columns are interleaved instead (copy_lines-inl.h).
constexpr int64_t most_interleaved = 4;

// Whether elements this far apart lie in different lines of memory.
inline bool lies_far(int64_t stride, size_t element_size) {
  const int64_t bytes = stride * static_cast<int64_t>(element_size);
  return bytes >= 64 || bytes <= -64;
}

// Rows and columns of a square that is transposed in registers.
template <class T>
constexpr int64_t turned_side = 16 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Square {
  typedef T Vector __attribute__((vector_size(16)));
  Vector of[turned_side<T>];
};

// Interleaves the lower or the upper halves of two vectors.
template <bool upper, class V, size_t... I>
[[gnu::always_inline]] inline V weave(V a, V b, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (int(upper) * n / 2 + int(I / 2) + int(I % 2) * n)...);
}
// Interleaves vectors that are half a square apart.
template <class T, size_t... I>
[[gnu::always_inline]] inline Square<T> weave_all(const Square<T>& c,
                                                  std::index_sequence<I...> all) {
  return {{weave<I % 2 == 1>(c.of[I / 2], c.of[I / 2 + sizeof...(I) / 2], all)...}};
}

// Transposes a square, without loops, because gcc leaves vectors that loops go over in memory.
template <class T, size_t... I>
[[gnu::always_inline]] inline void turn(T* to, int64_t pitch, const T* from, int64_t stride,
                                        std::index_sequence<I...> all) {
  Square<T> c;
  (std::memcpy(&c.of[I], from + static_cast<int64_t>(I) * stride, 16), ...);
  if constexpr (sizeof...(I) >= 16) c = weave_all(c, all);
  if constexpr (sizeof...(I) >= 8) c = weave_all(c, all);
  if constexpr (sizeof...(I) >= 4) c = weave_all(c, all);
  c = weave_all(c, all);
  (std::memcpy(to + static_cast<int64_t>(I) * pitch, &c.of[I], 16), ...);
}

// Prefetches `count` elements.
template <class T>
[[gnu::always_inline]] inline void fetch_elements(uintptr_t address, int64_t count) {
  const uintptr_t last = address + static_cast<uintptr_t>(count) * sizeof(T) - 1;
  for (; address < last; address += 64) __builtin_prefetch(reinterpret_cast<const void*>(address));
  __builtin_prefetch(reinterpret_cast<const void*>(last));
}

// out[row * pitch + column] = from[column * stride + row], several cache lines at a time.
template <class T>
void copy_turned(T* out, int64_t pitch, const T* from, int64_t stride, int64_t rows,
                 int64_t columns) {
  constexpr int64_t side = turned_side<T>, size = static_cast<int64_t>(sizeof(T));
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
        turn(out + row * pitch + column, pitch, from + column * stride + row, stride,
             std::make_index_sequence<side>());
      }
      copy_one_by_one(whole, end, column, column + side);
    }
    copy_one_by_one(begin, end, column, columns);
  }
}

}  // namespace mt::cpu
