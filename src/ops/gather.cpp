// SPDX-License-Identifier: Apache-2.0
// Rows picked by index tensors, and their transpose: rows added up where indices say.
#include "ops/gather.h"

#include "ops/checked_indices.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {
namespace {

// Where row `j` of one outer position lies: `sizes` begins at the first indexed axis.
int64_t row_of(const NaiveArray* indices, int count, const int64_t* sizes, int64_t j) {
  int64_t row = 0;
  for (int k = 0; k < count; ++k) {
    row = row * sizes[k] + wrapped_index(indices[k].integer(j), sizes[k]);
  }
  return row;
}

int64_t extent_from(const Shape& shape, int first) {
  int64_t extent = 1;
  for (int d = first; d < shape.rank(); ++d) extent *= shape[d];
  return extent;
}

Inputs indices_of(const Node& node, size_t from = 1) {
  return Inputs(node.inputs.data() + from, node.inputs.size() - from);
}

// inputs: x [outer..., sizes..., inner...], one index tensor [count] for each of the sizes.
// attributes: the first indexed axis
void gather_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int first = static_cast<int>(call.attributes[0]);
  int indexed = static_cast<int>(call.inputs.size()) - 1;
  const Shape& shape = x.layout.shape;
  int64_t inner = extent_from(shape, first + indexed), count = y.layout.shape[first];
  int64_t rows = 1;
  for (int k = 0; k < indexed; ++k) rows *= shape[first + k];
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t j = i / inner % count, outer = i / (inner * count);
    int64_t row = row_of(&call.inputs[1], indexed, shape.data() + first, j);
    move_element(y, i, x, (outer * rows + row) * inner + i % inner);
  }
}

void gather_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  int first = static_cast<int>(node.attributes[0]);
  Inputs indices = indices_of(node);
  Shape sizes(node.inputs[0].shape().data() + first, static_cast<int>(indices.size()));
  gradients[0] = scatter(dy, first, indices, sizes);
}
const Op gather_op{
    .name = "gather",
    .kind = OpKind::call,
    .value = gather_value,
    .gradient = gather_gradient,
};

// inputs: values [outer..., count, inner...], indices [count]; attributes: first, sizes
void scatter_value(const NaiveCall& call) {
  const NaiveArray &values = call.inputs[0], &y = call.output;
  int first = static_cast<int>(call.attributes[0]);
  int indexed = static_cast<int>(call.inputs.size()) - 1;
  int64_t inner = extent_from(values.layout.shape, first + 1);
  int64_t count = values.layout.shape[first], rows = 1;
  for (int k = 0; k < indexed; ++k) rows *= call.attributes[1 + static_cast<size_t>(k)];
  add_up(values, y, [&](int64_t i) {
    int64_t j = i / inner % count, outer = i / (inner * count);
    int64_t row = row_of(&call.inputs[1], indexed, call.attributes.data() + 1, j);
    return (outer * rows + row) * inner + i % inner;
  });
}

void scatter_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = gather(dy, static_cast<int>(node.attributes[0]), indices_of(node));
}
const Op scatter_op{
    .name = "scatter",
    .kind = OpKind::call,
    .value = scatter_value,
    .gradient = scatter_gradient,
};

// inputs: indices [count]; the output has the shape of the indexed axes
void last_writer_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  for (int64_t i = 0; i < y.size(); ++i) y.set_integer(i, -1);
  for (int64_t j = 0; j < call.inputs[0].size(); ++j) {
    y.set_integer(
        row_of(call.inputs.data(), static_cast<int>(call.inputs.size()), y.layout.shape.data(), j),
        j);
  }
}
const Op last_writer_op{.name = "last_writer", .kind = OpKind::call, .value = last_writer_value};

