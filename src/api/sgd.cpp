// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/optim.h that need no optimizer.
// mt_sgd(): the plain step, beside the optimizers.
#include "api/guard.h"
#include "mtorch/optim.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

// All updates are recorded before any parameter changes: they fuse into few groups, and a step that
// fails has changed nothing.
void step(mt_tensor* const* params, size_t n, double lr) {
  GradientMode no_history(false);
  SmallVector<Tensor, 16> updated;
  Tensor rate;
  for (size_t i = 0; i < n; ++i) {
    mt_tensor* leaf = required(params[i], "a tensor");
    Tensor w = value(leaf);
    if (has_history(w)) {
      fail(Code::invalid, "sgd: tensor %zu is no leaf: it came from %s", i, w->op->name);
    }
    Tensor g = leaf->variable && w.requires_gradient() ? leaf->variable->gradient.get() : Tensor();
    // 16-bit floats are updated in float32 and rounded once.
    Dtype own = w.dtype(), working = accumulator_of(own);
    if (g && !(rate && rate.dtype() == working && &rate.device() == &w.device())) {
      rate = full({}, lr, working, w.device());
    }
    if (!g) {
      updated.push_back(nullptr);
    } else if (own == working) {
      updated.push_back(w - g * rate);
    } else {
      updated.push_back(cast(cast(w, working) - cast(g, working) * rate, own));
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (updated[i]) rebind(params[i], std::move(updated[i]));
  }
}

}  // namespace

mt_status mt_sgd(mt_tensor* const* params, size_t n, double lr) {
  return change("sgd", [&] {
    if (n) required(params, "the array of tensors");
    step(params, n, lr);
  });
}
