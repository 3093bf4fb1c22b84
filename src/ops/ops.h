// SPDX-License-Identifier: Apache-2.0
// Every operator as a function on tensors. Each checks its arguments, then records; none computes.
#pragma once

#include <optional>
#include <vector>

#include "graph/record.h"
#include "ops/elementwise.h"

namespace mt {

// Axes as an operator's only attributes.
inline Attributes to_attributes(const Dims& axes) {
  return Attributes(axes.data(), static_cast<size_t>(axes.rank()));
}
inline Dims axes_of(const Node& node) {
  return Dims(node.attributes.data(), static_cast<int>(node.attributes.size()));
}
// All sizes but the last two.
inline Shape leading(const Tensor& x) { return Shape(x.shape().data(), x.rank() - 2); }

// Element-wise operators: one function for each row of ops/elementwise.def.
#define UNARY(name, domain, result, value, gradient) Tensor name(const Tensor& x);
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  Tensor name(const Tensor& a, const Tensor& b);
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor cast(const Tensor& x, Dtype dtype);
Tensor clip(const Tensor& x, const Tensor& low, const Tensor& high);  // a bound may be null
// An operand in the dtype that an operator works in; a plain number also where its tensor lies.
Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device);
// The common dtype of two operands. A plain number takes the other's, unless that cannot hold its
// kind: a fraction with an integer gives float32, a number with a bool gives the number's kind.
Dtype common_dtype(const Tensor& a, const Tensor& b, const char* name);
Tensor copy(const Tensor& x);  // the same values, contiguous and in memory of their own

// Creation (ops/create.cpp).
Tensor full(const Shape& shape, double value, Dtype dtype, Device& device);
Tensor full_integer(const Shape& shape, int64_t value, Dtype dtype, Device& device);
Tensor iota(const Shape& shape, Dtype dtype, Device& device);  // int64 or int32
// A plain number: zero-dimensional, and takes the dtype of what it meets.
Tensor number(double value, Device& device);
Tensor number(double value, const Tensor& beside);  // and at once in that type, if it is a float
Tensor integer_number(int64_t value, Device& device);
Immediates constant_immediates(double value, Dtype dtype);  // how a constant holds its number
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

// Views (ops/view.cpp, slice.cpp).
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1
Tensor permute(const Tensor& x, const Dims& order);
Tensor transpose(const Tensor& x);  // exchanges the last two axes
Tensor expand(const Tensor& x, const Shape& shape);
Tensor slice(const Tensor& x, int axis, int64_t start, int64_t length, int64_t step);
Tensor flip(const Tensor& x, const Dims& axes);
Tensor squeeze(const Tensor& x, const Dims& axes);
Tensor unsqueeze(const Tensor& x, int axis);
Tensor alias(const Tensor& x);   // the same value in a node of its own
Tensor detach(const Tensor& x);  // the same value without history, in a node of its own
Tensor window(const Tensor& x, int axis, int64_t size, int64_t step, int64_t dilation);
Tensor move_axis(const Tensor& x, int from, int to);

// x placed in a tensor of `shape` that is `fill`, or 0, elsewhere (ops/pad.cpp): the transpose of
// slice. That of window adds up what comes from one place (ops/fold.cpp).
Tensor place(const Tensor& x, const Shape& shape, const Dims& starts, const Dims& steps,
             double fill);
Tensor place_along(const Tensor& x, const Shape& shape, int axis, int64_t start, int64_t step);
Tensor fold(const Tensor& x, const Shape& shape, int axis, int64_t step, int64_t dilation);

