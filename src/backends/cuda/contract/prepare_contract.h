// SPDX-License-Identifier: Apache-2.0
// How a contraction runs: which kernel, in which order of sums, and with what beside its operands.
#pragma once

#include "backends/cuda/driver/blas.h"
#include "backends/cuda/kernels.h"
#include "plan/plan.h"

namespace mt::cuda {

ContractionShape contraction_shape(const Contraction& contraction);
// Without addresses and epilogue.
ContractionView contraction_view(const Contraction& contraction, const ContractionShape& shape);

// Whether both operands are matrices of one 16-bit float type, or of float32 that is to become
// TF32, that move as vectors of 16 bytes.
bool suits_matrix_units(const Contraction& contraction, const Operand& a, const Operand& b);

// Whether Hopper's kernel, which counts in 32 bits, is worth its large tiles; and, of what suits
// matrix units, whether bulk copies can bring the operands, with at most one batch dimension.
bool suits_hopper(const ContractionShape& shape);
bool suits_bulk_copies(const Contraction& contraction);
struct HopperArrays {
  BoxedArray a, b;
};
// For tiles of so many columns. TF32's operands all lie along k there: those that do not are turned
// around first.
HopperArrays hopper_arrays(const Contraction& contraction, int columns);
// What a product may have as scratch that another kernel makes without.
constexpr int64_t most_product_scratch = 1 << 30;
struct TurnedScratch {
  bool turns[2];       // a, b
  int64_t at[2], end;  // bytes
  int64_t batch[2];    // entries
};
TurnedScratch turned_scratch(const Contraction& contraction, const ContractionShape& shape);
HopperArrays hopper_split_arrays(const ContractionShape& shape, const SplitView& split,
                                 int columns);

// Whether cuBLASLt could make it of what suits bulk copies, and what it is to be told then.
bool suits_blas(const Contraction& contraction, const Operand& a, const Operand& b,
                BlasProduct* product);

// What a contraction in a precision mode keeps in scratch, in bytes from where its own begins.
struct SplitScratch {
  int64_t a, b, seen, refused, end;
};
// Whether its numbers are rounded or split for the tensor cores.
bool is_split(const Contraction& contraction, const ContractionShape& shape);
SplitScratch split_scratch(const ContractionShape& shape);
// Without addresses and epilogue.
SplitView split_view(const ContractionView& view, const ContractionShape& shape);

}  // namespace mt::cuda
