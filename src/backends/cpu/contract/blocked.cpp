// SPDX-License-Identifier: Apache-2.0
// A tile of the result, [rows, columns], in blocks of k: the block of b is packed into panels as
// wide as the micro-kernel, which stay in the second-level cache; then for each sliver of a few
// rows of a, which stays in the first-level cache, the micro-kernel runs over all panels. Where
// vectors can read b, the first sliver packs it as it goes. What needs no packing is read where it
// lies: an a whose k is contiguous, a b that is small, close together or used by few rows, and
// sliding windows, whose packing would repeat each element. block_plan-inl.h chooses,
// block_operands-inl.h packs.
#include "backends/cpu/contract/blocked.h"

#include <algorithm>

#include "backends/cpu/contract/integer_kernels.h"
#include "backends/cpu/contract/rows_in_lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/blocked.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/block_operands-inl.h"
#include "backends/cpu/contract/block_plan-inl.h"
#include "backends/cpu/contract/find_kernel-inl.h"
#include "backends/cpu/contract/transpose-inl.h"
#include "backends/cpu/contract/windows/lines-inl.h"
#include "backends/cpu/contract/windows/windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockRun {
 public:
  explicit BlockRun(const Block& block) : block_(block), plan_(block), operands_(block, plan_) {}

  void run() {
    const MatrixOperand &a = *block_.a, &b = *block_.b;
    const int64_t k = block_.k_end - block_.k_begin;
    if (plan_.gaps && plan_.rows == 1 && k <= most_line_k) return run_by_lines();
    if constexpr (short_windows.rows > 0 && sizeof(T) == 4) {
      const bool whole = plan_.rows == a.rows.size && plan_.columns == b.rows.size;
      if (whole && has_short_windows(a, b, short_windows)) return run_by_windows();
    }
    const int64_t blocks = divide_up(k, plan_.terms);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t begin = k * i / blocks, end = k * (i + 1) / blocks;
      k_count_ = end - begin;
      first_ = i == 0;
      last_ = i == blocks - 1;
      plan_.choose_packing(block_, k_count_);
      operands_.begin_terms(block_.k_begin + begin, k_count_);
      for (int64_t s = 0; s < plan_.slivers.count; s += plan_.group) {
        run_group(s, std::min(s + plan_.group, plan_.slivers.count));
      }
    }
    if (plan_.streamed) hwy::FlushStream();
  }

 private:
  void run_by_lines() {
    const MatrixOperand &a = *block_.a, &b = *block_.b;
    const int64_t k = block_.k_end - block_.k_begin;
    const int64_t row = a.rows.offset(block_.tile.row_begin);
    T values[most_line_k];
    int64_t a_ks[most_line_k], b_ks[most_line_k];
    a.k.offsets(block_.k_begin, k, a_ks);
    b.k.offsets(block_.k_begin, k, b_ks);
    gather(a.dtype, block_.a_data, &row, 1, 1, a_ks, k, values);
    const Lines<T> lines{values, static_cast<const T*>(block_.b_data), b_ks, k};
    run_lines(lines, b.rows, block_.tile.column_begin, plan_.columns, static_cast<T*>(block_.c));
    if (block_.epilogue != nullptr) block_.epilogue->run(block_.epilogue->context, block_.tile);
  }

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  void run_by_windows() {
    run_windows(*block_.a, static_cast<const float*>(block_.a_data), *block_.b,
                static_cast<const float*>(block_.b_data), block_.k_begin, block_.k_end,
                static_cast<float*>(block_.c), block_.c_row);
    if (block_.epilogue != nullptr) block_.epilogue->run(block_.epilogue->context, block_.tile);
  }
#else
  void run_by_windows() {}
