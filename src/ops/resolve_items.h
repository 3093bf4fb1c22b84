// SPDX-License-Identifier: Apache-2.0
// What the items of x[items] say about x.
#pragma once

#include "ops/ops.h"
#include "ops/slice.h"

namespace mt {

// What the items make of x, in two steps: a view of the block that they select, then a gather
// along those axes of the view that have index tensors.
struct ResolvedItems {
  Shape lengths;          // of the block, an axis of x each
  Block block;            // start and step of each; one whose step is 0 is dropped
  Shape view;             // the block without dropped axes and with new ones
  bool reshaped = false;  // it has new ones
  Dims indexed;           // axes of the view that have an index tensor
  Inputs indices;         // those tensors, int64, one for each
  Tensor mask;            // where one is the only index tensor: it, at axis indexed[0] of the view
  bool whole = true;      // the block is all of x
  bool in_front = false;  // the index tensors' shape goes in front, they are not adjacent
  Shape common;           // the shape that the index tensors broadcast to

  bool gathers() const { return !indexed.empty(); }
};

// Fails where they do not fit x. `mask_as_it_is`: a mask that is the only index tensor stays one.
ResolvedItems resolve_items(const Tensor& x, const IndexItems& items, const char* name,
                            bool mask_as_it_is);

}  // namespace mt
