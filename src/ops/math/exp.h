// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): exp, exp2, expm1, sigmoid.

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class V>
MT_MATH V exp_polynomial(V r) {
  if constexpr (is_single<V>) {
    return polynomial(r, 0.49999997, 0.166665375, 0.0416677408, 0.00836725812, 0.00138390088);
  } else {
    return polynomial(r, 0.5, 0.16666666666666677, 0.041666666666666685, 0.008333333333320897,
                      0.0013888888888881406, 0.00019841269888026987, 2.4801587314379515e-05,
                      2.755724270144066e-06, 2.755729706398445e-07, 2.510937684110775e-08,
                      2.090344036537872e-09);
  }
}
// exp(r) - 1 - r
template <class V>
MT_MATH V exp_tail(V r) {
  return r * r * exp_polynomial(r);
}

// x = k ln(2) + r + low; `bits` holds k in its low bits.
template <class V>
struct Reduced {
  V r, low, k;
  Bits<V> bits;
};
template <class V>
MT_MATH Reduced<V> reduce_exponent(V x) {
  V shifted = fma(x, V(1.4426950408889634), rounder<V>());
  V k = shifted - rounder<V>();
  V part = fma(k, choose<V>(-0.693145751953125, -0.693147180559663), x);
  V ln2_low = choose<V>(-1.428606765e-06, -2.8235290563031577e-13);
  V r = fma(k, ln2_low, part);
  return {r, fma(k, ln2_low, part - r), k, bits(shifted)};
}

// exp(x) = 2^k y; `bits` holds k in its low bits.
template <class V>
struct ScaledExponential {
  V y, k;
  Bits<V> bits;
};
template <class V>
MT_MATH ScaledExponential<V> scaled_exponential(V x) {
  auto [r, low, k, bits] = reduce_exponent(x);
  return {fma(r, fma(r, exp_polynomial(r), V(1)), V(1)), k, bits};
}
// exp(x) = 2^k (1 + r + tail), for those who must not lose what the sum would.
template <class V>
struct Exponential {
  V r, tail, k;
  Bits<V> bits;
};
template <class V>
MT_MATH Exponential<V> exponential(V x) {
  auto [r, low, k, bits] = reduce_exponent(x);
  return {r, exp_tail(r) + low, k, bits};
}

template <class V>
MT_MATH V exp(V x) {
  // Zeros are chosen, not computed: a result too small for its type takes a processor long, and
  // masks of -infinity ask for many.
  auto stays = not_less(x, choose<V>(-104, -746));
  x = at_most(x, choose<V>(89, 710));
  auto e = scaled_exponential(skips_lanes<V> ? x : select(stays, x, V(0)));
  return scale_where(stays, e.y, e.k);
}

// 2^(r + k) for |r| <= 1/2 and a k whose low bits are in `power`, inside the normal numbers' range.
template <class V>
MT_MATH V exp2_of_parts(V r, Bits<V> power) {
  V p = [&] {
    if constexpr (is_single<V>) {
      return polynomial(r, 0.693147182, 0.240226477, 0.0555033199, 0.00961843878, 0.00133990031,
                        0.000153532499);
    } else {
      return polynomial(r, 0.6931471805599453, 0.2402265069591013, 0.055504108664820306,
                        0.009618129107593798, 0.0013333558146730055, 0.0001540353045758675,
                        1.525273353055341e-05, 1.321543502179275e-06, 1.0178185545858477e-07,
                        7.0738312623133e-09, 4.4367132789840363e-10);
    }
  }();
  return from_bits<V>(bits(fma(p, r, V(1))) + shift_left<mantissa_bits<V>>(power));
}

// 2^x inside the normal numbers' range.
template <class V>
MT_MATH V normal_exp2(V x) {
  V shifted = x + rounder<V>();
  return exp2_of_parts(x - (shifted - rounder<V>()), bits(shifted));
}

// 2^(x + low), for a low that is small beside x.
template <class V>
MT_MATH V exp2_pair(V x, V low) {
  x = clamp(x, choose<V>(-151, -1076), choose<V>(129, 1025));
  V k = round_even(x);
  V r = x - k;
  V ln2 = choose<V>(0.693147182464599609375, 0.6931471805599453);
  V ln2_low = choose<V>(-1.904654212e-09, 2.3190468138462996e-17);
  V t = r * ln2;
  V t_low = fma(r, ln2, -t) + fma(r, ln2_low, low * ln2);
  V tail = exp_tail(t);
  // exp(t + t_low) = exp(t) (1 + t_low)
  return scale(V(1) + (t + (tail + fma(t_low, t + tail, t_low))), k);
}
template <class V>
MT_MATH V exp2(V x) {
  return exp2_pair(x, V(0));
}

template <class V>
MT_MATH V expm1(V x) {
  // Half the power is used, as 2^k itself overflows before the result does.
  auto e = exponential(clamp(x, choose<V>(-20, -40), choose<V>(89, 710)));
  V half_power = power_of_two<V>(e.bits - Bits<V>(1));
  auto sum = fast_two_sum(half_power - V(0.5), half_power * e.r);
  V y = V(2) * (sum.hi + fma(half_power, e.tail, sum.lo));
  return select(abs(x) < choose<V>(1e-20, 1e-40), x, y);
}

// With e = exp(-|x|): 1 / (1 + e), and e / (1 + e) for negative x.
template <class V>
MT_MATH V sigmoid(V x) {
  V lowest = choose<V>(-104, -746);
  auto parts = scaled_exponential(at_least(-abs(x), lowest));
  V e = scale(parts.y, parts.k);
  // As quotient_of() of 1 + e in two parts, whose signs are turned here rather than the quotient's.
  V minus_sum = V(-1) - e;
  V minus_low = (V(-1) - minus_sum) - e;
  V inverse = V(-1) / minus_sum;
  V above = select(x < V(0), e, V(1));
  V quotient = above * inverse;
  V rest = fma(quotient, minus_low, fma(quotient, minus_sum, above));
  return fma(rest, inverse, quotient);
}
