// SPDX-License-Identifier: Apache-2.0
// A contraction of bfloat16 strip by strip, on vectors of pairs: of few rows with a wide right
// operand, such as a layer's weights, or of many batch entries. Whoever computes a strip, some
// columns of the result, packs these and meets all rows with them at once: the operand is read
// once, and nothing of it is written but to the nearest caches. Columns with numbers that pairs
// would treat otherwise are computed as without them (blocked.h); the bits are the same either way,
// for the reasons told in tiled_product.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"
#include "plan/contraction.h"

namespace mt::cpu {

class StripProduct {
 public:
  // Whether pairs are there, and it pays.
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
  bool by_entries_;         // which are taken whole, rather than packed before strips of them are
  int threads_;
};

}  // namespace mt::cpu
