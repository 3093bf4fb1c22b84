// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): the share of a normal distribution below x. Its tail, the share
// beyond |x|, is a polynomial about the nearest multiple of 7/16, whose coefficients are looked up.
// From 6.34 on, where it is 1e-10, it is none.

alignas(64) constexpr float normal_tail[6][16] = {
    {0.5, 0.330874383, 0.190786958, 0.0946757421, 0.040059153, 0.0143530183, 0.00433244742,
     0.00109748275, 0.000232629507, 4.11676774e-05, 6.07168977e-06, 7.45284126e-07, 7.60520393e-08,
     6.44593579e-09, 4.53447391e-10, 0},
    {-0.398942262, -0.362532258, -0.27205494, -0.168593198, -0.0862773731, -0.0364608765,
     -0.0127241919, -0.00366695342, -0.000872672303, -0.000171500476, -2.78320058e-05,
     -3.72978843e-06, -4.1274194e-07, -3.77155764e-08, -2.8457825e-09, 0},
    {1.04563282e-08, 0.0793002993, 0.119020753, 0.110638984, 0.0754942447, 0.0398803689,
     0.0167008527, 0.00561487954, 0.00152699498, 0.000337550708, 6.08531591e-05, 8.96797155e-06,
     1.08225493e-06, 1.07093705e-07, 8.69851124e-09, 0},
    {0.0664878935, 0.0488510579, 0.0106234839, -0.0203043595, -0.0296533499, -0.0229983777,
     -0.0124916174, -0.00512169255, -0.00163716334, -0.000415052695, -8.43218731e-05,
     -1.38212163e-05, -1.83642157e-06, -1.98475774e-07, -1.7493722e-08, 0},
    {-2.83256298e-07, -0.0183557905, -0.0219757222, -0.0117604053, 0.000301595865, 0.00585529255,
     0.00539355678, 0.0029944242, 0.00118946016, 0.000358184247, 8.40482899e-05, 1.56092283e-05,
     2.31693161e-06, 2.766931e-07, 2.6711005e-08, 0},
    {-0.00987212453, -0.005581846, 0.00231570727, 0.00607417198, 0.00422639214, 0.000811552221,
     -0.000967844797, -0.00104263623, -0.000564593996, -0.000208219484, -5.68012765e-05,
     -1.18879216e-05, -1.94701261e-06, -2.52651716e-07, -2.61876032e-08, 0}};

// By the first halves of the tables, or the whole ones.
template <bool first_half, class V>
MT_MATH V normal_tail_about(V r, Bits<V> k) {
  V tail(0);
  for (int i = 5; i >= 0; --i) {
    V coefficient = first_half ? look_up_first_half(normal_tail[i], k) : look_up(normal_tail[i], k);
    tail = i == 5 ? coefficient : fma(tail, r, coefficient);
  }
  return tail;
}
// Tails have seven or six digits down to 0.001, then fewer.
template <class V>
MT_MATH V normal_cdf(V x) {
  if constexpr (by_sixteenths<V>) {
    V distance = at_most(abs(x), V(6.75));
    V shifted = fma(distance, V(16.0 / 7), rounder<V>());
    V r = fma(shifted - rounder<V>(), V(-7.0 / 16), distance);
    // Most numbers lie within 3.2.
    const bool near = looks_up_by_halves && all(shifted < rounder<V>() + V(8));
    V tail = near ? normal_tail_about<true>(r, bits(shifted))
                  : normal_tail_about<false>(r, bits(shifted));
    return select(x < V(0), tail, V(1) - tail);
  } else {
    return fma(erf(x * V(0.7071067811865476)), V(0.5), V(0.5));
  }
}
