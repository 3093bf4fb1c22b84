// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention (Vaswani et al., 2017). It is an operator of its own, whose kernel
// takes the keys in panels and never holds the weights (Milakov and Gimelshein, 2018, arXiv
// 1805.02867; Rabe and Staats, 2021, arXiv 2112.05682), and so is its gradient, which makes them
// again (Dao and others, 2022, arXiv 2205.14135): memory grows with the length, not with its
// square. What these leave out, dropout and masks that are learnt, is composed of contractions and
// a softmax, and so are gradients of the gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "graph/modes.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

constexpr char name[] = "scaled_dot_product_attention";
constexpr double hidden = -std::numeric_limits<double>::infinity();

// Of scores; of a query that sees nothing the weights are 0, and so is their gradient.
Tensor softmax_or_zero(const Tensor& scores) {
  Tensor wide = cast(scores, accumulator_of(scores.dtype()));
  if (wide.shape().back() == 0) return scores;
  Tensor largest;
  {
    GradientMode none(false);
    largest = max(wide, {-1}, true);
  }
  Tensor nothing = equal(largest, number(hidden, wide.device()));
  Tensor e = exp(wide - where(nothing, number(0, wide.device()), largest));
  Tensor total = where(nothing, number(1, wide.device()), sum(e, {-1}, true));
  return cast(e / total, scores.dtype());
}

// softmax(query key^T scale + mask), formed.
Tensor weights_of(const Tensor& query, const Tensor& key, const Tensor& mask, bool causal,
                  double scale) {
  Tensor scores = matmul(query, transpose(key)) * scale;
  const Shape shape = scores.shape();
  if (mask && mask.dtype() == Dtype::boolean) {
    scores = where(expand(mask, shape), scores, number(hidden, query.device()));
  } else if (mask) {
    scores = scores + cast(mask, scores.dtype());
  }
  if (causal) {
    // Compared at the scores' full shape, so that it is part of the softmax's loop.
    int64_t n = shape[shape.rank() - 2], m = shape.back();
    Tensor row = expand(iota({n, 1}, Dtype::int32, query.device()), shape);
    Tensor column = expand(iota({m}, Dtype::int32, query.device()), shape);
    scores = where(less_equal(column, row), scores, number(hidden, query.device()));
  }
  return softmax_or_zero(scores);
}

// ------------------------------------------------------------------------------- The naive values

// The operands of either call, inputs 0 to 2; the mask, if there is one, is the last.
struct Naive {
  const NaiveArray &query, &key, &value;
  const NaiveArray* mask;
  int64_t n, m, d, e, batch;
  double scale;
  bool causal;
  int64_t heads;

  Naive(const NaiveCall& call, size_t inputs)
      : query(call.inputs[0]),
        key(call.inputs[1]),
        value(call.inputs[2]),
        mask(call.inputs.size() > inputs ? &call.inputs[inputs] : nullptr),
        d(query.layout.shape.back()),
        e(value.layout.shape.back()),
        scale(__builtin_bit_cast(double, call.immediates.value[0])),
        causal(call.attributes[0] != 0),
        heads(call.attributes[1]) {
    n = query.layout.shape[query.layout.shape.rank() - 2];
    m = key.layout.shape[key.layout.shape.rank() - 2];
    batch = query.size() / (n * d);
  }

  // Row b * n + i of the weights, before they are divided by their sum, which is returned with what
  // was taken off the scores. Of a query that sees nothing the weights are 0, and the sum is 1.
  struct Row {
    std::vector<double> weights;
    double shift, sum;
  };
  Row row(int64_t b, int64_t i) const {
    Row row{std::vector<double>(static_cast<size_t>(m)), hidden, 0};
    for (int64_t j = 0; j < m; ++j) {
      double score = 0;
      for (int64_t c = 0; c < d; ++c) {
        score += query.number((b * n + i) * d + c) * key.number((b * m + j) * d + c);
      }
      score *= scale;
      int64_t at = (b * n + i) * m + j;
      if (mask && mask->dtype != Dtype::boolean) score += mask->number(at);
      if ((mask && mask->dtype == Dtype::boolean && !mask->integer(at)) || (causal && j > i)) {
        score = hidden;
      }
      row.weights[j] = score;
      row.shift = std::max(row.shift, score);
    }
    if (row.shift == hidden) row.shift = 0;  // all is hidden: inf - inf is NaN
    for (double& weight : row.weights) row.sum += weight = std::exp(weight - row.shift);
    if (row.sum == 0) row.sum = 1;  // ... and so is 0 / 0
    return row;
  }
};

