// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <type_traits>

namespace mt {

const FusedProgram* fused_program(const Group& group) {
  return std::visit(
      [](const auto& work) -> const FusedProgram* {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_base_of_v<FusedProgram, Work>) {
          return &work;
        } else if constexpr (std::is_same_v<Work, ContractGroup>) {
          return work.epilogue ? &*work.epilogue : nullptr;
        } else {
          return nullptr;
        }
      },
      group.work);
}
FusedProgram* fused_program(Group& group) {
  return const_cast<FusedProgram*>(fused_program(std::as_const(group)));
}

namespace {

// The buffers of a group's program: those that it writes, or the others.
void add_buffers_of_program(const Group& group, bool written, std::vector<int>* buffers) {
  const FusedProgram* fused = fused_program(group);
  if (!fused) return;
  for (const Segment& segment : fused->segments) {
    for (size_t m = 0; m < segment.memory.size(); ++m) {
      if (segment.memory[m].buffer >= 0 && is_stored_to(fused->program, m) == written) {
        buffers->push_back(segment.memory[m].buffer);
      }
    }
  }
  if (!written) return;
  for (const Total& total : fused->totals) buffers->push_back(total.output.buffer);
}

}  // namespace

void buffers_read(const Group& group, std::vector<int>* buffers) {
  if (auto* contract = std::get_if<ContractGroup>(&group.work)) {
    buffers->insert(buffers->end(), {contract->a.buffer, contract->b.buffer});
  } else if (auto* call = std::get_if<CallGroup>(&group.work)) {
    for (const Operand& input : call->inputs) buffers->push_back(input.buffer);
  }
  add_buffers_of_program(group, false, buffers);
}

void buffers_written(const Group& group, std::vector<int>* buffers) {
  if (auto* reduce = std::get_if<ReduceGroup>(&group.work)) {
    buffers->push_back(reduce->output.buffer);
  } else if (auto* contract = std::get_if<ContractGroup>(&group.work)) {
    buffers->push_back(contract->output.buffer);
  } else if (auto* call = std::get_if<CallGroup>(&group.work)) {
    buffers->push_back(call->output.buffer);
  }
  add_buffers_of_program(group, true, buffers);
}

}  // namespace mt
