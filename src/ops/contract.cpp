// SPDX-License-Identifier: Apache-2.0
// Contraction: sums of products, the one primitive behind matmul, einsum and convolution. Its
// gradients are two contractions with exchanged roles: transposes are stride swaps, and nothing is
// broadcast into memory.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/contract_axes.h"
#include "ops/minimal_filtering.h"
#include "ops/ops.h"
#include "ops/precision.h"
#include "ops/rows_by_weight.h"

namespace mt {
namespace {

// attributes: how many dimensions are batch, m, n and k; then the precision mode
struct Counts {
  int batch, m, n, k;
};
constexpr int precision_attribute = 4;
Counts counts_of(const Node& node) {
  return {static_cast<int>(node.attributes[0]), static_cast<int>(node.attributes[1]),
          static_cast<int>(node.attributes[2]), static_cast<int>(node.attributes[3])};
}

// [batch, x, y] -> [batch, y, x]
Tensor exchange(const Tensor& tensor, int batch, int x, int y) {
  Dims order;
  for (int i = 0; i < batch; ++i) order.push_back(i);
  for (int i = 0; i < y; ++i) order.push_back(batch + x + i);
  for (int i = 0; i < x; ++i) order.push_back(batch + i);
  return permute(tensor, order);
}

// Whether a [batch, x, y] tensor lies in memory with x innermost: a gradient made in that order is
// contiguous once it has passed back through the view that exchanged them.
bool lies_exchanged(const Tensor& tensor, int batch, int x, int y) {
  if (x == 0 || y == 0) return false;
  Layout layout = view_layout(tensor);
  return layout.strides[batch + x - 1] < layout.strides[batch + x + y - 1];
}

Tensor contract_in(Precision precision, Tensor a, Tensor b, int batch, int m, int n, int k);

// dy is [batch, m, n]: da[b,m,k] = sum_n dy[b,m,n] b[b,n,k], and db[b,n,k] = sum_m dy a. Both in
// the mode of the product they belong to.
Tensor gradient_of_a(const Node& node, const Tensor& dy) {
  auto [batch, m, n, k] = counts_of(node);
  const Precision precision = precision_of(*node.op, node.attributes);
  const Tensor &a = node.inputs[0], by_n = exchange(node.inputs[1], batch, n, k);
  return lies_exchanged(a, batch, m, k)
             ? exchange(contract_in(precision, by_n, dy, batch, k, m, n), batch, k, m)
             : contract_in(precision, dy, by_n, batch, m, k, n);
}
// With `a` for the operand that the product has.
Tensor gradient_of_b(const Node& node, const Tensor& a, const Tensor& dy) {
  auto [batch, m, n, k] = counts_of(node);
  const Precision precision = precision_of(*node.op, node.attributes);
  Tensor dy_by_m = exchange(dy, batch, m, n), a_by_m = exchange(a, batch, m, k);
  return lies_exchanged(node.inputs[1], batch, n, k)
             ? exchange(contract_in(precision, a_by_m, dy_by_m, batch, k, n, m), batch, k, n)
             : contract_in(precision, dy_by_m, a_by_m, batch, n, k, m);
}
void contract_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const Tensor &a = node.inputs[0], &b = node.inputs[1];
  if (a.requires_gradient()) gradients[0] = gradient_of_a(node, dy);
  if (b.requires_gradient()) gradients[1] = gradient_of_b(node, a, dy);
}
const Op contract_op{.name = "contract", .kind = OpKind::contract, .gradient = contract_gradient};

// x in that type; moved, as each reference that is counted takes as long as twenty instructions.
Tensor as_type(Tensor&& x, Dtype dtype) {
  if (x.dtype() == dtype && !x->is_plain_number) return std::move(x);
  return cast(x, dtype);
}

Tensor contract_in(Precision precision, Tensor a, Tensor b, int batch, int m, int n, int k) {
  Dtype dtype = promote(a.dtype(), b.dtype(), "contract");
  Shape shape(a.shape().data(), batch + m);
  for (int i = 0; i < n; ++i) shape.push_back(b.shape()[batch + i]);
  return record(contract_op, dtype, shape,
                {as_type(std::move(a), dtype), as_type(std::move(b), dtype)},
                {batch, m, n, k, static_cast<int64_t>(precision)});
}

}  // namespace

