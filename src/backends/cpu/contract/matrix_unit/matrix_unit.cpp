// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/instruction_set.h"

#ifdef MT_MATRIX_UNIT
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mt::cpu {
namespace {

std::atomic<MatrixUnit> best_allowed{MatrixUnit::tiles};

#ifdef MT_MATRIX_UNIT
bool has(unsigned bits, int bit) { return bits >> bit & 1; }

bool request_permission() {
  constexpr int request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

// The best unit that the processor has instructions for and whose registers the system saves.
MatrixUnit find_unit() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, 27)) return MatrixUnit::none;  // XGETBV
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned avx512_state = 0xe6, tile_state = 3u << 17;
  if ((low & avx512_state) != avx512_state) return MatrixUnit::none;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return MatrixUnit::none;
  const bool avx512 = has(b, 16) && has(b, 30) && has(b, 31);
  const bool tiles = has(d, 22) && has(d, 24) && (low & tile_state) == tile_state;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return MatrixUnit::none;
  if (!avx512 || !has(a, 5)) return MatrixUnit::none;  // AVX512_BF16
  return tiles && request_permission() ? MatrixUnit::tiles : MatrixUnit::pairs;
}
#else
MatrixUnit find_unit() { return MatrixUnit::none; }
#endif

}  // namespace

MatrixUnit matrix_unit() {
  static const MatrixUnit unit = find_unit();
  if (std::strcmp(instruction_set(), "AVX3") != 0) return MatrixUnit::none;
  return std::min(unit, best_allowed.load(std::memory_order_relaxed));
}

void limit_matrix_unit(MatrixUnit best) { best_allowed.store(best, std::memory_order_relaxed); }

}  // namespace mt::cpu
