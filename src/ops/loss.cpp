// SPDX-License-Identifier: Apache-2.0
// Losses, from logits and without overflow.
#include <limits>

#include "base/error.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/checked_indices.h"
#include "ops/ops.h"
#include "ops/own_gradient.h"

namespace mt {
namespace {

// near * (d - near / 2), where `near` is d cut off, has the slope `near`, all of which goes through
// the difference.
const Op huber_rest_op = with_own_gradient(
    "sub", Elementwise::sub, [](const Node&, const Tensor& dy, Tensor* to) { to[0] = dy; });
const Op huber_op = with_own_gradient(
    "mul", Elementwise::mul,
    [](const Node& node, const Tensor& dy, Tensor* to) { to[1] = dy * node.inputs[0]; });

Tensor reduced(const Tensor& loss, LossReduction reduction) {
  switch (reduction) {
    case LossReduction::mean: return mean(loss);
    case LossReduction::sum: return sum(loss);
    case LossReduction::none: return loss;
  }
  return loss;
}

Tensor real(const char* name, const Tensor& x) {
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  return cast(x, accumulator_of(x.dtype()));
}

// Operands in the type that a loss is computed in, and the type of its result.
struct Widened {
  Tensor x, target;
  Dtype dtype;
};
Widened widened(const char* name, const Tensor& x, const Tensor& target) {
  Dtype dtype = common_dtype(x, target, name), wide = accumulator_of(dtype);
  if (!is_floating(dtype)) fail(Code::dtype, "%s: needs floats, got %s", name, name_of(dtype));
  Device& device = x->is_plain_number ? target.device() : x.device();
  return {as_dtype(x, wide, device), as_dtype(target, wide, device), dtype};
}

// f(x - target), reduced.
template <class F>
Tensor of_difference(const char* name, const Tensor& x, const Tensor& target,
                     LossReduction reduction, F&& f) {
  auto [wide, wide_target, dtype] = widened(name, x, target);
  return cast(reduced(f(wide - wide_target), reduction), dtype);
}

// The weight of each class in the rows' type; null where there is none.
Tensor class_weight(const Tensor& weight, int64_t classes, Dtype dtype) {
  if (!weight) return weight;
  if (weight.shape() != Shape{classes} || !is_floating(weight.dtype())) {
    fail(weight.shape() != Shape{classes} ? Code::shape : Code::dtype,
         "cross_entropy: weight %s of %s: must be floats [%lld], one for each class",
         to_string(weight.shape()).c_str(), name_of(weight.dtype()),
         static_cast<long long>(classes));
  }
  return cast(weight, dtype);
}

// The loss when each row is a class: log(sum(e^x)) - x_t of x, the rows with their largest logit
// subtracted, smoothed and weighted.
Tensor loss_of_classes(const Tensor& rows, const Tensor& shift, const Tensor& targets,
                       const Tensor& weight, const CrossEntropy& how) {
  Tensor x = rows - shift;
  Device& device = x.device();
  const int64_t classes = x.shape().back();
  Tensor scale = log(sum(exp(x), {-1}));
  Tensor index = reshape(iota({classes}, Dtype::int64, device), {classes});
  Tensor zero = number(0, device);
  Tensor is_target = equal(unsqueeze(targets, -1), index);
  // Chosen from the rows, so that nobody but exp reads x.
  Tensor chosen = sum(where(is_target, rows, zero), {-1}, true) - shift;
  Tensor loss = scale - reshape(chosen, scale.shape());
  Tensor share;  // of a row in the mean; null where all have the same
  if (weight) {
    share = sum(where(is_target, weight, zero), {-1});
    loss = loss * share;
  }
  if (how.smoothing > 0) {
    Tensor each = unsqueeze(scale, -1) - x;
    Tensor all = sum(weight ? each * weight : each, {-1});
    loss = loss * (1 - how.smoothing) + all * (how.smoothing / static_cast<double>(classes));
  }
  // Inside a trace targets cannot be checked: what is no class has no loss.
  Tensor is_class = logical_and(greater_equal(targets, integer_number(0, device)),
                                less(targets, integer_number(classes, device)));
  loss = where(is_class, loss, number(std::numeric_limits<double>::quiet_NaN(), device));
  if (how.ignored) {
    Tensor counts = not_equal(targets, integer_number(*how.ignored, device));
    loss = where(counts, loss, zero);
    share = share ? where(counts, share, zero) : cast(counts, x.dtype());
  }
  if (!share || how.reduction != LossReduction::mean) return reduced(loss, how.reduction);
  return sum(loss) / sum(share);
}

}  // namespace

// For a row x with target t the loss is log(sum(e^(x - m))) - (x_t - m). The target's logit is
// chosen by comparing with 0, 1, 2, ..., so that all is one pass over the row, forward and back.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis,
                     const CrossEntropy& how) {
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
  if (!(how.smoothing >= 0 && how.smoothing <= 1)) {
    fail(Code::invalid, "%s: label_smoothing %g is not within 0 and 1", name, how.smoothing);
  }
  if (probabilities && how.ignored) {
    fail(Code::invalid, "%s: ignore_index is for targets that are classes", name);
  }
  Tensor weight = class_weight(how.weight, classes, rows.dtype());
  Tensor shift;
  {
    GradientMode none(false);
    shift = max(rows, {-1}, true);
  }
  if (probabilities) {
    Tensor shifted = rows - shift;
    Tensor p = move_axis(cast(targets, rows.dtype()), at, -1);
    if (how.smoothing > 0) {
      p = p * (1 - how.smoothing) +
          number(how.smoothing / static_cast<double>(classes), p.device());
    }
    if (weight) p = p * weight;
    Tensor scale = log(sum(exp(shifted), {-1}, true));
    return cast(reduced(sum(p * (scale - shifted), {-1}), how.reduction), logits.dtype());
  }
  Tensor checked =
      checked_indices(targets, at, logits.shape(), name, false, how.ignored.value_or(0));
  return cast(loss_of_classes(rows, shift, checked, weight, how), logits.dtype());
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis,
                     LossReduction reduction) {
  return cross_entropy(logits, targets, axis, CrossEntropy{.reduction = reduction});
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
    // With the difference cut off at delta, the part within is squared and the rest is a line: no
    // distance, whose slope at 0 would be lost to the second derivative.
    Tensor near = clip(d, number(-delta, d.device()), number(delta, d.device()));
    Tensor half = near * 0.5;
    Tensor rest = record(huber_rest_op, d.dtype(), d.shape(), {d, half});
    return record(huber_op, d.dtype(), d.shape(), {near, rest});
  });
}

// max(x, 0) - x t + log(1 + e^-|x|) is softplus(x) - x t.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, LossReduction reduction) {
  auto [wide, wide_target, dtype] = widened("bce_with_logits", x, target);
  return cast(reduced(softplus(wide) - wide * wide_target, reduction), dtype);
}

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& positive_weight,
                       LossReduction reduction) {
  auto [wide, wide_target, dtype] = widened("bce_with_logits_weighted", x, target);
  if (!is_floating(positive_weight.dtype())) {
    fail(Code::dtype, "bce_with_logits_weighted: weights are floats, not %s",
         name_of(positive_weight.dtype()));
  }
  const Shape shape = broadcast(x.shape(), target.shape(), "bce_with_logits_weighted");
  broadcast(shape, positive_weight.shape(), "bce_with_logits_weighted");
  Tensor positive = cast(positive_weight, wide.dtype()) * (wide_target * softplus(-wide));
  return cast(reduced(positive + (1 - wide_target) * softplus(wide), reduction), dtype);
}

}  // namespace mt