// Reductions (ops/reduce.cpp). No axes: all of them. A sum is two, over the last axes first, where
// elements stay apart between these and others that are summed.
Tensor sum(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor prod(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor max(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor min(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor mean(const Tensor& x, const Dims& axes = {}, bool keep = false);
// Undoes broadcasting: sums x down to `shape`.
Tensor sum_to(const Tensor& x, const Shape& shape);

// Contraction (ops/contract.cpp): a is [batch..., m..., k...], b is [batch..., n..., k...], the
// result [batch..., m..., n...]; the counts say how many dimensions each part has.
Tensor contract(const Tensor& a, const Tensor& b, int batch, int m, int n, int k);
Tensor matmul(const Tensor& a, const Tensor& b);

// Made of it (ops/contract.cpp, einsum.cpp), with a weight of [out, in]; a view (ops/view.cpp).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor einsum(const char* equation, const std::vector<Tensor>& operands);
Tensor diagonal(const Tensor& x, int a, int b);  // of axes a < b of one size: b goes, a stays

// Convolution and pooling over the last axes, one number for each (ops/convolution.cpp,
// pooling.cpp). x is [n, in, ...]; weight [out, in / groups, ...], transposed [in, out / groups,
// ...]; bias [out] or null.
struct Convolution {
  Dims stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool same = false;  // padding is what keeps the size
};
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Convolution& how);
Tensor same_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Convolution& how);  // (ops/same_convolution.cpp)
Tensor convolution_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Convolution& how);
struct Pooling {
  Dims size, stride, padding, dilation;
  bool exclude_padding = false;
};
Tensor max_pool(const Tensor& x, const Pooling& how);
Tensor avg_pool(const Tensor& x, const Pooling& how);
// The last axes at other sizes (ops/resize.cpp).
Tensor resize_nearest(const Tensor& x, const Dims& sizes);
Tensor resize_linear(const Tensor& x, const Dims& sizes, bool align_corners);
// Statistics (ops/statistics.cpp, softmax.cpp). No axes: all of them.
Tensor var(const Tensor& x, const Dims& axes, double correction, bool keep = false);
Tensor standard_deviation(const Tensor& x, const Dims& axes, double correction, bool keep = false);
Tensor norm(const Tensor& x, const Dims& axes, double order, bool keep = false);
Tensor logsumexp(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor softmax(const Tensor& x, int64_t axis);
Tensor log_softmax(const Tensor& x, int64_t axis);
// Normalisation (ops/normalization.cpp); weight and bias may be null.
Tensor layer_norm(const Tensor& x, int naxes, const Tensor& weight, const Tensor& bias,
                  double epsilon);
Tensor rms_norm(const Tensor& x, int naxes, const Tensor& weight, double epsilon);
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double epsilon);
struct BatchNorm {
  Tensor y, running_mean, running_var;  // the statistics as they are afterwards
};
BatchNorm batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool training,
                     double momentum, double epsilon);
// Attention (ops/attention.cpp). scale 0: 1 / sqrt(d).
struct Attention {
  bool causal = false;
  double scale = 0, dropout = 0;
  bool training = false;
};
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const Attention& how);
Tensor embedding(const Tensor& indices, const Tensor& weight);  // (ops/embedding.cpp)
// Recurrent networks (ops/recurrent.cpp): x is [batch, n, in]; biases and states may be null.
enum class RecurrentKind : uint8_t { rnn, gru, lstm };
struct RecurrentWeights {
  Tensor input, hidden, input_bias, hidden_bias;
};
struct Recurrent {
  Tensor y, state, cell;  // all states, the last one, and that of lstm's cell
};
Recurrent recurrent(RecurrentKind kind, const Tensor& x, const Tensor& state, const Tensor& cell,
                    const RecurrentWeights& weights);
// Losses (ops/loss.cpp).
enum class LossReduction : uint8_t { mean, sum, none };
struct CrossEntropy {
  LossReduction reduction = LossReduction::mean;
  Tensor weight = {};  // of each class, or null
  std::optional<int64_t> ignored = std::nullopt;
  double smoothing = 0;
};
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis,
                     const CrossEntropy& how);
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, int64_t axis,
                     LossReduction reduction);
Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction);
Tensor l1_loss(const Tensor& x, const Tensor& target, LossReduction reduction);
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, LossReduction reduction);
Tensor bce_with_logits(const Tensor& x, const Tensor& target, LossReduction reduction);
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& positive_weight,
                       LossReduction reduction);
