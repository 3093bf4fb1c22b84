// SPDX-License-Identifier: Apache-2.0
// Elements picked along one axis, each by an index of its own, and the transpose: elements added
// up where indices say.
#include "base/error.h"
#include "ops/checked_indices.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {
namespace {

// The position, in a tensor that has `size` along `axis`, that element i of `indices` names.
int64_t named(const NaiveArray& indices, int axis, int64_t size, int64_t i) {
  int64_t inner = 1;
  const Shape& shape = indices.layout.shape;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  int64_t outer = i / (inner * shape[axis]);
  return (outer * size + wrapped_index(indices.integer(i), size)) * inner + i % inner;
}

// inputs: x and indices, equal but along the axis; attributes: axis
void take_value(const NaiveCall& call) {
  int axis = static_cast<int>(call.attributes[0]);
  const NaiveArray &x = call.inputs[0], &indices = call.inputs[1];
  for (int64_t i = 0; i < call.output.size(); ++i) {
    move_element(call.output, i, x, named(indices, axis, x.layout.shape[axis], i));
  }
}

// inputs: values and indices of one shape; attributes: axis
void add_value(const NaiveCall& call) {
  int axis = static_cast<int>(call.attributes[0]);
  const NaiveArray &values = call.inputs[0], &indices = call.inputs[1], &y = call.output;
  add_up(values, y, [&](int64_t i) { return named(indices, axis, y.layout.shape[axis], i); });
}

Tensor take(const Tensor& x, const Tensor& indices, int axis);
Tensor add_along(const Tensor& values, const Tensor& indices, int axis, int64_t size);

void take_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int axis = static_cast<int>(node.attributes[0]);
  gradients[0] = add_along(dy, node.inputs[1], axis, node.inputs[0].shape()[axis]);
}
const Op take_op{
    .name = "take_along_axis",
    .kind = OpKind::call,
    .value = take_value,
    .gradient = take_gradient,
};

void add_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = take(dy, node.inputs[1], static_cast<int>(node.attributes[0]));
}
const Op add_op{
    .name = "add_along_axis",
    .kind = OpKind::call,
    .value = add_value,
    .gradient = add_gradient,
};

Tensor take(const Tensor& x, const Tensor& indices, int axis) {
  return record(take_op, x.dtype(), indices.shape(), {x, indices}, {axis});
}

Tensor add_along(const Tensor& values, const Tensor& indices, int axis, int64_t size) {
  if (is_half(values.dtype())) {  // sums are kept in float32 and rounded once
    return cast(add_along(cast(values, Dtype::float32), indices, axis, size), values.dtype());
  }
  Shape shape = indices.shape();
  shape[axis] = size;
  return record(add_op, values.dtype(), shape, {values, indices}, {axis});
}

// `shape` with `size` along the axis.
Shape with_size(const Shape& shape, int axis, int64_t size) {
  Shape result = shape;
  result[axis] = size;
  return result;
}

void check_rank(const Tensor& x, const Tensor& indices, const char* name) {
  if (x.rank() == indices.rank()) return;
  fail(Code::shape, "%s: indices of shape %s for %s: the numbers of dimensions differ", name,
       to_string(indices.shape()).c_str(), to_string(x.shape()).c_str());
}

}  // namespace

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  const char* name = "take_along_axis";
  check_rank(x, indices, name);
  int chosen = normalize_axis(axis, x.rank(), name);
  int64_t size = x.shape()[chosen], count = indices.shape()[chosen];
  Shape common =
      broadcast(with_size(x.shape(), chosen, 1), with_size(indices.shape(), chosen, 1), name);
  Tensor checked = checked_indices(indices, chosen, x.shape(), name);
  return take(expand(x, with_size(common, chosen, size)),
              expand(checked, with_size(common, chosen, count)), chosen);
}

Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& values, int64_t axis) {
  const char* name = "scatter_add";
  check_rank(x, indices, name);
  int chosen = normalize_axis(axis, x.rank(), name);
  if (values.dtype() != x.dtype()) {
    fail(Code::dtype, "%s: values of type %s for %s", name, name_of(values.dtype()),
         name_of(x.dtype()));
  }
  if (values.shape() != indices.shape()) {
    fail(Code::shape, "%s: values of shape %s for indices of shape %s", name,
         to_string(values.shape()).c_str(), to_string(indices.shape()).c_str());
  }
  Shape shape = with_size(x.shape(), chosen, indices.shape()[chosen]);
  if (broadcast(shape, indices.shape(), name) != shape) {
    fail(Code::shape, "%s: indices of shape %s do not fit %s but for axis %d", name,
         to_string(indices.shape()).c_str(), to_string(x.shape()).c_str(), chosen);
  }
  Tensor checked = checked_indices(indices, chosen, x.shape(), name);
  return add(x,
             add_along(expand(values, shape), expand(checked, shape), chosen, x.shape()[chosen]));
}

}  // namespace mt
