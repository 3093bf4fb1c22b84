// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): sinh, cosh, tanh and their inverses.

// (exp(x) + sign exp(-x)) / 2 for x >= 0.
template <class V>
MT_MATH V half_exponentials(V x, double sign) {
  auto e = exponential(clamp(x, V(0), choose<V>(90, 711)));
  auto one = fast_two_sum(V(1), e.r);
  V low = one.lo + e.tail;
  // In units of 2^(k - 1), the second is 2^(-2k) / (1 + r + tail).
  V inverse_power = power_of_two<V>(bits(rounder<V>() - V(2) * select(e.k > V(60), V(60), e.k)));
  V second = V(sign) * inverse_power / (one.hi + low);
  auto sum = fast_two_sum(one.hi, second);
  return scale(sum.hi + (sum.lo + low), e.k - V(1), e.biased - Bits<V>(1));
}

template <class V>
MT_MATH V sinh(V x) {
  V ax = abs(x);
  V z = ax * ax;
  V p = [&] {
    if constexpr (is_single<V>) {
      return polynomial(z, 0.166666672, 0.00833331048, 0.000198428912, 2.78226639e-06);
    } else {
      return polynomial(z, 0.16666666666666669, 0.008333333333332912, 0.00019841269841593478,
                        2.755731910670502e-06, 2.5052131012408662e-08, 1.605665765298353e-10,
                        7.776659901975408e-13);
    }
  }();
  V near_zero = fma(ax * z, p, ax);
  return copysign(select(ax < V(1), near_zero, half_exponentials(ax, -1)), x);
}

template <class V>
MT_MATH V cosh(V x) {
  return half_exponentials(abs(x), 1);
}

// An odd polynomial near zero; from 5/8 on 1 - 2 / (1 + exp(2 |x|)), for which errors of the
// quotient weigh less than half.
template <class V>
MT_MATH V tanh(V x) {
  V ax = abs(x), z = x * x;
  V p = [&] {
    if constexpr (is_single<V>) {
      return polynomial(z, -0.333332807, 0.133314058, -0.0537365079, 0.0206281226, -0.00569222867);
    } else {
      return polynomial(z, -0.33333333333332854, 0.13333333333261918, -0.05396825393118348,
                        0.021869487574107865, -0.008863220976074029, 0.0035919889565858647,
                        -0.0014549577515961625, 0.000586312824323053, -0.00022855665481826942,
                        7.713573397644741e-05, -1.606833087132315e-05);
    }
  }();
  V near = fma(x * z, p, x);
  V bounded = at_most(ax, choose<V>(10, 20));
  V two_over_ln2 = V(2.8853900817779268);
  V shifted = fma(bounded, two_over_ln2, exp2_rounder<V>());
  V r = fma(bounded, two_over_ln2, exp2_rounder<V>() - shifted);
  V far = V(1) - V(2) / (V(1) + exp2_of_parts(r, bits(shifted)));
  return copysign(select(ax > V(0.625), far, near), x);
}

template <class V>
MT_MATH V asinh(V x) {
  V ax = abs(x);
  auto large = ax > choose<V>(0x1p26, 0x1p55);
  V bounded = select(large, V(1), ax);
  V square = bounded * bounded;
  // x + sqrt(x^2 + 1) - 1
  auto sum = two_sum(bounded, square / (V(1) + sqrt(V(1) + square)));
  V argument = select(large, ax, sum.hi);
  // log(2 x) = log1p(x - 1) + log(2), and 1 vanishes beside x.
  V y = log1p_pair(argument, select(large, V(0), sum.lo), select(large, V(1), V(0)));
  y = select(ax < V(infinity), y, ax);
  return copysign(select(ax < choose<V>(1e-20, 1e-40), ax, y), x);
}

template <class V>
MT_MATH V acosh(V x) {
  auto large = x > choose<V>(0x1p26, 0x1p55);
  V t = select(large | (x < V(1)), V(1), x) - V(1);
  // x + sqrt(x^2 - 1) - 1 = t + sqrt(t (t + 2))
  auto factor = two_sum(t, V(2));
  auto square = two_product(t, factor.hi);
  V root = sqrt(square.hi);
  V rest = fma(-root, root, square.hi) + fma(t, factor.lo, square.lo);
  V root_low = select(root == V(0), V(0), rest / (root + root));
  auto sum = two_sum(t, root);
  V y = log1p_pair(select(large, x, sum.hi), select(large, V(0), sum.lo + root_low),
                   select(large, V(1), V(0)));
  return select(x < V(1), V(not_a_number), select(x < V(infinity), y, x));
}

template <class V>
MT_MATH V atanh(V x) {
  V ax = abs(x);
  V n = V(2) * select(ax < V(1), ax, V(0));
  // log1p(2 x / (1 - x)) / 2
  auto d = fast_two_sum(V(1), select(ax < V(1), -ax, V(0)));
  auto quotient = divide(Pair<V>{n, V(0)}, d);
  V y = V(0.5) * log1p_pair(quotient.hi, quotient.lo);
  V special = select(ax == V(1), V(infinity), V(not_a_number));
  y = select(ax < choose<V>(1e-20, 1e-40), ax, y);
  return copysign(select(ax < V(1), y, special), x);
}
