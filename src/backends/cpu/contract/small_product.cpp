// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/small_product.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/integer_kernels.h"
#include "backends/cpu/contract/number.h"
#include "backends/cpu/contract/rows_in_lanes.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

// Beyond this many multiply-adds all else is only a hundredth or two of the time; for long
// integers, blocks of doubles (exact.cpp) are faster.
constexpr int64_t most_multiply_adds = 1 << 21, most_of_long_integers = 1 << 14;
constexpr int64_t most_brought = 4096;  // elements of an operand that are converted
// A lone result of at most this many bytes usually goes to memory that has just been used.
constexpr int64_t near_bytes = 16 << 10;

bool is_at_once(const Schedule& s) {
  if (s.way != Way::exact && s.way != Way::blocked) return false;
  const int64_t most = s.sum == Dtype::int64 ? most_of_long_integers : most_multiply_adds;
  return s.panels <= 1 && s.k <= block_k && s.tiles() == 1 && !s.streamed &&
         s.m * s.n * s.k <= most;
}

}  // namespace

SmallProduct::SmallProduct(const Schedule& schedule, const MatrixOperand& a, const MatrixOperand& b,
                           Dtype out)
    : sum_(schedule.sum),
      rows_(schedule.m),
      columns_(schedule.n),
      k_(schedule.k),
      a_row_(a.rows.stride()),
      a_k_(a.k.stride()),
      b_row_(b.rows.stride()),
      b_k_(b.k.stride()),
      turned_(schedule.transposed) {
  if (rows_ == 0 || columns_ == 0 || k_ == 0 || !is_at_once(schedule)) return;
  if (!a.rows.uniform() || !a.k.uniform() || !b.rows.uniform() || !b.k.uniform()) return;
  if (!has_kernels(a.dtype, sum_) || !has_kernels(b.dtype, sum_) || !has_kernels(out, sum_)) return;
  if (!lies_as(out, sum_)) {
    if (turned_) return;
    store_ = store_kernel(out);
  }
  if (puts_rows_in_lanes(a, b, sum_, rows_, columns_, k_)) return;
  if (!prepare(schedule, a, b)) return;
  const bool brings = a_lines_.load || b_lines_.load || packs_, stores = turned_ || store_;
  const bool in_one_panel = !dots_ && whole_panels_ == 0 && passing_ == slivers_;
  with_sum(sum_, [&](auto sum) {
    using T = decltype(sum);
    run_ = in_one_panel && !brings && !stores ? &SmallProduct::run_in_place<T>
                                              : &SmallProduct::run_as<T>;
  });
}

// Lines of `length` neighbours, `step` apart.
SmallProduct::Lines::Lines(Dtype dtype, int64_t all, int64_t elements, int64_t distance, int64_t to)
    : load(load_kernel(pattern_of(dtype))), count(all), length(elements), pitch(to) {
  step = distance * static_cast<int64_t>(size_of(dtype));
  if (distance != length || pitch != length) return;
  length *= count;
  pitch = length;
  count = 1;
}

// Converts the lines to numbers of `size` bytes in scratch; returns where these begin.
char* SmallProduct::Lines::bring(const void* from, char** scratch, size_t size) const {
  char* const begin = *scratch;
  char* to = begin;
  for (int64_t i = 0; i < count; ++i, to += static_cast<size_t>(pitch) * size) {
    const void* line = static_cast<const char*>(from) + i * step;
    load(to, &line, length);
    std::memset(to + static_cast<size_t>(length) * size, 0,
                static_cast<size_t>(pitch - length) * size);
  }
  *scratch += static_cast<size_t>(elements()) * size;
  return begin;
}

