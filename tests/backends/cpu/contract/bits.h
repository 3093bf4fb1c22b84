// SPDX-License-Identifier: Apache-2.0
// The bits of a tensor of 4-byte numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "graph/evaluate.h"

namespace mt::cpu {

inline std::vector<uint32_t> bits(const Tensor& x) {
  evaluate(x);
  std::vector<uint32_t> result(x->bytes() / 4);
  std::memcpy(result.data(), x->data(), x->bytes());
  // The sign of a NaN is nobody's promise.
  for (uint32_t& b : result) b = (b & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : b;
  return result;
}

}  // namespace mt::cpu
