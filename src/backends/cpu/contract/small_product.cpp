// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/small_product.h"

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/contract.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t most_multiply_adds = 1 << 21;  // beyond, the rest is a hundredth or two

// Other operands that are packed are so by the kernel that first reads them (blocked.cpp).
bool turns(const MatrixOperand& b) {
  return b.rows.uniform() && b.k.stride() == 1 && b.rows.stride() != 1;
}

bool is_small(const Schedule& s, const MatrixOperand& a, const MatrixOperand& b, Dtype out) {
  const bool by_blocks = !s.exact && !s.lanes && !s.short_windows && !s.abreast && !s.filtering;
  const bool at_once = s.panels <= 1 && s.k <= block_k && s.tiles() == 1;
  if (!by_blocks || !at_once || s.streamed || out != Dtype::float32) return false;
  if (s.sum != Dtype::float32 || s.m * s.n * s.k > most_multiply_adds) return false;
  return a.rows.uniform() && a.k.uniform() && b.k.uniform() && b.dtype == s.sum &&
         reads_a_in_place(a, s.sum, s.m, s.k) &&
         (reads_b_in_place(b, s.sum, s.m, s.n, s.k) || turns(b));
}

}  // namespace

SmallProduct::SmallProduct(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b,
                           Dtype out)
    : rows_(schedule.m),
      columns_(schedule.n),
      k_(schedule.k),
      a_row_(a.rows.stride()),
      a_k_(a.k.stride()),
      b_row_(b.rows.stride()),
      b_k_(b.k.stride()),
      turned_(schedule.transposed) {
  if (rows_ == 0 || columns_ == 0 || k_ == 0 || !is_small(schedule, a, b, out)) return;
  packs_ = !reads_b_in_place(b, schedule.sum, rows_, columns_, k_);
  const StridedKernels all = strided_kernels();
  if (columns_ % all.lanes != 0 && !all.take_part && !packs_) return;
  lanes_ = all.lanes;
  pack_ = all.pack;
  pitch_ = packs_ && turned_ ? round_up(columns_, lanes_) : columns_;
  const int vectors = all.vectors_for(rows_, columns_);
  panel_ = vectors * lanes_;
  slivers_ = divide_up(rows_, all.rows_for(vectors));
  least_rows_ = rows_ / slivers_;
  higher_slivers_ = rows_ - slivers_ * least_rows_;
  passing_ = slivers_;
  if (schedule.passes) {
    const int64_t sliver_bytes = (least_rows_ + 1) * columns_ * int64_t(sizeof(float));
    passing_ = std::clamp<int64_t>(passing_bytes / sliver_bytes, 1, slivers_);
  }
  const int64_t last = columns_ - (columns_ - 1) / panel_ * panel_;
  const int last_vectors = static_cast<int>(divide_up(last, lanes_));
  const bool near = stays_near(k_, packs_ ? panel_ : b_k_, least_rows_, sizeof(float));
  for (int more = 0; more <= (higher_slivers_ > 0); ++more) {
    kernels_[more][0] = all.find(static_cast<int>(least_rows_) + more, vectors, near);
    kernels_[more][1] = all.find(static_cast<int>(least_rows_) + more, last_vectors, near);
  }
}

int64_t SmallProduct::packed_elements() const {
  return packs_ ? round_up(columns_, lanes_) * k_ : 0;
}

size_t SmallProduct::scratch() const {
  const int64_t result = turned_ ? rows_ * pitch_ : 0;
  return static_cast<size_t>(round_up((packed_elements() + result) * int64_t(sizeof(float)), 64));
}

void SmallProduct::run(const float* a, const float* b, float* out, char* scratch,
                       const Epilogue* epilogue, int64_t batch) const {
  float* const packed = reinterpret_cast<float*>(scratch);
  if (packs_) {
    for (int64_t column = 0; column < columns_; column += panel_) {
      pack_(b + column * b_row_, b_row_, std::min(panel_, columns_ - column), k_,
            packed + column * k_);
    }
  }
  MicroTile<float> tile{};
  tile.k = k_;
  tile.a = a;
  tile.a_row = a_row_;
  tile.a_k = a_k_;
  tile.c_row = pitch_;
  tile.first = true;
  float* const c = turned_ ? packed + packed_elements() : out;
  float* row = c;
  Tile done{batch, 0, 0, 0, columns_};
  if (passing_ < slivers_) done.passing = out;
  for (int64_t sliver = 0; sliver < slivers_; ++sliver) {
    const bool higher = sliver < higher_slivers_;
    const int64_t rows = least_rows_ + higher;
    for (int64_t column = 0; column < columns_; column += panel_) {
      const bool last = column + panel_ >= columns_;
      tile.columns = last ? pitch_ - column : panel_;
      tile.b = packs_ ? packed + column * k_ : b + column;
      tile.b_k = packs_ ? round_up(tile.columns, lanes_) : b_k_;
      tile.b_ahead = (packs_ ? 4 : 16) * tile.b_k;
      tile.a_ahead = packs_ && last && sliver + 1 < slivers_ ? rows * a_row_ : 0;
      tile.fetched = tile.c = row + column;
      kernels_[higher][last](tile);
    }
    tile.a += rows * a_row_;
    row += rows * pitch_;
    done.row_end += rows;
    if (epilogue && !turned_ && ((sliver + 1) % passing_ == 0 || sliver + 1 == slivers_)) {
      epilogue->run(epilogue->context, done);
      done.row_begin = done.row_end;
      row = out;
    }
  }
  if (!turned_) return;
  store_turned(c, pitch_, rows_, columns_, out, rows_);
  if (epilogue) epilogue->run(epilogue->context, {batch, 0, columns_, 0, rows_});
}

}  // namespace mt::cpu
