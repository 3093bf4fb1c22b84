// SPDX-License-Identifier: Apache-2.0
// One contraction under way: its tiles, and where their sums go:
// - straight to the result;
// - through a tile of scratch to the result, if that has a narrower type or is transposed;
// - if k has panels, to a slab [m, n] of scratch for each panel; slabs are then added pairwise.
#pragma once

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/run_tiles.h"

namespace mt::cpu {

class TileRun {
 public:
  explicit TileRun(const TileWork& work)
      : schedule_(work.schedule),
        a_(work.a),
        b_(work.b),
        a_data_(work.a_data),
        b_data_(work.b_data),
        dtype_(work.dtype),
        out_(static_cast<char*>(work.out)),
        thread_scratch_(static_cast<char*>(work.scratch)),
        slabs_(thread_scratch_ + static_cast<size_t>(schedule_.threads) * schedule_.thread_scratch),
        entries_together_(joins_entries(work) ? work.schedule.entries_together() : 1),
        epilogue_(entries_together_ == 1 ? work.epilogue : nullptr),
        epilogue_of_entries_(entries_together_ == 1 ? nullptr : work.epilogue),
        source_(work.source) {}

  // Computes batch entries [first, end).
  void run(int64_t first, int64_t end);

 private:
  // What a thread's scratch holds from one tile to the next.
  struct Held {
    int64_t made = -1;   // offset of the entry that was made, or the panel's first term
    int64_t origin = 0;  // the operand's element that lies first in what was made
    PackedColumns packed;
  };
  static_assert(sizeof(Held) <= held_bytes);

  // ------------------------------------------------------------------ run_tiles.cpp: any product
  // Threads take work `takes` times in all, `items` consecutive items each time.
  void share(int64_t takes, int64_t items, void (TileRun::*work)(int64_t item, char* scratch));
  void compute(int64_t item, char* scratch);
  // Computes several batch entries of one tile each, and runs their epilogue, if any.
  void compute_entries(int64_t item, char* scratch);
  template <class T>
  void compute_floating(const Tile& tile, int64_t entry, int64_t panel, char* scratch);
  template <class T>
  void run_along_k(const Tile& tile, int64_t k_begin, int64_t k_end, T* c, int64_t c_row,
                   char* scratch);

  // Whether there is something to do for several entries at once: an epilogue that finds results in
  // their place, or images.
  static bool joins_entries(const TileWork& work) {
    const Way way = work.schedule.way;
    if (work.schedule.filtering.images > 1) return false;
    return work.epilogue ? work.epilogue->run_turned == nullptr : way == Way::image_lines;
  }
  // Batch entries whose tiles are computed together.
  int64_t together() const { return schedule_.filtering.images; }
  // The tiles of the entries under way.
  TileGrid grid() const { return schedule_.grid(divide_up(count_, together())); }
  int64_t group() const { return schedule_.panels > 1 ? schedule_.group : schedule_.batch; }
  Held& held_by(char* scratch) const { return *reinterpret_cast<Held*>(scratch + schedule_.held); }
  // Where a batch entry begins, of which terms [k_begin, k_end) are wanted.
  const void* a_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const;
  const void* b_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const;
  // The same for the operand that the caller calls b, which is made if it has a source.
  const void* made_entry(const MatrixOperand& x, const void* data, int64_t batch, int64_t k_begin,
                         int64_t k_end, char* scratch) const;
  // Whether b's windows are read from unpadded images: their padding is +0, as the kernel assumes.
  bool reads_images() const;

  // ------------------------------------------------------- windows/run_windows.cpp: convolutions
  // Transforms some outputs of a weight, for filtering.
  void transform(int64_t item, char* scratch);
  // Computes the tile of this image and of the images that share its band.
  void filter(const Tile& tile, char* scratch);
  void compute_lines(const Tile& tile, char* scratch);
  template <class T>
  void compute_lines_of(const Tile& tile, char* scratch);
  // Computes some groups of entries that lie abreast, and runs their epilogue.
  void compute_groups(int64_t item, char* scratch);
  void compute_abreast(int64_t first, int64_t count, char* scratch);
  int64_t groups_together() const {
    return divide_up(entries_together_, schedule_.abreast.entries);
  }

  static constexpr int64_t weight_outputs = 8;  // that are transformed at a time
  int64_t weight_parts() const { return divide_up(schedule_.m, weight_outputs); }
  float* weight(int64_t index) const {
    return reinterpret_cast<float*>(slabs_) + index * schedule_.filtering.weight_elements();
  }
  // What b's windows read: an entry in memory, or the unpadded image that one is made of.
  const void* image(int64_t batch) const { return image_at(b_.batch.offset(batch)); }
  const void* image_at(int64_t offset) const {
    if (source_ != nullptr) return source_->find(source_->context, offset);
    return b_.at(b_data_, offset);
  }

  // ------------------------------------------------------- store_tiles.cpp: what becomes of sums
  // Rounds a tile of sums and stores it in the result.
  template <class T>
  void store(const Tile& tile, const T* c, int64_t c_row) const;
  // Adds up the panels of one part of an entry.
  void combine(int64_t item, char* scratch);
  template <class T>
  void combine_floating(int64_t item) const;

  // A tile as the caller sees it.
  Tile outward(const Tile& tile) const {
    if (!schedule_.transposed) return tile;
    return {tile.batch, tile.column_begin, tile.column_end, tile.row_begin, tile.row_end};
  }
  static constexpr int64_t combine_elements = 4096;  // of a tile whose panels are added
  int64_t combine_columns() const { return std::min(schedule_.n, combine_elements); }
  int64_t combine_rows() const { return std::max<int64_t>(1, combine_elements / schedule_.n); }
  int64_t combine_tiles() const {
    return divide_up(schedule_.m, combine_rows()) * divide_up(schedule_.n, combine_columns());
  }

  const Schedule& schedule_;
  const MatrixOperand &a_, &b_;
  const void *const a_data_, *const b_data_;
  const Dtype dtype_;
  char *const out_, *const thread_scratch_, *const slabs_;
  const int64_t entries_together_;             // batch entries that a thread takes at a time
  const Epilogue* const epilogue_;             // of tiles
  const Epilogue* const epilogue_of_entries_;  // of entries_together_ entries, instead
  const EntrySource* const source_;
  bool leaves_out_ = false;        // whether products with padding are left out
  int64_t first_ = 0, count_ = 0;  // the batch entries under way
};

}  // namespace mt::cpu
