// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): sin, cos, tan.

// x = quadrant * pi/2 + hi + lo, |hi| <= pi/4 and a little; the quadrant in the low two bits. `lo`
// is 0 unless `precise`: what hi has lost in rounding, half a unit of its last place or, where the
// second and the third part of pi/2 count, two halves.
template <class V>
struct Angle {
  V hi, lo;
  Bits<V> quadrant;
};
template <bool precise, class V>
MT_MATH Angle<V> reduce_angle(V x) {
  V count = fma(x, V(0.63661977236758134), rounder<V>()) - rounder<V>();
  // Exact: both are multiples of the last bit of pi/2's first part.
  V part = fma(count, choose<V>(-1.57079637050628662109375, -1.5707963267948966), x);
  V second = choose<V>(4.371138829e-08, -6.123233995736766e-17);
  V third = choose<V>(1.71512451e-15, 1.4973849048591698e-33);
  V hi, lo;
  if constexpr (precise) {
    // Near a multiple of pi/2 the second part cancels all of the first, so nothing may be lost
    // here.
    auto product = two_product(count, second);
    auto angle = two_sum(part, product.hi);
    hi = angle.hi;
    lo = angle.lo + fma(count, third, product.lo);
  } else {
    hi = fma(count, third, fma(count, second, part));
    lo = V(0);
  }
  auto large = abs(x) > choose<V>(0x1p14, 0x1p21);
  if (any(large)) {
    hi = map_lanes(
        large, hi,
        [](auto a, auto) {
          return static_cast<decltype(a)>(reduce_large_angle(static_cast<double>(a)).hi);
        },
        x, x);
    if constexpr (precise) {
      lo = map_lanes(
          large, lo,
          [](auto a, auto) {
            LargeAngle r = reduce_large_angle(static_cast<double>(a));
            return static_cast<decltype(a)>(
                r.hi - static_cast<double>(static_cast<decltype(a)>(r.hi)) + r.lo);
          },
          x, x);
    }
    count = map_lanes(
        large, count,
        [](auto a, auto) {
          return static_cast<decltype(a)>(reduce_large_angle(static_cast<double>(a)).quadrant);
        },
        x, x);
  }
  return {hi, lo, bits(count + rounder<V>())};
}

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 for z = r^2.
template <class V>
MT_MATH V sin_polynomial(V z) {
  if constexpr (is_single<V>) {
    return polynomial(z, -0.166666538, 0.00833210535, -0.000195076616);
  } else {
    return polynomial(z, -0.16666666666666627, 0.008333333333321069, -0.00019841269828698005,
                      2.7557313298341434e-06, -2.505069540050436e-08, 1.5893106348012242e-10);
  }
}
template <class V>
MT_MATH V cos_polynomial(V z) {
  if constexpr (is_single<V>) {
    return polynomial(z, 0.0416666456, -0.00138872978, 2.44300882e-05);
  } else {
    return polynomial(z, 0.04166666666666658, -0.001388888888887097, 2.480158728752825e-05,
                      -2.7557313791733406e-07, 2.0875647521922698e-09, -1.1355745973420307e-11);
  }
}

// The sine of r after `quadrant` quarter turns.
template <class V>
MT_MATH V sine_of(V r, Bits<V> quadrant) {
  V z = r * r;
  V sine = fma(r * z, sin_polynomial(z), r);
  V cosine = fma(z, fma(z, cos_polynomial(z), V(-0.5)), V(1));
  V y = select(is_odd<V>(quadrant), cosine, sine);
  Bits<V> negative = shift_left < is_single<V> ? 30 : 62 > (quadrant & Bits<V>(2));
  return from_bits<V>(bits(y) ^ negative);
}

template <class V>
MT_MATH V sin(V x) {
  auto angle = reduce_angle<false>(x);
  return select(x == V(0), x, sine_of(angle.hi, angle.quadrant));
}
template <class V>
MT_MATH V cos(V x) {
  auto angle = reduce_angle<false>(x);
  return sine_of(angle.hi, angle.quadrant + Bits<V>(1));
}

// sin(hi + lo) - hi.
template <class V>
MT_MATH V sin_tail(V hi, V lo) {
  V z = hi * hi;
  return fma(hi * z, sin_polynomial(z), fma(lo * z, V(-0.5), lo));
}
// cos(hi + lo) as 1 - z/2 and the rest.
template <class V>
MT_MATH Pair<V> cos_pair(V hi, V lo) {
  V z = hi * hi;
  auto sum = fast_two_sum(V(1), V(-0.5) * z);
  // z/2 itself was rounded: fma gives back what it lost.
  V lost = fma(hi, hi, -z) * V(-0.5);
  return {sum.hi, fma(z * z, cos_polynomial(z), fma(-hi, lo, sum.lo + lost))};
}

template <class V>
MT_MATH V tan(V x) {
  auto angle = reduce_angle<true>(x);
  auto odd = is_odd<V>(angle.quadrant);
  auto s = fast_two_sum(angle.hi, sin_tail(angle.hi, angle.lo));
  auto c = cos_pair(angle.hi, angle.lo);
  c = fast_two_sum(c.hi, c.lo);
  Pair<V> n = {select(odd, -c.hi, s.hi), select(odd, -c.lo, s.lo)};
  Pair<V> d = {select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)};
  return select(abs(x) < choose<V>(1e-20, 1e-40), x, quotient_of(n, d));
}
