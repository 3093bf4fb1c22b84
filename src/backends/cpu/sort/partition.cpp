// SPDX-License-Identifier: Apache-2.0
// Distributes elements in vectors, as keys, to where those between two pivots go.
#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/sort/sort_key.h"
#include "backends/cpu/sort/sorting.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sort/partition.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/compress-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <bool floating, class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> keys_of(const T* from, const KeyForm<T>& form) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  auto bits = hn::LoadU(d, from);
  if constexpr (floating) {
    const auto sign = hn::Set(d, static_cast<T>(T{1} << (8 * sizeof(T) - 1)));
    const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
    const auto nan = hn::Lt(hn::Set(d, form.infinity), hn::AndNot(sign, bits));
    bits = hn::Xor(bits, hn::Or(negative, sign));
    bits = hn::IfThenElse(nan, hn::Set(d, hwy::LimitsMax<T>()), bits);
  }
  return hn::Xor(bits, hn::Set(d, form.turned));
}
template <class T>
T key_of(T bits, const KeyForm<T>& form) {
  return static_cast<T>((form.floating ? float_key(bits, form.infinity) : bits) ^ form.turned);
}
template <class T>
int kind_of(T key, const Kinds<T>& kinds) {
  int kind = 0;
  while (kind < kinds.kinds - 1 && key >= kinds.pivots[kind]) ++kind;
  return kind;
}

template <bool floating, class T>
void count_in_vectors(const T* from, int64_t count, const KeyForm<T>& form, const Kinds<T>& kinds,
                      int64_t* counts) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int together = 4;
  std::fill_n(counts, kinds.kinds, 0);
  int64_t i = 0;
  for (; i + together * lanes <= count; i += together * lanes) {
    const auto a = keys_of<floating>(from + i, form);
    const auto b = keys_of<floating>(from + i + lanes, form);
    const auto c = keys_of<floating>(from + i + 2 * lanes, form);
    const auto e = keys_of<floating>(from + i + 3 * lanes, form);
    for (int k = 0; k < kinds.kinds - 1; ++k) {
      const auto pivot = hn::Set(d, kinds.pivots[k]);
      counts[k] += hn::CountTrue(d, hn::Lt(a, pivot)) + hn::CountTrue(d, hn::Lt(b, pivot)) +
                   hn::CountTrue(d, hn::Lt(c, pivot)) + hn::CountTrue(d, hn::Lt(e, pivot));
    }
  }
  // So far those below each pivot; now those between the previous one and it.
  counts[kinds.kinds - 1] = i;
  for (int k = kinds.kinds - 1; k > 0; --k) counts[k] -= counts[k - 1];
  for (; i < count; ++i) ++counts[kind_of(key_of(from[i], form), kinds)];
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

template <bool floating, class T>
void keys_in_vectors(T* keys, const T* from, const KeyForm<T>& form) {
  const hn::ScalableTag<T> d;
  const auto sign = hn::Set(d, static_cast<T>(T{1} << (8 * sizeof(T) - 1)));
  for (int64_t i = 0; i < block; i += static_cast<int64_t>(hn::Lanes(d))) {
    auto key = keys_of<floating>(from + i, form);
    if constexpr (floating) {  // zeros are equal
      const auto zero = hn::Xor(sign, hn::Set(d, form.turned));
      key = hn::IfThenElse(hn::Eq(hn::LoadU(d, from + i), sign), zero, key);
    }
    hn::StoreU(key, d, keys + i);
  }
}

// Appends the selected numbers. Whole vectors are written as long as the excess is overwritten
// later, but nothing from `end` on, where others write.
template <class T, class V, class M>
HWY_INLINE T* append(T* to, const T* end, V v, M which) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(end - to >= lanes)) {
    return to + compress_store(d, v, which, to);
  }
  HWY_ALIGN T last[HWY_LANES(T)];
  const int64_t count = compress_store(d, v, which, last);
  return std::copy(last, last + count, to);
}