// The result, [batch / heads, n, heads, e], then for each [batch, n] the row's shift and then its
// sum. inputs: query, key, value and perhaps a mask; attributes: causal, heads; immediate: scale
void attention_value(const NaiveCall& call) {
  Naive of(call, 3);
  const int64_t rows = of.batch * of.n;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t b = r / of.n, i = r % of.n;
    const int64_t first = ((b / of.heads * of.n + i) * of.heads + b % of.heads) * of.e;
    Naive::Row row = of.row(b, i);
    for (int64_t c = 0; c < of.e; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < of.m; ++j) {
        sum += row.weights[j] * of.value.number((r / of.n * of.m + j) * of.e + c);
      }
      call.output.set_number(first + c, sum / row.sum);
    }
    call.output.set_number(rows * of.e + r, row.shift);
    call.output.set_number(rows * (of.e + 1) + r, row.sum);
  }
}

// The gradients of query, key and value, each with its heads beside each other, [batch / heads, n,
// heads, d], one after the other or, joined, in one row, [batch / heads, n, 3, heads, d]. inputs:
// those, what arrives at the result, all that attention_value gave, and perhaps a mask
// attributes: causal, heads, joined
void attention_gradient_value(const NaiveCall& call) {
  Naive of(call, 5);
  const NaiveArray& dy = call.inputs[3];
  const int64_t n = of.n, m = of.m, d = of.d, e = of.e;
  const int64_t queries = of.batch * n * d, keys = of.batch * m * d;
  std::vector<double> sums(static_cast<size_t>(call.output.size()), 0.0);
  double *dq = sums.data(), *dk = dq + queries, *dv = dk + keys;
  std::vector<double> slopes(static_cast<size_t>(m));
  for (int64_t r = 0; r < of.batch * n; ++r) {
    const int64_t first = r / n * m;
    Naive::Row row = of.row(r / n, r % n);
    double mean = 0;
    for (int64_t j = 0; j < m; ++j) {
      double& weight = row.weights[j];
      weight /= row.sum;
      double slope = 0;
      for (int64_t c = 0; c < e; ++c) {
        slope += dy.number(r * e + c) * of.value.number((first + j) * e + c);
        dv[(first + j) * e + c] += weight * dy.number(r * e + c);
      }
      slopes[j] = slope;
      mean += weight * slope;
    }
    for (int64_t j = 0; j < m; ++j) {
      double slope = row.weights[j] * (slopes[j] - mean) * of.scale;
      for (int64_t c = 0; c < d; ++c) {
        dq[r * d + c] += slope * of.key.number((first + j) * d + c);
        dk[(first + j) * d + c] += slope * of.query.number(r * d + c);
      }
    }
  }
  const int64_t heads = of.heads, joined = call.attributes[2];
  auto write = [&](int64_t part, const double* from, int64_t rows, int64_t columns) {
    const int64_t row = heads * columns * (joined ? 3 : 1);
    const int64_t begin = joined ? part * heads * columns : from - sums.data();
    for (int64_t r = 0; r < of.batch * rows; ++r) {
      const int64_t b = r / rows, i = r % rows;
      const int64_t first = begin + (b / heads * rows + i) * row + b % heads * columns;
      for (int64_t c = 0; c < columns; ++c) call.output.set_number(first + c, *from++);
    }
  };
  write(0, dq, n, d);
  write(1, dk, m, d);
  write(2, dv, m, e);
}

// ---------------------------------------------------------------------------------- The gradients

// Elements of a vector from `first` on, as a tensor of `shape`.
Tensor part(const Tensor& all, int64_t first, const Shape& shape) {
  return reshape(slice(all, 0, first, element_count(shape), 1), shape);
}

Tensor swap_heads(const Tensor& x) {
  Dims order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[x.rank() - 3], order[x.rank() - 2]);
  return permute(x, order);
}

// part() of elements that lie with their heads beside each other.
Tensor part(const Tensor& all, int64_t first, Shape shape, int64_t heads) {
  if (heads == 1) return part(all, first, shape);
  std::swap(shape[shape.rank() - 3], shape[shape.rank() - 2]);
  return swap_heads(part(all, first, shape));
}

// [batch..., n, e] of a vector that begins with it as attention_value writes it.
Tensor result_of(const Tensor& all, const Tensor& query, const Tensor& value, int64_t heads) {
  Shape shape = query.shape();
  shape[shape.rank() - 1] = value.shape().back();
  return part(all, 0, shape, heads);
}

