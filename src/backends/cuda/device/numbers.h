// SPDX-License-Identifier: Apache-2.0
// Numbers of every dtype in memory, and in the compute types as 64 bits that hold any of them.
#pragma once

#include "backends/cuda/device/grid.h"
#include "ops/elementwise.h"
#include "ops/half.h"
#include "ops/math/conversion.h"

namespace mt::cuda {

using Value = uint64_t;

template <class T>
__device__ inline Value pack(T x) {
  Value value = 0;
  memcpy(&value, &x, sizeof x);
  return value;
}
template <class T>
__device__ inline T unpack(Value value) {
  T x;
  memcpy(&x, &value, sizeof x);
  return x;
}

// Calls f with a number of the compute type.
template <class F>
__device__ inline auto with_compute(Compute type, F&& f) {
  switch (type) {
    case Compute::f32: return f(float());
    case Compute::f64: return f(double());
    case Compute::i32: return f(int32_t());
    case Compute::i64: return f(int64_t());
    default: return f(uint64_t());
  }
}

// Calls f with a number of as many bits as numbers of that dtype have in memory.
template <class F>
__device__ inline auto with_bits(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::uint8:
    case Dtype::int8: return f(uint8_t());
    case Dtype::uint16:
    case Dtype::int16:
    case Dtype::float16:
    case Dtype::bfloat16: return f(uint16_t());
    case Dtype::uint32:
    case Dtype::int32:
    case Dtype::float32: return f(uint32_t());
    default: return f(uint64_t());
  }
}

// From memory's bits to the compute type, and back: rounded to nearest even, or wrapped.
__device__ inline Value from_bits(Dtype dtype, uint64_t bits) {
  switch (dtype) {
    case Dtype::boolean: return bits != 0;
    case Dtype::int8: return pack<int32_t>(static_cast<int8_t>(bits));
    case Dtype::int16: return pack<int32_t>(static_cast<int16_t>(bits));
    case Dtype::float16: return pack(float16_to_float(static_cast<uint16_t>(bits)));
    case Dtype::bfloat16: return pack(bfloat16_to_float(static_cast<uint16_t>(bits)));
    default: return bits;
  }
}
__device__ inline uint64_t to_bits(Dtype dtype, Value value) {
  switch (dtype) {
    case Dtype::boolean: return unpack<int32_t>(value) != 0;
    case Dtype::float16: return float_to_float16(unpack<float>(value));
    case Dtype::bfloat16: return float_to_bfloat16(unpack<float>(value));
    default:
      return with_bits(dtype, [&](auto x) -> uint64_t { return static_cast<decltype(x)>(value); });
  }
}

// Element i of memory of that dtype.
__device__ inline Value load_number(const char* data, Dtype dtype, int64_t i) {
  return with_bits(dtype, [&](auto x) {
    return from_bits(dtype, load(reinterpret_cast<const decltype(x)*>(data), i));
  });
}
__device__ inline void store_number(char* data, Dtype dtype, int64_t i, Value value) {
  with_bits(dtype, [&](auto x) {
    store(reinterpret_cast<decltype(x)*>(data), i, static_cast<decltype(x)>(to_bits(dtype, value)));
  });
}

// As if stored to memory of that dtype and loaded again.
__device__ inline Value round_number(Dtype dtype, Value value) {
  return from_bits(dtype, to_bits(dtype, value));
}

// An integer as near to x as the range of `to` allows.
template <class T>
__device__ inline T within_range(Dtype to, T x) {
  auto within = [&](auto number) {
    using Limits = std::numeric_limits<decltype(number)>;
    const T low = static_cast<T>(Limits::lowest()), high = static_cast<T>(Limits::max());
    return x < low ? low : x > high ? high : x;
  };
  switch (to) {
    case Dtype::uint8: return within(uint8_t());
    case Dtype::uint16: return within(uint16_t());
    case Dtype::uint32: return within(uint32_t());
    case Dtype::int8: return within(int8_t());
    case Dtype::int16: return within(int16_t());
    default: return x;
  }
}
// The same of what a float has been converted to.
__device__ inline Value saturated(Dtype to, Value value) {
  switch (to) {
    case Dtype::uint8:
    case Dtype::uint16:
    case Dtype::int8:
    case Dtype::int16: return pack(within_range(to, unpack<int32_t>(value)));
    case Dtype::uint32: return pack(within_range(to, unpack<int64_t>(value)));
    default: return value;
  }
}

__device__ inline Value convert_number(Compute from, Compute to, Value value) {
  return with_compute(from, [&](auto x) {
    x = unpack<decltype(x)>(value);
    return with_compute(to, [&](auto y) { return pack(convert<decltype(y)>(x)); });
  });
}
__device__ inline Value is_true(Compute from, Value value) {
  return with_compute(
      from, [&](auto x) { return pack<int32_t>(unpack<decltype(x)>(value) != decltype(x)(0)); });
}

}  // namespace mt::cuda
