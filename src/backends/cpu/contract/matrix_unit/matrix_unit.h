// SPDX-License-Identifier: Apache-2.0
// What the processor has for products of bfloat16. Both units take denormal numbers for zero and
// know one rounding, whatever the thread has set, which is why they see ordinary numbers only.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) || __GNUC__ >= 11)
#define MT_MATRIX_UNIT 1
// On every function that uses vectors of bfloat16, and on those that use tiles.
#define MT_WITH_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define MT_WITH_TILES \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#endif

namespace mt::cpu {

enum class MatrixUnit {
  none,
  // Vectors (AVX512_BF16): each lane adds the products of two pairs to its sum, as two fused
  // multiply-adds, of the upper halves first. Twice the multiply-adds of float32.
  pairs,
  // Tiles (AMX): eight registers, each of 16 rows of 64 bytes. Such a processor has pairs, too.
  tiles,
};

// The best that this process can use. Kernels are of AVX-512, so there is none while a lower
// instruction set is chosen. The first call asks the system for tiles, which keeps more state for
// each thread from then on; without a call nothing changes for the host.
MatrixUnit matrix_unit();
// For tests: as if there were nothing better.
void limit_matrix_unit(MatrixUnit best);

}  // namespace mt::cpu
