// SPDX-License-Identifier: Apache-2.0
// What the indexing operators share.
#pragma once

#include <optional>

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

// The type in which running sums and products are kept: of integers 64 bits.
constexpr Dtype running_dtype(Dtype dtype) {
  if (is_floating(dtype)) return accumulator_of(dtype);
  return is_unsigned(dtype) ? Dtype::uint64 : Dtype::int64;
}

Tensor contiguous(const Tensor& x);                // copies only what is not
int64_t read_integer(const Tensor& x);             // computes; x has one element
void refuse_trace(const char* name);               // for shapes that depend on values
Shape without_axis(const Shape& shape, int axis);  // the other sizes, in order

// Rows: the axes from `first` on, one for each index tensor [count], become one axis of `count`.
Tensor gather(const Tensor& x, int first, const Inputs& indices);
// Its transpose: rows added up in zeros, in the order of the indices; `sizes` are the axes' sizes.
Tensor scatter(const Tensor& values, int first, const Inputs& indices, const Shape& sizes);
// For each position of `sizes`, the last of the rows [count] that goes there; -1 for none.
Tensor last_writer(const Inputs& indices, const Shape& sizes);
// Row-major positions of the elements that are not 0: [count]. Computes now.
Tensor flat_nonzero(const Tensor& x, const char* name);

// How many bytes are not 0.
int64_t count_nonzero_bytes(const uint8_t* bytes, int64_t size);

// A strided block of `shape`: for each axis start and step, as the attributes of pad and overlay.
using Block = Attributes;
Block block_along(int axis, int rank, int64_t start, int64_t step);  // whole along the others
// A view of it; `lengths` has a size for each axis of x. A step of 0 drops its axis.
Tensor take_block(const Tensor& x, const Shape& lengths, Block block);
extern const Op slice_op;  // which records it
// x with a block of it replaced by `value`.
Tensor overlay(const Tensor& x, const Tensor& value, const Block& block);
// x as a block in a tensor of `shape` that is `fill` elsewhere.
Tensor place(const Tensor& x, const Shape& shape, const Block& block, double fill);
// What take_block(x, lengths, block) takes, with all axes, if x is just that in a tensor of
// something else that is not formed yet (ops/pad.cpp); else nothing.
Tensor placed(const Tensor& x, const Shape& lengths, const Block& block);
// What x is a reshape of, if that is still known; else nullptr.
Tensor reshaped(const Tensor& x);

// Where a node that is a slice along one axis begins in its input, and its lengths with all axes;
// nullopt for others (ops/view.cpp).
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