#endif

  // Runs slivers [begin, end). Either each sliver stays in the first-level cache while the panels
  // of b pass, or each panel does while the slivers pass.
  void run_group(int64_t begin, int64_t end) {
    MicroTile<T> tile;
    tile.k = k_count_;
    tile.first = first_;
    tile.streamed = plan_.streamed && !plan_.indexed;
    tile.c_row = block_.c_row;
    tile.kept = plan_.gaps ? operands_.gapped().kept() : nullptr;
    if (plan_.passes) first_row_of_c_ = plan_.slivers.first_row(begin);
    operands_.take_group(tile, begin, end);
    if (plan_.overlaps && !first_) keep_overlapped_sums(begin, end);
    if (plan_.along_slivers) {
      for (int64_t sliver = begin; sliver < end; ++sliver) run_along(tile, sliver);
    } else {
      for (int64_t column = 0, columns; column < plan_.columns; column += columns) {
        columns = operands_.take_panel(tile, column);
        for (int64_t sliver = begin; sliver < end; ++sliver) {
          run_tile(tile, sliver, column, columns);
        }
      }
    }
    if (last_ && block_.epilogue != nullptr) {
      Tile done = block_.tile;
      done.row_begin = block_.tile.row_begin + plan_.slivers.first_row(begin);
      done.row_end = block_.tile.row_begin + plan_.slivers.first_row(end);
      if (plan_.passes) done.passing = block_.c;
      block_.epilogue->run(block_.epilogue->context, done);
    }
  }

  // The last panel continues from what its sums were before the others changed some of them.
  void keep_overlapped_sums(int64_t begin, int64_t end) {
    const int64_t width = round_up((plan_.columns - 1) % plan_.panel + 1, lanes_of<T>);
    overlapped_row_ = plan_.slivers.first_row(begin);
    const T* from =
        static_cast<const T*>(block_.c) + overlapped_row_ * block_.c_row + plan_.columns - width;
    T* to = overlapped_;
    for (int64_t row = overlapped_row_; row < plan_.slivers.first_row(end); ++row) {
      to = std::copy_n(from, width, to);
      from += block_.c_row;
    }
  }

  // Runs one sliver over all panels. The kernel found for the first panel also serves the others of
  // its width but the last; where terms are few, these are many.
  void run_along(MicroTile<T>& tile, int64_t sliver) {
    const int64_t b_step = plan_.panel * (plan_.b_in_place ? 1 : k_count_);
    for (int64_t column = 0, columns; column < plan_.columns; column += columns) {
      columns = operands_.take_panel(tile, column);
      const MicroKernel<T> kernel = run_tile(tile, sliver, column, columns);
      for (; kernel != nullptr && column + 2 * columns < plan_.columns; column += columns) {
        tile.b += b_step;
        tile.from = tile.c += columns;
        if (tile.fetched != nullptr) tile.fetched += columns;
        kernel(tile);
      }
    }
  }

  // Runs one sliver over the panel that `tile` points at. Returns the kernel if it can serve
  // further panels, as both operands are read by strides; else null.
  MicroKernel<T> run_tile(MicroTile<T>& tile, int64_t sliver, int64_t column, int64_t columns) {
    const int64_t rows = plan_.slivers.rows(sliver);
    const int64_t row = plan_.slivers.first_row(sliver) - first_row_of_c_;
    const bool last_panel = column + columns == plan_.columns;
    const bool last_sliver = sliver + 1 == plan_.slivers.count;
    operands_.take_sliver(tile, sliver, last_panel && !last_sliver);
    const int64_t overlap = plan_.overlaps ? tile.columns - columns : 0;
    T* const c = static_cast<T*>(block_.c) + row * block_.c_row + column - overlap;
    tile.c = c;
    tile.from = plan_.gaps ? operands_.gapped().sums() : c;
    tile.from_row = plan_.gaps ? plan_.panel : block_.c_row;
    if (overlap > 0 && !first_) {
      tile.from = overlapped_ + (plan_.slivers.first_row(sliver) - overlapped_row_) * tile.columns;
      tile.from_row = tile.columns;
    }
    if (plan_.gaps && !first_) operands_.gapped().spread(c, block_.c_row, rows);
    const int64_t right = last_panel ? 0 : columns, down = last_sliver ? 0 : rows * block_.c_row;
    tile.fetched = !first_ ? c + (plan_.along_slivers ? right : down) : tile.streamed ? nullptr : c;
    const int vectors = static_cast<int>(divide_up(tile.columns, lanes_of<T>));
    if (operands_.packs_along() && sliver == 0) {
      MicroTile<T> packing = tile;
      operands_.take_panel_to_pack(packing, column);
      packing_kernel_for<T>(static_cast<int>(rows), vectors)(packing);
      return nullptr;
    }
    MicroKernel<T> kernel;
    if (plan_.line > 0) {
      kernel = lines_kernel_for<T>(rows / plan_.line, plan_.line);
    } else {
      const Reads reads = plan_.indexed && !plan_.b_in_place ? Reads::a_indexed
                          : plan_.indexed                    ? Reads::indexed
                          : plan_.b_is_foreseen              ? Reads::b_unfetched
                          : plan_.b_stays_near && sliver > 0 ? Reads::b_unfetched
                                                             : Reads::strided;
      const int height = static_cast<int>(rows);
      const bool from_afar = reads == Reads::strided && plan_.far;
      kernel = from_afar ? far_kernel_for<T>(height, vectors)
                         : micro_kernel_for<T>(height, vectors, reads);
    }
    kernel(tile);
    return plan_.indexed ? nullptr : kernel;
  }

  const Block& block_;
  BlockPlan<T> plan_;
  BlockOperands<T> operands_;
  int64_t first_row_of_c_ = 0;  // the tile's row where c begins
  // A last panel's sums, [rows from overlapped_row_ on, its columns], where panels overlap.
  int64_t overlapped_row_ = 0;
  T overlapped_[loads_part_at_once ? 1 : paired_rows * BlockPlan<T>::widest];
  int64_t k_count_ = 0;              // terms of the current block
  bool first_ = true, last_ = true;  // whether the current block is
};

