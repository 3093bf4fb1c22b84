// SPDX-License-Identifier: Apache-2.0
// Conversion of one number between compute types.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/math/host_device.h"

namespace mt {

// As C, but floats out of range saturate and NaN becomes 0.
template <class To, class From>
MT_HOST_DEVICE constexpr To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^(bits of To), exactly; its largest value may not be a float.
    constexpr From end = From(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    constexpr From begin = std::is_signed_v<To> ? -end : From(0);
    if (x >= end) return std::numeric_limits<To>::max();
    if (x > begin - (std::is_signed_v<To> ? 0 : 1)) return static_cast<To>(x);
    return x == x ? std::numeric_limits<To>::min() : To(0);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace mt
