// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 in memory and as float32, a vector or a number at a time. Included once for
// each instruction set.
#include <cstdint>

#include "hwy/highway.h"
#include "ops/half.h"

#if defined(MT_CPU_HALF_FLOATS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_HALF_FLOATS_H
#undef MT_CPU_HALF_FLOATS_H
#else
#define MT_CPU_HALF_FLOATS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Float16 {
  using Stored = uint16_t;
  using Computed = float;
  static float load(uint16_t x) { return float16_to_float(x); }
  static uint16_t store(float x) { return float_to_float16(x); }
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  static constexpr bool vector = false;
#else
  static constexpr bool vector = true;
  template <class D, class M, class V>
  static HWY_INLINE auto load(D d, M, V x) {
    constexpr hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::BitCast(half, x));
  }
  template <class D, class M, class V>
  static HWY_INLINE auto store(D, M memory, V x) {
    constexpr hn::Rebind<hwy::float16_t, M> half;
    return hn::BitCast(memory, hn::DemoteTo(half, x));
  }
#endif
};

struct Bfloat16 {
  using Stored = uint16_t;
  using Computed = float;
  static constexpr bool vector = true;
  static float load(uint16_t x) { return bfloat16_to_float(x); }
  static uint16_t store(float x) { return float_to_bfloat16(x); }
  template <class D, class M, class V>
  static HWY_INLINE auto load(D d, M, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(pattern, x)));
  }
  // The rounded float32 bits, whose upper halves are stored.
  template <class D, class V>
  static HWY_INLINE auto rounded(D, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    auto p = hn::BitCast(pattern, x);
    auto even = hn::And(hn::ShiftRight<16>(p), hn::Set(pattern, 1u));
    auto sum = hn::Add(hn::Add(p, hn::Set(pattern, 0x7fffu)), even);
    auto is_nan = hn::RebindMask(pattern, hn::Not(hn::Eq(x, x)));
    return hn::IfThenElse(is_nan, hn::Or(p, hn::Set(pattern, 0x400000u)), sum);
  }
  template <class D, class M, class V>
  static HWY_INLINE auto store(D d, M memory, V x) {
    return hn::TruncateTo(memory, hn::ShiftRight<16>(rounded(d, x)));
  }
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  // Every other element of a whole vector, from the first or the second on, and back: shifts and
  // masks are quicker than moving each half of a vector to a whole one.
  template <class D, class V>
  static HWY_INLINE auto load_even(D d, V x) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(hn::RebindToUnsigned<D>(), x)));
  }
  template <class D, class V>
  static HWY_INLINE auto load_odd(D d, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    return hn::BitCast(d, hn::And(hn::BitCast(pattern, x), hn::Set(pattern, 0xffff0000u)));
  }
  template <class D, class V>
  static HWY_INLINE auto store_even_odd(D d, V even, V odd) {
    constexpr hn::Repartition<uint16_t, D> memory;
    return hn::OddEven(hn::BitCast(memory, rounded(d, odd)),
                       hn::BitCast(memory, hn::ShiftRight<16>(rounded(d, even))));
  }
  // Stores two vectors, one after the other.
  template <class D, class V>
  static HWY_INLINE auto store_both(D d, V x0, V x1) {
    constexpr hn::Repartition<uint16_t, D> memory;
    return hn::ConcatOdd(memory, hn::BitCast(memory, rounded(d, x1)),
                         hn::BitCast(memory, rounded(d, x0)));
  }
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