ShortWindows short_windows_here() { return short_windows; }
template <class T>
void pack_even(const void* from, int64_t step, int64_t rows, int64_t k, void* to) {
  int64_t offsets[most_width], ks[block_k];
  for (int64_t i = 0; i < rows; ++i) offsets[i] = i * step;
  for (int64_t i = 0; i < k; ++i) ks[i] = i;
  pack(dtype_of<T>, from, offsets, rows, round_up(rows, lanes_of<T>), ks, k, static_cast<T*>(to),
       true);
}
template <class T>
StridedKernels floating_kernels() {
  return {lanes_of<T>,
          loads_part_at_once,
          [](int64_t rows, int64_t columns) { return vectors_for<T>(rows, columns); },
          rows_for,
          [](int rows, int vectors, bool near) {
            return reinterpret_cast<AnyKernel>(
                near ? near_kernel_for<T>(rows, vectors)
                     : micro_kernel_for<T>(rows, vectors, Reads::strided));
          },
          pack_even<T>};
}
StridedKernels float_kernels() { return floating_kernels<float>(); }
StridedKernels double_kernels() { return floating_kernels<double>(); }
void run_block_float(const Block& block) { BlockRun<float>(block).run(); }
void run_block_double(const Block& block) { BlockRun<double>(block).run(); }
void turn_float(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                int64_t pitch) {
  turn_block(from, stride, rows, columns, out, pitch);
}
void turn_double(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                 int64_t pitch) {
  turn_block(from, stride, rows, columns, out, pitch);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(short_windows_here);
HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);
HWY_EXPORT(run_block_float);
HWY_EXPORT(run_block_double);
HWY_EXPORT(turn_float);
HWY_EXPORT(turn_double);

ShortWindows most_short_windows() { return HWY_DYNAMIC_DISPATCH(short_windows_here)(); }

StridedKernels strided_kernels(Dtype sum) {
  const bool floats = size_of(sum) == 4;
  const StridedKernels kernels =
      floats ? HWY_DYNAMIC_DISPATCH(float_kernels)() : HWY_DYNAMIC_DISPATCH(double_kernels)();
  return is_floating(sum) ? kernels : integer_kernels(sum, kernels.pack);
}

// Finds what run_rows_in_lanes() leaves of a tile; false if nothing.
template <class T>
bool remains(const Block& block, Block* rest) {
  const int64_t rows = run_rows_in_lanes(block, T());
  *rest = block;
  rest->tile.row_begin += rows;
  rest->c = static_cast<T*>(block.c) + rows * block.c_row;
  return rest->tile.row_begin < rest->tile.row_end;
}
void run_block(const Block& block, float) {
  Block rest;
  if (remains<float>(block, &rest)) HWY_DYNAMIC_DISPATCH(run_block_float)(rest);
}
void run_block(const Block& block, double) {
  Block rest;
  if (remains<double>(block, &rest)) HWY_DYNAMIC_DISPATCH(run_block_double)(rest);
}

void store_turned(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                  int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(turn_float)(from, stride, rows, columns, out, pitch);
}
void store_turned(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                  int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(turn_double)(from, stride, rows, columns, out, pitch);
}

}  // namespace mt::cpu
#endif
