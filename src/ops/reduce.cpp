// SPDX-License-Identifier: Apache-2.0
// Reductions over any set of axes. A reduce node drops its axes; keepdims is a reshape after it.
#include "base/error.h"
#include "graph/evaluate.h"
#include "ops/contract_axes.h"
#include "ops/extremes.h"
#include "ops/history.h"
#include "ops/ops.h"
#include "ops/reduction.h"
#include "ops/running.h"

namespace mt {
namespace {

void sum_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Shape& shape = node.inputs[0].shape();
  gradients[0] = expand(reshape(dy, kept_shape(shape, axes_of(node))), shape);
}

// The products of what comes before each element of a row, times those of what comes after: a
// polynomial like the product itself, so that gradients of any order are right at zeros too.
Tensor products_of_others(const Tensor& x, const Dims& axes) {
  if (x.size() == 0) return x;
  Dims order, back = Dims::filled(x.rank(), 0);
  for (int i = 0; i < x.rank(); ++i) {
    if (!axes.contains(i)) order.push_back(i);
  }
  int64_t length = 1;
  for (int64_t axis : axes) {
    order.push_back(axis);
    length *= x.shape()[static_cast<int>(axis)];
  }
  for (int i = 0; i < x.rank(); ++i) back[static_cast<int>(order[i])] = i;
  Tensor last = permute(x, order);
  Tensor rows = reshape(cast(last, accumulator_of(x.dtype())), {x.size() / length, length});
  auto before = [&](const Tensor& of) {
    return cumulative_prod(pad(slice(of, 1, 0, length - 1, 1), {0, 1}, {0, 0}, 1), 1);
  };
  Tensor others = before(rows) * flip(before(flip(rows, {1})), {1});
  return permute(reshape(cast(others, x.dtype()), last.shape()), back);
}

// The same by dividing, in one pass over x, but for zeros: with one the others' product reaches it
// alone, with two nothing does. This is no function of a zero, so its gradient would be wrong.
Tensor quotients(const Tensor& x, const Dims& axes) {
  Tensor zero = equal(x, number(0, x.device()));
  Tensor filled = where(zero, number(1, x.device()), x);
  Tensor others = prod(filled, axes, true);
  Tensor zeros = sum(cast(zero, x.dtype()), axes, true);
  Tensor none = number(0, x.device());
  Tensor without = where(equal(zeros, none), others / filled, none);
  Tensor single = where(equal(zeros, number(1, x.device())), others, none);
  return where(zero, single, without);
}

void prod_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor& x = node.inputs[0];
  Dims axes = axes_of(node);
  Tensor others = keeps_history() ? products_of_others(x, axes) : quotients(x, axes);
  gradients[0] = reshape(dy, kept_shape(x.shape(), axes)) * others;
}

void extreme_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] =
      share_among_extremes(node.inputs[0], Tensor(const_cast<Node*>(&node)), dy, axes_of(node));
}

constexpr Op reduce_op(const char* name, Reduction reduction, decltype(Op::gradient) gradient) {
  return {.name = name,
          .kind = OpKind::reduce,
          .code = static_cast<uint8_t>(reduction),
          .gradient = gradient};
}
const Op ops[] = {
    reduce_op("sum", Reduction::sum, sum_gradient),
    reduce_op("prod", Reduction::prod, prod_gradient),
    reduce_op("max", Reduction::max, extreme_gradient),
    reduce_op("min", Reduction::min, extreme_gradient),
};

Tensor reduce(Reduction reduction, const Tensor& x, const Dims& axes, bool keep) {
  const Op& op = ops[static_cast<int>(reduction)];
  Dims chosen = normalize_axes(axes, x.rank(), op.name);
  Shape kept = kept_shape(x.shape(), chosen), dropped;
  for (int i = 0; i < x.rank(); ++i) {
    if (!chosen.contains(i))
      dropped.push_back(x.shape()[i]);
    else if (x.shape()[i] == 0 && reduction >= Reduction::max) {
      fail(Code::invalid, "%s: axis %d of %s is empty and has no extreme", op.name, i,
           to_string(x.shape()).c_str());
    }
  }
  Tensor y = record(op, x.dtype(), dropped, {x}, to_attributes(chosen));
  return keep ? reshape(y, kept) : y;
}

// Integer sums and products are kept in 64 bits.
Tensor widened(const Tensor& x) {
  return is_floating(x.dtype()) ? x : cast(x, running_dtype(x.dtype()));
}

