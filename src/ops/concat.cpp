// SPDX-License-Identifier: Apache-2.0
// Tensors put together and taken apart.
#include "base/error.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {
namespace {

// attributes: axis
void concat_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  int axis = static_cast<int>(call.attributes[0]);
  int64_t start = 0;
  for (const NaiveArray& x : call.inputs) {
    int64_t length = x.layout.shape[axis];
    NaiveArray part{y.data, y.dtype, slice(y.layout, axis, start, length, 1)};
    for (int64_t i = 0; i < x.size(); ++i) move_element(part, i, x, i);
    start += length;
  }
}

void concat_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int axis = static_cast<int>(node.attributes[0]);
  int64_t start = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    int64_t length = node.inputs[i].shape()[axis];
    if (node.inputs[i].requires_gradient()) gradients[i] = slice(dy, axis, start, length, 1);
    start += length;
  }
}
const Op concat_op{
    .name = "concat",
    .kind = OpKind::call,
    .value = concat_value,
    .gradient = concat_gradient,
};

}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int64_t axis) {
  if (tensors.empty()) fail(Code::invalid, "concat: needs at least one tensor");
  int chosen = normalize_axis(axis, tensors[0].rank(), "concat");
  Shape shape = tensors[0].shape();
  Dtype dtype = tensors[0].dtype();
  for (size_t i = 1; i < tensors.size(); ++i) {
    const Shape& other = tensors[i].shape();
    bool fits = other.rank() == shape.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = d == chosen || other[d] == shape[d];
    if (!fits) {
      fail(Code::shape, "concat: %s does not fit %s but for axis %d",
           to_string(tensors[i].shape()).c_str(), to_string(tensors[0].shape()).c_str(), chosen);
    }
    shape[chosen] += other[chosen];
    dtype = promote(dtype, tensors[i].dtype(), "concat");
  }
  if (tensors.size() == 1) return tensors[0];
  check_shape(shape, size_of(dtype), "concat");
  Inputs inputs;
  inputs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) inputs.push_back(cast(tensor, dtype));
  return record(concat_op, dtype, shape, std::move(inputs), {chosen});
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t axis) {
  if (tensors.empty()) fail(Code::invalid, "stack: needs at least one tensor");
  if (tensors[0].rank() == max_rank) {
    fail(Code::shape, "stack: %s has %d dimensions already", to_string(tensors[0].shape()).c_str(),
         max_rank);
  }
  int chosen = normalize_axis(axis, tensors[0].rank() + 1, "stack");
  std::vector<Tensor> layers;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() != tensors[0].shape()) {
      fail(Code::shape, "stack: shapes %s and %s differ", to_string(tensors[0].shape()).c_str(),
           to_string(tensor.shape()).c_str());
    }
    layers.push_back(unsqueeze(tensor, chosen));
  }
  return concat(layers, chosen);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "split");
  int64_t left = x.shape()[chosen];
  for (int64_t size : sizes) {
    if (size < 0 || size > left) left = -1;
    if (left >= 0) left -= size;
  }
  if (left != 0) {
    fail(Code::shape, "split: the sizes do not add up to axis %d of %s", chosen,
         to_string(x.shape()).c_str());
  }
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(slice(x, chosen, size ? start : 0, size, 1));
    start += size;
  }
  return parts;
}

}  // namespace mt
