// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/ops.h on expressions in text.
#include "api/guard.h"
#include "backends/devices.h"
#include "mtorch/ops.h"
#include "ops/ops.h"

using namespace mt::api;

mt_tensor* mt_expression(const char* text, mt_tensor* const* tensors, size_t n) {
  auto body = [&] {
    required(text, "the text");
    if (n) required(tensors, "the array of tensors");
    std::vector<mt::Tensor> operands;
    for (size_t i = 0; i < n; ++i) operands.push_back(operand(tensors[i]));
    mt::Device* device = &mt::default_device();
    for (size_t i = n; i-- > 0;) {
      if (!operands[i]->is_plain_number) device = &operands[i].device();
    }
    return mt::expression(text, operands, *device);
  };
  return give("expression", body, false);
}
