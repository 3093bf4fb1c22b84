// SPDX-License-Identifier: Apache-2.0
// The element-wise table as device code: for each row a function name_of over V = float, double or
// Integer<T>.
#pragma once

#include "backends/cuda/device/numbers.h"
#include "ops/math/scalar.h"

namespace mt::cuda {

namespace table {
using namespace scalar;
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"  // of masks, which are bool here
#endif
#define UNARY(name, domain, result, value, gradient) \
  template <class V>                                 \
  __device__ inline auto name##_of(V x) {            \
    return value;                                    \
  }
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  template <class V>                                                \
  __device__ inline auto name##_of(V a, V b) {                      \
    return value;                                                   \
  }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
#ifdef __clang__
#pragma clang diagnostic pop
#endif
}  // namespace table

// A compute type as the mathematics takes it.
template <class T>
struct MathematicalType {
  using type = scalar::Integer<T>;
};
template <>
struct MathematicalType<float> {
  using type = float;
};
template <>
struct MathematicalType<double> {
  using type = double;
};
template <class T>
using Mathematical = typename MathematicalType<T>::type;

template <class T>
__device__ inline Value pack(scalar::Integer<T> x) {
  return pack(x.value);
}
__device__ inline Value pack(bool x) { return pack<int32_t>(x); }

}  // namespace mt::cuda
