// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/linear.h.
#include "mtorch/linear.h"

#include "api/guard.h"
#include "ops/ops.h"

using namespace mt::api;

mt_tensor* mt_matmul(mt_tensor* a, mt_tensor* b) {
  return give("matmul", [&] { return mt::matmul(value(a), value(b)); });
}
