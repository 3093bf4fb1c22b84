// SPDX-License-Identifier: Apache-2.0
// The tensor cores' multiply-add of small matrices of 16-bit floats, a warp at a time, as PTX
// defines it (mma.m16n8k16): d[16, 8] += a[16, 16] b[16, 8]. Lane l holds, with g = l / 4 and t = l
// % 4,
//
//   a[0..3]  two neighbours along k each: rows g, g + 8, g, g + 8 at k = 2 t, 2 t, 2 t + 8, 2 t + 8
//   b[0..1]  two neighbours along k each: column g at k = 2 t, 2 t + 8
//   d[0..3]  rows g, g, g + 8, g + 8 of columns 2 t, 2 t + 1, 2 t, 2 t + 1
//
// and what brings operands there from shared memory (ldmatrix): four matrices of 8 x 8, of which
// lane l gives the address of row l % 8 of matrix l / 8. It receives of each two neighbours of row
// g, 2 t and 2 t + 1; or, transposed, of column g.
#pragma once

#include "backends/cuda/numbers.h"

namespace mt::cuda {

#ifdef __CUDACC__
template <bool bfloat>
__device__ void matrix_multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (bfloat) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}
template <bool transposed>
__device__ void load_matrices(uint32_t (&r)[4], size_t row) {
  auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared<char>(row)));
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
}
#else
// Simulated: the lanes hand each other what they hold, and each makes its own four sums, one
// product after another. (A GPU rounds these sums less often; how, is its own affair.)
template <bool bfloat>
void matrix_multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                         const grid::Source& where = grid::Source::current()) {
  uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  grid::exchange(0xffffffff, own, sizeof own, where);
  auto held = [&](unsigned lane, int i, int half) {
    uint32_t registers[6];
    std::memcpy(registers, grid::exchanged(lane, where), sizeof registers);
    uint16_t bits = static_cast<uint16_t>(registers[i] >> 16 * half);
    return bfloat ? cpu::bfloat16_to_float(bits) : cpu::float16_to_float(bits);
  };
  unsigned lane = grid::now().thread % 32;
  for (int i = 0; i < 4; ++i) {
    unsigned row = lane / 4, column = lane % 4 * 2 + static_cast<unsigned>(i % 2);
    for (int k = 0; k < 16; ++k) {
      unsigned t = static_cast<unsigned>(k % 8 / 2);
      float x = held(row * 4 + t, i / 2 + k / 8 * 2, k % 2),
            y = held(column * 4 + t, 4 + k / 8, k % 2);
      d[i] = fmaf(x, y, d[i]);
    }
  }
}
template <bool transposed>
void load_matrices(uint32_t (&r)[4], size_t row,
                   const grid::Source& where = grid::Source::current()) {
  if (row % 16 != 0) grid::fault("a misaligned row of a matrix", where);
  grid::exchange(0xffffffff, &row, sizeof row, where);
  size_t rows[32];
  for (unsigned l = 0; l < 32; ++l) std::memcpy(&rows[l], grid::exchanged(l, where), sizeof row);
  unsigned lane = grid::now().thread % 32, g = lane / 4, t = lane % 4;
  for (unsigned i = 0; i < 4; ++i) {
    auto number = [&](unsigned from, unsigned column) {
      uint16_t bits;
      size_t at = rows[8 * i + from] + 2 * column;
      std::memcpy(&bits, grid::shared_readable(at, sizeof bits, where), sizeof bits);
      return uint32_t{bits};
    };
    r[i] = transposed ? number(2 * t, g) | number(2 * t + 1, g) << 16
                      : number(g, 2 * t) | number(g, 2 * t + 1) << 16;
  }
}
#endif

}  // namespace mt::cuda
