// SPDX-License-Identifier: Apache-2.0
// What the kernels of contractions share: fetching operands, and storing a finished sum.
#pragma once

#include <type_traits>

#include "backends/cuda/device/numbers.h"
#include "backends/cuda/device/views.h"
#ifndef __CUDACC_RTC__
#include "backends/cuda/kernels.h"
#endif

namespace mt::cuda {

// How one operand moves along a group of dimensions, as if they were one.
__device__ inline int64_t offset(const AxesView& axes, int64_t index) {
  if (axes.count == 1) return index * axes.stride[0];
  int64_t result = 0;
  for (int d = axes.count - 1; d >= 0; --d) {
    result += index % axes.size[d] * axes.stride[d];
    index /= axes.size[d];
  }
  return result;
}

// Of a number; the table that size_of() looks into is the host's.
__device__ inline int64_t bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::uint8:
    case Dtype::int8: return 1;
    case Dtype::uint16:
    case Dtype::int16:
    case Dtype::float16:
    case Dtype::bfloat16: return 2;
    case Dtype::uint32:
    case Dtype::int32:
    case Dtype::float32: return 4;
    default: return 8;
  }
}

// Sums are float, double, or uint64 for all integers.
template <class T>
__device__ T load_converted(const char* data, Dtype dtype, int64_t i) {
  Value value = load_number(data, dtype, i);
  return with_compute(compute_of(dtype), [&](auto x) {
    x = unpack<decltype(x)>(value);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(convert<int64_t>(x));
    else
      return convert<T>(x);
  });
}

// Whether numbers of that type are the sums' own.
template <class T>
__device__ bool is_own(Dtype dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == Dtype::float32;
  if constexpr (std::is_same_v<T, double>) return dtype == Dtype::float64;
  return dtype == Dtype::int64 || dtype == Dtype::uint64;
}
template <class T>
__device__ T load_as(const char* data, Dtype dtype, int64_t i) {
  return is_own<T>(dtype) ? load(reinterpret_cast<const T*>(data), i)
                          : load_converted<T>(data, dtype, i);
}

template <class T>
MT_NOINLINE __device__ void store_sum(char* out, Dtype dtype, int64_t i, T sum) {
  if constexpr (std::is_integral_v<T>) {
    if (dtype == Dtype::boolean) sum = sum != 0;
    store_number(out, dtype, i, static_cast<Value>(sum));
  } else {
    Value value =
        dtype == Dtype::float64 ? pack(static_cast<double>(sum)) : pack(static_cast<float>(sum));
    store_number(out, dtype, i, value);
  }
}

// A sum that the tensor cores have made, for its slab or the result.
template <Factor factor>
__device__ void store_product(const ContractionView& c, int64_t at, float sum) {
  if (c.panels > 1 || c.out_dtype == Dtype::float32) {
    return store(reinterpret_cast<float*>(c.panels > 1 ? c.slabs : c.out), at, sum);
  }
  store(reinterpret_cast<uint16_t*>(c.out), at,
        factor == Factor::bfloat16 ? float_to_bfloat16(sum) : float_to_float16(sum));
}

// Which tile a block makes. Blocks that run at the same time stay close together, eight rows of
// tiles high, so that they find what they share in the cache.
template <class Int>
struct TilePlace {
  Int row, column;
};
template <class Int>
__device__ TilePlace<Int> place_tile(Int id, Int rows, Int columns) {
  constexpr Int together = 8;
  Int first = id / (together * columns) * together;
  Int high = rows - first < together ? rows - first : together;
  id -= first * columns;
  return {first + id % high, id / high};
}

#ifndef __CUDACC_RTC__
// Calls f with both operands' layouts as types: whether they lie along k.
template <class F>
void with_layouts(const ContractionShape& shape, F&& f) {
  if (shape.a_along_k) {
    shape.b_along_k ? f(std::true_type(), std::true_type())
                    : f(std::true_type(), std::false_type());
  } else {
    shape.b_along_k ? f(std::false_type(), std::true_type())
                    : f(std::false_type(), std::false_type());
  }
}
#endif

}  // namespace mt::cuda
