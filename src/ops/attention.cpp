// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention (Vaswani et al., 2017), composed of two contractions and a softmax.
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/random.h"
#include "tensor/error.h"

namespace mt {

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const Attention& how) {
  const char* name = "scaled_dot_product_attention";
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2 ||
      query.shape().back() != key.shape().back() ||
      key.shape()[key.rank() - 2] != value.shape()[value.rank() - 2]) {
    fail(Code::shape, "%s: query %s, key %s, value %s: must be [..., n, d], [..., m, d], [..., m, e]",
         name, to_string(query.shape()).c_str(), to_string(key.shape()).c_str(),
         to_string(value.shape()).c_str());
  }
  if (!is_floating(promote(promote(query.dtype(), key.dtype(), name), value.dtype(), name))) {
    fail(Code::dtype, "%s: needs floats", name);
  }
  Device& device = query.device();
  double scale = how.scale != 0 ? how.scale
                                : 1 / std::sqrt(static_cast<double>(query.shape().back()));
  Tensor scores = matmul(query, transpose(key)) * scale;
  Tensor hidden = number(-std::numeric_limits<double>::infinity(), device);
  const Shape shape = scores.shape();
  if (mask && broadcast(shape, mask.shape(), name) != shape) {
    fail(Code::shape, "%s: mask %s does not broadcast to the scores %s", name,
         to_string(mask.shape()).c_str(), to_string(shape).c_str());
  }
  if (mask && mask.dtype() == Dtype::boolean) {
    scores = where(expand(mask, shape), scores, hidden);
  } else if (mask) {
    scores = scores + cast(mask, scores.dtype());
  }
  if (how.causal) {
    // Compared at the scores' full shape, so that it is part of the softmax's loop.
    int64_t n = shape[shape.rank() - 2], m = shape.back();
    Tensor row = expand(iota({n, 1}, Dtype::int32, device), shape);
    Tensor column = expand(iota({m}, Dtype::int32, device), shape);
    scores = where(less_equal(column, row), scores, hidden);
  }
  Tensor weights = dropout(softmax(scores, -1), how.dropout, how.training);
  return matmul(weights, value);
}

}  // namespace mt