// The gradients of query, key and value as attention_gradient_value writes them.
struct Gradients {
  Tensor query, key, value;
};
Gradients gradients_of(const Tensor& all, const Tensor& query, const Tensor& key,
                       const Tensor& value, const Attributes& attributes) {
  const int64_t heads = attributes[1];
  if (!attributes[2]) {
    return {part(all, 0, query.shape(), heads), part(all, query.size(), key.shape(), heads),
            part(all, query.size() + key.size(), value.shape(), heads)};
  }
  Shape shape = query.shape();
  const int axis = shape.rank() - 2;
  std::swap(shape[axis - 1], shape[axis]);
  shape.insert(axis, 3);
  const Tensor joined = reshape(all, shape);
  auto each = [&](int64_t i) { return swap_heads(select(joined, axis, i)); };
  return {each(0), each(1), each(2)};
}

// Where queries of several heads lie beside each other, so does their result: what split them most
// likely joins them again, which takes no copy then.
int64_t heads_of(const Tensor& query) {
  const int heads = query.rank() - 3;
  if (heads < 0 || !query.device().host_memory) return 1;
  const Strides strides = view_layout(query).strides;
  const bool beside = strides[heads] > 0 && strides[heads] < strides[heads + 1];
  return beside ? query.shape()[heads] : 1;
}

// Whether the heads of query, key and value lie in one row, as one product makes them: what takes
// their gradients then reads them from one. The row takes a dimension more.
bool lie_in_one_row(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads) {
  if (query.rank() == max_rank) return false;
  if (heads == 1 || key.shape() != query.shape() || value.shape() != query.shape()) return false;
  const Layout q = view_layout(query), k = view_layout(key), v = view_layout(value);
  const int last = q.shape.rank() - 1;
  const int64_t width = heads * q.shape[last];
  return k.strides == q.strides && v.strides == q.strides && k.offset == q.offset + width &&
         v.offset == k.offset + width && q.strides[last - 2] == q.shape[last] &&
         (q.shape[last - 1] == 1 || q.strides[last - 1] == 3 * width);
}

// The gradient's own gradient, written with the weights p as a whole. With dp = dy value^T and
// ds = p (dp - sum(p dp)), the gradient is ds key, ds^T query and p^T dy.
void attention_gradient_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  Tensor q = cast(node.inputs[0], node.dtype), k = cast(node.inputs[1], node.dtype);
  Tensor v = cast(node.inputs[2], node.dtype), dy = cast(node.inputs[3], node.dtype);
  const double scale = __builtin_bit_cast(double, node.immediates.value[0]);
  Tensor mask = node.inputs.size() > 5 ? node.inputs[5] : Tensor();
  auto [at_dq, at_dk, at_dv] = gradients_of(arrived, q, k, v, node.attributes);

  Tensor p = weights_of(q, k, mask, node.attributes[0] != 0, scale);
  auto over_keys = [](const Tensor& x) { return sum(x, {-1}, true); };
  auto through_softmax = [&](const Tensor& x) { return p * (x - over_keys(p * x)); };
  Tensor dp = matmul(dy, transpose(v)), ds = through_softmax(dp);
  Tensor at_ds = (matmul(at_dq, transpose(k)) + matmul(q, transpose(at_dk))) * scale;
  Tensor at_dp = through_softmax(at_ds);
  Tensor at_p =
      matmul(dy, transpose(at_dv)) + at_ds * (dp - over_keys(p * dp)) - over_keys(at_ds * p) * dp;
  Tensor at_scores = through_softmax(at_p);
  gradients[0] = (matmul(ds, at_dk) + matmul(at_scores, k)) * scale;
  gradients[1] = (matmul(transpose(ds), at_dq) + matmul(transpose(at_scores), q)) * scale;
  gradients[2] = matmul(transpose(at_dp), dy);
  gradients[3] = matmul(p, at_dv) + matmul(at_dp, v);
  for (size_t i = 0; i < 4; ++i) gradients[i] = cast(gradients[i], node.inputs[i].dtype());
}
const Op attention_gradient_op{
    .name = "attention_gradient",
    .kind = OpKind::call,
    .value = attention_gradient_value,
    .gradient = attention_gradient_gradient,
};

void attention_gradient(const Node& node, const Tensor& arrived, Tensor* gradients) {
  const Tensor &q = node.inputs[0], &k = node.inputs[1], &v = node.inputs[2];
  // Where operands are 16-bit floats, so is what becomes of the result: nothing is rounded here.
  const int64_t heads = node.attributes[1];
  Tensor dy = cast(result_of(arrived, q, v, heads), q.dtype());
  Inputs inputs{q, k, v, dy, Tensor(const_cast<Node*>(&node))};
  if (node.inputs.size() > 3) inputs.push_back(node.inputs[3]);
  Tensor all =
      record(attention_gradient_op, node.dtype, {q.size() + k.size() + v.size()}, std::move(inputs),
             {node.attributes[0], heads, lie_in_one_row(q, k, v, heads)}, node.immediates);
  auto [dq, dk, dv] = gradients_of(all, q, k, v, all->attributes);
  gradients[0] = cast(dq, q.dtype());
  gradients[1] = cast(dk, k.dtype());
  gradients[2] = cast(dv, v.dtype());
}
const Op attention_op{
    .name = "attention",
    .kind = OpKind::call,
    .value = attention_value,
    .gradient = attention_gradient,
};

