// SPDX-License-Identifier: Apache-2.0
// The kernels of contractions by their names, which of them can make a contraction, and by what a
// table (kernel_table.h) says which of these does.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/contract/kernel_table.h"
#include "backends/cuda/kernels.h"
#include "plan/plan.h"

namespace mt::cuda {

const char* name_of(ContractKernel kernel);
ContractKernel contract_kernel(const std::string& name);
bool is_contract_kernel(const std::string& name);

// Those that take any operands, and those on the tensor cores, which need them to lie at multiples
// of 16 bytes (but not in a precision mode of bfloat16, which copies them). `hopper`: the device is
// one.
std::vector<ContractKernel> plain_kernels(const ContractionShape& shape);
std::vector<ContractKernel> tensor_core_kernels(const Contraction& contraction,
                                                const ContractionShape& shape, const Operand& a,
                                                const Operand& b, bool hopper);

// What identifies a contraction; and what follows from that, for conditions of the built-in table.
struct ContractionFacts {
  Facts own, all;
};
ContractionFacts contraction_facts(const Contraction& contraction, const ContractionShape& shape,
                                   int64_t processors);
// What such a fact can be; no words: a number. nullptr: there is no such fact.
const std::vector<std::string>* fact_words(const std::string& name);

// For all GPUs; one of its lines fits every contraction.
const KernelTable& built_in_table();

}  // namespace mt::cuda
