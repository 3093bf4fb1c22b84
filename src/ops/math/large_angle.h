// SPDX-License-Identifier: Apache-2.0
// Angles too large for three-part reduction: x * 2/pi modulo 4 in 192 bit integers (Payne and
// Hanek), taking from 2/pi only the bits that matter for this exponent.
#pragma once

#include <cstdint>
#include <cstring>

#include "ops/math/host_device.h"

namespace mt {

// hi + lo is x modulo pi/2 in [-pi/4, pi/4], quadrant in 0..3.
struct LargeAngle {
  double hi, lo;
  int quadrant;
};

// For |x| >= 2^14. Infinity and NaN give NaN.
MT_HOST_DEVICE inline LargeAngle reduce_large_angle(double x) {
  __extension__ typedef unsigned __int128 Wide;
  // 2/pi, after one word of zeros.
  constexpr uint64_t two_over_pi[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
      0xf0cfbc209af4361d, 0xa9e391615ee61b08};
  uint64_t pattern;
  memcpy(&pattern, &x, 8);
  int exponent = static_cast<int>(pattern >> 52 & 0x7ff);
  if (exponent == 0x7ff) return {x - x, x - x, 0};
  uint64_t m = (pattern & 0xfffffffffffff) | 0x10000000000000;
  // x = m 2^e; bits of 2/pi above weight 2^(1 - e) only add multiples of 4.
  int first = exponent - 1075 - 2 + 64;
  int word = first / 64, shift = first % 64;
  auto take = [&](int i) {
    uint64_t high = two_over_pi[word + i] << shift;
    return shift ? high | two_over_pi[word + i + 1] >> (64 - shift) : high;
  };
  Wide low = Wide{m} * take(2);
  Wide middle = Wide{m} * take(1) + static_cast<uint64_t>(low >> 64);
  uint64_t w0 = static_cast<uint64_t>(low), w1 = static_cast<uint64_t>(middle);
  uint64_t w2 = m * take(0) + static_cast<uint64_t>(middle >> 64);
  // Two bits of quadrant, then the fraction, to be rounded to the nearest.
  int quadrant = static_cast<int>(w2 >> 62);
  w2 = w2 << 2 | w1 >> 62;
  w1 = w1 << 2 | w0 >> 62;
  w0 = w0 << 2;
  bool negative = w2 >> 63;
  if (negative) {
    quadrant = (quadrant + 1) & 3;
    w0 = ~w0, w1 = ~w1, w2 = ~w2;
  }
  int zeros = 0;
  while (zeros < 128 && !(w2 >> 63)) {
    w2 = w2 << 1 | w1 >> 63;
    w1 = w1 << 1 | w0 >> 63;
    w0 <<= 1;
    ++zeros;
  }
  uint64_t scale_pattern = static_cast<uint64_t>(1023 - zeros) << 52;
  double scale;
  memcpy(&scale, &scale_pattern, 8);
  double hi = static_cast<double>(w2 >> 11) * 0x1p-53;
  double lo = static_cast<double>((w2 << 53 | w1 >> 11) >> 11) * 0x1p-106;
  // Times pi/2.
  double product = hi * 1.5707963267948966;
  double rest = __builtin_fma(hi, 1.5707963267948966, -product) +
                (hi * 6.123233995736766e-17 + lo * 1.5707963267948966);
  double sum = product + rest;
  rest = rest - (sum - product);
  if (negative != (x < 0)) scale = -scale;
  if (x < 0) quadrant = -quadrant & 3;
  return {sum * scale, rest * scale, quadrant};
}

}  // namespace mt
