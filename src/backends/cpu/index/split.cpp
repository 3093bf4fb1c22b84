// SPDX-License-Identifier: Apache-2.0
// Numbers split in vectors into those below a pivot and the others.
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/index/sorting.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/index/split.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
int64_t count_in_vectors(const T* from, int64_t count, T pivot) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, pivot);
  int64_t below = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    below += static_cast<int64_t>(hn::CountTrue(d, hn::Lt(hn::LoadU(d, from + i), limit)));
  }
  for (; i < count; ++i) below += from[i] < pivot;
  return below;
}

template <class T>
uint64_t which_in_vectors(const T* from, T pivot) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, pivot);
  uint64_t which = 0;
  for (int64_t i = 0; i < block; i += lanes) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Lt(hn::LoadU(d, from + i), limit), bytes);
    uint64_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    which |= bits << i;
  }
  return which;
}
template <class T>
void keep_lesser_in_vectors(T* least, const T* from) {
  const hn::ScalableTag<T> d;
  for (int64_t i = 0; i < block; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::Min(hn::LoadU(d, least + i), hn::LoadU(d, from + i)), d, least + i);
  }
}

// The chosen numbers, next to each other. Whole vectors are written as long as what they write too
// much of will be written again, but nothing from `end` on, where others write.
template <class T, class V, class M>
HWY_INLINE T* append(T* to, const T* end, V v, M which) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(end - to >= lanes)) {
    return to + hn::CompressStore(v, which, d, to);  // Compress() has a table that gcc copies
  }
  HWY_ALIGN T last[HWY_LANES(T)];
  const int64_t count = static_cast<int64_t>(hn::CompressStore(v, which, d, last));
  return std::copy(last, last + count, to);
}

template <class T>
void split_in_vectors(const T* from, int64_t count, T pivot, T* low, int64_t below, T* high) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, pivot);
  const T *low_end = low + below, *high_end = high + (count - below);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, from + i);
    const auto is_low = hn::Lt(v, limit);
    low = append(low, low_end, v, is_low);
    high = append(high, high_end, v, hn::Not(is_low));
  }
  for (; i < count; ++i) *(from[i] < pivot ? low : high)++ = from[i];
}

int64_t count_16(const uint16_t* from, int64_t count, uint16_t pivot) {
  return count_in_vectors(from, count, pivot);
}
int64_t count_32(const uint32_t* from, int64_t count, uint32_t pivot) {
  return count_in_vectors(from, count, pivot);
}
int64_t count_64(const uint64_t* from, int64_t count, uint64_t pivot) {
  return count_in_vectors(from, count, pivot);
}
uint64_t which_32(const uint32_t* from, uint32_t pivot) { return which_in_vectors(from, pivot); }
uint64_t which_64(const uint64_t* from, uint64_t pivot) { return which_in_vectors(from, pivot); }
void lesser_32(uint32_t* least, const uint32_t* from) { keep_lesser_in_vectors(least, from); }
void lesser_64(uint64_t* least, const uint64_t* from) { keep_lesser_in_vectors(least, from); }
void split_16(const uint16_t* from, int64_t count, uint16_t pivot, uint16_t* low, int64_t below,
              uint16_t* high) {
  split_in_vectors(from, count, pivot, low, below, high);
}
void split_32(const uint32_t* from, int64_t count, uint32_t pivot, uint32_t* low, int64_t below,
              uint32_t* high) {
  split_in_vectors(from, count, pivot, low, below, high);
}
void split_64(const uint64_t* from, int64_t count, uint64_t pivot, uint64_t* low, int64_t below,
              uint64_t* high) {
  split_in_vectors(from, count, pivot, low, below, high);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(count_16);
HWY_EXPORT(count_32);
HWY_EXPORT(count_64);
HWY_EXPORT(which_32);
HWY_EXPORT(which_64);
HWY_EXPORT(lesser_32);
HWY_EXPORT(lesser_64);
HWY_EXPORT(split_16);
HWY_EXPORT(split_32);
HWY_EXPORT(split_64);

#define MT_SPLIT(bits)                                                                             \
  int64_t count_below(const uint##bits##_t* from, int64_t count, uint##bits##_t pivot) {           \
    choose_instruction_set();                                                                      \
    return HWY_DYNAMIC_DISPATCH(count_##bits)(from, count, pivot);                                 \
  }                                                                                                \
  void split(const uint##bits##_t* from, int64_t count, uint##bits##_t pivot, uint##bits##_t* low, \
             int64_t below, uint##bits##_t* high) {                                                \
    choose_instruction_set();                                                                      \
    HWY_DYNAMIC_DISPATCH(split_##bits)(from, count, pivot, low, below, high);                      \
  }
MT_SPLIT(16)
MT_SPLIT(32)
MT_SPLIT(64)
#undef MT_SPLIT

#define MT_BLOCK(bits)                                                     \
  uint64_t which_below(const uint##bits##_t* from, uint##bits##_t pivot) { \
    choose_instruction_set();                                              \
    return HWY_DYNAMIC_DISPATCH(which_##bits)(from, pivot);                \
  }                                                                        \
  void keep_lesser(uint##bits##_t* least, const uint##bits##_t* from) {    \
    choose_instruction_set();                                              \
    HWY_DYNAMIC_DISPATCH(lesser_##bits)(least, from);                      \
  }
MT_BLOCK(32)
MT_BLOCK(64)
#undef MT_BLOCK

// Of no vector's lanes.
int64_t count_below(const hwy::uint128_t* from, int64_t count, hwy::uint128_t pivot) {
  return std::count_if(from, from + count, [&](const hwy::uint128_t& x) { return x < pivot; });
}
void split(const hwy::uint128_t* from, int64_t count, hwy::uint128_t pivot, hwy::uint128_t* low,
           int64_t, hwy::uint128_t* high) {
  for (int64_t i = 0; i < count; ++i) *(from[i] < pivot ? low : high)++ = from[i];
}

}  // namespace mt::cpu
#endif