// -------------------------------------------------------------------------------------- Recording

// `lead` and x's last two sizes.
Tensor with_lead(const Tensor& x, Shape lead, Dtype dtype) {
  for (int i = 2; i > 0; --i) lead.push_back(x.shape()[x.rank() - i]);
  check_shape(lead, size_of(dtype), name);
  return expand(cast(x, dtype), lead);
}

// Whether the weights are never formed. Those of few queries take no more memory than keys do, and
// a contraction along the keys is faster.
bool runs_whole(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                const Attention& how, Dtype dtype) {
  bool drops = how.dropout != 0 && (how.training || !(how.dropout > 0 && how.dropout <= 1));
  bool learns_mask = mask && mask.requires_gradient();
  int64_t n = query.shape()[query.rank() - 2], m = key.shape()[key.rank() - 2];
  bool few = n <= 8 && m > 64 && !is_half(dtype);
  return !drops && !learns_mask && !few && query.size() && key.size() && value.size();
}

Tensor record_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& mask, bool causal, double scale, Dtype dtype) {
  Shape lead = broadcast(broadcast(leading(query), leading(key), name), leading(value), name);
  Dtype sum = accumulator_of(dtype);
  // GPUs read 16-bit floats as they are; a processor's kernel is given them in float32.
  Dtype given = query.device().host_memory ? sum : dtype;
  Tensor q = with_lead(query, lead, given), k = with_lead(key, lead, given);
  Tensor v = with_lead(value, lead, given);
  Inputs inputs{q, k, v};
  if (mask) {
    bool boolean = mask.dtype() == Dtype::boolean;
    Shape scores = lead;
    scores.push_back(q.shape()[q.rank() - 2]);
    scores.push_back(k.shape()[k.rank() - 2]);
    inputs.push_back(expand(boolean ? mask : cast(mask, sum), scores));
  }
  Shape shape = q.shape();
  shape[shape.rank() - 1] = v.shape().back();
  check_shape(shape, size_of(sum), name);
  const int64_t size = element_count(shape), rows = size / shape.back(), heads = heads_of(q);
  Immediates immediates;
  immediates.value[0] = __builtin_bit_cast(uint64_t, scale);
  Tensor all = record(attention_op, sum, {size + 2 * rows}, std::move(inputs),
                      {int64_t{causal}, heads}, immediates);
  return cast(result_of(all, q, v, heads), dtype);
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const Attention& how) {
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2 ||
      query.shape().back() != key.shape().back() ||
      key.shape()[key.rank() - 2] != value.shape()[value.rank() - 2]) {
    fail(Code::shape,
         "%s: query %s, key %s, value %s: must be [..., n, d], [..., m, d], [..., m, e]", name,
         to_string(query.shape()).c_str(), to_string(key.shape()).c_str(),
         to_string(value.shape()).c_str());
  }
  Dtype dtype = promote(promote(query.dtype(), key.dtype(), name), value.dtype(), name);
  if (!is_floating(dtype)) fail(Code::dtype, "%s: needs floats", name);
  if (mask && mask.dtype() != Dtype::boolean && !is_floating(mask.dtype())) {
    fail(Code::dtype,
         "%s: a mask of %s; it must be bool, which says who is seen, or floats, which are added",
         name, name_of(mask.dtype()));
  }
  Shape scores = broadcast(leading(query), leading(key), name);
  scores.push_back(query.shape()[query.rank() - 2]);
  scores.push_back(key.shape()[key.rank() - 2]);
  if (mask && broadcast(scores, mask.shape(), name) != scores) {
    fail(Code::shape, "%s: mask %s does not broadcast to the scores %s", name,
         to_string(mask.shape()).c_str(), to_string(scores).c_str());
  }
  double scale =
      how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<double>(query.shape().back()));
  if (runs_whole(query, key, value, mask, how, dtype)) {
    return record_attention(query, key, value, mask, how.causal, scale, dtype);
  }
  Draws draws;
  Tensor weights = weights_of(query, key, mask, how.causal, scale);
  return matmul(dropout(weights, how.dropout, how.training), value);
}

}  // namespace mt
