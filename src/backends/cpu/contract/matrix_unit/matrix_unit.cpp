// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"

#include <atomic>

#ifdef MT_MATRIX_UNIT
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mt::cpu {
namespace {

std::atomic<bool> is_hidden{false};

#ifdef MT_MATRIX_UNIT
bool has(unsigned bits, int bit) { return bits >> bit & 1; }

// Whether the processor has the instructions, and the system saves the registers.
bool supported() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, 27)) return false;  // XGETBV
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned avx512_state = 0xe6, tile_state = 3u << 17;
  if ((low & (avx512_state | tile_state)) != (avx512_state | tile_state)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool avx512 = has(b, 16) && has(b, 30) && has(b, 31);
  if (!avx512 || !has(d, 22) || !has(d, 24)) return false;      // AMX-BF16, AMX-TILE
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, 5);  // AVX512_BF16
}

bool request_permission() {
  constexpr int request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}
#else
bool supported() { return false; }
bool request_permission() { return false; }
#endif

}  // namespace

bool matrix_unit_available() {
  static const bool available = supported() && request_permission();
  return available && !is_hidden.load(std::memory_order_relaxed);
}

void hide_matrix_unit(bool hidden) { is_hidden.store(hidden, std::memory_order_relaxed); }

}  // namespace mt::cpu
