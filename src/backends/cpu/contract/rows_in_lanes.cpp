// SPDX-License-Identifier: Apache-2.0
// A tall a that is contiguous along k, times a few columns, as in a layer with ten outputs. Columns
// in lanes would leave many lanes empty, so rows go there instead: they are transposed in
// registers, beside the multiply-adds, and a column's sums are one vector. Each is the same chain.
#include "backends/cpu/contract/rows_in_lanes.h"

#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/number.h"
#include "backends/cpu/strided/turn.h"
#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/rows_in_lanes.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/transpose-inl.h"

#ifndef MT_CONTRACT_ROWS_IN_LANES
#define MT_CONTRACT_ROWS_IN_LANES
namespace mt::cpu {
namespace {

constexpr int64_t most_columns = 12, most_lanes = 16;
// What to fetch meanwhile: for each line of memory along k that is multiplied, as many lines as
// there are rows. These are `step` apart, and begin `line` after those for the line before.
template <class T>
struct RowsToCome {
  const T* at;
  int64_t step, line;
};
// sums[j][i] += a[i, k] * b[k, j] for all lanes i. k_count is a whole number of squares: 16 bytes
// along k of as many rows.
template <class T>
using RowsKernel = void (*)(const T* a, int64_t a_row, RowsToCome<T> ahead, const T* b, int64_t b_k,
                            int64_t k_count, T* sums);
// The kernel for so many columns, or nullptr.
template <class T>
struct RowsInLanes {
  int64_t lanes = 1;  // of a vector
  RowsKernel<T> kernel = nullptr;
};

}  // namespace
}  // namespace mt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// Kernels with columns in lanes take whole vectors, or eight columns at a time; if that is four too
// many, transposing rows takes no longer. Registers have to hold sums, a square and a number of b.
template <class T>
constexpr bool is_worth(int64_t columns) {
  constexpr int64_t registers = HWY_TARGET == HWY_AVX3 ? 32 : 16;
  return columns >= 5 && columns + 4 <= round_up(columns, std::max<int64_t>(lanes_of<T>, 8)) &&
         columns + int64_t(16 / sizeof(T)) < registers;
}

template <class T, int N>
HWY_NOINLINE __attribute__((aligned(64))) void rows_kernel(const T* a, int64_t a_row,
                                                           RowsToCome<T> ahead, const T* b,
                                                           int64_t b_k, int64_t k_count, T* sums) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>, square = 16 / sizeof(T), line = elements_of_line<T>;
  EvenRows<T> rows(a, a_row);
  hn::Vec<Vectors<T>> sum[N];
  MT_UNROLL for (int j = 0; j < N; ++j) sum[j] = hn::Load(d, sums + j * lanes);
  const T* next;
  const auto add = [&](int k, hn::Vec<Vectors<T>> x) __attribute__((always_inline)) {
    // One at a time: a core that asks for several at once waits for the first of them.
    if (k % (line / lanes) == 0) {
      fetch_line(next);
      next += ahead.step;
    }
    MT_UNROLL for (int j = 0; j < N; ++j) sum[j] = fused(d, x, hn::Set(d, b[j]), sum[j]);
    b += b_k;
    forget(b);
  };
  for (; k_count >= line; k_count -= line, rows = rows.at(line), ahead.at += ahead.line) {
    next = ahead.at;
    turn_line(rows, add);
  }
  next = ahead.at;
  for (; k_count > 0; k_count -= square, rows = rows.at(square)) {
    hn::Vec<Vectors<T>> xs[square];
    transpose(d, rows, xs);
    MT_UNROLL for (int i = 0; i < square; ++i) add(i, xs[i]);
  }
  MT_UNROLL for (int j = 0; j < N; ++j) hn::Store(sum[j], d, sums + j * lanes);
}

