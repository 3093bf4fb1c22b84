// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/kernels.h"

#include "backends/cpu/elementwise/tables.h"

namespace mt::cpu {

Operator elementwise_operator(Elementwise code, Compute type) {
  size_t row = static_cast<size_t>(code);
  switch (type) {
    case Compute::f32: return float32_operators()[row];
    case Compute::f64: return float64_operators()[row];
    case Compute::i32: return int32_operators()[row];
    case Compute::i64: return int64_operators()[row];
    case Compute::u64: return uint64_operators()[row];
  }
  return nullptr;
}

}  // namespace mt::cpu
