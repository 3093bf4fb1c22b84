// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/few_rows.h"

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"
#include "backends/cpu/contract/pairwise.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Fewer rows leave most of the kernel's eight idle; more repay packing the right operand whole.
constexpr int64_t least_rows = 5, most_rows = 64;
constexpr int64_t least_columns = 32, least_terms = 8;
constexpr double least_flops = 4e5, most_packed = 64 << 20;  // bytes of the left operands
// Columns of a strip, and terms that are packed at a time: of rows that lie along the terms as many
// as keep memory's order for long, of others no more than the second-level cache has room for.
constexpr int64_t most_columns = 128, along_k_block = 1024, along_rows_block = 256;

}  // namespace

bool FewRows::serves(const Contraction& c) {
  const int64_t m = size_of_group(c.m), n = size_of_group(c.n), k = size_of_group(c.k);
  if (c.a != Dtype::bfloat16 || c.b != Dtype::bfloat16) return false;
  if (c.out != Dtype::bfloat16 && c.out != Dtype::float32) return false;
  if (m < least_rows || m > most_rows || n < least_columns || k < least_terms) return false;
  if (2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <
      least_flops) {
    return false;
  }
  const double packed = static_cast<double>(size_of_group(c.batch)) *
                        static_cast<double>(round_up(m, tile_panel_rows) * k) * 2;
  if (packed > most_packed) return false;
  return contraction_order(m, n, k, c.out).lanes == 1 && matrix_unit() == MatrixUnit::pairs &&
         !operand_a(c).slides() && !operand_b(c).slides();
}

FewRows::FewRows(const Contraction& c, int threads)
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
  const int64_t strips = divide_up<int64_t>(4 * threads, std::max<int64_t>(batch_, 1));
  columns_ =
      std::clamp(round_up(divide_up(n_, strips), tile_panel_rows), tile_panel_rows, most_columns);
}

int64_t FewRows::packed_a() const {
  return divide_up(m_, tile_panel_rows) * panels_ * divide_up(panel_, block_k_) *
         tile_panel_bytes(block_k_, 1);
}
int64_t FewRows::sums() const { return panels_ * m_ * columns_; }
int64_t FewRows::of_thread() const {
  const int64_t packed = divide_up(columns_, tile_panel_rows) * tile_panel_bytes(block_k_, 1);
  const auto strict =
      static_cast<int64_t>(block_scratch(a_, b_, Dtype::float32, m_, columns_, panel_));
  return round_up(sums() * int64_t(sizeof(float)), 64) + round_up(std::max(packed, strict), 64);
}

size_t FewRows::scratch() const {
  const int64_t seen = round_up(batch_ * static_cast<int64_t>(sizeof(Magnitudes)), 64);
  return static_cast<size_t>(seen + batch_ * packed_a() + threads_ * of_thread());
}

class FewRows::Run {
 public:
  Run(const FewRows& product, const void* a, const void* b, void* out, void* scratch,
      const Epilogue* epilogue)
      : p_(product),
        a_data_(a),
        b_data_(b),
        out_(static_cast<char*>(out)),
        seen_of_a_(static_cast<Magnitudes*>(scratch)),
        packed_a_(static_cast<char*>(scratch) +
                  round_up(p_.batch_ * static_cast<int64_t>(sizeof(Magnitudes)), 64)),
        threads_(packed_a_ + p_.batch_ * p_.packed_a()),
        epilogue_(epilogue) {}

  void run() {
    parallel_items(p_.batch_, p_.threads_, [&](int64_t entry, int) { pack_a(entry); });
    const int64_t strips = divide_up(p_.n_, p_.columns_);
    parallel_items(p_.batch_ * strips, p_.threads_, [&](int64_t item, int worker) {
      const int64_t entry = item / strips, column = item % strips * p_.columns_;
      compute({entry, 0, p_.m_, column, std::min(column + p_.columns_, p_.n_)},
              threads_ + worker * p_.of_thread());
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

  void pack_a(int64_t entry) {
    const void* const data = p_.a_.entry(a_data_, entry);
    char* to = packed_a_ + entry * p_.packed_a();
    Magnitudes seen;
    for_blocks([&](int64_t, int64_t begin, int64_t end, bool) {
      raise(&seen, pack_tiles({&p_.a_, data, 0, p_.m_, begin, end, false, 1, to}));
      to += divide_up(p_.m_, tile_panel_rows) * tile_panel_bytes(end - begin, 1);
    });
    seen_of_a_[entry] = seen;
  }

  void compute(const Tile& tile, char* scratch) {
    const int64_t columns = tile.column_end - tile.column_begin, slab = p_.m_ * p_.columns_;
    auto* c = reinterpret_cast<float*>(scratch);
    char* const packed = scratch + round_up(p_.sums() * int64_t(sizeof(float)), 64);
    const void* const data = p_.b_.entry(b_data_, tile.batch);
    const char* a = packed_a_ + tile.batch * p_.packed_a();
    Magnitudes seen;
    for_blocks([&](int64_t panel, int64_t begin, int64_t end, bool first) {
      raise(&seen, pack_tiles({&p_.b_, data, tile.column_begin, tile.column_end, begin, end, true,
                               1, packed}));
      const int64_t bytes = tile_panel_bytes(end - begin, 1);
      multiply_by_pairs({a, packed, bytes, bytes, end - begin, 1, c + panel * slab, p_.columns_,
                         p_.m_, columns, first});
      a += divide_up(p_.m_, tile_panel_rows) * bytes;
    });
    if (!suits_bfloat16(seen_of_a_[tile.batch], seen, p_.k_)) compute_strictly(tile, c, packed);
    const auto size = static_cast<int64_t>(size_of(p_.out_));
    char* out = out_ + (tile.batch * p_.m_ * p_.n_ + tile.column_begin) * size;
    for (int64_t row = 0; row < p_.m_; ++row, c += p_.columns_, out += p_.n_ * size) {
      add_pairwise(c, slab, p_.panels_, columns);
      store_rounded(p_.out_, c, columns, out);
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

  const FewRows& p_;
  const void *const a_data_, *const b_data_;
  char* const out_;
  Magnitudes* const seen_of_a_;
  char *const packed_a_, *const threads_;
  const Epilogue* const epilogue_;
};

void FewRows::run(const void* a, const void* b, void* out, void* scratch,
                  const Epilogue* epilogue) const {
  Run(*this, a, b, out, scratch, epilogue).run();
}

}  // namespace mt::cpu
