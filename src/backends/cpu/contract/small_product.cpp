// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/small_product.h"

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/contract.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t most_multiply_adds = 1 << 21;  // beyond, the rest is a hundredth or two

bool is_small(const Schedule& s, const MatrixOperand& a, const MatrixOperand& b) {
  const bool by_blocks = !s.exact && !s.lanes && !s.short_windows && !s.abreast;
  const bool at_once = s.panels <= 1 && s.k <= block_k && s.tiles() == 1;
  if (!by_blocks || !at_once || s.transposed || s.rounded || s.streamed) return false;
  if (s.sum != Dtype::float32 || s.m * s.n * s.k > most_multiply_adds) return false;
  return a.rows.uniform() && a.k.uniform() && b.k.uniform() &&
         reads_a_in_place(a, s.sum, s.m, s.k) && reads_b_in_place(b, s.sum, s.m, s.n, s.k);
}

}  // namespace

SmallProduct::SmallProduct(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b)
    : rows_(schedule.m),
      columns_(schedule.n),
      k_(schedule.k),
      a_row_(a.rows.stride()),
      a_k_(a.k.stride()),
      b_k_(b.k.stride()) {
  if (rows_ == 0 || columns_ == 0 || k_ == 0 || !is_small(schedule, a, b)) return;
  const StridedKernels all = strided_kernels();
  if (columns_ % all.lanes != 0 && !all.take_part) return;
  const int vectors = all.vectors_for(rows_, columns_);
  panel_ = vectors * all.lanes;
  slivers_ = divide_up(rows_, all.rows_for(vectors));
  least_rows_ = rows_ / slivers_;
  higher_slivers_ = rows_ - slivers_ * least_rows_;
  const int64_t last = columns_ - (columns_ - 1) / panel_ * panel_;
  const int last_vectors = static_cast<int>(divide_up(last, all.lanes));
  passing_ = slivers_;
  if (schedule.passes) {
    const int64_t sliver_bytes = (least_rows_ + 1) * columns_ * int64_t(sizeof(float));
    passing_ = std::clamp<int64_t>(passing_bytes / sliver_bytes, 1, slivers_);
  }
  const bool near = stays_near(k_, b_k_, least_rows_, sizeof(float));
  for (int more = 0; more <= (higher_slivers_ > 0); ++more) {
    kernels_[more][0] = all.find(static_cast<int>(least_rows_) + more, vectors, near);
    kernels_[more][1] = all.find(static_cast<int>(least_rows_) + more, last_vectors, near);
  }
}

void SmallProduct::run(const float* a, const float* b, float* out, const Epilogue* epilogue,
                       int64_t batch) const {
  MicroTile<float> tile{};
  tile.k = k_;
  tile.a = a;
  tile.a_row = a_row_;
  tile.a_k = a_k_;
  tile.b_k = b_k_;
  tile.b_ahead = 16 * b_k_;
  tile.c_row = columns_;
  tile.first = true;
  float* row = out;
  Tile done{batch, 0, 0, 0, columns_};
  if (passing_ < slivers_) done.passing = out;
  for (int64_t sliver = 0; sliver < slivers_; ++sliver) {
    const bool higher = sliver < higher_slivers_;
    for (int64_t column = 0; column < columns_; column += panel_) {
      tile.b = b + column;
      tile.c = row + column;
      tile.columns = std::min(panel_, columns_ - column);
      kernels_[higher][column + panel_ >= columns_](tile);
    }
    const int64_t rows = least_rows_ + higher;
    tile.a += rows * a_row_;
    row += rows * columns_;
    done.row_end += rows;
    if (epilogue && ((sliver + 1) % passing_ == 0 || sliver + 1 == slivers_)) {
      epilogue->run(epilogue->context, done);
      done.row_begin = done.row_end;
      row = out;
    }
  }
}

}  // namespace mt::cpu
