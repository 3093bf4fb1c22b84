// SPDX-License-Identifier: Apache-2.0
// Normalisation by rows (layer norm, RMS norm), by channels (batch norm) and by groups of channels.
#include <algorithm>

#include "base/error.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"

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

// A batch norm's gradient is one formula (Ioffe and Szegedy 2015), which passes over memory less
// often than those of the operators that it is made of:
//
// y = (x - mean) * scale, where scale = rsqrt(variance + epsilon) * weight:
// dx = scale * (dy - mean(dy) - (x - mean) * mean(dy * (x - mean)) / (variance + epsilon)).
//
// Its operators are like any others, but for where their gradients go: all of it from y to x, none
// by way of the mean or the variance. A gradient is made of ordinary ones, and so has gradients.
constexpr Op like(const char* name, Elementwise code,
                  void (*gradient)(const Node&, const Tensor&, Tensor*)) {
  return {.name = name,
          .kind = OpKind::elementwise,
          .code = static_cast<uint8_t>(code),
          .gradient = gradient};
}
const Op deviation_op =
    like("sub", Elementwise::sub, [](const Node&, const Tensor& dy, Tensor* to) { to[0] = dy; });
Tensor deviation_from(const Tensor& mean, const Tensor& x) {
  return record(deviation_op, x.dtype(), x.shape(), {x, mean});
}
// Recorded again by an ordinary operator; what has no gradient may have forgotten its inputs.
Tensor ordinary(const Tensor& deviation) {
  if (!deviation.requires_gradient()) return deviation;
  return deviation->inputs[0] - deviation->inputs[1];
}

// Deviations add up to 0, and so does what the mean would receive of the sum of their squares.
const Op square_op =
    like("square", Elementwise::square, [](const Node& node, const Tensor& dy, Tensor* to) {
      to[0] = dy * (ordinary(node.inputs[0]) * 2.0);
    });
Tensor square_of(const Tensor& deviation) {
  return record(square_op, deviation.dtype(), deviation.shape(), {deviation});
}

const Op scale_op =
    like("mul", Elementwise::mul, [](const Node& node, const Tensor& dy, Tensor* to) {
      to[1] = sum_to(dy * node.inputs[0], node.inputs[1].shape());
    });
Tensor scale_of(const Tensor& root, const Tensor& weight) {
  return weight ? record(scale_op, root.dtype(), root.shape(), {root, weight}) : root;
}

const Op normalize_op =
    like("mul", Elementwise::mul, [](const Node& node, const Tensor& dy, Tensor* to) {
      const Tensor deviation = ordinary(node.inputs[0]), &scale = node.inputs[1];
      const bool weighted = scale->op == &scale_op;
      const Tensor root = weighted ? scale->inputs[0] : scale;
      const auto count = static_cast<double>(dy.size() / std::max<int64_t>(scale.size(), 1));
      const Tensor sum = sum_to(dy, scale.shape()), along = sum_to(dy * deviation, scale.shape());
      const Tensor rest = dy - sum / count - deviation * (along * root * root / count);
      to[0] = (weighted ? root * scale->inputs[1] : root) * rest;
      if (weighted) to[1] = along;
    });
// `scale` has the axes that are not normalized over.
Tensor normalize(const Tensor& deviation, const Tensor& scale) {
  return record(normalize_op, deviation.dtype(), deviation.shape(), {deviation, scale});
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
  auto beside = [&](const Tensor& t) { return t ? reshape(t, by_channel) : t; };
  Tensor wide = reshape(cast(x, accumulator_of(x.dtype())),
                        {x.shape()[0], groups, channels / groups, places});
  Tensor y = scaled(normalized(wide, {2, 3}, epsilon), beside(weight), beside(bias));
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
    y = normalize(deviation, scale_of(root, weight ? spread(weight) : nullptr));
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
