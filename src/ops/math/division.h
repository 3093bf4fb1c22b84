// SPDX-License-Identifier: Apache-2.0
// A fragment (see arithmetic.h): floor_divide and remainder as Python has them, but for quotients
// of infinite operands; nextafter.

// The quotient rounded towards minus infinity and what it leaves, exact up to the last addition.
template <class V>
struct Quotient {
  V quotient, remainder;
};
template <class V>
MT_MATH Quotient<V> divide_floor(V a, V b) {
  auto valid = (abs(a) < V(infinity)) & (b != V(0)) & (b == b);
  V ratio = a / b;
  // First towards zero. A quotient that was rounded up to an integer leaves a rest of the wrong
  // sign; then it is one less.
  V quotient = trunc(ratio);
  V rest = select(abs(b) < V(infinity), fma(-quotient, b, a), a);
  auto over = (rest != V(0)) & ((rest < V(0)) != (a < V(0)));
  V step = select((a < V(0)) != (b < V(0)), V(1), V(-1));
  quotient = select(over, quotient + step, quotient);
  rest = select(over, fma(step, -b, rest), rest);
  // Beyond this not every integer is a quotient's value.
  auto large = valid & (abs(ratio) >= choose<V>(0x1p22, 0x1p51));
  if (any(large)) {
    rest = map_lanes(
        large, rest, [](auto n, auto d) { return exact_remainder(n, d); }, a, b);
    quotient = select(large, round_even((a - rest) / b), quotient);
  }
  rest = select(valid, rest, V(not_a_number));
  // From truncation to floor.
  auto below = (rest != V(0)) & ((rest < V(0)) != (b < V(0))) & valid;
  rest = select(rest == V(0), copysign(V(0), b), select(below, rest + b, rest));
  quotient = select(below, quotient - V(1), quotient);
  // The Array API standard prefers floor(a / b) there.
  quotient = select(valid & (abs(b) < V(infinity)), quotient, floor(ratio));
  quotient = select(quotient == V(0), copysign(V(0), ratio), quotient);
  return {quotient, rest};
}
template <class V>
MT_MATH V floor_divide(V a, V b) {
  return divide_floor(a, b).quotient;
}
template <class V>
MT_MATH V remainder(V a, V b) {
  return divide_floor(a, b).remainder;
}

template <class V>
MT_MATH V nextafter(V a, V b) {
  Bits<V> pattern = bits(a);
  // Away from zero adds one to the pattern, towards zero takes one off.
  auto away = (b > a) == (a > V(0));
  V next = select(away, from_bits<V>(pattern + Bits<V>(1)), from_bits<V>(pattern - Bits<V>(1)));
  next = select(a == V(0), copysign(from_bits<V>(Bits<V>(1)), b), next);
  next = select(a == b, b, next);
  return select((a != a) | (b != b), V(not_a_number), next);
}
