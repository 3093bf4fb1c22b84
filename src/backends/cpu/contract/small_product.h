// SPDX-License-Identifier: Apache-2.0
// A product of small matrices of floats that lie evenly. What blocked.cpp finds out about its
// operands each time is found out once, when the contraction is prepared: that takes as long as
// some ten thousand multiply-adds. The bits are the same, since each element is one chain of
// multiply-adds over all of k wherever its tile begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/schedule.h"

namespace mt::cpu {

struct Epilogue;

class SmallProduct {
 public:
  // out: the type of the result.
  SmallProduct(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b, Dtype out);

  // Whether the contraction is one.
  explicit operator bool() const { return slivers_ > 0; }
  // Bytes of scratch for run().
  size_t scratch() const;
  // a, b, out: of the batch entry.
  void run(const float* a, const float* b, float* out, char* scratch, const Epilogue* epilogue,
           int64_t batch) const;

 private:
  int64_t packed_elements() const;

  int64_t rows_, columns_, k_, a_row_, a_k_, b_row_, b_k_;
  bool packs_ = false, turned_;  // b, and the result
  int64_t lanes_, panel_;        // columns of a tile
  int64_t pitch_;                // of the rows that a tile writes: whole vectors where that may be
  int64_t slivers_ = 0, least_rows_, higher_slivers_;
  int64_t passing_;  // slivers that the epilogue takes together
  StridedKernels::Pack pack_;
  // For slivers of least_rows_ and of one row more: of whole panels, and of the last.
  MicroKernel<float> kernels_[2][2];
};

}  // namespace mt::cpu