template <class T, int N>
constexpr RowsKernel<T> kernel_or_none() {
  if constexpr (is_worth<T>(N)) return rows_kernel<T, N>;
  return nullptr;
}
template <class T>
RowsInLanes<T> find_kernels(int64_t columns) {
  static constexpr RowsKernel<T> kernels[] = {kernel_or_none<T, 6>(), kernel_or_none<T, 8>(),
                                              kernel_or_none<T, 10>(), kernel_or_none<T, 12>()};
  return {lanes_of<T>, kernels[(columns - 5) / 2]};
}
#else
template <class T>
RowsInLanes<T> find_kernels(int64_t) {
  return {};
}
#endif
RowsInLanes<float> find_float(int64_t columns) { return find_kernels<float>(columns); }
RowsInLanes<double> find_double(int64_t columns) { return find_kernels<double>(columns); }

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
namespace {

HWY_EXPORT(find_float);
HWY_EXPORT(find_double);
RowsInLanes<float> find(int64_t columns, float) {
  return HWY_DYNAMIC_DISPATCH(find_float)(columns);
}
RowsInLanes<double> find(int64_t columns, double) {
  return HWY_DYNAMIC_DISPATCH(find_double)(columns);
}

// Fewer terms do not repay the beginning and ending of sums.
constexpr int64_t fewest_columns = 5, fewest_terms = 48;
constexpr int64_t least_multiply_adds = 1 << 18;
// The most of b that passes at a time, again for each vector of rows.
constexpr int64_t passing_bytes_of_b = 256 * 1024;

template <class T>
bool lies_by_columns(const MatrixOperand& b, int64_t columns) {
  return b.dtype == dtype_of<T> && b.rows.uniform() && b.k.uniform() && b.rows.stride() == 1 &&
         b.k.stride() >= columns;
}

// The kernel, or none.
template <class T>
RowsInLanes<T> kernel_for(const MatrixOperand& a, const MatrixOperand& b, int64_t rows,
                          int64_t columns, int64_t terms) {
  if (columns < fewest_columns || columns > most_columns || terms < fewest_terms) return {};
  if (a.dtype != dtype_of<T> || !a.rows.uniform() || !a.k.uniform() || a.k.stride() != 1) return {};
  // Otherwise b would have to be packed, for which there is no scratch.
  if (!lies_by_columns<T>(b, columns) && reads_b_in_place(b, dtype_of<T>, rows, columns, terms)) {
    return {};
  }
  const RowsInLanes<T> found = find(columns, T());
  return rows < found.lanes ? RowsInLanes<T>{} : found;
}

template <class T>
class Run {
 public:
  explicit Run(const Block& block)
      : block_(block),
        columns_(block.tile.column_end - block.tile.column_begin),
        width_(round_up(columns_, 2)),
        k_(block.k_end - block.k_begin) {}

  int64_t run() {
    const MatrixOperand &a = *block_.a, &b = *block_.b;
    const int64_t rows = block_.tile.row_end - block_.tile.row_begin;
    how_ = kernel_for<T>(a, b, rows, columns_, k_);
    if (how_.kernel == nullptr) return 0;
    rows_ = rows / how_.lanes * how_.lanes;
    b_in_place_ = lies_by_columns<T>(b, columns_);
    const int64_t terms = passing_bytes_of_b / width_ / int64_t(sizeof(T));
    most_terms_ = b_in_place_ ? terms / square * square : most_block_k;
    for (int64_t begin = 0; begin < k_; begin += most_terms_) run_terms(begin);
    return rows_;
  }

 private:
  static constexpr int64_t square = 16 / sizeof(T), line = 64 / sizeof(T);

