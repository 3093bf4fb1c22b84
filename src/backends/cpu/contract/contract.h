// SPDX-License-Identifier: Apache-2.0
// Contractions on the CPU: out[b, m, n] = sum over k of a[b, m, k] * b[b, n, k], for operands with
// any strides. Every sum is formed in the order that ops/order.h prescribes, so the bits depend
// neither on threads nor on tiles, strides or instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/schedule.h"
#include "backends/cpu/contract/small_product.h"
#include "backends/cpu/contract/tile.h"
#include "backends/cpu/parallel/parallel.h"
#include "plan/contraction.h"

namespace mt::cpu {

class StripProduct;
class FilteredWeight;
struct PaddedImages;
class TiledProduct;

// Where b has no memory but is made entry by entry, by whoever works on it, or panel by panel.
struct EntrySource {
  // Makes the entry that would begin at `offset`, in elements.
  void (*make)(const void* context, int64_t offset, void* to);
  // Where that of which it is made begins.
  const void* (*find)(const void* context, int64_t offset);
  // Makes the whole lines that terms [begin, end) read; returns the element of b that lies at `to`.
  int64_t (*make_terms)(const void* context, int64_t begin, int64_t end, void* to);
  const void* context;
  bool by_panels = false;
  double fill = 0;  // of padding
  // Or b has memory, and is made there, whole, unless what it is made of will do.
  const PaddedImages* images = nullptr;
  void (*make_all)(const void* context) = nullptr;
};

// A contraction made ready to run any number of times on at most so many threads.
class PreparedContraction {
 public:
  explicit PreparedContraction(const Contraction& contraction, int threads = thread_count(),
                               const Surroundings& around = {});
  ~PreparedContraction();

  // Bytes of scratch that run() needs, 64-byte aligned. It never allocates and never fails.
  size_t scratch() const;
  // How much of it each of several threads has for itself. What shares the memory gives them equal
  // parts, so that each finds its own in its cache.
  size_t thread_scratch() const {
    const bool own_way = is_small() || filtered_ || strips_;
    return schedule_.threads > 1 && !own_way ? schedule_.thread_scratch : 0;
  }
  void extend_thread_scratch(size_t bytes) {
    if (schedule_.threads > 1) schedule_.thread_scratch = std::max(schedule_.thread_scratch, bytes);
  }
  // If the result is computed in tiles that lie in scratch and are then turned to it.
  TurnedTiles turned_tiles() const;
  // Of host memory that it holds.
  int64_t bytes() const;

  // a, b: where the operands' element with all indices zero lies. out: contiguous in batch, m, n.
  // Floating sums are kept in float32 (float64 where any of the types is) and rounded once; integer
  // sums wrap; a bool is true where any product is.
  void run(const void* a, const void* b, void* out, void* scratch,
           const Epilogue* epilogue = nullptr, const EntrySource* b_source = nullptr) const;

 private:
  bool is_small() const { return small_ && !makes_entries_; }
  void run_filtered(const void* a, const void* b, void* out, void* scratch,
                    const Epilogue* epilogue, const EntrySource* b_source) const;
  void run_strictly(const void* a, const void* b, void* out, void* scratch,
                    const Epilogue* epilogue, const EntrySource* b_source, int64_t first,
                    int64_t count) const;

  Schedule schedule_;
  MatrixOperand a_, b_;  // exchanged where the result's transpose is computed
  SmallProduct small_;
  bool makes_entries_;  // of b, in scratch
  Dtype out_;
  // What comes before the schedule's way, if any serves.
  std::unique_ptr<const StripProduct> strips_;
  std::unique_ptr<const TiledProduct> tiled_;
  std::unique_ptr<const FilteredWeight> filtered_;
  bool alone_ = false;  // one small product is all there is
};

}  // namespace mt::cpu
