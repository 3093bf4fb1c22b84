// SPDX-License-Identifier: Apache-2.0
// Conversions between the compute types.
#include "backends/cpu/elementwise/targets.h"
#include "ops/math/conversion.h"
#include "ops/saturates.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/cast.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Number is To, or a narrower type to whose range floats saturate.
template <class From, class To, class Number = To>
void cast(void* out, const void* const* inputs, int64_t n) {
  const From* x = static_cast<const From*>(inputs[0]);
  To* y = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = convert<Number>(x[i]);
}

// The same a vector at a time, with the same bits. out may be x where the sizes agree, and every
// element is read before it is written.
template <class From, class To, class Number, class Function>
HWY_INLINE void cast_vectors(void* out, const void* const* inputs, int64_t n, Function function) {
  using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  constexpr hn::Rebind<From, Tag<Wider>> from;
  constexpr hn::Rebind<To, Tag<Wider>> to;
  constexpr size_t lanes = lane_count<Wider>;
  const From* x = static_cast<const From*>(inputs[0]);
  To* y = static_cast<To*>(out);
  const size_t count = static_cast<size_t>(n);
  size_t i = by_vectors<lanes>(count, [&](size_t at) HWY_ATTR {
    hn::StoreU(function(to, hn::LoadU(from, x + at)), to, y + at);
  });
  for (; i < count; ++i) y[i] = convert<Number>(x[i]);
}
// Conversions to integers saturate; NaN becomes 0 first, as instruction sets differ on it.
template <class D, class V>
HWY_INLINE auto to_integers(D d, V v) {
  using From = hn::TFromV<V>;
  using To = hn::TFromD<D>;
  const V number = hn::IfThenElseZero(hn::Eq(v, v), v);
  if constexpr (sizeof(From) == sizeof(To)) return hn::ConvertTo(d, number);
  if constexpr (sizeof(From) > sizeof(To)) return hn::DemoteTo(d, number);
  if constexpr (sizeof(From) < sizeof(To)) {
    return hn::ConvertTo(d, hn::PromoteTo(Tag<double>(), number));
  }
}
// Whether to_integers() has vectors. Highway's baselines neither overflow to infinity nor saturate.
template <class To>
constexpr bool has_integers = !is_baseline && (sizeof(To) == 4 || HWY_TARGET == HWY_AVX3);

#define MT_CAST(name, From, To, value)                              \
  void name(void* out, const void* const* inputs, int64_t n) {      \
    auto of_vector = [](auto d, auto v) HWY_ATTR { return value; }; \
    cast_vectors<From, To, To>(out, inputs, n, of_vector);          \
  }
MT_CAST(float_to_double, float, double, hn::PromoteTo(d, v))
MT_CAST(double_to_float, double, float, hn::DemoteTo(d, v))
MT_CAST(float_to_int32, float, int32_t, to_integers(d, v))
MT_CAST(double_to_int32, double, int32_t, to_integers(d, v))
MT_CAST(int32_to_float, int32_t, float, hn::ConvertTo(d, v))
MT_CAST(int32_to_double, int32_t, double, hn::PromoteTo(d, v))
MT_CAST(int32_to_int64, int32_t, int64_t, hn::PromoteTo(d, v))
MT_CAST(int64_to_int32, int64_t, int32_t,
        hn::BitCast(d, hn::TruncateTo(hn::RebindToUnsigned<decltype(d)>(),
                                      hn::BitCast(Tag<uint64_t>(), v))))
MT_CAST(int64_to_double, int64_t, double, hn::ConvertTo(d, v))
#if HWY_TARGET == HWY_AVX3
MT_CAST(int64_to_float, int64_t, float, (hn::Vec<decltype(d)>{_mm512_cvtepi64_ps(v.raw)}))
MT_CAST(float_to_int64, float, int64_t, to_integers(d, v))
MT_CAST(double_to_int64, double, int64_t, to_integers(d, v))
#endif
#undef MT_CAST

