// SPDX-License-Identifier: Apache-2.0
// 16-bit floats, one at a time: rounding to nearest, ties to even. A NaN keeps its sign and the
// upper bits of its payload, and becomes quiet.
#pragma once

#include <cstdint>
#include <cstring>

#include "ops/math/host_device.h"

namespace mt {

MT_HOST_DEVICE inline float float_of_bits(uint32_t pattern) {
  float x;
  memcpy(&x, &pattern, 4);
  return x;
}
MT_HOST_DEVICE inline uint32_t bits_of_float(float x) {
  uint32_t pattern;
  memcpy(&pattern, &x, 4);
  return pattern;
}

MT_HOST_DEVICE inline float float16_to_float(uint16_t half) {
  uint32_t sign = uint32_t{half & 0x8000u} << 16;
  uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00) {
    uint32_t quiet = rest > 0x7c00 ? 0x400000 : 0;
    return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13 | quiet);
  }
  if (rest >= 0x400) return float_of_bits(sign | ((rest << 13) + (112u << 23)));
  float magnitude = static_cast<float>(rest) * 0x1p-24f;  // subnormal
  return float_of_bits(sign | bits_of_float(magnitude));
}
MT_HOST_DEVICE inline uint16_t float_to_float16(float x) {
  uint32_t pattern = bits_of_float(x);
  uint32_t sign = pattern >> 16 & 0x8000;
  uint32_t rest = pattern & 0x7fffffff;
  if (rest > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 2^16 and more
  if (rest < 0x38800000) {
    // Below 2^-14: adding 1/2 rounds to a multiple of 2^-24 and leaves it in the low bits.
    return static_cast<uint16_t>(sign | (bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000));
  }
  uint32_t even = rest >> 13 & 1;
  return static_cast<uint16_t>(sign | ((rest - (112u << 23) + 0xfff + even) >> 13));
}
MT_HOST_DEVICE inline float bfloat16_to_float(uint16_t half) {
  return float_of_bits(uint32_t{half} << 16);
}
MT_HOST_DEVICE inline uint16_t float_to_bfloat16(float x) {
  uint32_t pattern = bits_of_float(x);
  if ((pattern & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(pattern >> 16 | 0x40);
  return static_cast<uint16_t>((pattern + 0x7fff + (pattern >> 16 & 1)) >> 16);
}

}  // namespace mt
