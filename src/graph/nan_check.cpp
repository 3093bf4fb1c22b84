// SPDX-License-Identifier: Apache-2.0
#include "graph/nan_check.h"

#include "base/error.h"
#include "tensor/walker.h"

namespace mt {
namespace {

// A NaN has all bits of the exponent and some of the fraction: above infinity, without the sign.
template <class Bits>
bool any_above(const Tensor& x, Bits infinity) {
  constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  const Bits* data = static_cast<const Bits*>(x->data());
  Layout layout = collapse(x->layout());
  layout.offset = 0;  // data() has it
  Walker at(layout, 0);
  for (int64_t left = element_count(layout.shape); left > 0; --left, at.next()) {
    if ((data[at.position()] & magnitude) > infinity) return true;
  }
  return false;
}

bool contains_nan(const Tensor& x) {
  if (!x.device().host_memory) return false;
  switch (x.dtype()) {
    case Dtype::float16: return any_above<uint16_t>(x, 0x7c00);
    case Dtype::bfloat16: return any_above<uint16_t>(x, 0x7f80);
    case Dtype::float32: return any_above<uint32_t>(x, 0x7f800000);
    case Dtype::float64: return any_above<uint64_t>(x, 0x7ff0000000000000);
    default: return false;
  }
}

}  // namespace

void check_nan(const Tensor& tensor, const Inputs& inputs) {
  if (inputs.empty() || !contains_nan(tensor)) return;
  for (const Tensor& input : inputs) {
    if (contains_nan(input)) return;
  }
  // No colon after the operator: the C boundary then puts the called function's name before it.
  fail(Code::invalid, "%s made a NaN in %s%s, and no operand holds one", tensor->op->name,
       name_of(tensor.dtype()), to_string(tensor.shape()).c_str());
}

}  // namespace mt
