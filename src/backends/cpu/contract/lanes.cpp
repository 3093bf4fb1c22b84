// SPDX-License-Identifier: Apache-2.0
// Matrix-vector products and their like: out[i, j] = sum over k of many[i, k] * few[j, k] with at
// most four j. They read far more than they compute, so vectors run along k, where the 16 lanes of
// the order are one or more vectors and several rows are read at once. The rows of `few` are packed
// once; a row of `many` whose k is contiguous, or in long stretches, is read where it lies, others
// are packed.
#include "backends/cpu/contract/lanes.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/cache.h"
#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/lanes.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/lane_rows-inl.h"
#include "backends/cpu/contract/lane_strips-inl.h"
#include "backends/cpu/contract/windows/taken_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T, int Few>
void run_lanes_with(const LanesBlock& block) {
  const LaneStrips strips(*block.many, Few, dtype_of<T>);
  strips.possible ? run_strips<T, Few>(block, strips) : run_rows<T, Few>(block);
}

template <class T>
void run_lanes_of(const LanesBlock& block) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // small rather than fast
  MatrixOperand row = *block.few;
  row.rows = {};
  LanesBlock one = block;
  one.few = &row;
  for (int64_t j = 0; j < block.few->rows.size; ++j) {
    one.few_data = static_cast<const char*>(block.few_data) +
                   block.few->rows.offset(j) * static_cast<int64_t>(size_of(row.dtype));
    one.c = static_cast<T*>(block.c) + j * block.c_few;
    run_lanes_with<T, 1>(one);
  }
#else
  switch (block.few->rows.size) {
    case 1: return run_lanes_with<T, 1>(block);
    case 2: return run_lanes_with<T, 2>(block);
    case 3: return run_lanes_with<T, 3>(block);
    default: return run_lanes_with<T, 4>(block);
  }
#endif
}

bool widens_as_read_here(int64_t few) {
  return few == 1 ? widens_rows_as_read<float, 1> : widens_rows_as_read<float, 2>;
}
bool takes_same_windows_here() { return has_same_windows; }
inline void run_same_windows(const LanesBlock& block) {
  const SameWindows& how = *block.same;
  const int64_t size = how.size();
  float* const phases = static_cast<float*>(block.scratch);
  alignas(64) float sums[SameWindows::most * SameWindows::most * order_lanes];
  std::fill_n(sums, how.lines.size() * how.columns.size() * order_lanes, 0.0f);
  for (int64_t k = block.k_begin, count; k < block.k_end; k += count) {
    const int64_t image = k / size, first = k % size, begin = k - first;
    count = std::min(size - first, block.k_end - k);
    const int64_t end = first + count, lane = (k - block.k_begin) % order_lanes;
    const int64_t y = block.few->k.offset(begin);
    const int64_t next = begin + size < block.few->k.size ? block.few->k.offset(begin + size) : y;
    const SamePositions over{static_cast<const float*>(block.many_data) + image * how.image,
                             static_cast<const float*>(block.few_data) + y,
                             next - y,
                             first,
                             end,
                             lane};
    add_same_windows(how, over, block.row_begin, block.row_end, phases, sums);
  }
  for (int64_t row = block.row_begin; row < block.row_end; ++row) {
    float* to = static_cast<float*>(block.c) + (row - block.row_begin) * block.c_many;
    *to = halved(sums + row * order_lanes);
  }
}
void run_lanes_float(const LanesBlock& block) {
  if constexpr (has_same_windows) {
    if (block.same != nullptr) return run_same_windows(block);
  }
  run_lanes_of<float>(block);
}
void run_lanes_double(const LanesBlock& block) { run_lanes_of<double>(block); }

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(takes_same_windows_here);
HWY_EXPORT(widens_as_read_here);
HWY_EXPORT(run_lanes_float);
HWY_EXPORT(run_lanes_double);

bool takes_same_windows() { return HWY_DYNAMIC_DISPATCH(takes_same_windows_here)(); }
bool widens_as_read(int64_t few) { return HWY_DYNAMIC_DISPATCH(widens_as_read_here)(few); }
LaneStrips::LaneStrips(const MatrixOperand& many, int64_t few, Dtype sum) {
  const int64_t step = many.k.stride();
  const int64_t size = size_of(many.dtype), sum_size = size_of(sum);
  const bool half = sum == Dtype::float32 && is_half(many.dtype);
  widened = half && !widens_as_read(few);
  possible = (many.dtype == sum || half) && many.rows.uniform() && many.rows.stride() == 1 &&
             many.k.uniform() && step != 1;
  const int64_t bytes = many.k.size * std::abs(step) * size;
  near = bytes <= second_cache / 2;
  const bool distant = bytes >= last_cache;  // in no cache
  // With one row of few, fetching pays only where the first-level cache is small: processors with a
  // larger one were measured to read as fast without. Nor does it pay on those before Zen 4, whose
  // second-level cache is small: they read faster in longer rows, fewer at a time.
  fetched = !near && !small_second_cache && (few > 1 || (small_first_cache && distant));
  const bool long_rows = small_second_cache && distant;
  // The sums of 16 lanes, for one row of `few`, stay in the first-level cache if it has the room.
  columns = near ? 64 : (long_rows ? 4 * page : small_first_cache ? 2 * page : page / 2) / sum_size;
  // What comes from far away is read about four pages of k's rows at a time, but at least eight
  // rows, as sums are loaded and stored each time.
  const int64_t fewest_terms = long_rows ? 4 : 8;
  const int64_t most_terms = lanes_block_k / order_lanes;
  if (widened) {
    near = true;
    fetched = false;
    columns = widened_columns;
    terms = widened_terms;
    return;
  }
  terms =
      near ? most_terms : std::clamp(4 * page / (std::abs(step) * size), fewest_terms, most_terms);
}
size_t lanes_scratch(const MatrixOperand& many, int64_t few, Dtype sum) {
  const LaneStrips strips(many, few, sum);
  const int64_t size = size_of(sum);
  const int64_t sums = strips.possible ? order_lanes * few * strips.columns : group_bytes / size;
  const int64_t widened =
      strips.possible && strips.widened ? widened_terms * order_lanes * strips.columns : 0;
  return static_cast<size_t>(((most_few + 4) * lanes_block_k + sums + widened) * size);
}
void run_lanes(const LanesBlock& block, float) { HWY_DYNAMIC_DISPATCH(run_lanes_float)(block); }
void run_lanes(const LanesBlock& block, double) { HWY_DYNAMIC_DISPATCH(run_lanes_double)(block); }

}  // namespace mt::cpu
#endif
