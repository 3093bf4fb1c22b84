// SPDX-License-Identifier: Apache-2.0
// 16-bit floats, one at a time: rounding to nearest, ties to even; NaN stays NaN.
#pragma once

#include <cstdint>

namespace mt {

inline float bfloat_to_float(uint16_t value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value) << 16);
}

inline uint16_t float_to_bfloat(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float half_to_float(uint16_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16;
  uint32_t magnitude = value & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinity and NaN
    return __builtin_bit_cast(float, sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  if (magnitude >= 0x400) {
    return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000));
  }
  float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

inline uint16_t float_to_half(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (magnitude < 0x38800000) {
    // Subnormal: adding 1/2 lets the hardware round at the right place.
    float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (__builtin_bit_cast(uint32_t, shifted) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace mt
