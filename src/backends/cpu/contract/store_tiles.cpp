// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/pairwise.h"
#include "backends/cpu/contract/tile_run.h"

namespace mt::cpu {

template <class T>
void TileRun::store(const Tile& tile, const T* c, int64_t c_row) const {
  const int64_t rows = tile.row_end - tile.row_begin;
  const int64_t columns = tile.column_end - tile.column_begin;
  const int64_t size = static_cast<int64_t>(size_of(dtype_));
  char* out = out_ + tile.batch * schedule_.m * schedule_.n * size;
  if (!schedule_.transposed) {
    for (int64_t i = 0; i < rows; ++i) {
      int64_t to = (tile.row_begin + i) * schedule_.n + tile.column_begin;
      store_rounded(dtype_, c + i * c_row, columns, out + to * size);
    }
    return;
  }
  if (dtype_ == dtype_of<T>) {
    T* to = reinterpret_cast<T*>(out) + tile.column_begin * schedule_.m + tile.row_begin;
    return store_turned(c, c_row, rows, columns, to, schedule_.m);
  }
  constexpr int64_t most = 64;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t begin = 0; begin < rows; begin += most) {
      T row[most];
      const int64_t count = std::min(most, rows - begin);
      for (int64_t i = 0; i < count; ++i) row[i] = c[(begin + i) * c_row + j];
      int64_t to = (tile.column_begin + j) * schedule_.m + tile.row_begin + begin;
      store_rounded(dtype_, row, count, out + to * size);
    }
  }
}

void TileRun::combine(int64_t item, char* /*scratch*/) {
  schedule_.sum == Dtype::float64 ? combine_floating<double>(item) : combine_floating<float>(item);
}

template <class T>
void TileRun::combine_floating(int64_t item) const {
  const int64_t tiles = combine_tiles(), row_tiles = divide_up(schedule_.m, combine_rows());
  const int64_t entry = item / tiles;
  Tile tile;
  tile.batch = first_ + entry;
  tile.row_begin = item % tiles % row_tiles * combine_rows();
  tile.row_end = std::min(tile.row_begin + combine_rows(), schedule_.m);
  tile.column_begin = item % tiles / row_tiles * combine_columns();
  tile.column_end = std::min(tile.column_begin + combine_columns(), schedule_.n);
  // Whole rows, or part of one: either way the elements follow each other.
  const int64_t offset = tile.row_begin * schedule_.n + tile.column_begin;
  const int64_t end = (tile.row_end - 1) * schedule_.n + tile.column_end;
  const int64_t size = schedule_.m * schedule_.n;
  T* const sums = reinterpret_cast<T*>(slabs_) + entry * schedule_.panels * size + offset;
  add_pairwise(sums, size, schedule_.panels, end - offset);
  store(tile, sums, schedule_.n);
  if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, outward(tile));
}

template void TileRun::store<float>(const Tile&, const float*, int64_t) const;
template void TileRun::store<double>(const Tile&, const double*, int64_t) const;

}  // namespace mt::cpu
