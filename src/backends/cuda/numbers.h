// SPDX-License-Identifier: Apache-2.0
// Numbers of every dtype in memory, and in the compute types as 64 bits that hold any of them.
#pragma once

#include "backends/cpu/elementwise/conversion.h"
#include "backends/cuda/grid.h"
#include "ops/elementwise.h"
#include "ops/half.h"

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
    case Compute::f32:
      return f(float());
    case Compute::f64:
      return f(double());
    case Compute::i32:
      return f(int32_t());
    case Compute::i64:
      return f(int64_t());
    default:
      return f(uint64_t());
  }
}

// Element i of memory of that dtype, in its compute type.
__device__ inline Value load_number(const char* data, Dtype dtype, int64_t i) {
  switch (dtype) {
    case Dtype::boolean:
      return pack<int32_t>(load(reinterpret_cast<const uint8_t*>(data), i) != 0);
    case Dtype::uint8:
      return pack<int32_t>(load(reinterpret_cast<const uint8_t*>(data), i));
    case Dtype::int8:
      return pack<int32_t>(load(reinterpret_cast<const int8_t*>(data), i));
    case Dtype::uint16:
      return pack<int32_t>(load(reinterpret_cast<const uint16_t*>(data), i));
    case Dtype::int16:
      return pack<int32_t>(load(reinterpret_cast<const int16_t*>(data), i));
    case Dtype::uint32:
      return pack<int64_t>(load(reinterpret_cast<const uint32_t*>(data), i));
    case Dtype::float16:
      return pack(float16_to_float(load(reinterpret_cast<const uint16_t*>(data), i)));
    case Dtype::bfloat16:
      return pack(bfloat16_to_float(load(reinterpret_cast<const uint16_t*>(data), i)));
    case Dtype::int32:
    case Dtype::float32:
      return load(reinterpret_cast<const uint32_t*>(data), i);
    default:
      return load(reinterpret_cast<const uint64_t*>(data), i);
  }
}

// Rounds to nearest even, or wraps.
__device__ inline void store_number(char* data, Dtype dtype, int64_t i, Value value) {
  switch (dtype) {
    case Dtype::boolean:
      return store(reinterpret_cast<uint8_t*>(data), i,
                   static_cast<uint8_t>(unpack<int32_t>(value) != 0));
    case Dtype::uint8:
    case Dtype::int8:
      return store(reinterpret_cast<uint8_t*>(data), i, static_cast<uint8_t>(value));
    case Dtype::uint16:
    case Dtype::int16:
      return store(reinterpret_cast<uint16_t*>(data), i, static_cast<uint16_t>(value));
    case Dtype::float16:
      return store(reinterpret_cast<uint16_t*>(data), i, float_to_float16(unpack<float>(value)));
    case Dtype::bfloat16:
      return store(reinterpret_cast<uint16_t*>(data), i, float_to_bfloat16(unpack<float>(value)));
    case Dtype::uint32:
    case Dtype::int32:
    case Dtype::float32:
      return store(reinterpret_cast<uint32_t*>(data), i, static_cast<uint32_t>(value));
    default:
      return store(reinterpret_cast<uint64_t*>(data), i, value);
  }
}

// As if stored to memory of that dtype and loaded again.
__device__ inline Value round_number(Dtype dtype, Value value) {
  switch (dtype) {
    case Dtype::uint8:
      return pack<int32_t>(static_cast<uint8_t>(value));
    case Dtype::int8:
      return pack<int32_t>(static_cast<int8_t>(value));
    case Dtype::uint16:
      return pack<int32_t>(static_cast<uint16_t>(value));
    case Dtype::int16:
      return pack<int32_t>(static_cast<int16_t>(value));
    case Dtype::uint32:
      return pack<int64_t>(static_cast<uint32_t>(value));
    case Dtype::float16:
      return pack(float16_to_float(float_to_float16(unpack<float>(value))));
    case Dtype::bfloat16:
      return pack(bfloat16_to_float(float_to_bfloat16(unpack<float>(value))));
    default:
      return value;
  }
}

__device__ inline Value convert_number(Compute from, Compute to, Value value) {
  return with_compute(from, [&](auto x) {
    x = unpack<decltype(x)>(value);
    return with_compute(to, [&](auto y) { return pack(cpu::convert<decltype(y)>(x)); });
  });
}
__device__ inline Value is_true(Compute from, Value value) {
  return with_compute(
      from, [&](auto x) { return pack<int32_t>(unpack<decltype(x)>(value) != decltype(x)(0)); });
}

}  // namespace mt::cuda
