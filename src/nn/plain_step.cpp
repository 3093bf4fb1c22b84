// SPDX-License-Identifier: Apache-2.0
#include "nn/plain_step.h"

#include "ops/ops.h"

namespace mt {

Tensor PlainStep::updated(const Tensor& w, const Tensor& gradient) {
  const Dtype own = w.dtype(), working = accumulator_of(own);
  if (!latest_ || latest_.dtype() != working || &latest_.device() != &w.device()) {
    latest_ = full({}, rate_, working, w.device());
  }
  if (own == working) return w - gradient * latest_;
  return cast(cast(w, working) - cast(gradient, working) * latest_, own);
}

}  // namespace mt
