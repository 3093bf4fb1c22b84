// SPDX-License-Identifier: Apache-2.0
// The part of lanes.cpp for rows whose terms are contiguous or packed: vectors run along them.
#if defined(MT_CONTRACT_LANE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_LANE_ROWS_INL_H
#undef MT_CONTRACT_LANE_ROWS_INL_H
#else
#define MT_CONTRACT_LANE_ROWS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/lane_terms-inl.h"
#include "backends/cpu/contract/rows_along_k-inl.h"
#include "backends/cpu/contract/windows/stretches-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
constexpr int lane_vectors = order_lanes / lanes_of<T>;
// How many registers hold sums.
constexpr int sum_registers = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 16 : 8;
// Rows of `many` that run together, so that the sums stay in registers.
template <class T, int Few>
constexpr int rows_together = std::max(1, std::min(4, sum_registers / (Few * lane_vectors<T>)));

// Whether 16-bit floats are widened as they are read, where each is read once, rather than some
// rows at a time beforehand.
template <class T, int Few>
constexpr bool widens_rows_as_read = sizeof(T) == 4 && (HWY_TARGET == HWY_AVX3 ||
                                                        (Few == 1 && !(HWY_TARGET == HWY_SCALAR ||
                                                                       HWY_TARGET == HWY_EMU128)));

// sums[i][j][lane] += many[i][k] * few[j][k] for k in [0, k_count), where k = 0 is in lane 0.
// Missing lanes of the last 16 add 0 * -0, which changes no sum, not even the sign of a zero.
// Meanwhile rows are fetched `ahead` elements ahead, if that is not 0.
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
        if (Few > 1 && begins_line<Stored<T, E>>(v * width))
          hwy::Prefetch(from + i * many_row + ahead);
      }
      forget(from);  // or each would be loaded Few times
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

// The kernel for stretches that takes the first of `rows` rows, and how many it takes: all elements
// of a 3 x 3 window where they fit in registers, so that what they share is read once.
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

// lanes_kernel for up to R rows: all R at once, or fewer one by one.
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
  // Rows are fetched two tiles ahead where no cache of the core's own holds them, as each is some
  // pages from the next one and hardware prefetchers begin anew with every page.
  const int64_t bytes =
      block.many->rows.size * block.many->k.size * static_cast<int64_t>(size_of(block.many->dtype));
  const int64_t distance = Few > 1 ? R : bytes > second_cache ? 2 * R : 0;
  const int64_t rows_ahead = many.direct || widening ? distance : 0;  // not for a packed copy
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

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
