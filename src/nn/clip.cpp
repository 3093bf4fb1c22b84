// SPDX-License-Identifier: Apache-2.0
#include "nn/clip.h"

#include "base/error.h"
#include "graph/modes.h"
#include "ops/ops.h"

namespace mt {

Tensor clip_gradient_norm(Parameters& parameters, double most) {
  if (!(most >= 0)) fail(Code::invalid, "clip_grad_norm: max_norm %g is negative", most);
  GradientMode no_gradient(false);
  struct Clipped {
    Binding* binding;
    Tensor gradient;
  };
  std::vector<Clipped> clipped;
  Dtype dtype = Dtype::float32;
  for (const Parameters::Entry& entry : parameters.entries()) {
    Tensor gradient = entry.is_buffer || entry.repeats ? nullptr : entry.binding->gradient();
    if (!gradient) continue;
    if (gradient.dtype() == Dtype::float64) dtype = Dtype::float64;
    clipped.push_back({entry.binding.get(), gradient});
  }
  Tensor total;
  for (const Clipped& part : clipped) {
    Tensor squares = sum(square(cast(part.gradient, accumulator_of(part.gradient.dtype()))));
    squares = cast(squares, dtype);
    total = total ? total + squares : squares;
  }
  if (!total) return full({}, 0, dtype, parameters.device);
  Tensor norm = sqrt(total);
  Tensor scale = minimum(most / (norm + 1e-6), full({}, 1, dtype, norm.device()));
  for (Clipped& part : clipped) {
    Dtype own = part.gradient.dtype(), working = accumulator_of(own);
    part.gradient = cast(cast(part.gradient, working) * cast(scale, working), own);
  }
  for (Clipped& part : clipped) part.binding->set_gradient(std::move(part.gradient));
  return norm;
}

}  // namespace mt
