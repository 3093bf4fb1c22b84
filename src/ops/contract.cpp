// SPDX-License-Identifier: Apache-2.0
// Contraction: sums of products, the one primitive behind matmul, einsum and convolution. Its
// gradients are two contractions with exchanged roles: transposes are stride swaps, and nothing is
// broadcast into memory.
#include <algorithm>

#include "base/error.h"
#include "ops/contract_axes.h"
#include "ops/minimal_filtering.h"
#include "ops/ops.h"
#include "ops/precision.h"

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

Tensor contract_in(Precision precision, const Tensor& a, const Tensor& b, int batch, int m, int n,
                   int k);

// dy is [batch, m, n]: da[b,m,k] = sum_n dy[b,m,n] b[b,n,k], and db[b,n,k] = sum_m dy a. Both in
// the mode of the product they belong to.
void contract_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  auto [batch, m, n, k] = counts_of(node);
  const Precision precision = precision_of(*node.op, node.attributes);
  auto contract = [precision](auto&&... arguments) { return contract_in(precision, arguments...); };
  const Tensor &a = node.inputs[0], &b = node.inputs[1];
  if (a.requires_gradient()) {
    Tensor by_n = exchange(b, batch, n, k);
    gradients[0] = lies_exchanged(a, batch, m, k)
                       ? exchange(contract(by_n, dy, batch, k, m, n), batch, k, m)
                       : contract(dy, by_n, batch, m, k, n);
  }
  if (b.requires_gradient()) {
    Tensor dy_by_m = exchange(dy, batch, m, n), a_by_m = exchange(a, batch, m, k);
    gradients[1] = lies_exchanged(b, batch, n, k)
                       ? exchange(contract(a_by_m, dy_by_m, batch, k, n, m), batch, k, n)
                       : contract(dy_by_m, a_by_m, batch, n, k, m);
  }
}
const Op contract_op{.name = "contract", .kind = OpKind::contract, .gradient = contract_gradient};

Tensor contract_in(Precision precision, const Tensor& a, const Tensor& b, int batch, int m, int n,
                   int k) {
  Dtype dtype = promote(a.dtype(), b.dtype(), "contract");
  Shape shape;
  for (int i = 0; i < batch + m; ++i) shape.push_back(a.shape()[i]);
  for (int i = 0; i < n; ++i) shape.push_back(b.shape()[batch + i]);
  check_shape(shape, size_of(dtype), "contract");
  return record(contract_op, dtype, shape, {cast(a, dtype), cast(b, dtype)},
                {batch, m, n, k, static_cast<int64_t>(precision)});
}

}  // namespace

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

// The leading axes by their places among the result's `lead`, unless they only stretch.
Numbered numbered(const Tensor& matrices, int lead, int64_t row, int64_t column) {
  Numbered result{matrices, {}};
  const int own = matrices.rank() - 2;
  for (int i = 0; i < own; ++i) {
    result.axes.push_back(matrices.shape()[i] == 1 ? -1 : lead - own + i);
  }
  result.axes.push_back(row);
  result.axes.push_back(column);
  return result;
}

}  // namespace

// NumPy's rule: vectors gain a dimension that the result loses again; leading dimensions
// broadcast. One that only one operand has joins its rows or columns, so that nothing is repeated.
Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  if (a.rank() == 2 && b.rank() == 2) return contract(a, transpose(b), 0, 1, 1, 1);
  Tensor x = a.rank() == 1 ? reshape(a, {1, a.shape()[0]}) : a;
  Tensor y = b.rank() == 1 ? reshape(b, {b.shape()[0], 1}) : b;
  Shape shape = broadcast(leading(x), leading(y), "matmul");
  const int lead = shape.rank(), row = lead, column = lead + 1, inner = lead + 2;
  Tensor product =
      contract_axes(numbered(x, lead, row, inner), numbered(y, lead, inner, column), {inner});
  if (a.rank() > 1) shape.push_back(a.shape()[a.rank() - 2]);
  if (b.rank() > 1) shape.push_back(b.shape().back());
  return reshape(product, shape);
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
