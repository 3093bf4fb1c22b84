// SPDX-License-Identifier: Apache-2.0
#include "plan/contraction.h"

#include "plan/plan.h"

namespace mt {
namespace {

// Appends a dimension; one that both operands step evenly through with the last is merged into it.
void push(std::vector<ContractionDim>& dims, ContractionDim dim) {
  if (dim.size == 1) return;
  if (!dims.empty()) {
    ContractionDim& outer = dims.back();
    if (outer.a_stride == dim.a_stride * dim.size && outer.b_stride == dim.b_stride * dim.size) {
      outer = {outer.size * dim.size, dim.a_stride, dim.b_stride};
      return;
    }
  }
  dims.push_back(dim);
}

}  // namespace

int64_t size_of_group(const std::vector<ContractionDim>& dims) {
  int64_t size = 1;
  for (const ContractionDim& dim : dims) size *= dim.size;
  return size;
}

Contraction canonical_contraction(const Attributes& counts, const Operand& a, const Operand& b,
                                  Dtype out) {
  Contraction result;
  result.a = a.dtype;
  result.b = b.dtype;
  result.out = out;
  int at_a = 0, at_b = 0;
  for (int i = 0; i < counts[0]; ++i, ++at_a, ++at_b) {
    push(result.batch, {a.layout.shape[at_a], a.layout.strides[at_a], b.layout.strides[at_b]});
  }
  for (int i = 0; i < counts[1]; ++i, ++at_a) {
    push(result.m, {a.layout.shape[at_a], a.layout.strides[at_a], 0});
  }
  for (int i = 0; i < counts[2]; ++i, ++at_b) {
    push(result.n, {b.layout.shape[at_b], 0, b.layout.strides[at_b]});
  }
  for (int i = 0; i < counts[3]; ++i, ++at_a, ++at_b) {
    push(result.k, {a.layout.shape[at_a], a.layout.strides[at_a], b.layout.strides[at_b]});
  }
  return result;
}

}  // namespace mt
