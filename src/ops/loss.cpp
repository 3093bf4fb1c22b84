// SPDX-License-Identifier: Apache-2.0
// Losses, from logits and without overflow.
#include <limits>

#include "ops/indexing.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

Tensor reduced(const Tensor& loss, LossReduction reduction) {
  switch (reduction) {
    case LossReduction::mean:
      return mean(loss);
    case LossReduction::sum:
      return sum(loss);
    case LossReduction::none:
      return loss;
  }
  return loss;
}

Tensor real(const char* name, const Tensor& x) {
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  return cast(x, accumulator_of(x.dtype()));
}

// f(x - target), reduced.
template <class F>
Tensor of_difference(const char* name, const Tensor& x, const Tensor& target,
                     LossReduction reduction, F&& f) {
  Dtype dtype = promote(x.dtype(), target.dtype(), name);
  if (!is_floating(dtype)) fail(Code::dtype, "%s: needs floats, got %s", name, name_of(dtype));
  Tensor difference = cast(x, accumulator_of(dtype)) - cast(target, accumulator_of(dtype));
  return cast(reduced(f(difference), reduction), dtype);
}

}  // namespace

// For a row x with target t the loss is log(sum(e^(x - m))) - (x_t - m). The target's logit is
// chosen by comparing with 0, 1, 2, ..., so that all is one pass over the row, forward and back.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis,
                     LossReduction reduction) {
  const char* name = "cross_entropy";
  int at = normalize_axis(axis, logits.rank(), name);
  Tensor rows = move_axis(real(name, logits), at, -1);
  int64_t classes = rows.shape().back();
  bool probabilities = is_floating(targets.dtype());
  Shape expected = logits.shape();
  if (!probabilities) expected.erase(at);
  if (targets.shape() != expected || targets.dtype() == Dtype::boolean) {
    fail(targets.shape() != expected ? Code::shape : Code::dtype,
         "%s: logits %s with %s targets %s: must be integers without axis %d, or probabilities of "
         "the logits' shape",
         name, to_string(logits.shape()).c_str(), name_of(targets.dtype()),
         to_string(targets.shape()).c_str(), at);
  }
  if (classes == 0)
    fail(Code::shape, "%s: logits %s have no classes", name, to_string(logits.shape()).c_str());
  Tensor shift;
  {
    GradientMode none(false);
    shift = max(rows, {-1}, true);
  }
  Tensor shifted = rows - shift;
  Tensor loss;
  if (probabilities) {
    Tensor p = move_axis(cast(targets, rows.dtype()), at, -1);
    Tensor scale = log(sum(exp(shifted), {-1}, true));
    loss = sum(p * (scale - shifted), {-1});
  } else {
    Tensor scale = log(sum(exp(shifted), {-1}));
    Tensor index = reshape(iota({classes}, Dtype::int64, logits.device()), {classes});
    Tensor known = checked_indices(targets, at, logits.shape(), name, false);
    Tensor zero = number(0, logits.device());
    loss = scale - sum(where(equal(unsqueeze(known, -1), index), shifted, zero), {-1});
    // Inside a trace targets cannot be checked: what is no class has no loss.
    Tensor is_class = logical_and(greater_equal(known, integer_number(0, logits.device())),
                                  less(known, integer_number(classes, logits.device())));
    loss = where(is_class, loss, number(std::numeric_limits<double>::quiet_NaN(), logits.device()));
  }
  return cast(reduced(loss, reduction), logits.dtype());
}

Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  return of_difference("mse_loss", x, target, reduction, [](const Tensor& d) { return square(d); });
}

Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction) {
  return of_difference("l1_loss", x, target, reduction, [](const Tensor& d) { return abs(d); });
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, LossReduction reduction) {
  if (!(delta > 0)) fail(Code::invalid, "huber_loss: delta %g must be above 0", delta);
  return of_difference("huber_loss", x, target, reduction, [&](const Tensor& d) {
    // With the distance cut off at delta, the part within is squared and the rest is a line.
    Tensor near = clip(abs(d), nullptr, number(delta, d.device()));
    return near * (abs(d) - near * 0.5);
  });
}

// max(x, 0) - x t + log(1 + e^-|x|) is softplus(x) - x t.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, LossReduction reduction) {
  Dtype dtype = promote(x.dtype(), target.dtype(), "bce_with_logits");
  if (!is_floating(dtype)) {
    fail(Code::dtype, "bce_with_logits: needs floats, got %s", name_of(dtype));
  }
  Tensor wide = cast(x, accumulator_of(dtype));
  Tensor loss = softplus(wide) - wide * cast(target, wide.dtype());
  return cast(reduced(loss, reduction), dtype);
}

}  // namespace mt
