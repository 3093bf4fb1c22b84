// SPDX-License-Identifier: Apache-2.0
// The processor's units for products of bfloat16. Both treat denormal numbers as zero and have one
// rounding mode, whatever the thread has set, so they are given ordinary numbers only.
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
  // Vectors (AVX512_BF16): each lane multiplies two pairs and adds both products to its sum, as two
  // fused multiply-adds, upper halves first. Twice the multiply-adds of float32.
  pairs,
  // Tiles (AMX): eight registers, each of 16 rows of 64 bytes. Such a processor has pairs, too.
  tiles,
};

// The best unit that this process can use. Its kernels use AVX-512, so there is none while a lower
// instruction set is chosen. The first call asks the system for tiles, which then keeps more state
// for each thread; without a call nothing changes for the host program.
MatrixUnit matrix_unit();
// For tests: as if there were nothing better.
void limit_matrix_unit(MatrixUnit best);

}  // namespace mt::cpu
