// SPDX-License-Identifier: Apache-2.0
// The arguments of an operator that runs as a whole. They lie in the plan's working memory, because
// a running plan cannot allocate.
#pragma once

#include <memory>

#include "ops/naive.h"
#include "plan/plan.h"

namespace mt {

inline int64_t argument_bytes(const CallGroup& group) {
  return static_cast<int64_t>(group.inputs.size() * sizeof(NaiveArray));
}

inline NaiveCall call_of(const CallGroup& group, void* const* buffers, const Immediates* immediates,
                         void* scratch) {
  NaiveArray* inputs = static_cast<NaiveArray*>(scratch);
  size_t count = 0;
  for (const Operand& input : group.inputs) {
    std::construct_at(inputs + count++,
                      NaiveArray{buffers[input.buffer], input.dtype, input.layout});
  }
  return {*group.op,
          group.attributes,
          immediates[group.immediate],
          {inputs, count},
          {buffers[group.output.buffer], group.output.dtype, group.output.layout}};
}

}  // namespace mt
