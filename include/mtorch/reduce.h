// SPDX-License-Identifier: Apache-2.0
/// @file reduce.h
/// Reductions over sets of axes, running sums, sorting and searching.
///
/// **Axes.** `axes, naxes` names the axes to reduce, in any order; NULL, 0 means all. Each has two
/// forms, documented together: mt_sum() drops the reduced axes, mt_sum_keep() keeps them as size 1.
///
/// **Order.** The order of every sum is a property of shape and axes alone (panels added pairwise
/// in row-major order; where axes longer than 1 stay between the last ones and others that are
/// summed, over the last ones first), so results are the same bits for any thread count, fused or
/// not. 16-bit floats accumulate in float32 and round once.
#ifndef MTORCH_REDUCE_H_
#define MTORCH_REDUCE_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The sum; of nothing 0. Bool and signed integers sum as int64, unsigned ones as uint64.
MT_API mt_tensor* mt_sum(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_sum_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The mean, sum / count; of nothing NaN. Of integers in float64, rounded to float32 once.
MT_API mt_tensor* mt_mean(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_mean_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The product; of nothing 1. Types as mt_sum().
MT_API mt_tensor* mt_prod(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_prod_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The largest element, NaN if there is one. Equal largest elements share the gradient equally.
/// MT_EINVAL over no elements.
MT_API mt_tensor* mt_max(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_max_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The smallest element; otherwise as mt_max().
MT_API mt_tensor* mt_min(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_min_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The int64 index of the largest element, the first of equals, NaN counting as largest; over
/// several axes the row-major index within them. No gradient. MT_EINVAL over no elements.
MT_API mt_tensor* mt_argmax(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_argmax_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The int64 index of the smallest element; otherwise as mt_argmax().
MT_API mt_tensor* mt_argmin(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_argmin_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// Whether any element is not 0; of nothing false. Gives bool; no gradient.
MT_API mt_tensor* mt_any(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_any_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// Whether all elements are not 0; of nothing true. Gives bool; no gradient.
MT_API mt_tensor* mt_all(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_all_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The int64 number of elements that are not 0. No gradient.
MT_API mt_tensor* mt_count_nonzero(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_count_nonzero_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The variance, sum((x - mean(x))^2) / (count - correction), in two passes. `correction` 0 is the
/// population's, 1 the sample's (Bessel). NaN where count <= correction. Of
/// integers as mt_mean().
MT_API mt_tensor* mt_var(mt_tensor* x, const int64_t* axes, size_t naxes, double correction);
MT_API mt_tensor* mt_var_keep(mt_tensor* x, const int64_t* axes, size_t naxes, double correction);

/// The standard deviation, sqrt(mt_var()); its gradient is 0 where it is.
MT_API mt_tensor* mt_std(mt_tensor* x, const int64_t* axes, size_t naxes, double correction);
MT_API mt_tensor* mt_std_keep(mt_tensor* x, const int64_t* axes, size_t naxes, double correction);

/// log(sum(e^x)) as m + log(sum(e^(x - m))) with m = max(x), so without overflow; of nothing -inf.
MT_API mt_tensor* mt_logsumexp(mt_tensor* x, const int64_t* axes, size_t naxes);
MT_API mt_tensor* mt_logsumexp_keep(mt_tensor* x, const int64_t* axes, size_t naxes);

/// The vector norm (sum(|x|^order))^(1 / order). `order` INFINITY is max(|x|), -INFINITY min(|x|),
/// 0 the count of non-zero elements; 2 is the Euclidean norm, whose gradient at 0 is 0.
MT_API mt_tensor* mt_norm(mt_tensor* x, const int64_t* axes, size_t naxes, double order);
MT_API mt_tensor* mt_norm_keep(mt_tensor* x, const int64_t* axes, size_t naxes, double order);

/// Running sums along one axis, y[i] = x[0] + ... + x[i]; shape of x, types as mt_sum().
MT_API mt_tensor* mt_cumulative_sum(mt_tensor* x, int64_t axis);
/// Running products along one axis, y[i] = x[0] ... x[i]; shape of x, types as mt_sum(). The
/// gradient divides by nothing, so it is right where x is 0 as well.
MT_API mt_tensor* mt_cumulative_prod(mt_tensor* x, int64_t axis);
/// Differences of neighbours along an axis, y[i] = x[i + 1] - x[i], taken `order` times; bool
/// elements differ or not. MT_EINVAL for an order below 0.
MT_API mt_tensor* mt_diff(mt_tensor* x, int64_t axis, int64_t order);

// ----------------------------------------------------------------------- Sorting and searching

/// The elements along `axis` in order, equal ones as they were; NaN last (first when `descending`).
/// A tensor without dimensions is in order already: along axis 0 or -1.
MT_API mt_tensor* mt_sort(mt_tensor* x, int64_t axis, bool descending);
/// The int64 indices that sort: mt_take_along_axis(x, mt_argsort(x, axis, d), axis) is sorted. 0
/// without dimensions, as in mt_sort().
MT_API mt_tensor* mt_argsort(mt_tensor* x, int64_t axis, bool descending);
/// The k largest (or smallest) elements along `axis`, best first, the first of equals first, and
/// their int64 indices; either may be NULL when it is not wanted. MT_EINDEX unless 0 <= k <= size,
/// MT_ESHAPE without dimensions, whatever the axis.
MT_API mt_status mt_topk(mt_tensor* x, int64_t k, int64_t axis, bool largest, mt_tensor** values,
                         mt_tensor** indices);
/// For each value, the int64 index in `sorted` (ascending, one dimension) at which it would go in:
/// before its equals, or after them when `right`. NaN goes last. Shape of `values`; no gradient.
MT_API mt_tensor* mt_searchsorted(mt_tensor* sorted, mt_tensor* values, bool right);

// The shapes of these depend on values: they compute now, and are MT_ETRACE inside a trace.

/// The int64 indices [count, ndim] of the elements that are not 0, in row-major order.
MT_API mt_tensor* mt_nonzero(mt_tensor* x);
/// The distinct elements of x, ascending: [count]. NaN is unequal to itself. No gradient.
MT_API mt_tensor* mt_unique_values(mt_tensor* x);
/// The same with, for each, the row-major index of its first occurrence [count], for each element
/// of x the index of its value (shape of x), and how often each occurs [count], all int64. Each of
/// the four may be NULL when it is not wanted.
MT_API mt_status mt_unique_all(mt_tensor* x, mt_tensor** values, mt_tensor** indices,
                               mt_tensor** inverse_indices, mt_tensor** counts);

#ifdef __cplusplus
}
#endif
#endif