// Over the last axes first, if others are summed as well and elements between them stay apart, as
// channels of images do: what they hold lies together in memory, each image's with who made it.
Tensor sum_last_first(const Tensor& x, const Dims& axes) {
  Dims last, others;
  int64_t inner = 1, between = 1, outer = 1;  // elements
  int d = x.rank();
  for (; d > 0 && axes.contains(d - 1); --d) {
    last.push_back(d - 1);
    inner *= x.shape()[d - 1];
  }
  for (int64_t axis : axes) {
    if (axis < d) others.push_back(axis);
  }
  for (int axis = others.empty() ? d : static_cast<int>(others[0]); axis < d; ++axis) {
    (others.contains(axis) ? outer : between) *= x.shape()[axis];
  }
  if (inner <= 1 || between <= 1 || outer <= 1) return reduce(Reduction::sum, x, axes, false);
  const Tensor wide = cast(x, accumulator_of(x.dtype()));
  const Tensor sums = reduce(Reduction::sum, wide, last, false);
  return cast(reduce(Reduction::sum, sums, others, false), x.dtype());
}

// A broadcast product that is summed, as one writes a matrix product without knowing matmul, is a
// contraction: nothing of the product's size is ever stored. A node that is such a product keeps
// its operands for this (Op::is_product), so that eager and deferred runs agree.
Tensor sum_of_product(const Tensor& x, const Dims& axes) {
  evaluate_if_foreign(x, current_thread());
  if (!x->is_broadcast_product || x->inputs.empty() || x->variable || !is_floating(x.dtype())) {
    return nullptr;
  }
  Numbered operands[2];  // by the product's axes
  for (int i = 0; i < 2; ++i) {
    const Tensor& operand = x->inputs[i];
    operands[i].value = operand;
    const int shift = x.rank() - operand.rank();
    for (int d = 0; d < operand.rank(); ++d) {
      operands[i].axes.push_back(operand.shape()[d] == 1 ? -1 : d + shift);
    }
  }
  Dims summed;
  bool lacks[2] = {false, false};
  for (int d = 0; d < x.rank(); ++d) {
    const bool has[2] = {operands[0].axes.contains(d), operands[1].axes.contains(d)};
    for (int i = 0; i < 2; ++i) lacks[i] |= !has[i] && x.shape()[d] > 1;
    if (!axes.contains(d)) continue;
    // What only one operand has could be summed beforehand, which is rare: leave it be.
    if (has[0] != has[1]) return nullptr;
    if (has[0]) summed.push_back(d);
  }
  if (!lacks[0] || !lacks[1] || summed.empty()) return nullptr;
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (!axes.contains(d)) shape.push_back(x.shape()[d]);
  }
  return reshape(contract_axes(operands[0], operands[1], summed), shape);
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& axes, bool keep) {
  Dims chosen = normalize_axes(axes, x.rank(), "sum");
  if (axes.empty() && x.rank() == 0) return widened(x);
  Tensor y = sum_of_product(x, chosen);
  if (!y) y = sum_last_first(widened(x), chosen);
  return keep ? reshape(y, kept_shape(x.shape(), chosen)) : y;
}

Tensor prod(const Tensor& x, const Dims& axes, bool keep) {
  return reduce(Reduction::prod, widened(x), axes, keep);
}
Tensor max(const Tensor& x, const Dims& axes, bool keep) {
  return reduce(Reduction::max, x, axes, keep);
}
Tensor min(const Tensor& x, const Dims& axes, bool keep) {
  return reduce(Reduction::min, x, axes, keep);
}

Tensor mean(const Tensor& x, const Dims& axes, bool keep) {
  // Sums of integers are exact up to 2^53, and rounded once.
  if (!is_floating(x.dtype())) {
    return cast(mean(cast(x, Dtype::float64), axes, keep), Dtype::float32);
  }
  double count = 1;
  for (int64_t axis : normalize_axes(axes, x.rank(), "mean")) {
    count *= static_cast<double>(x.shape()[static_cast<int>(axis)]);
  }
  Tensor wide = cast(x, accumulator_of(x.dtype()));
  return cast(sum(wide, axes, keep) / count, x.dtype());
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  int shift = x.rank() - shape.rank();
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < shift || (shape[i - shift] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return reshape(axes.empty() ? x : sum(x, axes), shape);
}

}  // namespace mt
