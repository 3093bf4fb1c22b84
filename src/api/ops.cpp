// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/ops.h; mt_expression() is in expression.cpp.
#include "mtorch/ops.h"

#include "api/guard.h"
#include "ops/ops.h"

using namespace mt::api;
using mt::Tensor;

#define SLOPE(name, domain, result, value, gradient)
#define UNARY(name, domain, result, value, gradient)          \
  mt_tensor* mt_##name(mt_tensor* x) {                        \
    return give(#name, [x] { return mt::name(operand(x)); }); \
  }
#define BINARY(name, domain, result, value, gradient_a, gradient_b)          \
  mt_tensor* mt_##name(mt_tensor* a, mt_tensor* b) {                         \
    return give(#name, [a, b] { return mt::name(operand(a), operand(b)); }); \
  }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

mt_tensor* mt_where(mt_tensor* condition, mt_tensor* a, mt_tensor* b) {
  return give("where", [&] { return mt::where(value(condition), operand(a), operand(b)); });
}

mt_tensor* mt_clip(mt_tensor* x, mt_tensor* low, mt_tensor* high) {
  return give("clip", [&] {
    return mt::clip(value(x), low ? operand(low) : Tensor(), high ? operand(high) : Tensor());
  });
}
