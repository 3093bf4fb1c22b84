// SPDX-License-Identifier: Apache-2.0
// Conversions between the compute types.
#include "backends/cpu/elementwise/conversion.h"
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/cast.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class From, class To>
void cast(void* out, const void* const* inputs, int64_t n) {
  const From* x = static_cast<const From*>(inputs[0]);
  To* y = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

// out may be x where the sizes agree, and every element is read before it is written.
void float_to_double(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<double> d;
  constexpr hn::Rebind<float, Tag<double>> narrow;
  const float* x = static_cast<const float*>(inputs[0]);
  double* y = static_cast<double*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  constexpr size_t lanes = lane_count<double>;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, x + i)), d, y + i);
  for (; i < count; ++i) y[i] = x[i];
}
void double_to_float(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<double> d;
  constexpr hn::Rebind<float, Tag<double>> narrow;
  const double* x = static_cast<const double*>(inputs[0]);
  float* y = static_cast<float*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  constexpr size_t lanes = lane_count<double>;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(d, x + i)), narrow, y + i);
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]);
}
void int32_to_float(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<float> d;
  constexpr Tag<int32_t> integers;
  const int32_t* x = static_cast<const int32_t*>(inputs[0]);
  float* y = static_cast<float*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  constexpr size_t lanes = lane_count<float>;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::ConvertTo(d, hn::LoadU(integers, x + i)), d, y + i);
  for (; i < count; ++i) y[i] = static_cast<float>(x[i]);
}
void float_to_int32(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<float> d;
  constexpr Tag<int32_t> integers;
  const float* x = static_cast<const float*>(inputs[0]);
  int32_t* y = static_cast<int32_t*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  constexpr size_t lanes = lane_count<float>;
  for (; i + lanes <= count; i += lanes) {
    // Saturates; what becomes of a NaN each instruction set says for itself.
    auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::ConvertTo(integers, hn::IfThenElseZero(hn::Eq(v, v), v)), integers, y + i);
  }
  for (; i < count; ++i) y[i] = convert<int32_t>(x[i]);
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
    case Compute::f32:
      return &cast<From, float>;
    case Compute::f64:
      return &cast<From, double>;
    case Compute::i32:
      return &cast<From, int32_t>;
    case Compute::i64:
      return &cast<From, int64_t>;
    case Compute::u64:
      return &cast<From, uint64_t>;
  }
  return nullptr;
}
Kernel cast_of(Compute from, Compute to) {
  if (from == Compute::f32 && to == Compute::f64) return &float_to_double;
  // Highway's baselines neither overflow to infinity nor saturate.
  if (!is_baseline && from == Compute::f64 && to == Compute::f32) return &double_to_float;
  if (!is_baseline && from == Compute::f32 && to == Compute::i32) return &float_to_int32;
  if (from == Compute::i32 && to == Compute::f32) return &int32_to_float;
  switch (from) {
    case Compute::f32:
      return cast_from<float>(to);
    case Compute::f64:
      return cast_from<double>(to);
    case Compute::i32:
      return cast_from<int32_t>(to);
    case Compute::i64:
      return cast_from<int64_t>(to);
    case Compute::u64:
      return cast_from<uint64_t>(to);
  }
  return nullptr;
}
Kernel to_boolean_of(Compute from) {
  switch (from) {
    case Compute::f32:
      return &to_boolean<float>;
    case Compute::f64:
      return &to_boolean<double>;
    case Compute::i32:
      return &to_boolean<int32_t>;
    case Compute::i64:
      return &to_boolean<int64_t>;
    case Compute::u64:
      return &to_boolean<uint64_t>;
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
Kernel cast_kernel(Compute from, Compute to) {
  choose_instruction_set();
  return HWY_DYNAMIC_DISPATCH(cast_of)(from, to);
}
Kernel to_boolean_kernel(Compute from) {
  choose_instruction_set();
  return HWY_DYNAMIC_DISPATCH(to_boolean_of)(from);
}
}  // namespace mt::cpu
#endif
