// SPDX-License-Identifier: Apache-2.0
// Operands [..., rows, columns] of 16-bit floats as bulk copies find them.
#pragma once

#include "backends/cuda/driver/driver.h"
#include "plan/plan.h"

namespace mt::cuda {

// Batch entry e is at e / divisor[i] % size[i] of two dimensions. What entries share has size 1.
struct EntryPlace {
  int divisor[2], size[2];
};
struct BulkOperand {
  TensorMap map;
  EntryPlace place;
};

// Of those whose columns lie next to each other, in vectors of 16 bytes: whether rows lie apart,
// and batch entries at two strides at most.
bool is_bulk_operand(const Operand& operand);
// Boxes have so many rows of 64.
BulkOperand bulk_operand(const Operand& operand, int rows, void* buffer);

}  // namespace mt::cuda
