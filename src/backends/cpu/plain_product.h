// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/contraction.h"

namespace mt::cpu {

// Whether it is a single strict product of two float32 matrices with a float32 result.
inline bool is_plain(const Contraction& c) {
  const bool of_floats = c.a == Dtype::float32 && c.b == Dtype::float32 && c.out == Dtype::float32;
  return of_floats && c.precision == Precision::strict && c.batch.empty() && c.m.size() == 1 &&
         c.n.size() == 1 && c.k.size() == 1;
}

}  // namespace mt::cpu
