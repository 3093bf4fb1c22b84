// SPDX-License-Identifier: Apache-2.0
// What the table's functions mean for integers: arithmetic wraps, division by zero gives 0, and
// division and shifts never trap, whatever the operands.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/math/host_device.h"

namespace mt::integer {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
MT_HOST_DEVICE constexpr T add(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <class T>
MT_HOST_DEVICE constexpr T subtract(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <class T>
MT_HOST_DEVICE constexpr T multiply(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
}

template <class T>
MT_HOST_DEVICE constexpr T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return subtract(T{0}, a);
    T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    return a / b;
  }
}
template <class T>
MT_HOST_DEVICE constexpr T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    return a % b;
  }
}

// A negative exponent gives the fraction rounded towards zero, 0 for base 0.
template <class T>
MT_HOST_DEVICE constexpr T pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  T result = 1;
  while (exponent != 0) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
    exponent = static_cast<T>(static_cast<Unsigned<T>>(exponent) >> 1);
  }
  return result;
}

// Counts outside the width shift everything out.
template <class T>
MT_HOST_DEVICE constexpr T shift_left(T a, T count) {
  bool inside = static_cast<Unsigned<T>>(count) < sizeof(T) * 8;
  return inside ? static_cast<T>(static_cast<Unsigned<T>>(a) << count) : 0;
}
template <class T>
MT_HOST_DEVICE constexpr T shift_right(T a, T count) {
  bool inside = static_cast<Unsigned<T>>(count) < sizeof(T) * 8;
  if (inside) return static_cast<T>(a >> count);
  return a < 0 ? static_cast<T>(-1) : T{0};
}

}  // namespace mt::integer
