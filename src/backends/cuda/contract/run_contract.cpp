// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/run_contract.h"

namespace mt::cuda {

constexpr ContractKernel hopper_128x256 = ContractKernel::hopper_128x256;

void PreparedContraction::run(const Run& run) {
  // A leaf may begin anywhere.
  const bool any = split || !choice.knows_tensor_cores() ||
                   (run.buffers.aligned(buffers[0]) && run.buffers.aligned(buffers[1]));
  const ContractKernel chosen = choice.kernel(
      any, run.stream, [&](ContractKernel kernel) { launch_product(run, kernel, bare); });
  const bool is_wide = chosen == hopper_128x256;
  const Generated* finishes = is_hopper(chosen) ? finishing[is_wide] : nullptr;
  if (Kernel* kernel = finishes ? finishes->kernel() : nullptr) {
    const HopperOperands operands = hopper_operands(run, is_wide);
    const int64_t blocks = hopper_blocks(shape, operands.columns, processors);
    return launch_compiled(kernel, "contract hopper finishing", static_cast<unsigned>(blocks),
                           hopper_threads, hopper_shared_bytes, run.stream,
                           run.description<ContractionView>(whole.call), operands.a, operands.b);
  }
  // Hopper's interprets nothing, nor does cuBLASLt.
  const bool by_itself = is_hopper(chosen) || chosen == ContractKernel::cublaslt;
  const bool apart = follows && (by_itself || rest.is_compiled(run));
  launch_product(run, chosen, apart ? bare : whole);
  if (apart) rest.launch(run);
}

HopperOperands PreparedContraction::hopper_operands(const Run& run, bool is_wide) const {
  const HopperArrays& arrays = is_wide ? wide : narrow;
  char* own = run.scratch + slabs;
  auto data = [&](int i) -> char* {
    if (split) return own + (i == 0 ? beside.a : beside.b);
    if (turned.turns[i]) return own + turned.at[i];
    return static_cast<char*>(run.buffers[buffers[i]]) + bytes[i];
  };
  for (int i = 0; i < 2; ++i) {
    if (!turned.turns[i]) continue;
    launch_turn(run.description<ContractionView>(bare.call), shape, i == 1, turned.batch[i],
                data(i), run.stream);
  }
  return {tensor_map(arrays.a, data(0)), tensor_map(arrays.b, data(1)), is_wide ? 256 : 128};
}

void PreparedContraction::launch_product(const Run& run, ContractKernel kernel,
                                         const Described& at) const {
  const auto* call = run.description<ContractionView>(at.call);
  auto data = [&](int i) { return static_cast<char*>(run.buffers[buffers[i]]) + bytes[i]; };
  HopperOperands operands{};
  if (is_hopper(kernel)) operands = hopper_operands(run, kernel == hopper_128x256);
  if (split) {
    launch_contract_split(call, run.description<SplitView>(at.parts),
                          is_hopper(kernel) ? &operands : nullptr, shape, choice.plain(),
                          processors, run.stream);
  } else if (kernel == ContractKernel::cublaslt) {
    run_blas(choice.blas(), data(0), data(1), static_cast<char*>(run.buffers[out]),
             run.scratch + slabs, run.stream);
  } else if (is_hopper(kernel)) {
    launch_contract_hopper(call, operands, shape, processors, run.stream);
  } else if (on_tensor_cores(kernel)) {
    auto of_factor = shape.factor == Factor::tf32 ? launch_contract_tf32 : launch_contract_half;
    of_factor(call, shape, run.stream);
  } else {
    launch_contract(call, shape, kernel, run.stream);
  }
}

}  // namespace mt::cuda
