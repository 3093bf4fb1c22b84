// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): atan, atan2, asin, acos.

// (atan(t) - t) / t^3 for |t| <= 1, z = t^2; even and odd powers apart would cancel near 1.
template <class V>
MT_MATH V atan_polynomial(V z) {
  if constexpr (is_single<V>) {
    return horner(z, -0.333332986, 0.199985296, -0.142640159, 0.109508775, -0.0839928091,
                  0.0578805171, -0.0310955532, 0.0108675482, -0.00178247108);
  } else {
    return horner(z, -0.33333333333333065, 0.19999999999950954, -0.14285714282548426,
                  0.11111111006357934, -0.0909090699362475, 0.07692279760362115,
                  -0.0666640365955714, 0.058805268412745144, -0.0525351992629401,
                  0.04722344272983314, -0.0421927698762045, 0.0366446215031538,
                  -0.029909131904090544, 0.021992360566613155, -0.013908458023655704,
                  0.007202593379746773, -0.0028882709329257476, 0.0008325706839732808,
                  -0.000152443198039627, 1.3254343163009966e-05);
  }
}

// `turn` + atan(t) for a turn of 0, 1 or 2 quarters.
template <class V>
MT_MATH V turned_atan(V turn, V t) {
  V high = turn * choose<V>(1.57079637050628662109375, 1.5707963267948966);
  V low = turn * choose<V>(-4.371138829e-08, 6.123233995736766e-17);
  V z = t * t;
  return (high + t) + fma(t * z, atan_polynomial(z), low);
}

// Beyond 1: atan(x) = pi/2 - atan(1 / x).
template <class V>
MT_MATH V atan(V x) {
  V ax = abs(x);
  auto steep = ax > V(1);
  V t = select(steep, V(-1), ax) / select(steep, ax, V(1));
  return copysign(turned_atan(select(steep, V(1), V(0)), t), x);
}

// In the first octant atan(y / x); the others are turned or mirrored there.
template <class V>
MT_MATH V atan2(V y, V x) {
  V ay = abs(y), ax = abs(x);
  auto steep = ay > ax, left = copysign(V(1), x) < V(0);
  V n = select(steep, ax, ay), d = select(steep, ay, ax);
  // Neither 0 / 0 nor infinity / infinity is a quotient.
  V t = select(n == d, select(d == V(0), V(0), V(1)), n / d);
  V turn = select(steep, V(1), select(left, V(2), V(0)));
  return copysign(turned_atan(turn, select(steep != left, -t, t)), y);
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
