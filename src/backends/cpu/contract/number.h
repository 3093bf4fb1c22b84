// SPDX-License-Identifier: Apache-2.0
// Stored numbers and the types in which a contraction sums them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/half.h"
#include "ops/math/conversion.h"
#include "tensor/dtype.h"

namespace mt::cpu {

struct StoredFloat16 {
  uint16_t bits;
};
struct StoredBfloat16 {
  uint16_t bits;
};

// Calls f(S()) with the C++ type that stores `dtype`.
template <class F>
decltype(auto) with_type(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean: return f(bool());
    case Dtype::uint8: return f(uint8_t());
    case Dtype::uint16: return f(uint16_t());
    case Dtype::uint32: return f(uint32_t());
    case Dtype::uint64: return f(uint64_t());
    case Dtype::int8: return f(int8_t());
    case Dtype::int16: return f(int16_t());
    case Dtype::int32: return f(int32_t());
    case Dtype::int64: return f(int64_t());
    case Dtype::float16: return f(StoredFloat16());
    case Dtype::bfloat16: return f(StoredBfloat16());
    case Dtype::float32: return f(float());
    case Dtype::float64: break;
  }
  return f(double());
}

// Converts between stored and summed types; 16-bit floats go through float, which holds them all.
template <class To, class From>
To number(From x) {
  if constexpr (std::is_same_v<From, StoredFloat16>) {
    return number<To>(float16_to_float(x.bits));
  } else if constexpr (std::is_same_v<From, StoredBfloat16>) {
    return number<To>(bfloat16_to_float(x.bits));
  } else if constexpr (std::is_same_v<To, StoredFloat16>) {
    return {float_to_float16(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, StoredBfloat16>) {
    return {float_to_bfloat16(static_cast<float>(x))};
  } else {
    return convert<To>(x);
  }
}

// Calls f(T()) with the C++ type of sums of type `sum`: integers wrap.
template <class F>
decltype(auto) with_sum(Dtype sum, F&& f) {
  switch (sum) {
    case Dtype::int32: return f(uint32_t());
    case Dtype::int64: return f(uint64_t());
    case Dtype::float32: return f(float());
    default: return f(double());
  }
}

// The type of sums with the same bit patterns; `dtype` itself if there is none.
constexpr Dtype pattern_of(Dtype dtype) {
  return dtype == Dtype::uint32 ? Dtype::int32 : dtype == Dtype::uint64 ? Dtype::int64 : dtype;
}
// Whether sums of type `sum` can read numbers of `dtype` in place, without conversion.
constexpr bool lies_as(Dtype dtype, Dtype sum) { return pattern_of(dtype) == sum; }
// Whether load_kernel() and store_kernel() convert numbers of `dtype` to sums of `sum` and back.
constexpr bool has_kernels(Dtype dtype, Dtype sum) {
  return compute_of(pattern_of(dtype)) == compute_of(sum);
}

template <class T>
constexpr Dtype dtype_of = std::is_same_v<T, double>     ? Dtype::float64
                           : std::is_same_v<T, uint32_t> ? Dtype::int32
                           : std::is_same_v<T, uint64_t> ? Dtype::int64
                                                         : Dtype::float32;

}  // namespace mt::cpu
