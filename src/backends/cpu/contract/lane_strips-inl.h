// SPDX-License-Identifier: Apache-2.0
// The part of lanes.cpp for a `many` whose rows are neighbours in memory, as the columns of a
// row-major matrix are: vectors run along the rows instead of k.
#if defined(MT_CONTRACT_LANE_STRIPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_LANE_STRIPS_INL_H
#undef MT_CONTRACT_LANE_STRIPS_INL_H
#else
#define MT_CONTRACT_LANE_STRIPS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "backends/cpu/contract/lane_rows-inl.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Keeps one accumulator for each lane, row of few and element of a strip. What comes from far away
// is read a few terms of each lane at a time, so much of each row of memory that it is read in
// order for a while; otherwise many terms follow each other, while sums stay in registers.
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
                                        strips.fetched ? (distance + to_next) * step : 0,
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

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
