// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): log, log2, log10, log1p, logaddexp.

// What is not a positive normal number is looked for in all lanes at once, as it is rare.
template <class V>
MT_MATH bool any_unusual(V x) {
  Bits<V> least = bits(smallest_normal<V>());
  return any(bits(x) - least > bits(V(infinity)) - least - Bits<V>(1));
}

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for finite x > 0.
template <class V>
struct Scaled {
  V k, f;
};
template <class V>
MT_MATH Scaled<V> split_exponent(V x) {
  V bias = choose<V>(0x1p23 + 127, 0x1p52 + 1023);
  if (any_unusual(x)) {
    auto subnormal = x < smallest_normal<V>();
    x = select(subnormal, x * choose<V>(0x1p24, 0x1p54), x);
    bias = select(subnormal, bias + choose<V>(24, 54), bias);
  }
  Bits<V> root = bits(V(0.70710678118654752));
  Bits<V> shifted = bits(x) + (bits(V(1)) - root);
  Bits<V> mantissa = shifted & (bits(smallest_normal<V>()) - Bits<V>(1));
  V f = from_bits<V>(mantissa + root) - V(1);
  V offset = choose<V>(0x1p23, 0x1p52);
  V biased = from_bits<V>(shift_right<mantissa_bits<V>>(shifted) | bits(offset));
  return {biased - bias, f};
}

// log(1 + f) - f: a polynomial in single precision, which would be too long in double; there
// log(1 + f) = 2 atanh(s), s = f / (2 + f).
template <class V>
MT_MATH V log_tail(V f) {
  if constexpr (is_single<V>) {
    return f * f *
           polynomial(f, -0.499999881, 0.333333254, -0.250015944, 0.200019881, -0.16608806,
                      0.141813576, -0.132450014, 0.129085362, -0.0762174129);
  } else {
    V s = f / (V(2) + f);
    V z = s * s;
    V p = polynomial(z, 0.6666666666666735, 0.3999999999940933, 0.28571428743702404,
                     0.2222219842660484, 0.18183572497489067, 0.15313828369888224,
                     0.14798295968630243);
    V half_square = V(0.5) * f * f;
    return fma(s, fma(z, p, half_square), -half_square);
  }
}

// log's values outside the positive numbers.
template <class V>
MT_MATH V log_special(V x, V y) {
  if (!any_unusual(x)) return y;
  V special = select(x == V(0), V(-infinity), select(x < V(0), V(not_a_number), x));
  return select((x > V(0)) & (x < V(infinity)), y, special);
}

// k ln(2) + f + tail
template <class V>
MT_MATH V combine_log(V k, V f, V tail) {
  V ln2 = choose<V>(0.693147182464599609375, 0.6931471805599453);
  V ln2_low = choose<V>(-1.904654212e-09, 2.3190468138462996e-17);
  return fma(k, ln2, f + fma(k, ln2_low, tail));
}

template <class V>
MT_MATH V log(V x) {
  auto [k, f] = split_exponent(x);
  return log_special(x, combine_log(k, f, log_tail(f)));
}

template <class V>
MT_MATH V log2(V x) {
  auto [k, f] = split_exponent(x);
  V tail = log_tail(f);
  V factor = choose<V>(1.44269502162933349609375, 1.4426950408889634);
  auto product = two_product(f, factor);
  auto sum = fast_two_sum(k, product.hi);
  V low = fma(f, choose<V>(1.925963034e-08, 2.0355273740931033e-17), product.lo);
  return log_special(x, sum.hi + (sum.lo + fma(tail, factor, low)));
}

template <class V>
MT_MATH V log10(V x) {
  auto [k, f] = split_exponent(x);
  V tail = log_tail(f);
  V factor = choose<V>(0.434294492006301879882812, 0.4342944819032518);
  auto product = two_product(f, factor);
  auto sum = fast_two_sum(k * choose<V>(0.301025390625, 0.30102999566383914), product.hi);
  V low = fma(f, choose<V>(-1.010304995e-08, 1.098319650216765e-17), product.lo);
  low = fma(k, choose<V>(4.605039067e-06, 1.42050232272661e-13), low);
  return log_special(x, sum.hi + (sum.lo + fma(tail, factor, low)));
}

// log(1 + x + low) + k ln(2) for finite 1 + x > 0 and a low that is small beside x.
template <class V>
MT_MATH V log1p_pair(V x, V low, V k = V(0)) {
  auto sum = two_sum(V(1), x);
  auto scaled = split_exponent(sum.hi);
  // The power by which 1 + x was divided, as a factor for the rest, which vanishes beside a large
  // x.
  V inverse = power_of_two<V>(bits(rounder<V>() - select(scaled.k > V(100), V(100), scaled.k)));
  auto near = (x > V(-0.29)) & (x < V(0.41));
  V f = select(near, x, scaled.f);
  V rest = select(near, low, (sum.lo + low) * inverse);
  k = k + select(near, V(0), scaled.k);
  // 1 / (1 + f) to a few bits, which is all that the rest needs.
  V slope = fma(f, fma(f, V(1) - f, V(-1)), V(1));
  return combine_log(k, f, fma(rest, slope, log_tail(f)));
}

template <class V>
MT_MATH V log1p(V x) {
  V y = log1p_pair(x, V(0));
  V special = select(x == V(-1), V(-infinity), select(x < V(-1), V(not_a_number), x));
  y = select((x > V(-1)) & (x < V(infinity)), y, special);
  return select(abs(x) < choose<V>(1e-20, 1e-40), x, y);
}

template <class V>
MT_MATH V logaddexp(V a, V b) {
  V distance = select(a == b, V(0), abs(a - b));
  return max(a, b) + log1p(exp(-distance));
}
