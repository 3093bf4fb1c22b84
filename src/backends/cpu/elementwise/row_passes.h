// SPDX-License-Identifier: Apache-2.0
// Helpers for kernels that make several passes over a row while it is in cache. Included once for
// each instruction set.
#include <algorithm>

#include "backends/cpu/elementwise/reduce_together.h"

#if defined(MT_CPU_ROW_PASSES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_ROW_PASSES_H
#undef MT_CPU_ROW_PASSES_H
#else
#define MT_CPU_ROW_PASSES_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// How many bytes ahead slow sums prefetch: the row after the next.
inline int64_t ahead_of_row(const Input& x) {
  constexpr int64_t most = 8 << 10;
  return std::min(2 * x.pitch, most);
}

// Row r of a kernel's operand.
inline float* row_of(const Input& in, int64_t r) {
  char* begin = static_cast<char*>(const_cast<void*>(in.data));
  return reinterpret_cast<float*>(begin + r * in.pitch);
}

template <Term term, bool fetches = term != Term::itself>
HWY_INLINE float sum_of(const Row<term, float>& row, size_t count, int64_t ahead,
                        bool all_normal = false) {
  float sum;
  reduce_together<Sum, term, float, 1, fetches>(&sum, &row, count, ahead, all_normal);
  return sum;
}

// Writes to `out` what f makes of the vectors that its argument loads, and prefetches `out` by
// `ahead` bytes further, unless that is 0.
template <class F>
HWY_INLINE void each_vector(size_t count, float* out, int64_t ahead, F&& f) {
  constexpr Tag<float> d;
  constexpr size_t lanes = lane_count<float>, line = std::max(cache_line / sizeof(float), lanes);
  size_t at = 0;
  auto store = [&](size_t i) HWY_ATTR {
    auto load = [&](const float* from) HWY_ATTR { return Vector<float>(hn::LoadU(d, from + i)); };
    hn::StoreU(f(load).raw, d, out + i);
  };
  for (; at + line <= count; at += line) {
    if (ahead != 0) fetch(reinterpret_cast<const char*>(out + at), ahead);
    HWY_UNROLL(unrolled)
    for (size_t i = 0; i < line; i += lanes) store(at + i);
  }
  for (; at + lanes <= count; at += lanes) store(at);
  auto load_last = [&](const float* from)
                       HWY_ATTR { return Vector<float>(load_first(d, from + at, count - at)); };
  if (at < count) store_first(d, f(load_last).raw, out + at, count - at);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
