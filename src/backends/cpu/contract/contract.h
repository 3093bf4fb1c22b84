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

// Makes a b that has no memory, entry by entry or panel by panel, for the thread that works on it.
struct EntrySource {
  // Makes the entry that would begin at `offset`, in elements.
  void (*make)(const void* context, int64_t offset, void* to);
  // Returns where the data that this entry would be made of begins.
  const void* (*find)(const void* context, int64_t offset);
  // Makes the whole lines that terms [begin, end) read; returns the element of b that lies at `to`.
  int64_t (*make_terms)(const void* context, int64_t begin, int64_t end, void* to);
  const void* context;
  bool by_panels = false;
  double fill = 0;  // of padding
  // Alternatively b has memory and is made there as a whole, unless its unpadded images suffice.
  const PaddedImages* images = nullptr;
  void (*make_all)(const void* context) = nullptr;
};

// A contraction prepared to run any number of times, on at most `threads` threads.
class PreparedContraction {
 public:
  explicit PreparedContraction(const Contraction& contraction, int threads = thread_count(),
                               const Surroundings& around = {});
  ~PreparedContraction();

  // Bytes of scratch that run() needs, 64-byte aligned. run() never allocates and never fails.
  size_t scratch() const;
  // How much of it each of several threads has to itself. Contractions that share the memory are
  // given equal parts, so that each thread finds its own part in its cache.
  size_t thread_scratch() const {
    const bool own_way = is_small() || filtered_ || strips_;
    return schedule_.threads > 1 && !own_way ? schedule_.thread_scratch : 0;
  }
  void extend_thread_scratch(size_t bytes) {
    if (schedule_.threads > 1) schedule_.thread_scratch = std::max(schedule_.thread_scratch, bytes);
  }
  // How tiles lie in scratch, if they are computed there and then transposed into the result.
  TurnedTiles turned_tiles() const;
  // Bytes of host memory that this object holds.
  int64_t bytes() const;

  // a, b: where the operands' elements with all indices zero lie. out: contiguous in batch, m, n.
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
  bool makes_entries_;  // whether b's entries are made, in scratch
  Dtype out_;
  // These take precedence over the schedule's way, where they serve the contraction.
  std::unique_ptr<const StripProduct> strips_;
  std::unique_ptr<const TiledProduct> tiled_;
  std::unique_ptr<const FilteredWeight> filtered_;
  bool alone_ = false;  // one small product is all there is
};

}  // namespace mt::cpu
