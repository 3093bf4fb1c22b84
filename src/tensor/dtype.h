// SPDX-License-Identifier: Apache-2.0
// Element types, their sizes and the Array API's promotion rules.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt {

enum class Dtype : uint8_t {
  boolean,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
};
constexpr int dtype_count = 13;

inline constexpr uint8_t dtype_sizes[dtype_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
constexpr size_t size_of(Dtype dtype) { return dtype_sizes[static_cast<int>(dtype)]; }
constexpr bool is_floating(Dtype dtype) { return dtype >= Dtype::float16; }
constexpr bool is_unsigned(Dtype dtype) { return dtype >= Dtype::uint8 && dtype <= Dtype::uint64; }
constexpr bool is_signed_integer(Dtype dtype) {
  return dtype >= Dtype::int8 && dtype <= Dtype::int64;
}
constexpr bool is_integer(Dtype dtype) { return dtype >= Dtype::uint8 && dtype <= Dtype::int64; }
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }

const char* name_of(Dtype dtype);

// The result type of a binary operator. Within a kind as the Array API says; an integer or bool
// with a float gives the float; float16 with bfloat16 gives float32. uint64 with a signed integer
// has no common integer type and fails, naming `operation`.
Dtype promote(Dtype a, Dtype b, const char* operation);

// The type in which arithmetic on `dtype` is done and sums are kept: float32 for 16-bit floats.
constexpr Dtype accumulator_of(Dtype dtype) { return is_half(dtype) ? Dtype::float32 : dtype; }

// DLPack's packed code: type code | bits << 8 | lanes << 16; these are the public MT_F32 values.
int32_t to_code(Dtype dtype);
bool from_code(int32_t code, Dtype* dtype);

}  // namespace mt
