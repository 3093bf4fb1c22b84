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

#include "backends/cpu/contract/lane_terms-inl.h"
#include "backends/cpu/contract/rows_along_k-inl.h"
#include "backends/cpu/contract/windows/stretches-inl.h"
#include "backends/cpu/contract/windows/taken_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
constexpr int lane_vectors = order_lanes / lanes_of<T>;
// How many registers hold sums.
constexpr int sum_registers = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 16 : 8;
// Rows of `many` that run together, so that the sums stay in registers.
template <class T, int Few>
constexpr int rows_together = std::max(1, std::min(4, sum_registers / (Few * lane_vectors<T>)));

// Whether 16-bit floats are widened as they are read, rather than some rows of them before: where
// each is read once.
template <class T, int Few>
constexpr bool widens_rows_as_read = sizeof(T) == 4 && (HWY_TARGET == HWY_AVX3 ||
                                                        (Few == 1 && !(HWY_TARGET == HWY_SCALAR ||
                                                                       HWY_TARGET == HWY_EMU128)));

// sums[i][j][lane] += many[i][k] * few[j][k] for k in [0, k_count), which begins at lane 0. Missing
// lanes of the last 16 are given 0 * -0, which changes no sum, not even the sign of zero. Meanwhile
// rows are fetched that many elements ahead, if any.
template <class T, int R, int Few, class E>
HWY_NOINLINE void lanes_kernel(const Stored<T, E>* many, int64_t many_row, int64_t ahead,
                               const T* few, int64_t few_row, int64_t k_count, T* sums) {
  const Vectors<T> d;
  constexpr int width = lanes_of<T>, V = lane_vectors<T>;
  hn::Vec<Vectors<T>> sum[R][Few][V];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int j = 0; j < Few; ++j) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        sum[i][j][v] = hn::LoadU(d, sums + (i * Few + j) * order_lanes + v * width);
      }
    }
  }
  int64_t k = 0;
  for (; k + order_lanes <= k_count; k += order_lanes) {
    if (Few == 1 && ahead != 0) {
      const auto* from = many + k + ahead;
      MT_UNROLL for (int i = 0; i < R; ++i) __builtin_prefetch(from + i * many_row, 0, 2);
    }
    MT_UNROLL for (int v = 0; v < V; ++v) {
      hn::Vec<Vectors<T>> xs[R], ys[Few];
      MT_UNROLL for (int j = 0; j < Few; ++j) ys[j] =
          hn::LoadU(d, few + j * few_row + k + v * width);
      const Stored<T, E>* from = many + k + v * width;
      MT_UNROLL for (int i = 0; i < R; ++i) {
        xs[i] = load_as<E>(d, from + i * many_row);
        if (Few > 1) hwy::Prefetch(from + i * many_row + ahead);
      }
      forget(from);  // lest each be loaded Few times
      MT_UNROLL for (int i = 0; i < R; ++i) {
        MT_UNROLL for (int j = 0; j < Few; ++j) sum[i][j][v] = fused(d, xs[i], ys[j], sum[i][j][v]);
      }
    }
  }
  if (k < k_count) {
    MT_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t left = std::max<int64_t>(0, std::min<int64_t>(width, k_count - k - v * width));
      const auto mask = hn::FirstN(d, left);
      const auto nothing = hn::Set(d, T(-0.0));
      MT_UNROLL for (int j = 0; j < Few; ++j) {
        const auto loaded = load_part(d, mask, few + j * few_row + k + v * width);
        const auto y = hn::IfThenElse(mask, loaded, nothing);
        MT_UNROLL for (int i = 0; i < R; ++i) {
          const auto x = load_part_as<E>(d, mask, many + i * many_row + k + v * width);
          sum[i][j][v] = fused(d, x, y, sum[i][j][v]);
        }
      }
    }
  }
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int j = 0; j < Few; ++j) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        hn::StoreU(sum[i][j][v], d, sums + (i * Few + j) * order_lanes + v * width);
      }
    }
  }
}

// Combines 16 lanes by halving.
template <class T>
HWY_INLINE T halved(const T* lanes) {
  T sums[order_lanes / 2];
  MT_UNROLL for (int i = 0; i < 8; ++i) sums[i] = lanes[i] + lanes[i + 8];
  MT_UNROLL for (int i = 0; i < 4; ++i) sums[i] += sums[i + 4];
  MT_UNROLL for (int i = 0; i < 2; ++i) sums[i] += sums[i + 2];
  return sums[0] + sums[1];
}

