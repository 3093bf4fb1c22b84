// SPDX-License-Identifier: Apache-2.0
// A fragment, included inside a namespace that defines the primitives for a type V (see
// scalar.h for the list): polynomials, exact sums and products, powers of two.

template <class V>
MT_MATH V choose(double single, double wide) {
  return V(is_single<V> ? single : wide);
}

// c0 + c2 y + c4 y^2 + ...
template <class V>
MT_MATH V every_second(V, double c0) {
  return V(c0);
}
template <class V>
MT_MATH V every_second(V, double c0, double) {
  return V(c0);
}
template <class V, class... Coefficients>
MT_MATH V every_second(V y, double c0, double, Coefficients... rest) {
  return fma(every_second(y, rest...), y, V(c0));
}

// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class V>
MT_MATH V horner(V, double c0) {
  return V(c0);
}
template <class V, class... Coefficients>
MT_MATH V horner(V x, double c0, Coefficients... rest) {
  return fma(horner(x, rest...), x, V(c0));
}
// The same, but long ones go to even and odd powers apart, as half the chain is half the wait.
template <class V, class... Coefficients>
MT_MATH V polynomial(V x, double c0, Coefficients... rest) {
  if constexpr (sizeof...(rest) < 7) {
    return horner(x, c0, rest...);
  } else {
    V square = x * x;
    return fma(every_second(square, rest...), x, every_second(square, c0, rest...));
  }
}

// An unevaluated sum hi + lo.
template <class V>
struct Pair {
  V hi, lo;
};

// Exact when |a| >= |b| or a == 0.
template <class V>
MT_MATH Pair<V> fast_two_sum(V a, V b) {
  V sum = a + b;
  return {sum, b - (sum - a)};
}
template <class V>
MT_MATH Pair<V> two_sum(V a, V b) {
  V sum = a + b;
  V b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
template <class V>
MT_MATH Pair<V> two_product(V a, V b) {
  V product = a * b;
  return {product, fma(a, b, -product)};
}

// (n.hi + n.lo) / (d.hi + d.lo), for 1 / d.hi that is neither zero nor infinite.
template <class V>
MT_MATH Pair<V> divide(Pair<V> n, Pair<V> d) {
  V inverse = V(1) / d.hi;
  V quotient = n.hi * inverse;
  V rest = fma(-quotient, d.lo, fma(-quotient, d.hi, n.hi) + n.lo);
  return {quotient, rest * inverse};
}
// The same, rounded.
template <class V>
MT_MATH V quotient_of(Pair<V> n, Pair<V> d) {
  V inverse = V(1) / d.hi;
  V quotient = n.hi * inverse;
  V rest = fma(-quotient, d.lo, fma(-quotient, d.hi, n.hi) + n.lo);
  return fma(rest, inverse, quotient);
}

// NaN stays NaN.
template <class V>
MT_MATH V clamp(V x, V low, V high) {
  return at_most(at_least(x, low), high);
}

template <class V>
MT_MATH V sign(V x) {
  return select(x > V(0), V(1), select(x < V(0), V(-1), select(x == V(0), V(0), x)));
}

template <class V>
constexpr int mantissa_bits = is_single<V> ? 23 : 52;
template <class V>
constexpr int exponent_bias = is_single<V> ? 127 : 1023;
// Adding 1.5 * 2^(mantissa bits) rounds to the nearest integer and leaves it in the low bits, and
// `more` with it.
template <class V>
MT_MATH V rounder(int more = 0) {
  return choose<V>(12582912.0 + more, 6755399441055744.0 + more);
}
template <class V>
MT_MATH V smallest_normal() {
  return choose<V>(1.1754943508222875e-38, 2.2250738585072014e-308);
}

// 2^k for an integer k whose low bits are in `k`; the upper bits are shifted out.
template <class V>
MT_MATH V power_of_two(Bits<V> k) {
  return from_bits<V>(shift_left<mantissa_bits<V>>(k + Bits<V>(exponent_bias<V>)));
}

// x * 2^k for an integer k whose low bits are in `k`, where both are normal numbers.
template <class V>
MT_MATH V times_power(V x, Bits<V> k) {
  return from_bits<V>(bits(x) + shift_left<mantissa_bits<V>>(k));
}
// x * 2^k for an integer k, rounded once, in two steps so that neither power leaves the range; the
// low bits of `biased` hold k and twice the bias.
template <class V>
MT_MATH V scale_in_two(V x, Bits<V> biased) {
  Bits<V> half = shift_right<1>(biased);
  V first = from_bits<V>(shift_left<mantissa_bits<V>>(half));
  return x * first * from_bits<V>(shift_left<mantissa_bits<V>>(biased - half));
}