  void run_terms(int64_t begin) {
    const int64_t count = std::min(most_terms_, k_ - begin);
    const T* const b = take_b(block_.k_begin + begin, count);
    // The kernel reads an even number of columns, perhaps a number of the next term as well, so the
    // last terms are copied. What is missing in a square is 0 * -0, which changes no sum.
    const int64_t whole = (count - columns_ % 2) / square * square;
    T last_b[square * most_columns], last_a[most_lanes * square];
    std::fill_n(last_b, square * width_, T(-0.0));
    for (int64_t k = whole; k < count; ++k) {
      std::copy_n(b + k * b_k_, columns_, last_b + (k - whole) * width_);
    }
    std::fill_n(last_a, how_.lanes * square, T(0));

    const int64_t a_row = block_.a->rows.stride();
    // Memory is read fastest in its order.
    const bool in_order = a_row < count + line;
    const bool passes = block_.passes && k_ <= most_terms_, last = begin + count == k_;
    const T* a = static_cast<const T*>(block_.a_data) + block_.tile.row_begin * a_row +
                 block_.k_begin + begin;
    T* const c = static_cast<T*>(block_.c);
    Tile done = block_.tile;
    done.row_end = done.row_begin;
    if (passes) done.passing = c;
    const int64_t lanes = how_.lanes;
    for (int64_t row = 0; row < rows_; row += lanes, a += lanes * a_row) {
      const RowsToCome<T> ahead = in_order ? RowsToCome<T>{a + lanes * a_row, line, lanes * line}
                                           : RowsToCome<T>{a + lanes * a_row, a_row, line};
      const int64_t first_row = passes ? done.row_begin : block_.tile.row_begin;
      T* const to = c + (done.row_end - first_row) * block_.c_row;
      alignas(64) T sums[most_columns * most_lanes];
      if (begin == 0) {
        std::fill_n(sums, width_ * lanes, T(0));
      } else {
        copy_turned(sums, lanes, to, block_.c_row, columns_, lanes);
      }
      how_.kernel(a, a_row, ahead, b, b_k_, whole, sums);
      if (whole < count) {
        for (int64_t i = 0; i < lanes; ++i) {
          std::copy_n(a + i * a_row + whole, count - whole, last_a + i * square);
        }
        how_.kernel(last_a, square, {last_a, 0, 0}, last_b, width_, square, sums);
      }
      copy_turned(to, block_.c_row, sums, lanes, lanes, columns_);
      done.row_end += lanes;
      const bool enough =
          row + lanes == rows_ || done.row_end - done.row_begin + lanes > group_rows;
      if (last && enough && block_.epilogue != nullptr) {
        block_.epilogue->run(block_.epilogue->context, done);
        done.row_begin = done.row_end;
      }
    }
  }

  // Where these terms of b follow each other, b_k_ apart.
  const T* take_b(int64_t k_begin, int64_t count) {
    const MatrixOperand& b = *block_.b;
    const int64_t first = block_.tile.column_begin;
    const T* const data = static_cast<const T*>(block_.b_data);
    if (b_in_place_) {
      b_k_ = b.k.stride();
      return data + k_begin * b_k_ + first;
    }
    *block_.packed = {};
    T* const packed = static_cast<T*>(block_.scratch);
    b_k_ = width_;
    if (columns_ < width_) std::fill_n(packed, count * width_, T(0));
    if (b.dtype == dtype_of<T> && b.rows.uniform() && b.k.uniform() && b.k.stride() == 1) {
      const int64_t stride = b.rows.stride();
      copy_turned(packed, width_, data + first * stride + k_begin, stride, count, columns_);
    } else {
      int64_t columns[most_columns], ks[most_block_k];
      b.rows.offsets(first, columns_, columns);
      b.k.offsets(k_begin, count, ks);
      gather(b.dtype, block_.b_data, columns, columns_, width_, ks, count, packed);
    }
    return packed;
  }

  const Block& block_;
  const int64_t columns_, width_, k_;
  RowsInLanes<T> how_{};
  int64_t rows_ = 0, most_terms_ = 0, b_k_ = 0;
  bool b_in_place_ = false;
};

}  // namespace

bool puts_rows_in_lanes(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                        int64_t columns, int64_t terms) {
  const bool wide = sum == Dtype::float64;
  if (!wide && sum != Dtype::float32) return false;
  if (rows * columns * terms < least_multiply_adds) return false;
  return wide ? kernel_for<double>(a, b, rows, columns, terms).kernel != nullptr
              : kernel_for<float>(a, b, rows, columns, terms).kernel != nullptr;
}
int64_t run_rows_in_lanes(const Block& block, float) { return Run<float>(block).run(); }
int64_t run_rows_in_lanes(const Block& block, double) { return Run<double>(block).run(); }

}  // namespace mt::cpu
#endif
