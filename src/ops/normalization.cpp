// SPDX-License-Identifier: Apache-2.0
// Normalisation by rows (layer norm, RMS norm), by channels (batch norm) and by groups of channels.
#include <algorithm>

#include "base/error.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"
#include "ops/own_gradient.h"

namespace mt {
namespace {

// The last `naxes` axes, which `weight` and `bias` have the shape of.
Dims trailing_axes(const char* name, const Tensor& x, int naxes,
                   std::initializer_list<const Tensor*> parameters) {
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  if (naxes < 1 || naxes > x.rank()) {
    fail(Code::invalid, "%s: %d axes of %s", name, naxes, to_string(x.shape()).c_str());
  }
  Shape expected(x.shape().data() + (x.rank() - naxes), naxes);
  for (const Tensor* parameter : parameters) {
    if (*parameter && parameter->shape() != expected) {
      fail(Code::shape, "%s: %s over %d axes: weight and bias must be %s, got %s", name,
           to_string(x.shape()).c_str(), naxes, to_string(expected).c_str(),
           to_string(parameter->shape()).c_str());
    }
  }
  Dims axes;
  for (int i = x.rank() - naxes; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

Tensor normalized(const Tensor& wide, const Dims& axes, double epsilon) {
  Tensor deviation = wide - mean(wide, axes, true);
  return deviation * rsqrt(mean(square(deviation), axes, true) + epsilon);
}

Tensor scaled(const Tensor& y, const Tensor& weight, const Tensor& bias) {
  Tensor result = y;
  if (weight) result = result * cast(weight, y.dtype());
  if (bias) result = result + cast(bias, y.dtype());
  return result;
}

// The gradient of a batch norm and of a group norm is one formula (Ioffe and Szegedy 2015), which
// passes over memory less often than those of the operators that it is made of:
//
// y = (x - mean) * root * weight, where root = rsqrt(variance + epsilon):
// dx = root * (g - mean(g) - (x - mean) * mean(g * (x - mean)) * root^2), where g = dy * weight.
//
// A weight is one number for many of dy, so sums over these come first. Its operators are like any
// others, but for where their gradients go: all of it from y to x, none by way of the mean or the
// variance.
const Op deviation_op = with_own_gradient(
    "sub", Elementwise::sub, [](const Node&, const Tensor& dy, Tensor* to) { to[0] = dy; });
Tensor deviation_from(const Tensor& mean, const Tensor& x) {
  return record(deviation_op, x.dtype(), x.shape(), {x, mean});
}
// Recorded again by an ordinary operator; what has no gradient may have forgotten its inputs.
Tensor ordinary(const Tensor& deviation) {
  if (!deviation.requires_gradient()) return deviation;
  return deviation->inputs[0] - deviation->inputs[1];
}

// Deviations add up to 0, and so does what the mean would receive of the sum of their squares.
const Op square_op = with_own_gradient("square", Elementwise::square,
                                       [](const Node& node, const Tensor& dy, Tensor* to) {
                                         to[0] = dy * (ordinary(node.inputs[0]) * 2.0);
                                       });
Tensor square_of(const Tensor& deviation) {
  return record(square_op, deviation.dtype(), deviation.shape(), {deviation});
}

// Of what normalize() makes: what the deviation receives, and the weight, if there is one.
void normalized_gradient(const Tensor& deviation, const Tensor& root, const Tensor& weight,
                         const Tensor& dy, Tensor* to_deviation, Tensor* to_weight) {
  Tensor plain = dy, along = dy * deviation;
  if (weight) {
    const Shape shape = broadcast(root.shape(), weight.shape(), "mul");
    plain = sum_to(plain, shape);
    along = sum_to(along, shape);
    *to_weight = sum_to(along * root, weight.shape());
    plain = plain * weight;
    along = along * weight;
  }
  const auto count = static_cast<double>(dy.size() / std::max<int64_t>(root.size(), 1));
  const Tensor shift = sum_to(plain, root.shape()) * root / count;
  // Of this sign, as a product that is added is one step with the difference from the mean.
  const Tensor slope = sum_to(along, root.shape()) * root * root * root / -count;
  *to_deviation = deviation * slope + (dy * (weight ? root * weight : root) - shift);
}

// The product within another one, which gives its first operand what that receives of it.
const Op inner_op = with_own_gradient(
    "mul", Elementwise::mul, [](const Node&, const Tensor& dy, Tensor* to) { to[0] = dy; });
const Op normalize_op =
    with_own_gradient("mul", Elementwise::mul, [](const Node& node, const Tensor& dy, Tensor* to) {
      const Tensor &a = node.inputs[0], &b = node.inputs[1];
      if (a->op == &inner_op && a.requires_gradient()) {
        normalized_gradient(ordinary(a->inputs[0]), a->inputs[1], b, dy, &to[0], &to[1]);
      } else if (a->op == &inner_op) {
        to[1] = sum_to(dy * a, b.shape());
      } else if (b->op == &inner_op) {
        normalized_gradient(ordinary(a), b->inputs[1], b->inputs[0], dy, &to[0], &to[1]);
      } else {
        normalized_gradient(ordinary(a), b, nullptr, dy, &to[0], nullptr);
      }
    });
// (x - mean) * root * weight, of which the smaller product comes first.
Tensor normalize(const Tensor& deviation, const Tensor& root, const Tensor& weight) {
  auto product = [](const Op& op, const Tensor& a, const Tensor& b) {
    return record(op, a.dtype(), a.shape(), {a, b});
  };
  if (!weight) return product(normalize_op, deviation, root);
  if (weight.shape() == root.shape()) {
    return product(normalize_op, deviation, product(inner_op, weight, root));
  }
  return product(normalize_op, product(inner_op, deviation, root), weight);
}

}  // namespace

Tensor layer_norm(const Tensor& x, int naxes, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  Dims axes = trailing_axes("layer_norm", x, naxes, {&weight, &bias});
  Tensor y = normalized(cast(x, accumulator_of(x.dtype())), axes, epsilon);
  return cast(scaled(y, weight, bias), x.dtype());
}

Tensor rms_norm(const Tensor& x, int naxes, const Tensor& weight, double epsilon) {
  Dims axes = trailing_axes("rms_norm", x, naxes, {&weight});
  Tensor wide = cast(x, accumulator_of(x.dtype()));
  Tensor y = wide * rsqrt(mean(square(wide), axes, true) + epsilon);
  return cast(scaled(y, weight, nullptr), x.dtype());
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  if (x.rank() < 2 || groups < 1 || x.shape()[1] % groups) {
    fail(Code::shape, "group_norm: %lld groups do not divide the channels, axis 1, of %s",
         static_cast<long long>(groups), to_string(x.shape()).c_str());
  }
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "group_norm: needs floats, got %s", name_of(x.dtype()));
  }
  const int64_t channels = x.shape()[1];
  for (const Tensor* parameter : {&weight, &bias}) {
    if (*parameter && parameter->shape() != Shape{channels}) {
      fail(Code::shape, "group_norm: %s: weight and bias must be [%lld], got %s",
           to_string(x.shape()).c_str(), static_cast<long long>(channels),
           to_string(parameter->shape()).c_str());
    }
  }
  // A group's channels keep an axis of their own, so that weight and bias stand beside them.
  int64_t places = 1;
  for (int d = 2; d < x.rank(); ++d) places *= x.shape()[d];
  const Shape by_channel{groups, channels / groups, 1};
  auto beside = [&](const Tensor& t) {
    return t ? reshape(cast(t, accumulator_of(x.dtype())), by_channel) : t;
  };
  Tensor wide = reshape(cast(x, accumulator_of(x.dtype())),
                        {x.shape()[0], groups, channels / groups, places});
  const Tensor deviation = deviation_from(mean(wide, {2, 3}, true), wide);
  const Tensor root = rsqrt(mean(square_of(deviation), {2, 3}, true) + epsilon);
  Tensor y = normalize(deviation, root, beside(weight));
  if (bias) y = y + beside(bias);
  return reshape(cast(y, x.dtype()), x.shape());
}

BatchNorm batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool training,
                     double momentum, double epsilon) {
  const char* name = "batch_norm";
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "%s: needs floats, got %s", name, name_of(x.dtype()));
  }
  if (x.rank() < 2) {
    fail(Code::shape, "%s: %s: needs [batch, channels, ...]", name, to_string(x.shape()).c_str());
  }
  int64_t channels = x.shape()[1];
  for (const Tensor* parameter : {&weight, &bias, &running_mean, &running_var}) {
    if (*parameter && parameter->shape() != Shape{channels}) {
      fail(Code::shape, "%s: %s: weight, bias and statistics must be [%lld], got %s", name,
           to_string(x.shape()).c_str(), static_cast<long long>(channels),
           to_string(parameter->shape()).c_str());
    }
  }
  if (!training && (!running_mean || !running_var)) {
    fail(Code::null, "%s: evaluation needs the running statistics", name);
  }
  Tensor wide = cast(x, accumulator_of(x.dtype()));
  Dims axes{0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  Shape by_channel = Shape::filled(x.rank() - 1, 1);
  by_channel[0] = channels;
  auto spread = [&](const Tensor& t) { return reshape(cast(t, wide.dtype()), by_channel); };

  BatchNorm result{nullptr, running_mean, running_var};
  Tensor y;
  if (training) {
    Tensor channel_mean = mean(wide, axes);
    Tensor deviation = deviation_from(reshape(channel_mean, by_channel), wide);
    Tensor channel_variance = mean(square_of(deviation), axes);
    Tensor root = rsqrt(reshape(channel_variance, by_channel) + epsilon);
    y = normalize(deviation, root, weight ? spread(weight) : nullptr);
    GradientMode none(false);
    double count = channels ? static_cast<double>(x.size() / channels) : 2;
    if (running_var && count < 2) {
      fail(Code::shape, "%s: %s: training needs more than one value for each channel", name,
           to_string(x.shape()).c_str());
    }
    auto moved = [&](const Tensor& old, const Tensor& now) {
      return cast(cast(old, wide.dtype()) * (1 - momentum) + now * momentum, old.dtype());
    };
    if (running_mean) result.running_mean = moved(running_mean, channel_mean);
    if (running_var) {
      result.running_var = moved(running_var, channel_variance * (count / (count - 1)));
    }
  } else {
    Tensor scale = rsqrt(spread(running_var) + epsilon);
    if (weight) scale = scale * spread(weight);
    y = (wide - spread(running_mean)) * scale;
  }
  if (bias) y = y + spread(bias);
  result.y = cast(y, x.dtype());
  return result;
}

}  // namespace mt
