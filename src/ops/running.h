// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/dtype.h"

namespace mt {

// The type in which running sums and products are kept: of integers 64 bits.
constexpr Dtype running_dtype(Dtype dtype) {
  if (is_floating(dtype)) return accumulator_of(dtype);
  return is_unsigned(dtype) ? Dtype::uint64 : Dtype::int64;
}

}  // namespace mt
