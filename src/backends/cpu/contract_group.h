// SPDX-License-Identifier: Apache-2.0
// Runs a contraction with the padding of its second operand, if that is generated as it is read,
// and with its epilogue, applied to each tile of the result while it is in cache.
#pragma once

#include <memory>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/windows/padding.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/turned_epilogue.h"

namespace mt::cpu {

struct PreparedContractGroup {
  std::unique_ptr<PreparedContraction> contraction;
  std::unique_ptr<const Padding> padding;  // if it makes any
  PreparedProgram epilogue;
  bool in_tiles = false;  // the epilogue runs on each tile; else over the whole result
  int passing = -1;  // the epilogue's memory for the product, whose rows may lie anywhere; -1: none
  std::unique_ptr<const TurnedEpilogue> turned;  // runs instead of the epilogue, if there is one
};

// Prepares `group`, which is group `index` of the plan.
PreparedContractGroup prepare_contract_group(const Plan& plan, const ContractGroup& group,
                                             int index);
// `scratch` has room for the contraction, and for an epilogue that does not run in tiles.
void run_contract_group(const Plan& plan, const ContractGroup& group,
                        const PreparedContractGroup& prepared, void* const* buffers,
                        const Immediates* immediates, char* scratch);

}  // namespace mt::cpu
