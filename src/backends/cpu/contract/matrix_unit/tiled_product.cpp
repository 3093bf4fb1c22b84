// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/tiled_product.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/matrix_unit/suits_pairs.h"
#include "backends/cpu/contract/pairwise.h"
#include "backends/cpu/parallel/parallel.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Terms of a block: many, as results are read and written once for each block; few enough for the
// panels of a region to stay in the second-level cache with its results.
constexpr int64_t rounded_block_k = 1024, split_block_k = 256;
constexpr int64_t most_tiled = 512, most_paired = 256;  // rows and columns of a region
constexpr int64_t packed_rows = 256;                    // that one thread packs at a time
constexpr int64_t group_bytes = 64 << 20;               // of packed entries, if one fits
constexpr int64_t most_bytes = 1 << 30;                 // of one
// For bfloat16, packing whole operands pays from least_rows rows on; for long sums, of which few
// share what is packed, from least_panel_results results on.
constexpr int64_t least_rows = 16, least_panel_results = 8192;

void raise(uint32_t& target, uint32_t value) {
  std::atomic_ref<uint32_t> shared(target);
  uint32_t now = shared.load(std::memory_order_relaxed);
  while (now < value && !shared.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}
void lower(uint32_t& target, uint32_t value) {
  std::atomic_ref<uint32_t> shared(target);
  uint32_t now = shared.load(std::memory_order_relaxed);
  while (now > value && !shared.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

// What packing has seen of an entry.
struct TiledProduct::Watched {
  Magnitudes a, b;
};

bool TiledProduct::serves(const Contraction& c) {
  const int64_t m = size_of_group(c.m), n = size_of_group(c.n), k = size_of_group(c.k);
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double terms = static_cast<double>(k);
  if ((rows + columns) * terms * 6 >= static_cast<double>(most_bytes)) return false;
  if (c.a == Dtype::bfloat16) {
    const bool in_panels = contraction_order(m, n, k, c.out).panel < k;
    return m >= least_rows && (!in_panels || m * n >= least_panel_results) && suits_pairs(c);
  }
  if (c.a != Dtype::float32 || c.b != Dtype::float32 || c.out != Dtype::float32) return false;
  return is_of_bfloat16(c.precision) && is_worth_splitting(m, n, k) &&
         matrix_unit() >= unit_for(c.precision);
}

MatrixUnit TiledProduct::unit_for(Precision precision) {
  return precision == Precision::split ? MatrixUnit::tiles : MatrixUnit::pairs;
}

TiledProduct::TiledProduct(const Contraction& c, int threads)
    : unit_(matrix_unit()),
      a_(operand_a(c)),
      b_(operand_b(c)),
      out_(c.out),
      shares_a_(
          std::all_of(c.batch.begin(), c.batch.end(),
                      [](const ContractionDim& d) { return d.size == 1 || d.a_stride == 0; })),
      batch_(size_of_group(c.batch)),
      m_(a_.rows.size),
      n_(b_.rows.size),
      k_(a_.k.size),
      panel_(a_.dtype == Dtype::bfloat16 ? contraction_order(m_, n_, k_, c.out).panel : k_),
      panels_(divide_up(k_, panel_)),
      block_k_(panels_ > 1                       ? panel_
               : c.precision == Precision::split ? split_block_k
                                                 : rounded_block_k),
      parts_(c.precision == Precision::split ? 3 : 1),
      threads_(threads) {
  const int64_t most = unit_ == MatrixUnit::tiles ? most_tiled : most_paired;
  rows_ = std::min(most, round_up(m_, tile_panel_rows));
  columns_ = std::min(most, round_up(n_, tile_panel_rows));
  group_ =
      std::clamp<int64_t>(group_bytes / (packed_a() + packed_b()), 1, std::max<int64_t>(batch_, 1));
  // Several regions for each thread, so that one that is late holds nobody up for long.
  const int64_t parts = group_ * panels_;
  while (threads > 1 && parts * divide_up(m_, rows_) * divide_up(n_, columns_) < 4 * threads &&
         (rows_ > tile_panel_rows || columns_ > 2 * tile_panel_rows)) {
    int64_t& cut = 2 * rows_ >= columns_ && rows_ > tile_panel_rows ? rows_ : columns_;
    cut = round_up(cut / 2, tile_panel_rows);
  }
}

int64_t TiledProduct::packed_a() const {
  return divide_up(m_, tile_panel_rows) * tile_panel_bytes(k_, parts_);
}
int64_t TiledProduct::packed_b() const {
  return divide_up(n_, tile_panel_rows) * tile_panel_bytes(k_, parts_);
}

int64_t TiledProduct::sums_bytes() const {
  const bool stay = out_ == Dtype::float32 || k_ <= block_k_;  // in registers, or in the result
  const int64_t of_threads = stay ? 0 : threads_ * rows_ * columns_;
  return (panels_ > 1 ? group_ * panels_ * slab() : of_threads) * int64_t(sizeof(float));
}

size_t TiledProduct::scratch() const {
  const int64_t watched = round_up(group_ * static_cast<int64_t>(sizeof(Watched)), 64);
  return static_cast<size_t>(round_up(watched + packed() + sums_bytes(), 64));
}

bool TiledProduct::refused(const void* scratch, int64_t entry) const {
  const auto* const watched = static_cast<const Watched*>(scratch);
  return !suits_bfloat16(watched[shares_a_ ? 0 : entry].a, watched[entry].b, k_);
}

class TiledProduct::Run {
 public:
  Run(const TiledProduct& product, const void* a, const void* b, void* out, void* scratch,
      const Epilogue* epilogue, int64_t first)
      : p_(product),
        a_data_(a),
        b_data_(b),
        out_(static_cast<char*>(out)),
        watched_(static_cast<Watched*>(scratch)),
        packed_(static_cast<char*>(scratch) +
                round_up(product.group_ * static_cast<int64_t>(sizeof(Watched)), 64)),
        sums_(reinterpret_cast<float*>(packed_ + product.packed())),
        epilogue_(epilogue),
        first_(first) {}

  void run(int64_t count) {
    std::fill_n(watched_, count, Watched());
    const int64_t blocks = divide_up(p_.k_, p_.block_k_);
    const int64_t a_items = blocks * divide_up(p_.m_, packed_rows);
    const int64_t b_items = blocks * divide_up(p_.n_, packed_rows);
    const int64_t shared = p_.shares_a_ ? a_items : 0, items = b_items + a_items - shared;
    parallel_items(shared + count * items, p_.threads_, [&](int64_t item, int) {
      if (item < shared) return pack(0, item, false);
      const int64_t entry = (item - shared) / items, at = (item - shared) % items;
      at < b_items ? pack(entry, at, true) : pack(entry, at - b_items, false);
    });
    const int64_t regions = divide_up(p_.m_, p_.rows_) * divide_up(p_.n_, p_.columns_);
    parallel_items(count * p_.panels_ * regions, p_.threads_, [&](int64_t item, int worker) {
      const int64_t part = item / regions, entry = part / p_.panels_;
      if (p_.refused(watched_, entry)) return;
      compute(entry, part % p_.panels_, region(entry, item % regions), worker);
    });
    if (p_.panels_ == 1) return;
    parallel_items(count * regions, p_.threads_, [&](int64_t item, int) {
      const int64_t entry = item / regions;
      if (!p_.refused(watched_, entry)) combine(entry, region(entry, item % regions));
    });
  }

 private:
  char* packed(int64_t entry, bool right) const {
    if (right) return packed_ + p_.entries_of_a() * p_.packed_a() + entry * p_.packed_b();
    return packed_ + (p_.shares_a_ ? 0 : entry * p_.packed_a());
  }
  // Where the panel that begins at `row` lies, in the block of terms that begins at `k`. All panels
  // of a block follow each other.
  char* panel(int64_t entry, bool right, int64_t row, int64_t k) const {
    const int64_t panels = divide_up(right ? p_.n_ : p_.m_, tile_panel_rows);
    return packed(entry, right) + panels * tile_panel_bytes(k, p_.parts_) +
           row / tile_panel_rows * tile_panel_bytes(terms(k), p_.parts_);
  }
  int64_t terms(int64_t k) const { return std::min(p_.block_k_, p_.k_ - k); }

  void pack(int64_t entry, int64_t item, bool right) {
    const MatrixOperand& x = right ? p_.b_ : p_.a_;
    const int64_t parts = divide_up(x.rows.size, packed_rows);
    const int64_t k = item / parts * p_.block_k_, row = item % parts * packed_rows;
    const void* const data = x.entry(right ? b_data_ : a_data_, first_ + entry);
    const Magnitudes seen =
        pack_tiles({&x, data, row, std::min(row + packed_rows, x.rows.size), k, k + terms(k), right,
                    p_.parts_, panel(entry, right, row, k)});
    Magnitudes& all = right ? watched_[entry].b : watched_[entry].a;
    raise(all.most, seen.most);
    lower(all.least, seen.least);
  }

  Tile region(int64_t entry, int64_t index) const {
    const int64_t row_regions = divide_up(p_.m_, p_.rows_);
    const int64_t row = index % row_regions * p_.rows_, column = index / row_regions * p_.columns_;
    return {first_ + entry, row, std::min(row + p_.rows_, p_.m_), column,
            std::min(column + p_.columns_, p_.n_)};
  }
  // Where a region's first element lies in the result, or in a slab.
  int64_t element(const Tile& tile) const { return tile.row_begin * p_.n_ + tile.column_begin; }

  void compute(int64_t entry, int64_t panel_index, const Tile& tile, int worker) {
    const int64_t rows = tile.row_end - tile.row_begin;
    const int64_t columns = tile.column_end - tile.column_begin;
    float* c = sums_ + worker * p_.rows_ * p_.columns_;
    int64_t c_row = columns;
    if (p_.panels_ > 1) {
      c = sums_ + (entry * p_.panels_ + panel_index) * p_.slab() + element(tile);
      c_row = p_.n_;
    } else if (p_.out_ == Dtype::float32) {
      c = reinterpret_cast<float*>(result(tile));
      c_row = p_.n_;
    }
    const auto multiply = p_.unit_ == MatrixUnit::tiles ? multiply_by_tiles : multiply_by_pairs;
    uint16_t* const rounded = p_.panels_ == 1 && p_.out_ == Dtype::bfloat16
                                  ? reinterpret_cast<uint16_t*>(result(tile))
                                  : nullptr;
    const int64_t k_begin = panel_index * p_.panel_, k_end = std::min(k_begin + p_.panel_, p_.k_);
    for (int64_t k = k_begin; k < k_end; k += p_.block_k_) {
      const int64_t bytes = tile_panel_bytes(terms(k), p_.parts_);
      multiply({panel(entry, false, tile.row_begin, k), panel(entry, true, tile.column_begin, k),
                bytes, bytes, terms(k), p_.parts_, c, c_row, rows, columns, k == k_begin,
                k + terms(k) == k_end ? rounded : nullptr, p_.n_});
    }
    if (p_.panels_ == 1 && epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  }

  // Adds up the panels of a region.
  void combine(int64_t entry, const Tile& tile) {
    float* const c = sums_ + entry * p_.panels_ * p_.slab() + element(tile);
    const int64_t columns = tile.column_end - tile.column_begin;
    const int64_t row_bytes = p_.n_ * static_cast<int64_t>(size_of(p_.out_));
    for (int64_t row = 0; row < tile.row_end - tile.row_begin; ++row) {
      add_pairwise(c + row * p_.n_, p_.slab(), p_.panels_, columns);
      store_rounded(p_.out_, c + row * p_.n_, columns, result(tile) + row * row_bytes);
    }
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  }

  char* result(const Tile& tile) const {
    return out_ + (tile.batch * p_.slab() + element(tile)) * static_cast<int64_t>(size_of(p_.out_));
  }

  const TiledProduct& p_;
  const void *const a_data_, *const b_data_;
  char* const out_;
  Watched* const watched_;
  char* const packed_;
  float* const sums_;
  const Epilogue* const epilogue_;
  const int64_t first_;
};

void TiledProduct::run(const void* a, const void* b, void* out, void* scratch,
                       const Epilogue* epilogue, int64_t first, int64_t count) const {
  Run(*this, a, b, out, scratch, epilogue, first).run(count);
}

}  // namespace mt::cpu
