// SPDX-License-Identifier: Apache-2.0
// Strided blocks of tensors: taken as views (ops/slice.cpp), or put in place (ops/pad.cpp).
#pragma once

#include <optional>

#include "graph/node.h"

namespace mt {

// A strided block of a tensor: for each axis start and step, as the attributes of slice, pad and
// overlay.
using Block = Attributes;
Block block_along(int axis, int rank, int64_t start, int64_t step);  // whole along the others
// A view of it; `lengths` has a size for each axis of x. A step of 0 drops its axis.
Tensor take_block(const Tensor& x, const Shape& lengths, Block block);
extern const Op slice_op;  // which records it
// x with a block of it replaced by `value`.
Tensor overlay(const Tensor& x, const Tensor& value, const Block& block);
extern const Op overlay_op;  // which records it
// Where its block of these lengths lies in its result, which is contiguous.
Layout overlaid_block(const Layout& y, const Shape& lengths, const Attributes& steps,
                      const Immediates& first);
// x as a block in a tensor of `shape` that is `fill` elsewhere.
Tensor place(const Tensor& x, const Shape& shape, const Block& block, double fill);
extern const Op pad_op;  // which records it
// What take_block(x, lengths, block) takes, with all axes, if x is just that in a tensor of
// something else that is not formed yet (ops/pad.cpp); else nothing.
Tensor placed(const Tensor& x, const Shape& lengths, const Block& block);
// Where a node that is a slice along one axis begins in its input, and its lengths with all axes;
// nullopt for others, and for one that is all of its input.
struct SliceOf {
  int axis;
  int64_t start, step;
  Shape lengths;
};
std::optional<SliceOf> slice_of(const Node& node);

// A range by Python's rules, clipped to an axis of `size`; INT64_MIN leaves an end open.
struct Range {
  int64_t start, length, step;
};
Range clip_range(int64_t start, int64_t stop, int64_t step, int64_t size, const char* name);

}  // namespace mt
