// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/tile_run.h"

namespace mt::cpu {

void TileRun::run(int64_t first, int64_t end) {
  if (schedule_.way == Way::abreast) {
    for (int t = 0; t < schedule_.threads; ++t) {
      begin_abreast(thread_scratch_ + static_cast<size_t>(t) * schedule_.thread_scratch);
    }
    leaves_out_ = source_ && leaves_out_padding(schedule_.abreast, a_,
                                                static_cast<const float*>(a_data_), source_->fill);
    first_ = first;
    count_ = end - first;
    return share(divide_up(schedule_.abreast.groups(count_), groups_together()), 1,
                 &TileRun::compute_groups);
  }
  if (schedule_.way == Way::filtering) {
    share(schedule_.filtering.weights * weight_parts(), 1, &TileRun::transform);
  }
  for (int t = 0; t < schedule_.threads; ++t) {
    held_by(thread_scratch_ + static_cast<size_t>(t) * schedule_.thread_scratch) = {};
  }
  for (first_ = first; first_ < end; first_ += count_) {
    count_ = std::min(group(), end - first_);
    if (entries_together_ > 1) {
      share(divide_up(count_, entries_together_), 1, &TileRun::compute_entries);
      continue;
    }
    const TileGrid grid = this->grid();
    if (source_ != nullptr && grid.entries >= 4 * schedule_.threads) {
      // The thread that makes an entry works on all of it.
      share(grid.entries, grid.tiles() * grid.panels, &TileRun::compute);
    } else {
      share(grid.items(), 1, &TileRun::compute);
    }
    if (schedule_.panels > 1) share(count_ * combine_tiles(), 1, &TileRun::combine);
  }
}

const void* TileRun::a_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const {
  return schedule_.transposed ? made_entry(a_, a_data_, batch, k_begin, k_end, scratch)
                              : a_.entry(a_data_, batch);
}
const void* TileRun::b_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const {
  return schedule_.transposed ? b_.entry(b_data_, batch)
                              : made_entry(b_, b_data_, batch, k_begin, k_end, scratch);
}

const void* TileRun::made_entry(const MatrixOperand& x, const void* data, int64_t batch,
                                int64_t k_begin, int64_t k_end, char* scratch) const {
  if (source_ == nullptr) return x.entry(data, batch);
  char* const entry = scratch + schedule_.held + held_bytes;
  const int64_t offset = x.batch.offset(batch);
  Held& held = held_by(scratch);
  if (source_->by_panels) {
    if (held.made != k_begin) {
      const int64_t origin = source_->make_terms(source_->context, k_begin, k_end, entry);
      held = {k_begin, origin, {}};
    }
    return entry - held.origin * int64_t(size_of(x.dtype));
  }
  if (held.made != offset) {
    source_->make(source_->context, offset, entry);
    held = {offset, 0, {}};
  }
  return entry;
}

void TileRun::share(int64_t takes, int64_t items,
                    void (TileRun::*work)(int64_t item, char* scratch)) {
  parallel_items(takes, schedule_.threads, [&](int64_t take, int worker) {
    char* scratch = thread_scratch_ + static_cast<size_t>(worker) * schedule_.thread_scratch;
    for (int64_t i = 0; i < items; ++i) (this->*work)(take * items + i, scratch);
  });
}

void TileRun::compute(int64_t item, char* scratch) {
  const TileGrid grid = this->grid();
  const TileIndex at = schedule_.order.at(item, grid);
  const int64_t panel = at.panel, entry = at.entry * grid.panels + panel;
  Tile tile;
  tile.batch = first_ + at.entry * together();
  tile.row_begin = at.row * schedule_.rows;
  tile.row_end = std::min(tile.row_begin + schedule_.rows, schedule_.m);
  tile.column_begin = at.column * schedule_.columns;
  tile.column_end = std::min(tile.column_begin + schedule_.columns, schedule_.n);
  if (schedule_.way == Way::exact) {
    const int64_t k = schedule_.k;
    run_exact(a_, a_entry(tile.batch, 0, k, scratch), b_, b_entry(tile.batch, 0, k, scratch),
              dtype_, schedule_.sum, tile, out_, scratch);
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  } else if (schedule_.way == Way::filtering) {
    filter(tile, scratch);
  } else if (schedule_.way == Way::image_lines) {
    compute_lines(tile, scratch);
  } else if (schedule_.sum == Dtype::float64) {
    compute_floating<double>(tile, entry, panel, scratch);
  } else {
    compute_floating<float>(tile, entry, panel, scratch);
  }
}

void TileRun::compute_entries(int64_t item, char* scratch) {
  const int64_t begin = item * entries_together_;
  const int64_t end = std::min(begin + entries_together_, count_);
  const Tile all = schedule_.whole_entries(first_ + begin, first_ + end);
  if (schedule_.way == Way::image_lines) {
    compute_lines(all, scratch);
  } else {
    for (int64_t i = begin; i < end; ++i) compute(i, scratch);
  }
  if (epilogue_of_entries_) epilogue_of_entries_->run(epilogue_of_entries_->context, all);
}

template <class T>
void TileRun::compute_floating(const Tile& tile, int64_t entry, int64_t panel, char* scratch) {
  const int64_t n = schedule_.n, columns = tile.column_end - tile.column_begin;
  const bool final = schedule_.panels <= 1;
  T* c;
  int64_t c_row = n;
  if (schedule_.rounded) {
    c = reinterpret_cast<T*>(scratch);
    c_row = columns;
  } else {
    T* matrix = final ? reinterpret_cast<T*>(out_) + tile.batch * schedule_.m * n
                      : reinterpret_cast<T*>(slabs_) + entry * schedule_.m * n;
    c = matrix + tile.row_begin * n + tile.column_begin;
  }
  const int64_t k_begin = panel * schedule_.panel;
  const int64_t k_end = std::min(k_begin + schedule_.panel, schedule_.k);
  void* kernel_scratch = scratch + schedule_.tile_scratch;
  const bool direct = final && !schedule_.rounded;
  if (schedule_.way == Way::lanes) {
    run_along_k<T>(tile, k_begin, k_end, c, c_row, scratch);
    if (direct && epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  } else {
    Block block{&a_,
                &b_,
                a_entry(tile.batch, k_begin, k_end, scratch),
                b_entry(tile.batch, k_begin, k_end, scratch),
                k_begin,
                k_end,
                tile,
                c,
                c_row,
                direct ? epilogue_ : nullptr,
                direct && schedule_.streamed && epilogue_ == nullptr,
                schedule_.passes && epilogue_ != nullptr,
                kernel_scratch,
                &held_by(scratch).packed};
    run_block(block, T());
  }
  if (!schedule_.rounded) return;
  const bool turned = epilogue_ != nullptr && epilogue_->run_turned != nullptr;
  if (turned) epilogue_->run_turned(epilogue_->context, outward(tile), c);
  store(tile, c, c_row);
  if (epilogue_ != nullptr && !turned) epilogue_->run(epilogue_->context, outward(tile));
}

template <class T>
void TileRun::run_along_k(const Tile& tile, int64_t k_begin, int64_t k_end, T* c, int64_t c_row,
                          char* scratch) {
  const bool by_rows = schedule_.m >= schedule_.n, same = reads_images();
  const void* a = a_entry(tile.batch, k_begin, k_end, scratch);
  const void* b = same ? image(tile.batch) : b_entry(tile.batch, k_begin, k_end, scratch);
  LanesBlock block{by_rows ? &a_ : &b_,
                   by_rows ? &b_ : &a_,
                   by_rows ? a : b,
                   by_rows ? b : a,
                   k_begin,
                   k_end,
                   by_rows ? tile.row_begin : tile.column_begin,
                   by_rows ? tile.row_end : tile.column_end,
                   c,
                   by_rows ? c_row : 1,
                   by_rows ? 1 : c_row,
                   scratch + schedule_.tile_scratch,
                   same ? &schedule_.same : nullptr};
  run_lanes(block, T());
}

bool TileRun::reads_images() const {
  return schedule_.same && source_ != nullptr && source_->fill == 0 &&
         !std::signbit(source_->fill) && takes_same_windows();
}

template void TileRun::compute_floating<float>(const Tile&, int64_t, int64_t, char*);

void run_tiles(const TileWork& work, int64_t first, int64_t end) { TileRun(work).run(first, end); }

}  // namespace mt::cpu
