// SPDX-License-Identifier: Apache-2.0
// The same values in another dtype, or in other memory.
#include "ops/ops.h"

namespace mt {
namespace {

void cast_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  if (is_floating(node.inputs[0].dtype())) gradients[0] = cast(dy, node.inputs[0].dtype());
}
const Op cast_op{.name = "cast", .kind = OpKind::cast, .gradient = cast_gradient};
const Op copy_op{.name = "copy", .kind = OpKind::cast, .gradient = cast_gradient};

}  // namespace

Tensor cast(const Tensor& x, Dtype dtype) {
  if (x.dtype() == dtype && !x->is_plain_number) return x;
  return record(cast_op, dtype, x.shape(), {x});
}

Tensor copy(const Tensor& x) { return record(copy_op, x.dtype(), x.shape(), {x}); }

}  // namespace mt
