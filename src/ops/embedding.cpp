// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/checked_indices.h"
#include "ops/gather.h"
#include "ops/ops.h"

namespace mt {

Tensor embedding(const Tensor& indices, const Tensor& weight) {
  if (weight.rank() != 2) {
    fail(Code::shape, "embedding: weight %s must be [count, size]",
         to_string(weight.shape()).c_str());
  }
  Shape shape = indices.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor rows = checked_indices(indices, 0, weight.shape(), "embedding", false);
  return reshape(gather(weight, 0, {reshape(rows, {indices.size()})}), shape);
}

}  // namespace mt
