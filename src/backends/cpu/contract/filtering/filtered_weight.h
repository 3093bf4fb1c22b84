// SPDX-License-Identifier: Apache-2.0
// The weight's gradient by minimal filtering (ops/minimal_filtering.h): all panels, which are then
// combined. A group whose result is not all finite is refused, and summed directly instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/filtering/weight_panel.h"
#include "backends/cpu/contract/operand.h"
#include "ops/minimal_filtering.h"
#include "plan/contraction.h"

namespace mt::cpu {

struct Epilogue;

class FilteredWeight {
 public:
  static bool serves(const Contraction& c) { return c.precision == minimal_filtering_of_weight; }

  FilteredWeight(const Contraction& contraction, int threads);

  // Bytes of scratch, 64-byte aligned; and how many of them, the first, refused() reads.
  size_t scratch() const;
  size_t flags() const;
  // Computes all entries except those for which refused() is then true. padded: the images without
  // their padding; null: b has them padded.
  void run(const void* a, const void* b, void* out, void* scratch, const Epilogue* epilogue,
           const PaddedImages* padded) const;
  bool refused(const void* scratch, int64_t entry) const {
    return static_cast<const uint32_t*>(scratch)[entry] != 0;
  }

 private:
  MatrixOperand a_, b_;
  int64_t batch_;
  int threads_;
  WeightShape shape_;
  PaddedImages images_;  // of b, but for where they lie
};

}  // namespace mt::cpu
