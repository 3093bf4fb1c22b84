// SPDX-License-Identifier: Apache-2.0
// 32 numbers of bfloat16 that lie in a few parts of memory, such as parts of an image's lines,
// gathered to one vector; for packing on processors with a matrix unit.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/operand.h"

namespace mt::cpu {
namespace {

// Numbers that lie evenly in memory, every element or every second one, among 32: which elements
// they are, of 32 and, if every second, of the next 32; and where lane 0 would lie.
struct EvenRun {
  __mmask32 low, high;
  int64_t from;
};

// 32 rows or terms in a few runs, such as parts of the lines of an image.
struct EvenRuns {
  static constexpr int most = 8;
  EvenRun runs[most];
  int count = 0;  // if it is larger, they lie in too many

  // `count` elements of the axis, whose stride is 1 or 2, from `first` on.
  MT_WITH_PAIRS void find(const Axis& axis, int64_t first, int64_t elements) {
    const int64_t stride = axis.stride();
    axis.for_runs(first, elements, [&](int64_t position, int64_t offset, int64_t length) {
      const uint64_t even = stride == 1 ? ~uint64_t{0} : 0x5555555555555555u;
      const uint64_t lanes = even >> (64 - stride * length) << stride * position;
      if (count < most) {
        runs[count] = {static_cast<__mmask32>(lanes), static_cast<__mmask32>(lanes >> 32),
                       offset - stride * position};
      }
      ++count;
    });
  }
  template <int stride>
  MT_WITH_PAIRS __attribute__((always_inline)) inline __m512i load(const uint16_t* data) const {
    const __m512i evens =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                         24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i x = _mm512_setzero_si512();
    for (int r = 0; r < count; ++r) {
      const uint16_t* const from = data + runs[r].from;
      if (stride == 1) {
        x = _mm512_mask_loadu_epi16(x, runs[r].low, from);
      } else {
        const __m512i low = _mm512_maskz_loadu_epi16(runs[r].low, from);
        const __m512i high = _mm512_maskz_loadu_epi16(runs[r].high, from + 32);
        x = _mm512_or_si512(x, _mm512_permutex2var_epi16(low, evens, high));
      }
    }
    return x;
  }
};

}  // namespace
}  // namespace mt::cpu
