// SPDX-License-Identifier: Apache-2.0
// Stored numbers and the types in which a contraction sums them. 16-bit floats are stored bits that
// convert exactly to float and round to nearest even on the way back.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace mt::cpu {

struct Bfloat16 {
  uint16_t bits;
  Bfloat16() = default;
  explicit Bfloat16(float x) {
    uint32_t u = std::bit_cast<uint32_t>(x);
    bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

struct Float16 {
  uint16_t bits;
  Float16() = default;
  explicit Float16(float x) {
    uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000u) {
      bits = static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    } else if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
      bits = static_cast<uint16_t>(sign | 0x7c00);
    } else if (magnitude >= 0x38800000u) {  // normal: rebias, round to even
      uint32_t rounded = magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1);
      bits = static_cast<uint16_t>(sign | rounded >> 13);
    } else {  // subnormal: adding 0.5 leaves the multiple of 2^-24 in the last bits, rounded to
              // even
      float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
  }
  explicit operator float() const {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)
      return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x0400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
    float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
};

// Calls f(S()) with the C++ type that stores `dtype`.
template <class F>
decltype(auto) with_type(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean:
      return f(bool());
    case Dtype::uint8:
      return f(uint8_t());
    case Dtype::uint16:
      return f(uint16_t());
    case Dtype::uint32:
      return f(uint32_t());
    case Dtype::uint64:
      return f(uint64_t());
    case Dtype::int8:
      return f(int8_t());
    case Dtype::int16:
      return f(int16_t());
    case Dtype::int32:
      return f(int32_t());
    case Dtype::int64:
      return f(int64_t());
    case Dtype::float16:
      return f(Float16());
    case Dtype::bfloat16:
      return f(Bfloat16());
    case Dtype::float32:
      return f(float());
    case Dtype::float64:
      return f(double());
  }
  return f(float());
}

// Between stored and summed types; 16-bit floats go through float, of which all their values are.
template <class To, class From>
To convert(From x) {
  constexpr bool half_from = sizeof(From) == 2 && !std::is_arithmetic_v<From>;
  constexpr bool half_to = sizeof(To) == 2 && !std::is_arithmetic_v<To>;
  if constexpr (half_from) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (half_to) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
constexpr Dtype dtype_of = sizeof(T) == 8 ? Dtype::float64 : Dtype::float32;

}  // namespace mt::cpu
