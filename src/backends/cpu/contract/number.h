// SPDX-License-Identifier: Apache-2.0
// Stored numbers and the types in which a contraction sums them.
#pragma once

#include <cstdint>
#include <type_traits>

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

// From one stored or summed type to another; 16-bit floats go through float, which holds them all.
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

template <class T>
constexpr Dtype dtype_of = std::is_same_v<T, double> ? Dtype::float64 : Dtype::float32;

}  // namespace mt::cpu