// inputs: x, values, and an index tensor [count] for each axis from the first on, which is the
// attribute
void put_rows_value(const NaiveCall& call) {
  const NaiveArray &values = call.inputs[1], &y = call.output;
  const int first = static_cast<int>(call.attributes[0]);
  const int indexed = static_cast<int>(call.inputs.size()) - 2;
  const Shape& shape = y.layout.shape;
  const int64_t inner = extent_from(shape, first + indexed), count = values.layout.shape[first];
  const int64_t rows = inner ? extent_from(shape, first) / inner : 0;
  for (int64_t i = 0; i < y.size(); ++i) move_element(y, i, call.inputs[0], i);
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t j = i / inner % count, outer = i / (inner * count);
    const int64_t row = row_of(&call.inputs[2], indexed, shape.data() + first, j);
    move_element(y, (outer * rows + row) * inner + i % inner, values, i);
  }
}

void put_rows_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor &x = node.inputs[0], &values = node.inputs[1];
  const int first = static_cast<int>(node.attributes[0]);
  const Inputs indices = indices_of(node, 2);
  if (x.requires_gradient()) gradients[0] = put_rows(dy, zeros_like(values), first, indices);
  if (!values.requires_gradient()) return;
  const Shape sizes(x.shape().data() + first, static_cast<int>(indices.size()));
  const int64_t count = indices[0].size();
  Tensor stays = equal(gather(last_writer(indices, sizes), 0, indices),
                       iota({count}, Dtype::int64, dy.device()));
  Shape beside{count};
  while (beside.rank() < values.rank() - first) beside.push_back(1);
  gradients[1] = where(reshape(stays, beside), gather(dy, first, indices), number(0.0, dy));
}

}  // namespace

const Op put_rows_op{
    .name = "put_rows",
    .kind = OpKind::call,
    .value = put_rows_value,
    .gradient = put_rows_gradient,
};

Tensor put_rows(const Tensor& x, const Tensor& values, int first, const Inputs& indices) {
  Inputs inputs{x, values};
  for (const Tensor& index : indices) inputs.push_back(index);
  return record(put_rows_op, x.dtype(), x.shape(), std::move(inputs), {first});
}

Tensor gather(const Tensor& x, int first, const Inputs& indices) {
  Shape shape(x.shape().data(), first);
  shape.push_back(indices[0].size());
  for (int d = first + static_cast<int>(indices.size()); d < x.rank(); ++d) {
    shape.push_back(x.shape()[d]);
  }
  check_shape(shape, size_of(x.dtype()), "gather");
  Inputs inputs{x};
  for (const Tensor& index : indices) inputs.push_back(index);
  return record(gather_op, x.dtype(), shape, std::move(inputs), {first});
}

Tensor scatter(const Tensor& values, int first, const Inputs& indices, const Shape& sizes) {
  if (is_half(values.dtype())) {  // sums are kept in float32 and rounded once
    return cast(scatter(cast(values, Dtype::float32), first, indices, sizes), values.dtype());
  }
  Shape shape(values.shape().data(), first);
  Inputs inputs{values};
  Attributes attributes{first};
  for (int k = 0; k < sizes.rank(); ++k) {
    shape.push_back(sizes[k]);
    attributes.push_back(sizes[k]);
    inputs.push_back(indices[k]);
  }
  for (int d = first + 1; d < values.rank(); ++d) shape.push_back(values.shape()[d]);
  return record(scatter_op, values.dtype(), shape, std::move(inputs), std::move(attributes));
}

Tensor last_writer(const Inputs& indices, const Shape& sizes) {
  return record(last_writer_op, Dtype::int64, sizes, indices);
}

Tensor index_select(const Tensor& x, const Tensor& indices, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "index_select");
  Tensor checked = checked_indices(indices, chosen, x.shape(), "index_select");
  Tensor rows = gather(x, chosen, {reshape(checked, {indices.size()})});
  Shape shape = x.shape();
  shape.erase(chosen);
  for (int d = 0; d < indices.rank(); ++d) shape.insert(chosen + d, indices.shape()[d]);
  return reshape(rows, shape);
}

}  // namespace mt
