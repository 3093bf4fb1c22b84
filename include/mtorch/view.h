// SPDX-License-Identifier: Apache-2.0
/// @file view.h
/// Shapes, indexing, and putting tensors together.
///
/// Views (reshape, permute, broadcast, slice, flip, window) move no data: they are arithmetic on
/// strides. None writes through to its source. All are differentiable, for every element type.
///
/// **Index tensors** hold integers of any type; negative ones count from the end. A position
/// outside the axis is MT_EINDEX at the call, for which values that are still pending are computed,
/// unless they come straight from mt_argsort(), mt_argmax() and the like. Inside a trace only
/// values that exist already are looked at; any other position outside is moved to the nearest one
/// inside.
#ifndef MTORCH_VIEW_H_
#define MTORCH_VIEW_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// -------------------------------------------------------------------------------------- Shapes

/// The same elements in row-major order under another shape. One size may be -1 and is worked out.
MT_API mt_tensor* mt_reshape(mt_tensor* x, const int64_t* dims, size_t ndim);
/// Axes in another order: axis i of the result is axis axes[i] of x; all must be named.
MT_API mt_tensor* mt_permute_dims(mt_tensor* x, const int64_t* axes, size_t naxes);
/// Two axes exchanged.
MT_API mt_tensor* mt_transpose(mt_tensor* x, int64_t axis0, int64_t axis1);
/// The last two axes exchanged. MT_ESHAPE below two dimensions.
MT_API mt_tensor* mt_matrix_transpose(mt_tensor* x);
/// Sizes of 1, and missing leading axes, stretched to a larger shape.
MT_API mt_tensor* mt_broadcast_to(mt_tensor* x, const int64_t* dims, size_t ndim);
/// A new axis of size 1, which becomes axis `axis` of the result.
MT_API mt_tensor* mt_expand_dims(mt_tensor* x, int64_t axis);
/// Without the named axes, which have size 1 (else MT_ESHAPE); NULL, 0 drops every axis of size 1.
MT_API mt_tensor* mt_squeeze(mt_tensor* x, const int64_t* axes, size_t naxes);
/// Reversed along the named axes; NULL, 0 means all.
MT_API mt_tensor* mt_flip(mt_tensor* x, const int64_t* axes, size_t naxes);
/// Sliding windows along `axis`, of size n: that axis becomes the (n - dilation (size - 1) - 1) /
/// step + 1 positions, and a last axis of `size` holds each window. MT_ESHAPE when none fits.
MT_API mt_tensor* mt_window(mt_tensor* x, int64_t axis, int64_t size, int64_t step,
                            int64_t dilation);

// ------------------------------------------------------------------------------------ Indexing

/// An end left open, as in Python's x[:5].
#define MT_OPEN INT64_MIN

enum {
  MT_INDEX_AT = 0,
  MT_INDEX_RANGE = 1,
  MT_INDEX_NEW_AXIS = 2,
  MT_INDEX_ELLIPSIS = 3,
  MT_INDEX_BY = 4
};

/// One item of an index; made by the macros below.
typedef struct mt_index_item {
  int32_t kind;       ///< MT_INDEX_AT, ...
  int32_t reserved;   ///< 0
  int64_t start;      ///< MT_INDEX_AT, MT_INDEX_RANGE
  int64_t stop;       ///< MT_INDEX_RANGE
  int64_t step;       ///< MT_INDEX_RANGE
  mt_tensor* tensor;  ///< MT_INDEX_BY
} mt_index_item;

/// A list of items as the two arguments `items, n`: mt_index(x, MT_INDEX(MT_AT(0), MT_ALL)).
#ifdef __cplusplus
#define MT_INDEX(...) \
  (std::initializer_list<mt_index_item>{__VA_ARGS__}.begin()), sizeof(mt_count_(__VA_ARGS__))
#else
#define MT_INDEX(...)                   \
  (const mt_index_item[]){__VA_ARGS__}, \
      sizeof((mt_index_item[]){__VA_ARGS__}) / sizeof(mt_index_item)
#endif

/// @cond
#ifdef __cplusplus
#define MT_INDEX_ITEM_(kind, start, stop, step, tensor)                            \
  (mt_index_item{kind, 0, static_cast<int64_t>(start), static_cast<int64_t>(stop), \
                 static_cast<int64_t>(step), tensor})
#else
#define MT_INDEX_ITEM_(kind, start, stop, step, tensor) \
  ((mt_index_item){kind, 0, start, stop, step, tensor})
#endif
/// @endcond

/// One position along an axis, which is dropped; negative counts from the end.
#define MT_AT(i) MT_INDEX_ITEM_(MT_INDEX_AT, i, 0, 0, NULL)
/// Every step-th position from `start` up to and without `stop`, as Python's start:stop:step.
#define MT_RANGE(start, stop, step) MT_INDEX_ITEM_(MT_INDEX_RANGE, start, stop, step, NULL)
/// A whole axis, as `:`.
#define MT_ALL MT_INDEX_ITEM_(MT_INDEX_RANGE, MT_OPEN, MT_OPEN, 1, NULL)
/// A new axis of size 1, as None.
#define MT_NEW_AXIS MT_INDEX_ITEM_(MT_INDEX_NEW_AXIS, 0, 0, 0, NULL)
/// All axes that no other item names, as `...`; at most one.
#define MT_ELLIPSIS MT_INDEX_ITEM_(MT_INDEX_ELLIPSIS, 0, 0, 0, NULL)
/// The positions in an integer tensor, or those where a bool tensor of k dimensions is true, which
/// stands for those k axes.
#define MT_BY(tensor) MT_INDEX_ITEM_(MT_INDEX_BY, 0, 0, 0, tensor)

