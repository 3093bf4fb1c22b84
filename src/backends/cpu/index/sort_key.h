// SPDX-License-Identifier: Apache-2.0
// Elements as unsigned keys of the same order, in which a NaN comes last and both zeros are equal.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace mt::cpu {

template <class Bits>
Bits float_key(Bits bits, Bits infinity) {
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  Bits magnitude = bits & Bits(~sign);
  if (magnitude > infinity) return Bits(~Bits(0));
  if (magnitude == 0) return sign;
  return bits & sign ? Bits(~bits) : Bits(bits | sign);
}

// The float of a key; +0 and one of the NaNs where there are several.
template <class Bits>
Bits float_of(Bits key) {
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  return key & sign ? Bits(key ^ sign) : Bits(~key);
}

// An element type: how it lies in memory, and the key it is sorted by.
struct HalfElement {
  using Memory = uint16_t;
  using Key = uint32_t;
  static Key key(Memory x) { return float_key<uint16_t>(x, 0x7c00); }
  static Memory from_key(Memory key) { return float_of(key); }
};
struct BfloatElement {
  using Memory = uint16_t;
  using Key = uint32_t;
  static Key key(Memory x) { return float_key<uint16_t>(x, 0x7f80); }
  static Memory from_key(Memory key) { return float_of(key); }
};
struct FloatElement {
  using Memory = uint32_t;
  using Key = uint32_t;
  static Key key(Memory x) { return float_key<uint32_t>(x, 0x7f800000u); }
  static Memory from_key(Memory key) { return float_of(key); }
};
struct DoubleElement {
  using Memory = uint64_t;
  using Key = uint64_t;
  static Key key(Memory x) { return float_key<uint64_t>(x, 0x7ff0000000000000u); }
  static Memory from_key(Memory key) { return float_of(key); }
};
template <class T>
struct IntegerElement {
  using Memory = T;
  using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Unsigned = std::make_unsigned_t<T>;
  static constexpr Unsigned sign = Unsigned(Unsigned(1) << (8 * sizeof(T) - 1));
  static Key key(T x) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<Unsigned>(static_cast<Unsigned>(x) ^ sign);
    }
    return static_cast<Key>(x);
  }
  static T from_key(Unsigned key) { return static_cast<T>(std::is_signed_v<T> ? key ^ sign : key); }
};

template <class F>
void with_element(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::uint8:
      return f(IntegerElement<uint8_t>{});
    case Dtype::uint16:
      return f(IntegerElement<uint16_t>{});
    case Dtype::uint32:
      return f(IntegerElement<uint32_t>{});
    case Dtype::uint64:
      return f(IntegerElement<uint64_t>{});
    case Dtype::int8:
      return f(IntegerElement<int8_t>{});
    case Dtype::int16:
      return f(IntegerElement<int16_t>{});
    case Dtype::int32:
      return f(IntegerElement<int32_t>{});
    case Dtype::int64:
      return f(IntegerElement<int64_t>{});
    case Dtype::float16:
      return f(HalfElement{});
    case Dtype::bfloat16:
      return f(BfloatElement{});
    case Dtype::float32:
      return f(FloatElement{});
    case Dtype::float64:
      return f(DoubleElement{});
  }
}

}  // namespace mt::cpu
