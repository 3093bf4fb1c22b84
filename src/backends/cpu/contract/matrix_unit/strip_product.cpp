// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/strip_product.h"

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/matrix_unit/suits_pairs.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"
#include "backends/cpu/contract/pairwise.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// With fewer rows most of the kernel's eight are idle; more rows repay packing the right operand
// whole, unless there are many entries, each of which one thread takes.
constexpr int64_t least_rows = 5, most_rows = 64, most_entry_rows = 256, many_entries = 16;
constexpr double most_packed = 64 << 20;  // bytes of the packed left operands
// Columns of a strip, and terms that are packed at a time: if rows lie along the terms, so many
// that memory is read in order for long; else no more than the second-level cache has room for.
constexpr int64_t most_columns = 128, along_k_block = 1024, along_rows_block = 256;

}  // namespace

bool StripProduct::serves(const Contraction& c) {
  const int64_t m = size_of_group(c.m), k = size_of_group(c.k), entries = size_of_group(c.batch);
  const int64_t most = entries >= many_entries ? most_entry_rows : most_rows;
  const double packed =
      static_cast<double>(entries) * static_cast<double>(round_up(m, tile_panel_rows) * k) * 2;
  return m >= least_rows && m <= most && packed <= most_packed && suits_pairs(c);
}

StripProduct::StripProduct(const Contraction& c, int threads)
    : a_(operand_a(c)),
      b_(operand_b(c)),
      out_(c.out),
      batch_(size_of_group(c.batch)),
      m_(a_.rows.size),
      n_(b_.rows.size),
      k_(a_.k.size),
      panel_(contraction_order(m_, n_, k_, c.out).panel),
      panels_(divide_up(k_, panel_)),
      threads_(threads) {
  const bool along_rows = b_.rows.uniform() && b_.rows.stride() == 1;
  block_k_ = std::min(along_rows ? along_rows_block : along_k_block, panel_);
  // Several strips for each thread, so that one that is late holds nobody up for long.
  by_entries_ = batch_ >= 4 * threads;
  const int64_t strips = divide_up<int64_t>(4 * threads, std::max<int64_t>(batch_, 1));
  columns_ =
      std::clamp(round_up(divide_up(n_, strips), tile_panel_rows), tile_panel_rows, most_columns);
}

int64_t StripProduct::packed_a() const {
  return divide_up(m_, tile_panel_rows) * panels_ * divide_up(panel_, block_k_) *
         tile_panel_bytes(block_k_, 1);
}
int64_t StripProduct::sums() const { return panels_ * m_ * columns_; }
int64_t StripProduct::of_thread() const {
  const int64_t packed = divide_up(columns_, tile_panel_rows) * tile_panel_bytes(block_k_, 1);
  const auto strict =
      static_cast<int64_t>(block_scratch(a_, b_, Dtype::float32, m_, columns_, panel_));
  return round_up(sums() * int64_t(sizeof(float)), 64) + round_up(std::max(packed, strict), 64) +
         (by_entries_ ? packed_a() : 0);
}

size_t StripProduct::scratch() const {
  const int64_t seen = round_up(batch_ * static_cast<int64_t>(sizeof(Magnitudes)), 64);
  const int64_t shared = by_entries_ ? 0 : seen + batch_ * packed_a();
  return static_cast<size_t>(shared + threads_ * of_thread());
}

class StripProduct::Run {
 public:
  Run(const StripProduct& product, const void* a, const void* b, void* out, void* scratch,
      const Epilogue* epilogue)
      : p_(product),
        a_data_(a),
        b_data_(b),
        out_(static_cast<char*>(out)),
        scratch_(static_cast<char*>(scratch)),
        epilogue_(epilogue) {}

  void run() {
    const int64_t strips = divide_up(p_.n_, p_.columns_);
    if (p_.by_entries_) {
      parallel_items(p_.batch_, p_.threads_, [&](int64_t entry, int worker) {
        char* const own = scratch_ + worker * p_.of_thread();
        char* const rest = own + p_.packed_a();
        const Magnitudes seen = pack_a(entry, own);
        for (int64_t strip = 0; strip < strips; ++strip)
          compute(tile(entry, strip), own, seen, rest);
      });
      return;
    }
    auto* const seen = reinterpret_cast<Magnitudes*>(scratch_);
    char* const packed =
        scratch_ + round_up(p_.batch_ * static_cast<int64_t>(sizeof(Magnitudes)), 64);
    char* const threads = packed + p_.batch_ * p_.packed_a();
    parallel_items(p_.batch_, p_.threads_, [&](int64_t entry, int) {
      seen[entry] = pack_a(entry, packed + entry * p_.packed_a());
    });
    parallel_items(p_.batch_ * strips, p_.threads_, [&](int64_t item, int worker) {
      const int64_t entry = item / strips;
      compute(tile(entry, item % strips), packed + entry * p_.packed_a(), seen[entry],
              threads + worker * p_.of_thread());
    });
  }

