// SPDX-License-Identifier: Apache-2.0
// The gradient of the largest or smallest element.
#pragma once

#include "graph/node.h"

namespace mt {

// A reduction's shape with axes of size one where there are no more.
Shape kept_shape(const Shape& shape, const Dims& axes);

// The largest windows that have a pass of their own.
constexpr int64_t most_window_elements = 16;
constexpr int64_t most_window_width = 4;  // of them that lie side by side
constexpr int64_t most_window_lines = most_window_elements / 2;

// dy, one for each y = max(x, axes) or min(x, axes), to the elements of x that are y; equal ones
// share it evenly.
Tensor share_among_extremes(const Tensor& x, const Tensor& y, const Tensor& dy, const Dims& axes);

// The same where x is positive, else 0, of what has been shared among x's extremes: shared of what
// is kept where y is positive, so that nothing of x's size is gone through again. nullptr if
// `shared` is something else, or computed already.
Tensor share_where_positive(const Tensor& x, const Tensor& shared);

}  // namespace mt
