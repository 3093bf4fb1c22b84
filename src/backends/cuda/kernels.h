// SPDX-License-Identifier: Apache-2.0
// The launchers: each is in the .cu file of its name. Pointers are device addresses.
#pragma once

#include <cstdint>

#include "backends/cuda/device/views.h"
#include "backends/cuda/driver/driver.h"
#include "ops/elementwise.h"
#include "ops/reduction.h"

namespace mt::cuda {

// A group has at most 64 items, each with a few values.
constexpr int most_registers = 512;

// Element-wise: `tiles` of map_tile elements, of all segments together.
constexpr int64_t map_tile = 1024;
void launch_map(const ProgramView* program, int registers, int64_t tiles, Stream stream);

// Rows: each of `slots` warps, a multiple of 4, has registers of row_stride() values in scratch.
constexpr int64_t row_stride(int64_t columns) { return columns < 32 ? 32 : columns; }
void launch_row(const ProgramView* program, uint64_t* scratch, int64_t slots, Stream stream);

// [outer, reduced, inner], reduced in panels (PanelsView).
struct ReductionShape {
  int64_t outer, reduced, inner, panel, panels;
  Reduction reduction;
  Compute type;
  bool in_lanes;

  int64_t results() const { return outer * inner; }
  // Those that find the panels' results: threads, a warp for each panel of a row.
  int64_t tasks() const { return results() * panels * (in_lanes ? 32 : 1); }
};
// Finds the panels' results, then combines them. `partials` holds outer * panels * inner numbers.
void launch_panels(const ProgramView* program, int registers, const ReductionShape& shape,
                   Stream stream);
void launch_combine(const ReductionShape& shape, uint64_t* partials, void* out, Dtype dtype,
                    Stream stream);

// A contraction's sums are f32, f64 or, for integers, u64.
struct ContractionShape {
  int64_t batch, m, n, k, panels, panel;
  int lanes;
  Compute sum;
  bool matrices;              // rows, columns and k are one dimension each
  bool converts;              // some type is not the sums' own
  bool a_along_k, b_along_k;  // how the operands lie, as in ContractionView
  Factor factor;              // for the tensor cores
  int parts;                  // in a precision mode: bfloat16 for each number
};
constexpr int epilogue_registers = 64;  // of a program that runs within a contraction
// What a contraction can run as (contract_kernels.h): sixteen lanes to an output, a tile of so many
// rows and columns, or such a tile on the tensor cores; or as cuBLASLt does it (blas.h).
enum class ContractKernel : uint8_t {
  lanes,
  tile_32x32,
  tile_64x64,
  tile_128x128,
  tile_256x16,
  tile_16x256,
  mma_128x128,
  hopper_128x128,
  hopper_128x256,
  cublaslt,
};
constexpr bool on_tensor_cores(ContractKernel kernel) {
  return kernel >= ContractKernel::mma_128x128;
}
constexpr bool is_hopper(ContractKernel kernel) {
  return kernel == ContractKernel::hopper_128x128 || kernel == ContractKernel::hopper_128x256;
}
// By lanes, or a tile that is not the tensor cores'.
void launch_contract(const ContractionView* call, const ContractionShape& shape,
                     ContractKernel kernel, Stream stream);
// On the tensor cores; for what suits_matrix_units() (prepare_contract.h).
void launch_contract_half(const ContractionView* call, const ContractionShape& shape,
                          Stream stream);
void launch_contract_tf32(const ContractionView* call, const ContractionShape& shape,
                          Stream stream);
// An operand that is to lie along k, [entries, rows, k], for TF32 on Hopper.
void launch_turn(const ContractionView* call, const ContractionShape& shape, bool of_b,
                 int64_t entries, void* to, Stream stream);
// On Hopper, where they also suit bulk copies (suits_hopper()), by tiles of so many columns.
struct HopperOperands {
  TensorMap a, b;
  int columns;
};
constexpr int hopper_threads = 384;
constexpr size_t hopper_shared_bytes = (192 << 10) + 128;
int64_t hopper_blocks(const ContractionShape& shape, int columns, int64_t processors);
void launch_contract_hopper(const ContractionView* call, const HopperOperands& operands,
                            const ContractionShape& shape, int64_t processors, Stream stream);
// In a precision mode of bfloat16; for what is_split(). `hopper`: what it multiplies is copied in
// bulk. `strict`: what makes the entries that are refused.
void launch_contract_split(const ContractionView* call, const SplitView* split,
                           const HopperOperands* hopper, const ContractionShape& shape,
                           ContractKernel strict, int64_t processors, Stream stream);
void launch_split_product(const SplitView* split, const ContractionShape& shape, Stream stream);
void launch_hopper_split_product(const SplitView* split, const HopperOperands& operands,
                                 const ContractionShape& shape, int64_t processors, Stream stream);

}  // namespace mt::cuda