 private:
  // Calls f(panel, begin, end, whether it is the panel's first) for all blocks of terms.
  template <class F>
  void for_blocks(F&& f) const {
    for (int64_t panel = 0; panel < p_.panels_; ++panel) {
      const int64_t first = panel * p_.panel_, last = std::min(first + p_.panel_, p_.k_);
      for (int64_t k = first; k < last; k += p_.block_k_) {
        f(panel, k, std::min(k + p_.block_k_, last), k == first);
      }
    }
  }
  static void raise(Magnitudes* all, const Magnitudes& seen) {
    all->most = std::max(all->most, seen.most);
    all->least = std::min(all->least, seen.least);
  }

  Tile tile(int64_t entry, int64_t strip) const {
    const int64_t column = strip * p_.columns_;
    return {entry, 0, p_.m_, column, std::min(column + p_.columns_, p_.n_)};
  }

  Magnitudes pack_a(int64_t entry, char* to) const {
    const void* const data = p_.a_.entry(a_data_, entry);
    Magnitudes seen;
    for_blocks([&](int64_t, int64_t begin, int64_t end, bool) {
      raise(&seen, pack_tiles({&p_.a_, data, 0, p_.m_, begin, end, false, 1, to}));
      to += divide_up(p_.m_, tile_panel_rows) * tile_panel_bytes(end - begin, 1);
    });
    return seen;
  }

  void compute(const Tile& tile, const char* a, const Magnitudes& seen_of_a, char* scratch) const {
    const int64_t columns = tile.column_end - tile.column_begin, slab = p_.m_ * p_.columns_;
    auto* c = reinterpret_cast<float*>(scratch);
    char* const packed = scratch + round_up(p_.sums() * int64_t(sizeof(float)), 64);
    const void* const data = p_.b_.entry(b_data_, tile.batch);
    const auto size = static_cast<int64_t>(size_of(p_.out_));
    char* out = out_ + (tile.batch * p_.m_ * p_.n_ + tile.column_begin) * size;
    const bool rounds = p_.panels_ == 1 && p_.out_ == Dtype::bfloat16;  // as sums leave registers
    Magnitudes seen;
    for_blocks([&](int64_t panel, int64_t begin, int64_t end, bool first) {
      raise(&seen, pack_tiles({&p_.b_, data, tile.column_begin, tile.column_end, begin, end, true,
                               1, packed}));
      const int64_t bytes = tile_panel_bytes(end - begin, 1);
      auto* const rounded = rounds && end == p_.k_ ? reinterpret_cast<uint16_t*>(out) : nullptr;
      multiply_by_pairs({a, packed, bytes, bytes, end - begin, 1, c + panel * slab, p_.columns_,
                         p_.m_, columns, first, rounded, p_.n_});
      a += divide_up(p_.m_, tile_panel_rows) * bytes;
    });
    const bool refused = !suits_bfloat16(seen_of_a, seen, p_.k_);
    if (refused) compute_strictly(tile, c, packed);
    for (int64_t row = 0; (refused || !rounds) && row < p_.m_; ++row) {
      add_pairwise(c, slab, p_.panels_, columns);
      store_rounded(p_.out_, c, columns, out);
      c += p_.columns_;
      out += p_.n_ * size;
    }
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  }

  void compute_strictly(const Tile& tile, float* c, void* scratch) const {
    for (int64_t panel = 0; panel < p_.panels_; ++panel) {
      PackedColumns packed;
      const int64_t begin = panel * p_.panel_;
      run_block(
          Block{&p_.a_, &p_.b_, p_.a_.entry(a_data_, tile.batch), p_.b_.entry(b_data_, tile.batch),
                begin, std::min(begin + p_.panel_, p_.k_), tile, c + panel * p_.m_ * p_.columns_,
                p_.columns_, nullptr, false, false, scratch, &packed},
          float());
    }
  }

  const StripProduct& p_;
  const void *const a_data_, *const b_data_;
  char* const out_;
  char* const scratch_;
  const Epilogue* const epilogue_;
};

void StripProduct::run(const void* a, const void* b, void* out, void* scratch,
                       const Epilogue* epilogue) const {
  Run(*this, a, b, out, scratch, epilogue).run();
}

}  // namespace mt::cpu