bool SmallProduct::prepare(const Schedule& schedule, const MatrixOperand& a,
                           const MatrixOperand& b) {
  const StridedKernels all = strided_kernels(sum_);
  lanes_ = all.lanes;
  const bool takes_columns = all.take_part || columns_ % lanes_ == 0;
  if (!lies_as(a.dtype, sum_)) {
    const bool along_k = a_k_ == 1 || (k_ == 1 && a_row_ != 1);
    if ((!along_k && a_row_ != 1) || rows_ * k_ > most_brought) return false;
    a_lines_ =
        along_k ? Lines(a.dtype, rows_, k_, a_row_, k_) : Lines(a.dtype, k_, rows_, a_k_, rows_);
    a_row_ = along_k ? k_ : 1;
    a_k_ = along_k ? 1 : rows_;
  } else if (!reads_a_in_place(a, sum_, rows_, k_)) {
    return false;
  }
  const bool lies = lies_as(b.dtype, sum_);
  dots_ = !is_floating(sum_) && columns_ == 1 && a_k_ == 1 && b_k_ == 1;
  if (dots_) {
    pitch_ = 1;
    if (!lies) b_lines_ = Lines(b.dtype, 1, k_, k_, k_);
    return true;
  }
  const bool in_place = lies && reads_b_in_place(b, sum_, rows_, columns_, k_);
  const bool overlaps = in_place && !takes_columns && columns_ > lanes_;
  if (!in_place || (!takes_columns && !overlaps)) {
    const bool neighbours = columns_ == 1 ? b_k_ != 1 : b_row_ == 1;
    const bool brings = columns_ * k_ <= most_brought;
    if (neighbours && brings && (in_place || !lies)) {
      const int64_t pitch = takes_columns ? columns_ : round_up(columns_, lanes_);
      b_lines_ = Lines(b.dtype, k_, columns_, b_k_, pitch);
      b_k_ = pitch;
    } else if (!neighbours && b_k_ == 1) {
      packs_ = true;
      if (!lies) {
        if (!brings) return false;
        b_lines_ = Lines(b.dtype, columns_, k_, b_row_, k_);
        b_row_ = k_;
      }
    } else {
      return false;
    }
  }
  pack_ = all.pack;
  pitch_ = packs_ && turned_ ? round_up(columns_, lanes_) : columns_;
  const int vectors = all.vectors_for(rows_, overlaps ? columns_ / lanes_ * lanes_ : columns_);
  panel_ = vectors * lanes_;
  slivers_ = divide_up(rows_, all.rows_for(vectors));
  least_rows_ = rows_ / slivers_;
  higher_slivers_ = rows_ - slivers_ * least_rows_;
  passing_ = slivers_;
  if (schedule.passes) {
    const int64_t sliver_bytes = (least_rows_ + 1) * columns_ * int64_t(size_of(sum_));
    passing_ = std::clamp<int64_t>(passing_bytes / sliver_bytes, 1, slivers_);
  }
  whole_panels_ = (columns_ - 1) / panel_;
  for (int last = 0; last < 2; ++last) {
    Panel& panel = panels_[last];
    panel.columns = last ? pitch_ - whole_panels_ * panel_ : panel_;
    panel.step = packs_ ? round_up(panel.columns, lanes_) : b_k_;
    panel.ahead = (packs_ ? 4 : 16) * panel.step;
    panel.size = packs_ ? panel_ * k_ : panel_;
  }
  if (overlaps) {
    overlap_ = round_up(panels_[1].columns, lanes_) - panels_[1].columns;
    panels_[1].columns += overlap_;
  }
  fetches_ = schedule.batch > 1 || rows_ * columns_ * int64_t(size_of(sum_)) > near_bytes;
  const int last_vectors = static_cast<int>(divide_up(panels_[1].columns, lanes_));
  const bool near = stays_near(k_, packs_ ? panel_ : b_k_, least_rows_, size_of(sum_));
  for (int more = 0; more <= (higher_slivers_ > 0); ++more) {
    const int rows = static_cast<int>(least_rows_) + more;
    kernels_[more][0] = all.find(rows, vectors, near);
    kernels_[more][1] = all.find(rows, last_vectors, near);
  }
  return true;
}

int64_t SmallProduct::packed_elements() const {
  return packs_ ? round_up(columns_, lanes_) * k_ : 0;
}

size_t SmallProduct::scratch() const {
  const int64_t result = turned_ || store_ ? rows_ * pitch_ : 0;
  const int64_t elements = a_lines_.elements() + b_lines_.elements() + packed_elements() + result;
  return static_cast<size_t>(round_up(elements * static_cast<int64_t>(size_of(sum_)), 64));
}

// What these kernels do not read is left unset: clearing it takes as long as a tile of 4 x 4.
template <class T>
MicroTile<T> SmallProduct::first_tile(const T* a) const {
  // Kept apart: as one vector they would be stored behind the previous product's multiply-adds.
  int64_t a_row = a_row_, a_k = a_k_;
  asm("" : "+r"(a_row), "+r"(a_k));
  MicroTile<T> tile;
  tile.streamed = false;
  tile.k = k_;
  tile.a = a;
  tile.a_row = a_row;
  tile.a_k = a_k;
  tile.c_row = pitch_;
  tile.first = true;
  tile.a_ahead = 0;
  return tile;
}