bool is_rows_by_weight(const Node& node) {
  if (node.op != &contract_op || node.inputs.empty() || !node.inputs[1].requires_gradient()) {
    return false;
  }
  auto [batch, m, n, k] = counts_of(node);
  if (batch != 0 || m != 1 || n != 1 || k != 1) return false;
  const Shape &rows = node.inputs[0].shape(), &weight = node.inputs[1].shape();
  return rows[0] * (weight[0] + weight[1]) <= element_count(weight);
}
Tensor gradient_of_rows(const Node& node, const Tensor& dy) {
  return node.inputs[0].requires_gradient() ? gradient_of_a(node, dy) : Tensor();
}
Tensor gradient_of_weight(const Node& node, const std::vector<Tensor>& rows,
                          const std::vector<Tensor>& dys) {
  return gradient_of_b(node, concat(rows, 0), concat(dys, 0));
}

Precision precision_of(const Op& op, const Attributes& attributes) {
  if (&op != &contract_op) return convolution_precision(op, attributes);
  return static_cast<Precision>(attributes[precision_attribute]);
}

Tensor contract(const Tensor& a, const Tensor& b, int batch, int m, int n, int k) {
  return contract_in(matmul_precision(), a, b, batch, m, n, k);
}

namespace {

void check_matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    fail(Code::shape, "matmul: %s x %s: operands need at least one dimension",
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str());
  }
  int64_t inner = a.shape().back(), b_inner = b.shape()[std::max(0, b.rank() - 2)];
  if (b_inner != inner) {
    fail(Code::shape, "matmul: %s x %s: inner sizes %lld and %lld differ",
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str(), static_cast<long long>(inner),
         static_cast<long long>(b_inner));
  }
}

// The axes before `last`, which are numbered so, by their places among the result's `lead`, unless
// they only stretch.
Numbered numbered(Tensor&& x, int lead, const Dims& last) {
  Numbered result{std::move(x), {}};
  const Shape& shape = result.value.shape();
  const int own = shape.rank() - last.rank();
  for (int i = 0; i < own; ++i) result.axes.push_back(shape[i] == 1 ? -1 : lead - own + i);
  for (int64_t axis : last) result.axes.push_back(axis);
  return result;
}

// NumPy's rule: a vector has neither rows nor columns; leading dimensions broadcast. One that only
// one operand has joins its rows or columns, so that nothing is repeated.
Tensor matmul_of_any_rank(Tensor a, Tensor b) {
  const bool rows = a.rank() > 1, columns = b.rank() > 1;
  Shape shape = broadcast(rows ? leading(a) : Shape(), columns ? leading(b) : Shape(), "matmul");
  const int lead = shape.rank(), row = lead, column = lead + 1, inner = lead + 2;
  if (rows) shape.push_back(a.shape()[a.rank() - 2]);
  if (columns) shape.push_back(b.shape().back());
  Tensor product = contract_axes(
      numbered(std::move(a), lead, rows ? Dims{row, inner} : Dims{inner}),
      numbered(std::move(b), lead, columns ? Dims{inner, column} : Dims{inner}), {inner});
  if (shape == product.shape()) return product;
  return reshape(product, shape);  // a size of 1 that only stretched
}

}  // namespace

// Nothing reads the operands once something has been recorded: they may be borrowed.
Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  if (a.rank() != 2 || b.rank() != 2) return matmul_of_any_rank(a, b);
  Tensor left = a;
  return contract_in(matmul_precision(), std::move(left), transpose(b), 0, 1, 1, 1);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.rank() < 1 || weight.rank() != 2 || weight.shape()[1] != x.shape().back()) {
    fail(Code::shape, "linear: %s with weight %s: must be [..., in] and [out, in]",
         to_string(x.shape()).c_str(), to_string(weight.shape()).c_str());
  }
  if (bias && (bias.rank() != 1 || bias.shape()[0] != weight.shape()[0])) {
    fail(Code::shape, "linear: weight %s with bias %s: must be [%lld]",
         to_string(weight.shape()).c_str(), to_string(bias.shape()).c_str(),
         static_cast<long long>(weight.shape()[0]));
  }
  Tensor y = contract(x, weight, 0, x.rank() - 1, 1, 1);
  return bias ? y + bias : y;
}

}  // namespace mt
