// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): slopes of activations. naive_math.cpp includes it too, over the
// standard library's functions.

template <class V>
MT_MATH V silu_slope(V x) {
  V s = sigmoid(x);
  // Beyond, it is 0 or 1, and x may be infinite.
  V near = select(x * x < V(1e6), x, V(0));
  return s * (near * (V(1) - s) + V(1));
}

template <class V>
MT_MATH V gelu_slope(V x) {
  V normal_cdf = erf(x * V(0.7071067811865476)) * V(0.5) + V(0.5);
  // Beyond, less than 1e-27: nothing beside the errors of the cdf, but further on denormal numbers,
  // which processors compute, and multiply by, a hundred times more slowly.
  V near = select(x * x < V(128), x, V(0));
  return normal_cdf + near * exp(near * near * V(-0.5)) * V(0.3989422804014327);
}

template <class V>
MT_MATH V gelu_tanh_slope(V x) {
  V square = x * x;
  V t = tanh(x * (square * V(0.035677408136300125) + V(0.7978845608028654)));
  // Beyond, t is -1 or 1, and the square may be infinite.
  V near = select(square < V(128), x, V(0));
  V half_inner = near * near * V(0.053516112204450184) + V(0.3989422804014327);
  return t * V(0.5) + V(0.5) + near * (V(1) - t * t) * half_inner;
}