/// x[items] by NumPy's rules: items name axes from the left, axes after them stay whole; several
/// MT_BY broadcast together and give their shape in place of the first axis if they are adjacent,
/// else in front; an MT_AT beside them counts as one. Ranges clip to the axis; MT_EINDEX for a
/// position outside it, and for a bool tensor of other sizes than its axes, unless one is 0. A bool
/// tensor computes now (MT_ETRACE inside a trace).
MT_API mt_tensor* mt_index(mt_tensor* x, const mt_index_item* items, size_t n);
/// x[items] = value: binds handle x to a new value, as mt_assign() does. `value` broadcasts to the
/// shape of x[items] and converts to x's type. A position named twice takes the last value.
/// Differentiable in x and value. With a `value` of no dimensions a bool tensor may be traced.
MT_API mt_status mt_index_put(mt_tensor* x, const mt_index_item* items, size_t n, mt_tensor* value);

/// Position `index` along `axis`, which is dropped; negative counts from the end.
MT_API mt_tensor* mt_select(mt_tensor* x, int64_t axis, int64_t index);
/// Every step-th position along `axis` from `start` up to and without `stop`, as Python's
/// start:stop:step; MT_OPEN leaves an end open. MT_EINVAL when step is 0.
MT_API mt_tensor* mt_slice(mt_tensor* x, int64_t axis, int64_t start, int64_t stop, int64_t step);
/// Positions `indices` (integers, one dimension; negative count from the end) along `axis`: the
/// Array API's take().
MT_API mt_tensor* mt_index_select(mt_tensor* x, mt_tensor* indices, int64_t axis);
/// y[i..., j, ...] = x[i..., indices[i..., j, ...], ...] with j along `axis`: PyTorch's gather().
/// Shapes broadcast on the other axes.
MT_API mt_tensor* mt_take_along_axis(mt_tensor* x, mt_tensor* indices, int64_t axis);
/// x with each values[i..., j, ...] added at [i..., indices[i..., j, ...], ...], j along `axis`.
/// Equal positions add in row-major order. `values` has the shape of `indices` and x's type.
MT_API mt_tensor* mt_scatter_add(mt_tensor* x, mt_tensor* indices, mt_tensor* values, int64_t axis);
/// The elements where `mask`, a bool tensor that broadcasts to x's shape, is true: [count].
/// Computes now.
MT_API mt_tensor* mt_masked_select(mt_tensor* x, mt_tensor* mask);

// ------------------------------------------------------------------------ Together and apart

/// Joined along an existing axis, in the promoted type; the other sizes agree. n >= 1.
MT_API mt_tensor* mt_concat(mt_tensor* const* tensors, size_t n, int64_t axis);
/// Joined along a new axis, in the promoted type; the shapes agree. n >= 1.
MT_API mt_tensor* mt_stack(mt_tensor* const* tensors, size_t n, int64_t axis);
/// Cut along `axis` into pieces of the given sizes, which add up to the axis: fills `n` results.
MT_API mt_status mt_split(mt_tensor* x, const int64_t* sizes, size_t n, int64_t axis,
                          mt_tensor** results);
/// With `before[i]` and `after[i]` elements of `value` added along axis i; ndim is x's.
MT_API mt_tensor* mt_pad(mt_tensor* x, const int64_t* before, const int64_t* after, size_t ndim,
                         double value);
/// With `before[i]` and `after[i]` elements added along axis i, as x is seen in a mirror at its
/// first and last ones, which are not repeated: c b | a b c | b a. At most as many as there are
/// beside those, or MT_EINVAL; ndim is x's. NumPy's pad() in mode "reflect".
MT_API mt_tensor* mt_pad_reflect(mt_tensor* x, const int64_t* before, const int64_t* after,
                                 size_t ndim);
/// The same with the first and the last element again and again: a a | a b c | c c. PyTorch calls
/// it "replicate". MT_EINVAL where an axis has none.
MT_API mt_tensor* mt_pad_edge(mt_tensor* x, const int64_t* before, const int64_t* after,
                              size_t ndim);
/// The same as if x began again where it ends: b c | a b c | a b. At most as many as there are, or
/// MT_EINVAL. PyTorch calls it "circular".
MT_API mt_tensor* mt_pad_wrap(mt_tensor* x, const int64_t* before, const int64_t* after,
                              size_t ndim);
/// Moved along each named axis by its shift, what falls off one end coming in at the other. The
/// shifts of an axis that is named twice add up.
MT_API mt_tensor* mt_roll(mt_tensor* x, const int64_t* shifts, const int64_t* axes, size_t naxes);
/// Side by side counts[i] times along each axis, the last count belonging to the last axis; axes
/// that are missing on either side count as 1. MT_EINVAL for a count below 0.
MT_API mt_tensor* mt_tile(mt_tensor* x, const int64_t* counts, size_t n);
/// Each position along `axis` `count` times in a row. MT_EINVAL for a count below 0.
MT_API mt_tensor* mt_repeat(mt_tensor* x, int64_t count, int64_t axis);
/// Position i along `axis` counts[i] times in a row, or each counts[0] times: integers, which are
/// computed now, and are MT_ETRACE inside a trace.
MT_API mt_tensor* mt_repeat_by(mt_tensor* x, mt_tensor* counts, int64_t axis);
/// The last two axes as a matrix with everything above diagonal `k` set to 0.
MT_API mt_tensor* mt_tril(mt_tensor* x, int64_t k);
/// The last two axes as a matrix with everything below diagonal `k` set to 0.
MT_API mt_tensor* mt_triu(mt_tensor* x, int64_t k);

#ifdef __cplusplus
}
#endif
#endif
