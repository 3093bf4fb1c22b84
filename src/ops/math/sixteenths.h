// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): powers of two by sixteenths. That of the fraction is looked up,
// and what is left of the exponent is so small that a short polynomial does (Tang, Table-driven
// implementation of the exponential function in IEEE floating-point arithmetic, 1989).

// Single numbers alone, and not where looking up takes long.
template <class V>
constexpr bool by_sixteenths = looks_up ? is_single<V> : false;
alignas(64) constexpr float roots_of_two[16] = {
    1,          1.04427373, 1.09050775, 1.13878858, 1.18920708, 1.24185777, 1.29683959, 1.35425556,
    1.41421354, 1.47682619, 1.54221082, 1.61049032, 1.68179286, 1.75625217, 1.8340081,  1.91520655};

// Adding it rounds to the nearest sixteenth and leaves sixteen times that in the low bits.
template <class V>
MT_MATH V sixteenth_rounder() {
  return rounder<V>() * V(0.0625);
}
// 2^(k - floor(k)) (1 + r p), for a k of which `sixteenths` is left.
template <class V>
MT_MATH V times_root(V r, V p, Bits<V> sixteenths) {
  V root = look_up(roots_of_two, sixteenths);
  return fma(root * r, p, root);
}
