// SPDX-License-Identifier: Apache-2.0
// A contraction as a backend runs it: with the padding of its second operand, where that is made by
// who reads it, and with its epilogue, on each tile of the result while it is in cache.
#pragma once

#include <memory>
#include <optional>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/windows/padding.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/turned_epilogue.h"

namespace mt::cpu {

struct PreparedContractGroup {
  std::unique_ptr<PreparedContraction> contraction;
  Padding padding;
  PreparedProgram epilogue;
  bool in_tiles = false;  // the epilogue finishes tiles; else it runs over the whole result
  int passing = -1;  // the epilogue's memory that stands for the result, whose rows may pass by
  std::optional<TurnedEpilogue> turned;  // instead of the epilogue
};

// Of group `index` of the plan.
PreparedContractGroup prepare_contract_group(const Plan& plan, const ContractGroup& group,
                                             int index);
// `scratch` has room for the contraction's and, unless it is run in tiles, for the epilogue's.
void run_contract_group(const Plan& plan, const ContractGroup& group,
                        const PreparedContractGroup& prepared, void* const* buffers,
                        const Immediates* immediates, char* scratch);

}  // namespace mt::cpu
