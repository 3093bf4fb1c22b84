// SPDX-License-Identifier: Apache-2.0
// Index tensors, whose values must lie within the axis that they index.
#pragma once

#include "graph/node.h"
#include "ops/math/host_device.h"

namespace mt {

// A position along an axis; a negative one counts from the end. Positions outside are refused where
// their values are known, at the call or at a trace's replay; clamping keeps all others, which a
// trace computes itself, within memory.
MT_HOST_DEVICE inline int64_t wrapped_index(int64_t i, int64_t size) {
  if (i < 0) i += size;
  return i < 0 ? 0 : i < size ? i : size - 1;
}

// Index tensors as int64, refused when a value lies outside `axis` of `shape`. Values that are
// pending are computed for this, unless they are known to fit (another operator's positions). A
// trace checks at each replay those that come from outside; those that it computes are clamped.
// `from_end`: negative ones count from the end, else they are outside. `ignored` counts as 0 for
// this, which is never outside.
Tensor checked_indices(const Tensor& indices, int axis, const Shape& shape, const char* name,
                       bool from_end = true, int64_t ignored = 0);
// Fails when one of these ready values lies outside `axis` of `shape`.
void check_indices(const Tensor& indices, int axis, const Shape& shape, const char* name,
                   bool from_end, int64_t ignored);

}  // namespace mt
