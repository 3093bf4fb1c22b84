// SPDX-License-Identifier: Apache-2.0
// The work of element-wise operators, by which to decide whether another thread pays.
#pragma once

#include <cstdint>

#include "ops/elementwise.h"

namespace mt::cpu {

// Work, in additions, below which a second worker costs more than it brings.
constexpr int64_t grain_work = 64 << 10;

// Work per element, in additions: exponentials, logarithms and the like are several, as measured.
inline int64_t work_of(Elementwise code) {
  constexpr int64_t of_function = 8;
  switch (code) {
    case Elementwise::reciprocal:
    case Elementwise::sqrt:
    case Elementwise::rsqrt:
    case Elementwise::div:
    case Elementwise::leaky_relu:
    case Elementwise::copysign:
    case Elementwise::nextafter:
    case Elementwise::isnan:
    case Elementwise::isinf:
    case Elementwise::isfinite:
    case Elementwise::signbit: return 1;
    default: return info(code).domain == Domain::real ? of_function : 1;
  }
}

}  // namespace mt::cpu
