// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): gelu_tanh, and slopes of activations. naive_math.cpp includes it
// too, over the standard library's functions.

template <class V>
MT_MATH V silu_slope(V x) {
  V s = sigmoid(x);
  // Beyond, it is 0 or 1, and x may be infinite.
  V near = select(x * x < V(1e6), x, V(0));
  return s * (near * (V(1) - s) + V(1));
}

// Below, where x may be infinite, nothing is left.
template <class V>
MT_MATH V gelu(V x) {
  return at_least(x, V(-8.5)) * normal_cdf(x);
}
template <class V>
MT_MATH V gelu_slope(V x) {
  // Beyond, less than 1e-27: nothing beside the errors of the cdf, but further on denormal numbers,
  // which processors compute, and multiply by, a hundred times more slowly.
  V near = select(x * x < V(128), x, V(0));
  return normal_cdf(x) + near * exp(near * near * V(-0.5)) * V(0.3989422804014327);
}

// What gelu_tanh leaves of x, (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), is
// 1 / (1 + exp(-2 u)), and so needs no cases: this is exp(-2 u). Beyond 9 it vanishes beside 1, and
// below -9 nothing is left, less than 1e-26; what lies further out is taken for these.
constexpr double gelu_tanh_reach = 9;
template <class V>
MT_MATH V gelu_tanh_exponential(V near) {
  return normal_exp2(near * fma(near * near, V(-0.1029432395800235), V(-2.302208198144325)));
}
template <class V>
MT_MATH V gelu_tanh(V x) {
  V near = at_most(at_least(x, V(-gelu_tanh_reach)), V(gelu_tanh_reach));
  V y = x / (V(1) + gelu_tanh_exponential(near));
  return select(x < V(-gelu_tanh_reach), V(0), y);
}
template <class V>
MT_MATH V gelu_tanh_slope(V x) {
  V near = at_most(at_least(x, V(-gelu_tanh_reach)), V(gelu_tanh_reach));
  V e = gelu_tanh_exponential(near);
  V left = V(1) / (V(1) + e);
  V inner_slope = fma(near * near, V(0.21406444881780075), V(1.5957691216057308));
  V y = left * fma(near * inner_slope, left * e, V(1));
  return select(x < V(-gelu_tanh_reach), V(0), y);
}
