// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): exp, exp2, expm1, sigmoid.

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2, or what -r has for that, with the sign turned.
template <int even = 1, class V>
MT_MATH V exp_polynomial(V r) {
  if constexpr (is_single<V>) {
    return polynomial(r, even * 0.49999997, 0.166665375, even * 0.0416677408, 0.00836725812,
                      even * 0.00138390088);
  } else {
    return polynomial(r, even * 0.5, 0.16666666666666677, even * 0.041666666666666685,
                      0.008333333333320897, even * 0.0013888888888881406, 0.00019841269888026987,
                      even * 2.4801587314379515e-05, 2.755724270144066e-06,
                      even * 2.755729706398445e-07, 2.510937684110775e-08,
                      even * 2.090344036537872e-09);
  }
}
// exp(r) - 1 - r
template <class V>
MT_MATH V exp_tail(V r) {
  return r * r * exp_polynomial(r);
}

// x = k ln(2) + r + low; `biased` holds k and twice the bias in its low bits.
template <class V>
struct Reduced {
  V r, low, k;
  Bits<V> biased;
};
template <class V>
MT_MATH Reduced<V> reduce_exponent(V x) {
  V round = rounder<V>(2 * exponent_bias<V>);
  V shifted = fma(x, V(1.4426950408889634), round);
  V k = shifted - round;
  V part = fma(k, choose<V>(-0.693145751953125, -0.693147180559663), x);
  V ln2_low = choose<V>(-1.428606765e-06, -2.8235290563031577e-13);
  V r = fma(k, ln2_low, part);
  return {r, fma(k, ln2_low, part - r), k, bits(shifted)};
}

// exp(x) = 2^floor(k) y; `biased` holds floor(k) and twice the bias in its low bits.
template <class V>
struct ScaledExponential {
  V y, k;
  Bits<V> biased;
};
// By sixteenths ln(2) may be of one part where k is small.
template <int parts = 2, class V>
MT_MATH ScaledExponential<V> scaled_exponential(V x) {
  if constexpr (by_sixteenths<V>) {
    V shifted = fma(x, V(1.4426950408889634), sixteenth_rounder<V>());
    V k = shifted - sixteenth_rounder<V>();
    V r = fma(k, V(parts == 2 ? -0.693145751953125 : -0.693147180559663), x);
    if constexpr (parts == 2) r = fma(k, V(-1.428606765e-06), r);
    V y = times_root(r, horner(r, 1, 0.500014722, 0.166668132), bits(shifted));
    return {y, k, shift_right<4>(bits(shifted)) + Bits<V>(2 * exponent_bias<V>)};
  } else {
    auto [r, low, k, biased] = reduce_exponent(x);
    return {fma(r, fma(r, exp_polynomial(r), V(1)), V(1)), k, biased};
  }
}
// The same as a number, where it is normal.
template <class V>
MT_MATH V normal_value(const ScaledExponential<V>& e) {
  return times_power(e.y, e.biased - Bits<V>(2 * exponent_bias<V>));
}
// exp(x) of a float32, where it is normal: within +- normal_exp_reach.
constexpr int normal_exp_reach = 87;
template <class V>
MT_MATH V normal_exp(V x) {
  return normal_value(scaled_exponential(x));
}
// exp(x) = 2^k (1 + r + tail), for those who must not lose what the sum would.
template <class V>
struct Exponential {
  V r, tail, k;
  Bits<V> biased;
};
template <class V>
MT_MATH Exponential<V> exponential(V x) {
  auto [r, low, k, biased] = reduce_exponent(x);
  return {r, exp_tail(r) + low, k, biased};
}

template <class V>
MT_MATH V exp(V x) {
  constexpr bool chooses = !skips_lanes<V>;
  auto stays = not_less(x, choose<V>(-104, -746));
  auto e = scaled_exponential(chooses ? x : at_most(x, choose<V>(89, 710)));
  if constexpr (!chooses) return scale_where(stays, e.y, e.k, e.biased);
  // Where all results are normal numbers, as a rule, nothing need be chosen.
  if (is_single<V> && all(abs(x) <= V(normal_exp_reach))) return normal_value(e);
  // Zeros are chosen, not computed: a result too small for its type takes a processor long, and
  // masks of -infinity ask for many.
  auto power = bits(only_where(stays, from_bits<V>(e.biased)));
  return select(x > choose<V>(89, 710), V(infinity), scale_where(stays, e.y, e.k, power));
}