// Element-wise operators as text (ops/expression.cpp); numbers alone lie on `device`.
Tensor expression(const char* text, const std::vector<Tensor>& tensors, Device& device);
// Tensors that are functions of their positions (ops/range.cpp).
Tensor arange(double start, double stop, double step, Dtype dtype, Device& device);
Tensor linspace(double start, double stop, int64_t count, Dtype dtype, Device& device);
Tensor eye(int64_t rows, int64_t columns, int64_t k, Dtype dtype, Device& device);
Tensor one_hot(const Tensor& indices, int64_t classes, Dtype dtype);
Tensor tril(const Tensor& x, int64_t k);
Tensor triu(const Tensor& x, int64_t k);
// Indexing, sorting and joining (ops/index.cpp, gather.cpp, sort.cpp, concat.cpp, ...): x[items]
// and, as a new value, x[items] = value.
struct IndexItem {
  enum Kind : uint8_t { at, range, new_axis, ellipsis, by } kind;
  int64_t start = INT64_MIN, stop = INT64_MIN, step = 1;  // INT64_MIN: an end left open
  Tensor tensor = nullptr;
};
template <>
inline constexpr bool is_relocatable<IndexItem> = true;
using IndexItems = SmallVector<IndexItem, 3>;
Tensor index(const Tensor& x, const IndexItems& items);
Tensor index_put(const Tensor& x, const IndexItems& items, const Tensor& value);
Tensor select(const Tensor& x, int64_t axis, int64_t index);
Tensor slice_between(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step);
Tensor index_select(const Tensor& x, const Tensor& indices, int64_t axis);
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis);
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& values, int64_t axis);
Tensor masked_select(const Tensor& x, const Tensor& mask);  // computes, as the next three do
Tensor nonzero(const Tensor& x);
Tensor unique_values(const Tensor& x);
struct Unique {
  Tensor values, indices, inverse_indices, counts;
};
Unique unique_all(const Tensor& x);
Tensor concat(const std::vector<Tensor>& tensors, int64_t axis);
Tensor stack(const std::vector<Tensor>& tensors, int64_t axis);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis);
Tensor pad(const Tensor& x, const Dims& before, const Dims& after, double value);
enum class Border { reflect, edge, wrap };  // a tensor continued by its own elements
Tensor pad(const Tensor& x, const Dims& before, const Dims& after, Border border);
Tensor argsort(const Tensor& x, int64_t axis, bool descending);
Tensor sort(const Tensor& x, int64_t axis, bool descending);
struct TopK {
  Tensor values, indices;
};
TopK topk(const Tensor& x, int64_t k, int64_t axis, bool largest);
Tensor argmax(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor argmin(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor any(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor all(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor count_nonzero(const Tensor& x, const Dims& axes = {}, bool keep = false);
Tensor cumulative_sum(const Tensor& x, int64_t axis);
Tensor cumulative_prod(const Tensor& x, int64_t axis);
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right);
// Elements in other places (ops/rearrange.cpp). Counts in a tensor are computed.
Tensor roll(const Tensor& x, const std::vector<int64_t>& shifts, const Dims& axes);
Tensor tile(const Tensor& x, const Dims& counts);
Tensor repeat(const Tensor& x, int64_t count, int64_t axis);
Tensor repeat(const Tensor& x, const Tensor& counts, int64_t axis);
Tensor diff(const Tensor& x, int64_t axis, int64_t order);
// Products and diagonals (ops/products.cpp).
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& axes_a, const Dims& axes_b);
Tensor outer(const Tensor& a, const Tensor& b);
Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis);
Tensor cross(const Tensor& a, const Tensor& b, int64_t axis);
Tensor matrix_diagonal(const Tensor& x, int64_t k);  // of the last two axes
Tensor matrix_trace(const Tensor& x, int64_t k);

// Decompositions of the matrices in the last two axes, and what follows (ops/linalg). A matrix that
// has none is an error at the call, which computes for that; in a trace its results are NaN.
Tensor cholesky(const Tensor& x, bool upper);
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool unit = false);
Tensor solve(const Tensor& a, const Tensor& b);
Tensor inverse(const Tensor& x);
Tensor det(const Tensor& x);
struct Slogdet {
  Tensor sign, logabsdet;
};
Slogdet slogdet(const Tensor& x);
struct Qr {
  Tensor q, r;
};
Qr qr(const Tensor& x, bool complete);
struct Eigh {
  Tensor values, vectors;
};
Eigh eigh(const Tensor& x);
Tensor eigvalsh(const Tensor& x);
struct Svd {
  Tensor u, s, vt;
};
Svd svd(const Tensor& x, bool full);
Tensor svdvals(const Tensor& x);
Tensor matrix_rank(const Tensor& x, const Tensor& tolerance);  // null: the usual one
Tensor pinv(const Tensor& x, const Tensor& tolerance);
Tensor matrix_norm(const Tensor& x, const char* order, bool keep);
Tensor matrix_power(const Tensor& x, int64_t n);

// What the gradients in the table are written with.
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, number(b, a)); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, number(b, a)); }
inline Tensor operator-(double a, const Tensor& b) { return sub(number(a, b), b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, number(b, a)); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, number(b, a)); }
inline Tensor operator/(double a, const Tensor& b) { return div(number(a, b), b); }
inline Tensor operator>(const Tensor& a, double b) { return greater(a, number(b, a)); }

}  // namespace mt
