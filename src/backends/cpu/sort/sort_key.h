// SPDX-License-Identifier: Apache-2.0
// Unsigned keys that have the order of their elements, with NaN last.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace mt::cpu {

// The key of a float; -0 comes before +0.
template <class Bits>
Bits float_key(Bits bits, Bits infinity) {
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  Bits key = bits & sign ? Bits(~bits) : Bits(bits | sign);
  return Bits(bits & Bits(~sign)) > infinity ? Bits(~Bits(0)) : key;
}

// The float of a key; for NaNs, one of them.
template <class Bits>
Bits float_of(Bits key) {
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  return key & sign ? Bits(key ^ sign) : Bits(~key);
}

// An element type: its type in memory, and the key it is sorted by: key(), which is equal for equal
// elements, or exact_key(), in which the two zeros differ.
template <class M, class K, M infinity>
struct FloatingElement {
  using Memory = M;
  using Key = K;
  static constexpr M sign = M(M(1) << (8 * sizeof(M) - 1)), infinite = infinity;
  static Key key(Memory x) { return exact_key(x == sign ? Memory(0) : x); }
  static Key exact_key(Memory x) { return float_key<M>(x, infinity); }
  static Memory from_key(Memory key) { return float_of(key); }
};
using HalfElement = FloatingElement<uint16_t, uint32_t, 0x7c00>;
using BfloatElement = FloatingElement<uint16_t, uint32_t, 0x7f80>;
using FloatElement = FloatingElement<uint32_t, uint32_t, 0x7f800000u>;
using DoubleElement = FloatingElement<uint64_t, uint64_t, 0x7ff0000000000000u>;
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
  static Key exact_key(T x) { return key(x); }
  static T from_key(Unsigned key) { return static_cast<T>(std::is_signed_v<T> ? key ^ sign : key); }
};

template <class F>
void with_element(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::uint8: return f(IntegerElement<uint8_t>{});
    case Dtype::uint16: return f(IntegerElement<uint16_t>{});
    case Dtype::uint32: return f(IntegerElement<uint32_t>{});
    case Dtype::uint64: return f(IntegerElement<uint64_t>{});
    case Dtype::int8: return f(IntegerElement<int8_t>{});
    case Dtype::int16: return f(IntegerElement<int16_t>{});
    case Dtype::int32: return f(IntegerElement<int32_t>{});
    case Dtype::int64: return f(IntegerElement<int64_t>{});
    case Dtype::float16: return f(HalfElement{});
    case Dtype::bfloat16: return f(BfloatElement{});
    case Dtype::float32: return f(FloatElement{});
    case Dtype::float64: return f(DoubleElement{});
  }
}

}  // namespace mt::cpu
