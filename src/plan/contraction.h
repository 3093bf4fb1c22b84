// SPDX-License-Identifier: Apache-2.0
// A contraction in canonical form: out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k].
#pragma once

#include <cstdint>
#include <vector>

#include "graph/node.h"
#include "ops/precision.h"

namespace mt {

// One dimension and the stride, in elements, of each operand along it; 0 if the operand lacks it.
// The result is contiguous in the order batch, m, n.
struct ContractionDim {
  int64_t size;
  int64_t a_stride;
  int64_t b_stride;
};

int64_t size_of_group(const std::vector<ContractionDim>& dims);

struct Contraction {
  std::vector<ContractionDim> batch, m, n, k;
  Dtype a, b, out;
  Precision precision = Precision::strict;
};

struct Operand;

// The canonical form of a contraction of a [batch, m, k] and b [batch, n, k]; `counts` has the
// number of batch, m, n and k dimensions.
Contraction canonical_contraction(const Attributes& counts, const Operand& a, const Operand& b,
                                  Dtype out);

}  // namespace mt
