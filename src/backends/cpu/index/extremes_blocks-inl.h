// SPDX-License-Identifier: Apache-2.0
// The gradient of the extremes of two-by-two windows, for lines of less than a vector of windows:
// the elements of some pairs of lines, at most 64, stay in place, and each window's extreme and its
// elements' share are permuted to them. A word of bits says which elements are extremes.
#if defined(MT_EXTREMES_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_EXTREMES_BLOCKS_INL_H
#undef MT_EXTREMES_BLOCKS_INL_H
#else
#define MT_EXTREMES_BLOCKS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "backends/cpu/elementwise/vector.h"

#ifndef MT_WINDOW_BLOCKS
#define MT_WINDOW_BLOCKS
namespace mt::cpu {
namespace {

struct WindowBlocks {
  int64_t length = 0;                   // windows in a line; 0: blocks do not serve
  int64_t pairs = 0;                    // pairs of lines in a block
  int64_t half = 0, out_half = 0;       // from the block's first element to its latter 32
  uint64_t all = 0, firsts = 0;         // bits of its elements, and of the first in each window
  int second_line = 0;                  // from a window's first element to the one below it
  alignas(64) int32_t window[64] = {};  // the window that an element belongs to

  // `windows` in a line; `apart`: the lines of a pair, or the pairs, are not adjacent.
  WindowBlocks() = default;
  WindowBlocks(int64_t windows, bool apart, int64_t to_second, int64_t out_to_second)
      : length(windows), pairs(apart ? 1 : 16 / windows) {
    half = apart ? to_second : 32;
    out_half = apart ? out_to_second : 32;
    second_line = apart ? 32 : static_cast<int>(2 * windows);
    for (int64_t w = 0; w < pairs * windows; ++w) {
      const int64_t first = w / windows * 4 * windows + w % windows * 2;
      for (int64_t e : {first, first + 1, first + second_line, first + second_line + 1}) {
        window[e] = static_cast<int32_t>(w);
        all |= uint64_t{1} << e;
      }
      firsts |= uint64_t{1} << first;
    }
  }
  // The elements of the first `some` pairs.
  uint64_t elements(int64_t some) const {
    return some == pairs ? all : (uint64_t{1} << (4 * length * some)) - 1;
  }
};

}  // namespace
}  // namespace mt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

constexpr Tag<float> floats;
constexpr size_t window_lanes = lane_count<float>;
using Floats = hn::Vec<Tag<float>>;

// dy / count. For counts up to four except three, multiplying is as exact, and does not wait for
// the divider.
HWY_INLINE Floats divide_among(Floats dy, Floats count, int64_t most) {
  constexpr Tag<uint32_t> bits;
  if (most > 4 || !hn::AllFalse(floats, hn::Eq(count, hn::Set(floats, 3.0f)))) return dy / count;
  return dy * hn::BitCast(floats, hn::Set(bits, 0x7f000000) - hn::BitCast(bits, count));
}

#if HWY_TARGET == HWY_AVX3
constexpr bool goes_by_blocks = true;

// `count` pairs of lines, which begin at in[i] of x and out[i] of dx.
inline void share_blocks(const WindowBlocks& of, const float* x, const float* y, const float* dy,
                         float* dx, const int64_t* in, const int64_t* out, int64_t count) {
  const __m512 one = _mm512_set1_ps(1.0f);
  __m512i window[4];
  for (int v = 0; v < 4; ++v) window[v] = _mm512_load_si512(of.window + 16 * v);
  for (int64_t i = 0; i < count; i += of.pairs) {
    const int64_t pairs = std::min(of.pairs, count - i), windows = pairs * of.length;
    const uint64_t elements = of.elements(pairs);
    const auto some = static_cast<__mmask16>((1u << windows) - 1);
    const __m512 extreme = _mm512_maskz_loadu_ps(some, y);
    const __m512 arrived = _mm512_maskz_loadu_ps(some, dy);
    __mmask16 here[4], equal[4];
    uint64_t found = 0;
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      here[v] = static_cast<__mmask16>(elements >> 16 * v);
      const float* const from = x + in[i] + (v < 2 ? 0 : of.half) + v % 2 * 16;
      equal[v] = _mm512_mask_cmp_ps_mask(here[v], _mm512_maskz_loadu_ps(here[v], from),
                                         _mm512_permutexvar_ps(window[v], extreme), _CMP_EQ_OQ);
      found |= uint64_t{equal[v]} << 16 * v;
    }
    __m512 equals = _mm512_setzero_ps();
    for (int e : {0, 1, of.second_line, of.second_line + 1}) {
      const auto these = static_cast<__mmask16>(_pext_u64(found >> e, of.firsts));
      equals = _mm512_mask_add_ps(equals, these, equals, one);
    }
    const __m512 share = divide_among(Floats{arrived}, Floats{equals}, 4).raw;
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      float* const to = dx + out[i] + (v < 2 ? 0 : of.out_half) + v % 2 * 16;
      _mm512_mask_storeu_ps(to, here[v], _mm512_maskz_permutexvar_ps(equal[v], window[v], share));
    }
    y += windows;
    dy += windows;
  }
}
#else
constexpr bool goes_by_blocks = false;
inline void share_blocks(const WindowBlocks&, const float*, const float*, const float*, float*,
                         const int64_t*, const int64_t*, int64_t) {}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
