// SPDX-License-Identifier: Apache-2.0
// A contraction of bfloat16 on vectors of pairs, strip by strip: for few rows and a wide right
// operand, such as a layer's weights, or for many batch entries. The thread that computes a strip,
// some columns of the result, packs these and multiplies all rows with them at once: so the operand
// is read once, and its packed columns stay in the nearest caches. Strips with numbers that pairs
// would treat differently are computed without pairs (blocked.h); the bits are the same either way,
// for the reasons given in tiled_product.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"
#include "plan/contraction.h"

namespace mt::cpu {

class StripProduct {
 public:
  // Whether pairs are the processor's best unit, and it pays.
  static bool serves(const Contraction& contraction);

  StripProduct(const Contraction& contraction, int threads);

  // Bytes; 64-byte aligned.
  size_t scratch() const;
  void run(const void* a, const void* b, void* out, void* scratch, const Epilogue* epilogue) const;

 private:
  class Run;

  int64_t packed_a() const;   // bytes of an entry
  int64_t of_thread() const;  // bytes
  int64_t sums() const;       // of a strip

  MatrixOperand a_, b_;
  Dtype out_;
  int64_t batch_, m_, n_, k_;
  int64_t panel_, panels_;  // of terms, as in ops/order.h
  int64_t block_k_;         // terms that are packed at a time
  int64_t columns_;         // of a strip
  bool by_entries_;         // threads take whole entries, rather than strips after all are packed
  int threads_;
};

}  // namespace mt::cpu
