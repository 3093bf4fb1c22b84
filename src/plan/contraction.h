// SPDX-License-Identifier: Apache-2.0
// A contraction in canonical form: out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k].
#pragma once

#include <cstdint>
#include <vector>

#include "ops/precision.h"
#include "tensor/dtype.h"

namespace mt {

// One dimension with the stride, in elements, that each operand moves by along it; 0 where the
// operand lacks it. The result is contiguous in the order batch, m, n.
struct ContractionDim {
  int64_t size;
  int64_t a_stride;
  int64_t b_stride;
};

struct Contraction {
  std::vector<ContractionDim> batch, m, n, k;
  Dtype a, b, out;
  Precision precision = Precision::strict;
};

}  // namespace mt
