// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): pow, hypot.

// log2(x) for finite x > 0, to about 2^-65 of its value.
template <class V>
MT_MATH Pair<V> log2_pair(V x) {
  auto [k, f] = split_exponent(x);
  // s = f / (2 + f), and what the division lost.
  auto d = fast_two_sum(V(2), f);
  V s = f / d.hi;
  V s_low = fma(-s, d.lo, fma(-s, d.hi, f)) / d.hi;
  // atanh(s) / s = 1 + z/3 + z^2 Q(z)
  auto z = two_product(s, s);
  z.lo = fma(s + s, s_low, z.lo);
  V q = polynomial(z.hi, 0.1999999999999999, 0.14285714285721932, 0.11111111108890286,
                   0.09090909422726626, 0.07692279155816893, 0.06668134758450098,
                   0.05837835162899198, 0.05991365794408262);
  auto third = two_product(z.hi, V(0.3333333333333333));
  third.lo = fma(z.hi, V(1.850371707708594e-17), fma(z.lo, V(0.3333333333333333), third.lo));
  auto series = fast_two_sum(third.hi, z.hi * z.hi * q);
  series.lo = series.lo + third.lo;
  // s (1 + series), then times 2 / ln(2)
  auto product = two_product(s, series.hi);
  product.lo = fma(s_low, series.hi, fma(s, series.lo, product.lo)) + s_low;
  auto atanh_s = fast_two_sum(s, product.hi);
  atanh_s.lo = atanh_s.lo + product.lo;
  V factor = V(2.8853900817779268);
  auto log2_f = two_product(atanh_s.hi, factor);
  log2_f.lo = fma(atanh_s.hi, V(4.0710547481862066e-17), fma(atanh_s.lo, factor, log2_f.lo));
  auto sum = fast_two_sum(k, log2_f.hi);
  return fast_two_sum(sum.hi, sum.lo + log2_f.lo);
}

// (2^k (1 + f))^y in doubles, good to 2^-34: from the series of log.h and exp.h with fewer terms.
template <class V>
MT_MATH V pow_in_double(V k, V f, V y) {
  V s = f / (V(2) + f);
  V z = s * s;
  V p = polynomial(z, 2.8853900817779268, 0.9617966940583769, 0.5770779529545617,
                   0.41220843000242946, 0.3199334884759175, 0.2825595549614057);
  V power = clamp(y * fma(s, p, k), V(-200), V(200));
  V round = rounder<V>(exponent_bias<V>);
  V shifted = power + round;
  V r = power - (shifted - round);
  V q = polynomial(r, 1, 0.6931471807053239, 0.2402265106866076, 0.05550410364377912,
                   0.009618037783126834, 0.0013333935469567498, 0.00015466879051341108,
                   1.5196283597304718e-05);
  return q * from_bits<V>(shift_left<mantissa_bits<V>>(bits(shifted)));
}

// |x|^y for y that is neither infinite nor NaN, or |x| that is neither of these, 0 or 1.
template <class V>
MT_MATH V pow_positive(V x, V y) {
  auto edge = (x == V(0)) | !(x < V(infinity));
  if constexpr (is_single<V>) {
    auto [k, f] = split_exponent(x);
    V result =
        through_double([](auto a, auto b, auto c) { return pow_in_double(a, b, c); }, k, f, y);
    if (!any(edge)) return result;
    V at_edge = select((y > V(0)) == (x == V(0)), V(0), V(infinity));
    result = select(edge, select(y == y, at_edge, y), result);
    return select(x == x, result, x);
  } else {
    auto [hi, lo] = log2_pair(x);
    hi = select(edge, select(x == V(0), V(-infinity), x), hi);
    lo = select(edge, V(0), lo);
    auto product = two_product(y, hi);
    V low = fma(y, lo, product.lo);
    return exp2_pair(product.hi, select(abs(product.hi) < V(4096), low, V(0)));
  }
}

template <class V>
MT_MATH V pow(V x, V y) {
  V ax = abs(x);
  V result = pow_positive(ax, y);
  // As a rule.
  if (all((x > V(0)) & (x < V(infinity)) & (abs(y) < V(infinity)))) return result;
  auto integral = trunc(y) == y;
  V half = V(0.5) * y;
  auto odd = integral & (trunc(half) != half);
  auto negative = copysign(V(1), x) < V(0);
  result = select(negative & odd, -result, result);
  result = select((x < V(0)) & (ax < V(infinity)) & !integral, V(not_a_number), result);
  auto one = (x == V(1)) | (y == V(0)) | ((ax == V(1)) & (abs(y) == V(infinity)));
  return select(one, V(1), result);
}

template <class V>
MT_MATH V hypot(V x, V y) {
  V ax = abs(x), ay = abs(y);
  V result = [&] {
    if constexpr (is_single<V>) {
      return through_double([](auto a, auto b) { return sqrt(fma(a, a, b * b)); }, ax, ay);
    } else {
      V larger = select(ax > ay, ax, ay), smaller = select(ax > ay, ay, ax);
      V down = select(larger > V(0x1p500), V(0x1p-600), V(1));
      V factor = select(larger < V(0x1p-400), V(0x1p600), down);
      V back = select(larger < V(0x1p-400), V(0x1p-600), V(1) / down);
      larger = larger * factor;
      smaller = smaller * factor;
      return sqrt(fma(larger, larger, smaller * smaller)) * back;
    }
  }();
  auto infinite = (ax == V(infinity)) | (ay == V(infinity));
  return select(infinite, V(infinity), result);
}
