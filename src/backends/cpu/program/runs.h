// SPDX-License-Identifier: Apache-2.0
// An array whose elements lie in runs of some length, as images of one channel do, and rows of it
// that are only reduced: lane by lane, where they lie, as in ops/order.h.
#pragma once

#include <cstdint>

#include "backends/cpu/elementwise/kernels.h"
#include "tensor/layout.h"

namespace mt::cpu {

struct Runs {
  int64_t length = 0;  // 0: they do not, or are too short for that reduction
  Layout starts;       // in elements from the first one
  explicit operator bool() const { return length > 0; }
};
Runs runs_of(const Layout& layout, Reduction reduction);

// out = the reduction of elements [first, first + count), in memory's order, of an array of `type`
// that begins at `base`.
void reduce_runs(const Runs& runs, Reduction reduction, Compute type, const char* base,
                 int64_t first, int64_t count, void* out);

}  // namespace mt::cpu