// For one panel of columns, read and written in place. Nothing is multiplied between two kernels,
// so this does as little as possible there.
template <class T>
void SmallProduct::run_in_place(const void* a, const void* b, void* out, char* /*scratch*/,
                                const Epilogue* epilogue, int64_t batch) const {
  const Panel& panel = panels_[1];
  MicroTile<T> tile = first_tile(static_cast<const T*>(a));
  tile.b = static_cast<const T*>(b);
  tile.b_k = panel.step;
  tile.c = static_cast<T*>(out);
  tile.columns = panel.columns;
  tile.b_ahead = panel.ahead;
  auto run_slivers = [&](AnyKernel kernel, int64_t count, int64_t rows) {
    for (const int64_t a_step = rows * a_row_, c_step = rows * pitch_; count > 0; --count) {
      tile.fetched = fetches_ ? tile.c : nullptr;
      run_kernel(kernel, tile);
      tile.a += a_step;
      tile.c += c_step;
    }
  };
  run_slivers(kernels_[1][1], higher_slivers_, least_rows_ + 1);
  run_slivers(kernels_[0][1], slivers_ - higher_slivers_, least_rows_);
  if (epilogue) epilogue->run(epilogue->context, {batch, 0, rows_, 0, columns_});
}

template <class T>
void SmallProduct::run_as(const void* a_data, const void* b_data, void* out, char* scratch,
                          const Epilogue* epilogue, int64_t batch) const {
  if (a_lines_.load) a_data = a_lines_.bring(a_data, &scratch, sizeof(T));
  if (b_lines_.load) b_data = b_lines_.bring(b_data, &scratch, sizeof(T));
  const T *const a = static_cast<const T*>(a_data), *const b = static_cast<const T*>(b_data);
  T* const packed = reinterpret_cast<T*>(scratch);
  if (packs_) {
    for (int64_t column = 0; column < columns_; column += panel_) {
      pack_(b + column * b_row_, b_row_, std::min(panel_, columns_ - column), k_,
            packed + column * k_);
    }
  }
  const bool direct = !turned_ && !store_;
  T* const c = direct ? static_cast<T*>(out) : packed + packed_elements();
  Tile done{batch, 0, 0, 0, columns_};
  if constexpr (std::is_integral_v<T>) {
    if (dots_) {
      std::fill_n(c, rows_, 0);
      add_dots(a, a_row_, rows_, b, k_, c);
      done.row_end = rows_;
      if (direct && epilogue) epilogue->run(epilogue->context, done);
    }
  }
  MicroTile<T> tile = first_tile(a);
  T* row = c;
  if (passing_ < slivers_) done.passing = out;
  const T* const first_panel = packs_ ? packed : b;
  for (int64_t sliver = 0; sliver < slivers_; ++sliver) {
    const bool higher = sliver < higher_slivers_;
    const int64_t rows = least_rows_ + higher;
    auto run_panel = [&](const Panel& panel, int last) {
      tile.columns = panel.columns;
      tile.b_k = panel.step;
      tile.b_ahead = panel.ahead;
      tile.fetched = fetches_ ? tile.c : nullptr;
      run_kernel(kernels_[higher][last], tile);
    };
    tile.c = row;
    tile.b = first_panel;
    tile.a_ahead = 0;
    for (int64_t left = whole_panels_; left > 0; --left) {
      run_panel(panels_[0], 0);
      tile.b += panels_[0].size;
      tile.c += panels_[0].columns;
    }
    if (packs_ && sliver + 1 < slivers_) tile.a_ahead = rows * a_row_;
    tile.b -= overlap_;
    tile.c -= overlap_;
    run_panel(panels_[1], 1);
    tile.a += rows * a_row_;
    row += rows * pitch_;
    done.row_end += rows;
    if (epilogue && direct && ((sliver + 1) % passing_ == 0 || sliver + 1 == slivers_)) {
      epilogue->run(epilogue->context, done);
      done.row_begin = done.row_end;
      row = static_cast<T*>(out);
    }
  }
  if (direct) return;
  if (store_) {
    const void* const sums = c;
    store_(out, &sums, rows_ * columns_);
  } else if constexpr (std::is_floating_point_v<T>) {
    store_turned(c, pitch_, rows_, columns_, static_cast<T*>(out), rows_);
    done = {batch, 0, columns_, 0, rows_};
  }
  if (epilogue) epilogue->run(epilogue->context, done);
}

}  // namespace mt::cpu
