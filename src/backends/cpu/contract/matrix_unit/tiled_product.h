// SPDX-License-Identifier: Apache-2.0
// A contraction of float32 in a precision mode, or of bfloat16, on a matrix unit. Both operands are
// packed whole, a group of batch entries at a time, and inspected meanwhile: an entry with numbers
// that the unit would treat differently from float32 arithmetic is refused and computed strictly
// instead. Which entries these are, and the order of every sum, depend on shape and values alone,
// never on threads. Sums of bfloat16 are those of strict arithmetic, bit for bit: products are
// exact, pairs add them one after the other, and no sum of ordinary numbers comes near a denormal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"
#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"
#include "plan/contraction.h"

namespace mt::cpu {

class TiledProduct {
 public:
  // Whether the contraction may run on a unit, the processor has that unit, and it pays.
  static bool serves(const Contraction& contraction);
  // The least unit on which a precision mode gains anything.
  static MatrixUnit unit_for(Precision precision);

  TiledProduct(const Contraction& contraction, int threads);

  // Bytes, a multiple of 64, of scratch that a group takes; 64-byte aligned.
  size_t scratch() const;
  int64_t group() const { return group_; }
  int64_t batch() const { return batch_; }

  // Computes batch entries [first, first + count), at most group() of them, except those for which
  // refused() is then true.
  void run(const void* a, const void* b, void* out, void* scratch, const Epilogue* epilogue,
           int64_t first, int64_t count) const;
  bool refused(const void* scratch, int64_t entry_of_group) const;

 private:
  struct Watched;
  class Run;

  int64_t packed_a() const;  // bytes of an entry
  int64_t packed_b() const;
  int64_t entries_of_a() const { return shares_a_ ? 1 : group_; }  // that are packed at a time
  int64_t packed() const { return entries_of_a() * packed_a() + group_ * packed_b(); }
  int64_t slab() const { return m_ * n_; }
  int64_t sums_bytes() const;  // of sums that are kept outside of the result

  MatrixUnit unit_;
  MatrixOperand a_, b_;
  Dtype out_;
  bool shares_a_;  // all entries have the same left operand, as images have their windows' weights
  int64_t batch_, m_, n_, k_, group_;
  int64_t panel_, panels_;  // of terms, as in ops/order.h; their sums have a slab [m, n] each
  int64_t block_k_;         // terms of a block, a multiple of a step's
  int64_t rows_, columns_;  // of a region that one thread computes
  int parts_, threads_;
};

}  // namespace mt::cpu
