// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): atan, atan2, asin, acos.

// atan(t) - t for |t| <= tan(pi/8).
template <class V>
MT_MATH V atan_tail(V t) {
  V z = t * t;
  V p = [&] {
    if constexpr (is_single<V>) {
      return polynomial(z, -0.333333164, 0.199985266, -0.142443448, 0.105987258, -0.0608872324);
    } else {
      return polynomial(z, -0.3333333333333319, 0.19999999999952173, -0.14285714280061712,
                        0.11111110777121984, -0.09090897585437889, 0.07692057295628228,
                        -0.06663072209238682, 0.058476656038584277, -0.050383264125761794,
                        0.038040337919063485, -0.017881273403446203);
    }
  }();
  return t * z * p;
}

// The angle of (x, y), x and y not negative, subtracted from pi where `reflect`.
template <class V, class M>
MT_MATH V first_quadrant_angle(V y, V x, M reflect) {
  auto steep = y > V(2.414213562373095) * x;
  auto middle = (y > V(0.41421356237309503) * x) & (y <= V(2.414213562373095) * x);
  auto difference = two_sum(y, -x);
  auto sum = two_sum(y, x);
  Pair<V> n = {select(steep, -x, select(middle, difference.hi, y)),
               select(middle, difference.lo, V(0))};
  Pair<V> d = {select(steep, y, select(middle, sum.hi, x)), select(middle, sum.lo, V(0))};
  auto quotient = divide(n, d);
  V t = select(n.hi == V(0), n.hi, quotient.hi);
  V t_low = select(n.hi == V(0), V(0), quotient.lo);
  V base = select(steep, V(2), select(middle, V(1), V(0)));  // in units of pi/4
  base = select(reflect, V(4) - base, base);
  t = select(reflect, -t, t);
  t_low = select(reflect, -t_low, t_low);
  // pi/4 in two parts; multiples up to 4, of which 3 alone rounds.
  auto three = base == V(3);
  V high = select(three, choose<V>(2.35619449615478515625, 2.356194490192345),
                  base * choose<V>(0.785398185253143310546875, 0.7853981633974483));
  V low = select(three, choose<V>(-5.962440319e-09, 9.184850993605148e-17),
                 base * choose<V>(-2.185569414e-08, 3.061616997868383e-17));
  auto angle = fast_two_sum(high, t);
  return angle.hi + (angle.lo + (atan_tail(t) + (low + t_low)));
}

template <class V>
MT_MATH V atan(V x) {
  V ax = abs(x);
  V y = first_quadrant_angle(min(ax, choose<V>(1e30, 1e300)), V(1), ax < V(0));
  return copysign(select(ax < choose<V>(1e-20, 1e-40), ax, y), x);
}

template <class V>
MT_MATH V atan2(V y, V x) {
  V ay = abs(y), ax = abs(x);
  V larger = max(ax, ay);
  auto infinite = larger == V(infinity);
  // Keeps sums finite and quotients exact; the angle stays the same.
  V factor = select(larger > choose<V>(1e30, 1e300), V(0.125), V(1));
  factor = select(larger < choose<V>(1e-30, 1e-300), choose<V>(0x1p24, 0x1p54), factor);
  ay = select(infinite, select(ay == V(infinity), V(1), V(0)), ay * factor);
  ax = select(infinite, select(ax == V(infinity), V(1), V(0)), ax * factor);
  V angle = first_quadrant_angle(ay, ax, copysign(V(1), x) < V(0));
  return copysign(select((x != x) | (y != y), V(not_a_number), angle), y);
}

// asin(s) - s for |s| <= 1/2, z = s^2.
template <class V>
MT_MATH V asin_tail(V s, V z) {
  V p = [&] {
    if constexpr (is_single<V>) {
      return polynomial(z, 0.166666597, 0.0750052184, 0.044513721, 0.0318330191, 0.0143489707,
                        0.037634775);
    } else {
      return polynomial(z, 0.1666666666666676, 0.07499999999970815, 0.04464285717466017,
                        0.030381942702491026, 0.02237221522324144, 0.01735160617418769,
                        0.01398091028615868, 0.011398015125089997, 0.010786186007171168,
                        0.0036806650961970144, 0.021777862526258594, -0.02110911970134834,
                        0.03270352481111);
    }
  }();
  return s * z * p;
}

// Beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
template <class V>
MT_MATH V asin(V x) {
  V ax = abs(x);
  auto large = ax > V(0.5);
  V half = V(0.5) * (V(1) - ax);
  V z = select(large, half, ax * ax);
  V s = select(large, sqrt(half), ax);
  V tail = asin_tail(s, z);
  auto sum = fast_two_sum(choose<V>(1.57079637050628662109375, 1.5707963267948966), V(-2) * s);
  V low = choose<V>(-4.371138829e-08, 6.123233995736766e-17);
  V beyond = sum.hi + (sum.lo + fma(V(-2), tail, low));
  return copysign(select(large, beyond, s + tail), x);
}

template <class V>
MT_MATH V acos(V x) {
  V ax = abs(x);
  auto large = ax > V(0.5);
  V half = V(0.5) * (V(1) - ax);
  V z = select(large, half, ax * ax);
  V s = select(large, sqrt(half), x);
  // What the square root lost.
  V rest = select(large & (half > V(0)), fma(-s, s, half) / (s + s), V(0));
  V tail = asin_tail(s, z) + rest;
  auto right = large & (x > V(0));
  // 2 a, pi - 2 a or pi/2 - a, a = s + tail.
  V base = select(large, V(2), V(1));
  V high = base * choose<V>(1.57079637050628662109375, 1.5707963267948966);
  V low = base * choose<V>(-4.371138829e-08, 6.123233995736766e-17);
  V multiple = select(large, V(2), V(1));
  auto sum = fast_two_sum(high, -(multiple * s));
  V y = sum.hi + (sum.lo + fma(-multiple, tail, low));
  return select(right, V(2) * (s + tail), y);
}
