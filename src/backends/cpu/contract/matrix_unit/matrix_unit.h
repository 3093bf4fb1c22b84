// SPDX-License-Identifier: Apache-2.0
// The processor's unit for products of small matrices of bfloat16 (AMX), where there is one: eight
// registers, each a tile of 16 rows of 64 bytes. It takes denormal numbers for zero and knows one
// rounding, whatever the thread has set, which is why it serves precision modes only.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) || __GNUC__ >= 11)
#define MT_MATRIX_UNIT 1
// On every function that uses the unit's instructions, and those of the vectors it is fed from.
#define MT_WITH_MATRIX_UNIT \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#endif

namespace mt::cpu {

// Whether this process can use it. The first call asks the system, which keeps more state for each
// thread from then on; without a call nothing changes for the host.
bool matrix_unit_available();
// For tests: as if there were none.
void hide_matrix_unit(bool hidden);

}  // namespace mt::cpu
