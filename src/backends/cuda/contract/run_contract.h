// SPDX-License-Identifier: Apache-2.0
// A contraction as it runs: what prepare.cpp has laid out for it, and how it is launched by
// whichever kernel has been chosen.
#pragma once

#include "backends/cuda/contract/contract_choice.h"
#include "backends/cuda/contract/prepare_contract.h"
#include "backends/cuda/program/prepare_elements.h"

namespace mt::cuda {

struct PreparedContraction {
  // Where its ContractionView lies in the block, and of split operands the SplitView.
  struct Described {
    int64_t call = -1, parts = -1;
  };

  ContractionShape shape;
  ContractChoice choice;
  int64_t processors = 0;
  int out = -1, buffers[2] = {-1, -1};  // of the result and the operands
  int64_t bytes[2] = {0, 0};            // to the operands' first elements

  bool split = false;
  SplitScratch beside{};  // from where slabs end; where what cuBLASLt uses begins, too
  int64_t slabs = 0;      // bytes
  HopperArrays narrow{}, wide{};
  TurnedScratch turned{};  // of TF32, from where slabs end

  // With what follows, and without.
  Described whole{}, bare{};
  bool follows = false;
  int64_t epilogue = -1;
  PreparedElements rest{};  // what follows alone
  const Generated* finishing[2] = {nullptr,
                                   nullptr};  // the whole on Hopper, by whether tiles are wide

  void run(const Run& run);

 private:
  // Turns around what has to be.
  HopperOperands hopper_operands(const Run& run, bool is_wide) const;
  void launch_product(const Run& run, ContractKernel kernel, const Described& at) const;
};

}  // namespace mt::cuda