// The kernel for stretches of the first of so many rows, and how many it takes: all elements of a
// window of 3 x 3 where they fit, so that what they share is read once.
template <class T>
struct StretchesKernel {
  void (*run)(const T* many, const int64_t* rows, const LanesStep* steps, const T* few,
              int64_t few_row, int64_t k_count, T* sums);
  int64_t rows;
};
template <class T, int Few>
StretchesKernel<T> stretches_kernel_for(int64_t rows) {
  constexpr int R = rows_together<T, Few>;
  if constexpr (Few * lane_vectors<T> == 1) {
    if (rows >= 9) return {stretches_kernel<T, 9, Few>, 9};
  }
  if (rows >= R) return {stretches_kernel<T, R, Few>, R};
  return {stretches_kernel<T, 1, Few>, 1};
}

// The same for so many rows, R at a time.
template <class T, int R, int Few, class E>
HWY_INLINE void add_rows(const Stored<T, E>* many, int64_t many_row, int64_t ahead, int64_t rows,
                         const RowsAlongK<T>& few, int64_t k_count, T* sums) {
  if (rows == R) {
    return lanes_kernel<T, R, Few, E>(many, many_row, ahead, few.data, few.stride, k_count, sums);
  }
  for (int64_t i = 0; i < rows; ++i) {
    lanes_kernel<T, 1, Few, E>(many + i * many_row, 0, 0, few.data, few.stride, k_count,
                               sums + i * Few * order_lanes);
  }
}

template <class T, int Few>
void run_rows(const LanesBlock& block) {
  constexpr int R = rows_together<T, Few>;
  T* packed = static_cast<T*>(block.scratch);
  T* sums = packed + (most_few + 4) * lanes_block_k;
  RowsAlongK<T> few(*block.few, block.few_data, packed);
  RowsAlongK<T> many(*block.many, block.many_data, packed + most_few * lanes_block_k);
  const bool widening = widens_rows_as_read<T, Few> && many.widen;
  // Two tiles ahead where no cache of a core's own holds the rows, as each is some pages from the
  // next one and those that fetch by themselves begin anew with every page.
  const int64_t bytes =
      block.many->rows.size * block.many->k.size * static_cast<int64_t>(size_of(block.many->dtype));
  const int64_t rows_ahead = Few > 1 ? R : bytes > second_cache ? 2 * R : 0;
  // Rows in groups whose sums stay in the first-level cache; within, k in blocks.
  constexpr int64_t group = group_bytes / (most_few * order_lanes * sizeof(T));
  int64_t offsets[group];  // of the rows, if k lies in stretches
  LanesStep steps[lanes_block_k / order_lanes];
  const int64_t most_k = few.direct && many.direct ? page / int64_t(sizeof(T))
                         : widening && few.widen ? most_widened_k / Few / order_lanes * order_lanes
                                                 : lanes_block_k;
  for (int64_t begin = block.row_begin; begin < block.row_end; begin += group) {
    const int64_t end = std::min(begin + group, block.row_end);
    std::fill(sums, sums + (end - begin) * Few * order_lanes, T(0));
    if (many.stretches) many.x.rows.offsets(begin, end - begin, offsets);
    for (int64_t k = block.k_begin, k_count; k < block.k_end; k += k_count) {
      k_count = std::min(most_k, block.k_end - k);
      few.begin_block(k, k_count);
      few.load(0, Few, k, k_count);
      if (many.stretches) {
        find_steps(many.x.k, k, k_count, steps);
        for (int64_t row = begin; row < end;) {
          auto [kernel, rows] = stretches_kernel_for<T, Few>(end - row);
          kernel(static_cast<const T*>(many.from), offsets + (row - begin), steps, few.data,
                 few.stride, k_count, sums + (row - begin) * Few * order_lanes);
          row += rows;
        }
        continue;
      }
      many.begin_block(k, k_count);
      for (int64_t row = begin; row < end; row += R) {
        const int64_t rows = std::min<int64_t>(R, end - row);
        T* to = sums + (row - begin) * Few * order_lanes;
        if constexpr (widens_rows_as_read<T, Few>) {
          if (widening) {
            const uint16_t* halves = many.halves(row, k);
            const int64_t stride = many.x.rows.stride();
            many.x.dtype == Dtype::bfloat16
                ? add_rows<T, R, Few, Bfloat16>(halves, stride, rows_ahead * stride, rows, few,
                                                k_count, to)
                : add_rows<T, R, Few, Float16>(halves, stride, rows_ahead * stride, rows, few,
                                               k_count, to);
            continue;
          }
        }
        many.load(row, rows, k, k_count);
        add_rows<T, R, Few, T>(many.data, many.stride, rows_ahead * many.stride, rows, few, k_count,
                               to);
      }
    }
    for (int64_t row = begin; row < end; ++row) {
      T* to = static_cast<T*>(block.c) + (row - block.row_begin) * block.c_many;
      for (int64_t j = 0; j < Few; ++j) {
        to[j * block.c_few] = halved(sums + ((row - begin) * Few + j) * order_lanes);
      }
    }
  }
}

