// SPDX-License-Identifier: Apache-2.0
// Which products of float32 a matrix unit of bfloat16 may form, in the modes of ops/precision.h.
// The answer is the same on every device that has one.
#pragma once

#include <cstdint>

#include "ops/math/host_device.h"

namespace mt {

// The bits of the largest magnitude in an operand, and of the smallest that is not zero, less one;
// infinities and NaNs are the largest.
struct Magnitudes {
  uint32_t most = 0, least = UINT32_MAX;
};

// Whether the unit's results are as good as the mode promises: nothing is infinite or NaN, or can
// become it in a sum of k terms that float32 could hold; the least part of each number is a normal
// number; and what products of parts lose by being taken for zero, is less than 2^-24 of the number
// they belong to.
MT_HOST_DEVICE inline bool suits_bfloat16(const Magnitudes& a, const Magnitudes& b, int64_t k) {
  constexpr int64_t bias = 127, least_part = 24, least_product = 2 * bias - 126 + 24;
  auto exponent = [](uint32_t bits) { return static_cast<int64_t>(bits >> 23); };
  if (exponent(a.most) > 253 || exponent(b.most) > 253) return false;
  if (a.most == 0 || b.most == 0) return true;
  int64_t doublings = 1;
  for (int64_t terms = k; terms > 0; terms /= 2) ++doublings;
  if (exponent(a.most) + exponent(b.most) + doublings > 2 * bias + 127) return false;
  const int64_t least_a = exponent(a.least + 1), least_b = exponent(b.least + 1);
  return least_a >= least_part && least_b >= least_part && least_a + least_b >= least_product;
}

// Products smaller than this are strict.
constexpr int64_t least_split_size = 32;  // rows, columns and terms
constexpr double least_split_flops = 4e6;
inline bool is_worth_splitting(int64_t m, int64_t n, int64_t k) {
  return m >= least_split_size && n >= least_split_size && k >= least_split_size &&
         2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) >=
             least_split_flops;
}

}  // namespace mt
