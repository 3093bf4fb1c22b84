// SPDX-License-Identifier: Apache-2.0
// select: out = condition ? a : b, on elements of 1, 2, 4 or 8 bytes of whatever type.
#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/compact.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/select.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Where the i32 condition is 0, as a mask over T, widened for elements of 8 bytes.
template <class T>
HWY_INLINE Mask<T> where_zero(const int32_t* condition, size_t n) {
  if constexpr (sizeof(T) == 4) {
    constexpr Tag<int32_t> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return {hn::RebindMask(Tag<T>(), hn::Eq(c, hn::Zero(d)))};
  } else {
    constexpr Tag<int64_t> wide;
    constexpr hn::Rebind<int32_t, Tag<int64_t>> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return {hn::RebindMask(Tag<T>(), hn::Eq(hn::PromoteTo(wide, c), hn::Zero(wide)))};
  }
}

// The same for a condition of bytes.
template <class T>
HWY_INLINE Mask<T> where_zero(const uint8_t* condition, size_t n) {
  constexpr hn::Rebind<uint8_t, Tag<T>> bytes;
  const auto c = n < lane_count<T> ? load_first(bytes, condition, n) : hn::LoadU(bytes, condition);
#if HWY_TARGET == HWY_AVX3
  using Raw = typename hn::Mask<Tag<T>>::Raw;
  return {hn::Mask<Tag<T>>{static_cast<Raw>(hn::Eq(c, hn::Zero(bytes)).raw)}};
#else
  auto mask = [](auto d, auto wide)
                  HWY_ATTR { return Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(wide, hn::Zero(d)))}; };
  if constexpr (sizeof(T) == 1) {
    return mask(bytes, c);
  } else if constexpr (sizeof(T) == 8) {
    constexpr hn::Rebind<uint32_t, Tag<T>> between;
    constexpr Tag<uint64_t> d;
    return mask(d, hn::PromoteTo(d, hn::PromoteTo(between, c)));
  } else {
    constexpr hn::RebindToUnsigned<Tag<T>> d;
    return mask(d, hn::PromoteTo(d, c));
  }
#endif
}

template <class T, class Condition>
void select_elements(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>;
  constexpr Tag<T> d;
  // As many conditions as elements, which may be part of a vector of conditions.
  alignas(HWY_MAX_BYTES) Condition conditions[lane_count<Condition>];
  alignas(HWY_MAX_BYTES) T blocks[2][lanes];
  Cursor<Condition> c(inputs[0]);
  Cursor<T> a(inputs[1]), b(inputs[2]);
  const size_t step_c = c.step / lane_count<Condition> * lanes, step_a = a.step, step_b = b.step;
  T* y = static_cast<T*>(out);
  for (; rows > 0; --rows) {
    const char *m = c.begin(conditions), *p = a.begin(blocks[0]), *q = b.begin(blocks[1]);
    const size_t whole = by_vectors<lanes>(static_cast<size_t>(columns), [&](size_t at) HWY_ATTR {
      const Mask<T> zero = where_zero<T>(reinterpret_cast<const Condition*>(m), lanes);
      hn::StoreU(select(zero, load<T>(q), load<T>(p)).raw, d, y + at);
      m += step_c;
      p += step_a;
      q += step_b;
    });
    const size_t left = static_cast<size_t>(columns) - whole;
    if (left > 0) {
      const Mask<T> zero = where_zero<T>(reinterpret_cast<const Condition*>(m), left);
      store_first(d, select(zero, load<T>(q, left), load<T>(p, left)).raw, y + whole, left);
    }
    y += columns;
  }
}

Operator select_of(bool wide) {
  return wide ? &select_elements<uint64_t, int32_t> : &select_elements<uint32_t, int32_t>;
}
Operator compact_select_of(size_t element_size) {
  switch (element_size) {
    case 1: return &select_elements<uint8_t, uint8_t>;
    case 2: return &select_elements<uint16_t, uint8_t>;
    case 4: return &select_elements<uint32_t, uint8_t>;
    default: return &select_elements<uint64_t, uint8_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(select_of);
HWY_EXPORT(compact_select_of);
Operator select_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(select_of)(size_of(type) == 8);
}
Operator compact_select_operator(size_t element_size) {
  return HWY_DYNAMIC_DISPATCH(compact_select_of)(element_size);
}

}  // namespace mt::cpu
#endif
