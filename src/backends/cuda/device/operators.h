// SPDX-License-Identifier: Apache-2.0
// Element-wise operators and reductions on numbers of the compute types.
#pragma once

#include "backends/cuda/device/table.h"
#include "ops/reduction.h"

namespace mt::cuda {

// The row of the table with that code, on numbers of the compute type.
__device__ Value operate(Compute type, uint8_t code, Value a, Value b);

template <class T>
__device__ inline T identity_of(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  switch (reduction) {
    case Reduction::sum: return T(0);
    case Reduction::prod: return T(1);
    case Reduction::max: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    default: return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
}
template <class T>
__device__ inline T combine(Reduction reduction, T x, T y) {
  using V = Mathematical<T>;
  V a(x), b(y);
  switch (reduction) {
    case Reduction::sum: return unpack<T>(pack(a + b));
    case Reduction::prod: return unpack<T>(pack(a * b));
    case Reduction::max: return unpack<T>(pack(scalar::max(a, b)));
    default: return unpack<T>(pack(scalar::min(a, b)));
  }
}
// All lanes of a warp hold one number each; lane 0 receives all of them combined by halving.
template <class T>
__device__ inline T combine_lanes(Reduction reduction, T x, int lanes = 32) {
  for (int half = lanes / 2; half > 0; half /= 2) {
    x = combine(reduction, x, __shfl_down_sync(0xffffffff, x, static_cast<unsigned>(half), lanes));
  }
  return x;
}

}  // namespace mt::cuda
