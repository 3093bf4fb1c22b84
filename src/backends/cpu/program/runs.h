// SPDX-License-Identifier: Apache-2.0
// Arrays whose elements lie in runs of some length, as images of one channel do. Rows of them that
// are only reduced are reduced in place: lane by lane, as in ops/order.h.
#pragma once

#include <cstdint>

#include "backends/cpu/elementwise/kernels.h"
#include "tensor/layout.h"

namespace mt::cpu {

struct Runs {
  int64_t length = 0;  // 0: no runs, or too short for the reduction
  Layout starts;       // in elements from the first one
  explicit operator bool() const { return length > 0; }
};
Runs runs_of(const Layout& layout, Reduction reduction);

// out = the reduction of elements [first, first + count), in memory's order, of an array of `type`
// that begins at `base`.
void reduce_runs(const Runs& runs, Reduction reduction, Compute type, const char* base,
                 int64_t first, int64_t count, void* out);

}  // namespace mt::cpu
