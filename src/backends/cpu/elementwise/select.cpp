// SPDX-License-Identifier: Apache-2.0
// select: out = condition ? a : b, on 4 and 8 byte elements of whatever type.
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/select.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/vector.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// The condition as a mask over T: it is i32, so one of 8 bytes has to be widened.
template <class T>
HWY_INLINE Mask<T> to_mask(const int32_t* condition, size_t n) {
  if constexpr (sizeof(T) == 4) {
    constexpr Tag<int32_t> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return !Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(c, hn::Zero(d)))};
  } else {
    constexpr Tag<int64_t> wide;
    constexpr hn::Rebind<int32_t, Tag<int64_t>> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return !Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(hn::PromoteTo(wide, c), hn::Zero(wide)))};
  }
}

template <class T>
void select_elements(void* out, const void* const* inputs, int64_t n) {
  constexpr size_t lanes = lane_count<T>;
  constexpr Tag<T> d;
  const int32_t* condition = static_cast<const int32_t*>(inputs[0]);
  const T* a = static_cast<const T*>(inputs[1]);
  const T* b = static_cast<const T*>(inputs[2]);
  T* y = static_cast<T*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  for (; i + lanes <= count; i += lanes) {
    auto mask = to_mask<T>(condition + i, lanes);
    hn::StoreU(hn::IfThenElse(mask.raw, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  if (i < count) {
    size_t rest = count - i;
    auto mask = to_mask<T>(condition + i, rest);
    auto value = hn::IfThenElse(mask.raw, load_first(d, a + i, rest), load_first(d, b + i, rest));
    store_first(d, value, y + i, rest);
  }
}

Kernel select_of(bool wide) {
  return wide ? &select_elements<uint64_t> : &select_elements<uint32_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(select_of);
Kernel select_kernel(Compute type) {
  choose_instruction_set();
  return HWY_DYNAMIC_DISPATCH(select_of)(size_of(type) == 8);
}
}  // namespace mt::cpu
#endif