template <bool floating, class T>
void deal_in_vectors(const T* from, int64_t count, const KeyForm<T>& form, const Kinds<T>& kinds,
                     const int64_t* counts, T** to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int last = kinds.kinds - 1;
  const T* ends[most_pieces];
  for (int k = 0; k <= last; ++k) ends[k] = to[k] + counts[k];
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = keys_of<floating>(from + i, form);
    auto left = hn::FirstN(d, lanes);
    for (int k = 0; k < last; ++k) {
      const auto below = hn::Lt(v, hn::Set(d, kinds.pivots[k]));
      to[k] = append(to[k], ends[k], v, hn::And(below, left));
      left = hn::AndNot(below, left);
    }
    to[last] = append(to[last], ends[last], v, left);
  }
  for (; i < count; ++i) {
    const T key = key_of(from[i], form);
    *to[kind_of(key, kinds)]++ = key;
  }
}

uint64_t which_32(const uint32_t* from, uint32_t pivot) { return which_in_vectors(from, pivot); }
uint64_t which_64(const uint64_t* from, uint64_t pivot) { return which_in_vectors(from, pivot); }
void lesser_32(uint32_t* least, const uint32_t* from) { keep_lesser_in_vectors(least, from); }
void lesser_64(uint64_t* least, const uint64_t* from) { keep_lesser_in_vectors(least, from); }
void keys_32(uint32_t* keys, const uint32_t* from, const KeyForm<uint32_t>& form) {
  form.floating ? keys_in_vectors<true>(keys, from, form)
                : keys_in_vectors<false>(keys, from, form);
}
void keys_64(uint64_t* keys, const uint64_t* from, const KeyForm<uint64_t>& form) {
  form.floating ? keys_in_vectors<true>(keys, from, form)
                : keys_in_vectors<false>(keys, from, form);
}

#define MT_KINDS(bits)                                                                             \
  void count_##bits(const uint##bits##_t* from, int64_t count,                                     \
                    const KeyForm<uint##bits##_t>& form, const Kinds<uint##bits##_t>& kinds,       \
                    int64_t* counts) {                                                             \
    form.floating ? count_in_vectors<true>(from, count, form, kinds, counts)                       \
                  : count_in_vectors<false>(from, count, form, kinds, counts);                     \
  }                                                                                                \
  void deal_##bits(const uint##bits##_t* from, int64_t count, const KeyForm<uint##bits##_t>& form, \
                   const Kinds<uint##bits##_t>& kinds, const int64_t* counts,                      \
                   uint##bits##_t** to) {                                                          \
    form.floating ? deal_in_vectors<true>(from, count, form, kinds, counts, to)                    \
                  : deal_in_vectors<false>(from, count, form, kinds, counts, to);                  \
  }
MT_KINDS(16)
MT_KINDS(32)
MT_KINDS(64)
#undef MT_KINDS

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
HWY_EXPORT(keys_32);
HWY_EXPORT(keys_64);
HWY_EXPORT(deal_16);
HWY_EXPORT(deal_32);
HWY_EXPORT(deal_64);

#define MT_KINDS(bits)                                                                             \
  void count_kinds(const uint##bits##_t* from, int64_t count, const KeyForm<uint##bits##_t>& form, \
                   const Kinds<uint##bits##_t>& kinds, int64_t* counts) {                          \
    HWY_DYNAMIC_DISPATCH(count_##bits)(from, count, form, kinds, counts);                          \
  }                                                                                                \
  void deal_kinds(const uint##bits##_t* from, int64_t count, const KeyForm<uint##bits##_t>& form,  \
                  const Kinds<uint##bits##_t>& kinds, const int64_t* counts,                       \
                  uint##bits##_t** to) {                                                           \
    HWY_DYNAMIC_DISPATCH(deal_##bits)(from, count, form, kinds, counts, to);                       \
  }
MT_KINDS(16)
MT_KINDS(32)
MT_KINDS(64)
#undef MT_KINDS

#define MT_BLOCK(bits)                                                     \
  uint64_t which_below(const uint##bits##_t* from, uint##bits##_t pivot) { \
    return HWY_DYNAMIC_DISPATCH(which_##bits)(from, pivot);                \
  }                                                                        \
  void keep_lesser(uint##bits##_t* least, const uint##bits##_t* from) {    \
    HWY_DYNAMIC_DISPATCH(lesser_##bits)(least, from);                      \
  }                                                                        \
  void block_keys(uint##bits##_t* keys, const uint##bits##_t* from,        \
                  const KeyForm<uint##bits##_t>& form) {                   \
    HWY_DYNAMIC_DISPATCH(keys_##bits)(keys, from, form);                   \
  }
MT_BLOCK(32)
MT_BLOCK(64)
#undef MT_BLOCK

}  // namespace mt::cpu
#endif
