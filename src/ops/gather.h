// SPDX-License-Identifier: Apache-2.0
// Rows picked by index tensors, and put where they say.
#pragma once

#include "graph/node.h"

namespace mt {

// Rows: the axes from `first` on, one for each index tensor [count], become one axis of `count`.
Tensor gather(const Tensor& x, int first, const Inputs& indices);
// Its transpose: rows added up in zeros, in the order of the indices; `sizes` are the axes' sizes.
Tensor scatter(const Tensor& values, int first, const Inputs& indices, const Shape& sizes);
// x with rows replaced by those of `values` [outer..., count, inner...], the last of equal ones.
Tensor put_rows(const Tensor& x, const Tensor& values, int first, const Inputs& indices);
extern const Op put_rows_op;  // which records it
// For each position of `sizes`, the last of the rows [count] that goes there; -1 for none.
Tensor last_writer(const Inputs& indices, const Shape& sizes);

}  // namespace mt
