// SPDX-License-Identifier: Apache-2.0
// What the graph knows of an operator. src/ops fills one of these for each.
#pragma once

#include <cstdint>

namespace mt {

class Node;
class Tensor;
struct NaiveCall;  // ops/naive.h

enum class OpKind : uint8_t {
  leaf,         // a value that was given
  constant,     // one number repeated over a shape; the number is an immediate
  iota,         // 0, 1, 2, ... in row-major order
  random,       // counter-based; seed and stream are immediates
  elementwise,  // a row of ops/elementwise.def; `code` says which
  select,       // condition ? a : b
  cast,         // to the node's dtype
  view,         // the same elements in another layout
  reduce,       // `code` is a Reduction; attributes are the axes
  contract,     // sums of products
  call,         // anything else: runs as a whole, by a kernel of its own
};

struct Op {
  const char* name;
  OpKind kind;
  uint8_t code = 0;
  // The naive value, written as a student would, in float64 where it sums. Only `call` operators
  // need one; the other kinds share theirs (ops/naive.cpp).
  void (*value)(const NaiveCall& call) = nullptr;
  // Records the gradients of `node`'s inputs given the gradient dy of its result. `gradients` has
  // an entry for each input, null at first; those it leaves null receive nothing. nullptr: the
  // operator is not differentiable, and no gradient flows through it.
  void (*gradient)(const Node& node, const Tensor& dy, Tensor* gradients) = nullptr;
  // A product larger than each of its operands keeps them, so that a later sum can be recorded as a
  // contraction of the operands whether or not the product has been computed meanwhile.
  bool is_product = false;
  // Records the operator again on other inputs, if the node alone does not say how: a view's layout
  // depends on its input's. nullptr: dtype, shape and attributes suffice.
  Tensor (*record_again)(const Node& node, const Tensor* inputs) = nullptr;
};

// Cheap values are recomputed rather than kept; the others are costly.
inline bool is_cheap(const Op& op) { return op.kind <= OpKind::view; }
// Operators a fused program can compute element by element.
inline bool is_pointwise(const Op& op) {
  return op.kind >= OpKind::constant && op.kind <= OpKind::cast;
}

}  // namespace mt