// Converts floats to the range of Number, in its compute type.
template <class From, class Number>
void saturate(void* out, const void* const* inputs, int64_t n) {
  using To = std::conditional_t<sizeof(Number) == 4, int64_t, int32_t>;
  if constexpr (has_integers<To>) {
    using Limits = std::numeric_limits<Number>;
    auto of_vector = [](auto d, auto v) HWY_ATTR {
      return hn::Clamp(to_integers(d, v), hn::Set(d, Limits::min()), hn::Set(d, Limits::max()));
    };
    cast_vectors<From, To, Number>(out, inputs, n, of_vector);
  } else {
    cast<From, To, Number>(out, inputs, n);
  }
}
template <class From>
Kernel saturation_from(Dtype to) {
  switch (to) {
    case Dtype::uint8: return &saturate<From, uint8_t>;
    case Dtype::uint16: return &saturate<From, uint16_t>;
    case Dtype::uint32: return &saturate<From, uint32_t>;
    case Dtype::int8: return &saturate<From, int8_t>;
    case Dtype::int16: return &saturate<From, int16_t>;
    default: return nullptr;
  }
}

struct IsTrue {
  template <class V>
  static HWY_INLINE auto apply(V x) {
    return x != V(0);
  }
};
template <class From>
void to_boolean(void* out, const void* const* inputs, int64_t n) {
  const Input input{inputs[0]};
  elements<IsTrue, From, true, 1>(out, &input, 1, n);
}

template <class From>
Kernel cast_from(Compute to) {
  switch (to) {
    case Compute::f32: return &cast<From, float>;
    case Compute::f64: return &cast<From, double>;
    case Compute::i32: return &cast<From, int32_t>;
    case Compute::i64: return &cast<From, int64_t>;
    case Compute::u64: return &cast<From, uint64_t>;
  }
  return nullptr;
}
Kernel vector_cast(Compute from, Compute to) {
  auto is = [&](Compute a, Compute b) { return from == a && to == b; };
  if (is(Compute::f32, Compute::f64)) return &float_to_double;
  if (is(Compute::i32, Compute::f32)) return &int32_to_float;
  if (is(Compute::i32, Compute::f64)) return &int32_to_double;
  if (is(Compute::i32, Compute::i64)) return &int32_to_int64;
  if (is(Compute::i64, Compute::i32)) return &int64_to_int32;
  if (is_baseline) return nullptr;
  if (is(Compute::f64, Compute::f32)) return &double_to_float;
  if (is(Compute::f32, Compute::i32)) return &float_to_int32;
  if (is(Compute::f64, Compute::i32)) return &double_to_int32;
  if (is(Compute::i64, Compute::f64)) return &int64_to_double;
#if HWY_TARGET == HWY_AVX3
  if (is(Compute::i64, Compute::f32)) return &int64_to_float;
  if (is(Compute::f32, Compute::i64)) return &float_to_int64;
  if (is(Compute::f64, Compute::i64)) return &double_to_int64;
#endif
  return nullptr;
}
Kernel cast_of(Compute from, Dtype dtype) {
  if (saturates(from, dtype)) {
    return from == Compute::f32 ? saturation_from<float>(dtype) : saturation_from<double>(dtype);
  }
  // Between integers, which wrap, it makes no difference whether those of 64 bits are signed.
  Compute to = compute_of(dtype);
  if (from == Compute::i32 && to == Compute::u64) to = Compute::i64;
  if (from == Compute::u64 && (to == Compute::i32 || to == Compute::i64)) from = Compute::i64;
  if (Kernel kernel = vector_cast(from, to)) return kernel;
  switch (from) {
    case Compute::f32: return cast_from<float>(to);
    case Compute::f64: return cast_from<double>(to);
    case Compute::i32: return cast_from<int32_t>(to);
    case Compute::i64: return cast_from<int64_t>(to);
    case Compute::u64: return cast_from<uint64_t>(to);
  }
  return nullptr;
}
Kernel to_boolean_of(Compute from) {
  switch (from) {
    case Compute::f32: return &to_boolean<float>;
    case Compute::f64: return &to_boolean<double>;
    case Compute::i32: return &to_boolean<int32_t>;
    case Compute::i64: return &to_boolean<int64_t>;
    case Compute::u64: return &to_boolean<uint64_t>;
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(cast_of);
HWY_EXPORT(to_boolean_of);
Kernel cast_kernel(Compute from, Dtype to) { return HWY_DYNAMIC_DISPATCH(cast_of)(from, to); }
Kernel to_boolean_kernel(Compute from) { return HWY_DYNAMIC_DISPATCH(to_boolean_of)(from); }
}  // namespace mt::cpu
#endif