// Where the rows of `many` are neighbours in memory, as the columns of a row-major matrix, vectors
// run along them instead: one accumulator for each lane, row of few and element of a strip. What
// comes from afar is read a few terms of each lane at a time, so much of each row at once that
// memory is read in order for a while; else many terms follow each other, while sums stay in
// registers.
template <class T, int Few>
void run_strips(const LanesBlock& block, const LaneStrips& strips) {
  constexpr int64_t distance = 4;  // lanes ahead
  constexpr int vectors = Few == 1                   ? std::max(8, sum_registers)
                          : Few == 2                 ? sum_registers / 2
                          : sum_registers / Few >= 4 ? 4
                                                     : 2;
  T* packed = static_cast<T*>(block.scratch);
  T* sums = packed + (most_few + 4) * lanes_block_k;  // [lane][few][strip]
  RowsAlongK<T> few(*block.few, block.few_data, packed);
  const bool widening = !strips.widened && block.many->dtype != dtype_of<T>;
  const Kernel widen = strips.widened ? load_kernel(block.many->dtype) : nullptr;
  const int64_t k_step = block.many->k.stride();
  const int64_t strip = strips.columns, lane = Few * strip;
  const int64_t together = strips.terms * order_lanes;
  // Beside one row only what no cache holds is worth it, and where the first-level cache is small:
  // processors with a larger one were measured to read as fast without.
  const int64_t bytes =
      block.many->k.size * std::abs(k_step) * static_cast<int64_t>(size_of(block.many->dtype));
  const bool fetches = !strips.near && (Few > 1 || (small_first_cache && bytes >= last_cache));
  for (int64_t begin = block.row_begin; begin < block.row_end; begin += strip) {
    const int64_t count = std::min(strip, block.row_end - begin), step = widen ? count : k_step;
    if (block.k_end - block.k_begin < order_lanes) std::fill(sums, sums + order_lanes * lane, T(0));
    for (int64_t k = block.k_begin; k < block.k_end; k += lanes_block_k) {
      const int64_t k_count = std::min(lanes_block_k, block.k_end - k);
      few.begin_block(k, k_count);
      few.load(0, Few, k, k_count);
      for (int64_t group = 0; group < k_count; group += together) {
        const int64_t end = std::min(group + together, k_count);
        const int64_t offset = begin + (k + group) * k_step;
        auto add = [&]<class E>(E, const Stored<T, E>* from_here) {
          for (int64_t l = 0; l < order_lanes && group + l < end; ++l) {
            const int64_t to_next = l + distance < order_lanes ? 0 : together - order_lanes;
            const LaneTerms<T, E> terms{from_here + l * step,
                                        order_lanes * step,
                                        fetches ? (distance + to_next) * step : 0,
                                        few.data + group + l,
                                        few.stride,
                                        divide_up(end - group - l, order_lanes),
                                        k + group == block.k_begin};
            constexpr int most = std::is_same_v<E, T> ? vectors : std::min(vectors, 8);  // small
            add_terms_from<T, Few, most>(terms, 0, count, sums + l * lane, strip);
          }
        };
        if constexpr (widens_rows_as_read<T, Few>) {
          if (widening) {
            const auto* halves = static_cast<const uint16_t*>(block.many_data) + offset;
            block.many->dtype == Dtype::bfloat16 ? add(Bfloat16(), halves) : add(Float16(), halves);
            continue;
          }
        }
        if (widen) {
          T* const widened = sums + order_lanes * lane;
          widen_rows(widen, static_cast<const uint16_t*>(block.many_data) + offset, k_step,
                     end - group, count, widened);
          add(T(), widened);
          continue;
        }
        add(T(), static_cast<const T*>(block.many_data) + offset);
      }
    }
    halve_all(sums, lane, lane);
    T* to = static_cast<T*>(block.c) + (begin - block.row_begin) * block.c_many;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t j = 0; j < Few; ++j)
        to[r * block.c_many + j * block.c_few] = sums[j * strip + r];
    }
  }
}

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
  near = many.k.size * std::abs(step) * size <= second_cache / 2;
  // The sums of one row of `few`, of 16 lanes, stay in a first-level cache that has room for them.
  columns = near ? 64 : (small_first_cache ? 2 * page : page / 2) / sum_size;
  // From afar come the rows of k that the terms lie in: of about four pages at once, but eight rows
  // at least, as sums are loaded and stored each time.
  const int64_t most_terms = lanes_block_k / order_lanes;
  if (widened) {
    near = true;
    columns = widened_columns;
    terms = widened_terms;
    return;
  }
  terms =
      near ? most_terms : std::clamp<int64_t>(4 * page / (std::abs(step) * size), 8, most_terms);
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