// Adding it rounds to an integer, or a sixteenth, and leaves that in the low bits (rounder()).
template <class V>
MT_MATH V exp2_rounder() {
  return by_sixteenths<V> ? sixteenth_rounder<V>() : rounder<V>();
}
// 2^(r + k), for a k that was rounded so and what r is left, inside the normal numbers' range.
template <class V>
MT_MATH V exp2_of_parts(V r, Bits<V> power) {
  if constexpr (by_sixteenths<V>) {
    V p = horner(r, 0.693147182, 0.2402343, 0.0555021949);
    return times_power(times_root(r, p, power), shift_right<4>(power));
  } else if constexpr (is_single<V>) {
    V p = horner(r, 0.693147182, 0.240226477, 0.0555033199, 0.00961843878, 0.00133990031,
                 0.000153532499);
    return times_power(fma(p, r, V(1)), power);
  } else {
    V p = polynomial(r, 0.6931471805599453, 0.2402265069591013, 0.055504108664820306,
                     0.009618129107593798, 0.0013333558146730055, 0.0001540353045758675,
                     1.525273353055341e-05, 1.321543502179275e-06, 1.0178185545858477e-07,
                     7.0738312623133e-09, 4.4367132789840363e-10);
    return times_power(fma(p, r, V(1)), power);
  }
}

// 2^x inside the normal numbers' range.
template <class V>
MT_MATH V normal_exp2(V x) {
  V shifted = x + exp2_rounder<V>();
  return exp2_of_parts(x - (shifted - exp2_rounder<V>()), bits(shifted));
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
  return scale(V(1) + (t + (tail + fma(t_low, t + tail, t_low))), k,
               bits(k + rounder<V>(2 * exponent_bias<V>)));
}
template <class V>
MT_MATH V exp2(V x) {
  return exp2_pair(x, V(0));
}

template <class V>
MT_MATH V expm1(V x) {
  // Half the power is used, as 2^k itself overflows before the result does.
  auto e = exponential(clamp(x, choose<V>(-20, -40), choose<V>(89, 710)));
  V half_power = power_of_two<V>(e.biased - Bits<V>(2 * exponent_bias<V> + 1));
  auto sum = fast_two_sum(half_power - V(0.5), half_power * e.r);
  V y = V(2) * (sum.hi + fma(half_power, e.tail, sum.lo));
  return select(abs(x) < choose<V>(1e-20, 1e-40), x, y);
}

// 1 / (1 + exp(-x)), where sums are formed in units of 2^-unit.
template <int unit, class V>
MT_MATH V inverse_of_sum(V x) {
  using B = Bits<V>;
  constexpr int bias = exponent_bias<V>, mantissa = mantissa_bits<V>;
  const V one = choose<V>(unit == 0 ? 1 : 0x1p-30, unit == 0 ? 1 : 0x1p-60);
  // exp(-x) = power (1 - tail)
  auto [r, low, k, biased] = reduce_exponent(x);
  V tail = fma(r * r, exp_polynomial<-1>(r), r);
  B times = shift_left<mantissa>(B(2 * bias - unit) - biased);
  V power = from_bits<V>(times + shift_left<mantissa>(B(bias)));
  V most = -one - power;
  V y = V(-1) / fma(power, tail, most);
  // What the sum and the division have lost, as a share of the result.
  V part = from_bits<V>(bits(y) + times);
  V lost = fma(part, tail, fma(y, most, V(1)));
  y = fma(lost, y, y);
  return unit == 0 ? y : y * one;
}
template <class V>
MT_MATH V sigmoid(V x) {
  if constexpr (is_single<V>) {
    if (all(abs(x) <= V(87))) return inverse_of_sum<0>(x);
  }
  // Units in which all sums and their reciprocals are normal numbers, unless the result is 0 or 1.
  constexpr int unit = is_single<V> ? 30 : 60;
  return inverse_of_sum<unit>(clamp(x, choose<V>(-104, -746), choose<V>(18, 38)));
}
