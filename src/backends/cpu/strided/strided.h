// SPDX-License-Identifier: Apache-2.0
// Reads elements that do not lie next to each other.
#pragma once

#include <cstdint>

#include "tensor/layout.h"

namespace mt::cpu {

// Copies elements [first, first + count) of the layout, in row-major order, to contiguous `out`.
// `base` is the element at the layout's offset.
void gather_strided(void* out, const void* base, size_t element_size, const Layout& layout,
                    int64_t first, int64_t count);

// The same for four-byte elements that lie two apart along the last dimension: these go to `even`,
// and the element after each of them to `odd`.
void gather_pairs(void* even, void* odd, const void* base, const Layout& layout, int64_t first,
                  int64_t count);

// The positions themselves: out[i] = offset + sum of index times stride, as int32 or int64.
void strided_positions(void* out, size_t element_size, const Layout& layout, int64_t first,
                       int64_t count);

// Copies rows of `bytes` bytes, which begin `to_step` and `from_step` bytes apart.
void copy_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows,
               size_t bytes);
// Copies one such row, which may be empty.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  copy_rows(to, 0, from, 0, 1, bytes);
}

}  // namespace mt::cpu
