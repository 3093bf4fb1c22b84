// SPDX-License-Identifier: Apache-2.0
// Rows whose k lies in stretches of neighbours, such as the lines of a window's positions, read
// where they lie: of each 16 elements along k, the first ones belong to one stretch and the others
// to the next.
#if defined(MT_WINDOWS_STRETCHES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_STRETCHES_INL_H
#undef MT_WINDOWS_STRETCHES_INL_H
#else
#define MT_WINDOWS_STRETCHES_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Where 16 elements along k are: lanes below `count` at first + lane, the others at second + lane.
struct LanesStep {
  int64_t first, second, count;
};

// Whether stretches are long enough for that.
inline bool has_stretches(const MatrixOperand& x) {
  return x.k.rank > 0 && x.k.stride() == 1 && x.k.sizes[x.k.rank - 1] >= order_lanes;
}

inline void find_steps(const Axis& k, int64_t first, int64_t count, LanesStep* steps) {
  int64_t step = 0;
  k.for_runs(first, count, [&](int64_t position, int64_t offset, int64_t length) {
    // A step that began in the stretch before this one ends here.
    if (step > position) {
      steps[step / order_lanes - 1].second = offset - position + step - order_lanes;
    }
    for (; step < position + length; step += order_lanes) {
      const int64_t from = offset + step - position;
      steps[step / order_lanes] = {from, from,
                                   std::min<int64_t>(order_lanes, position + length - step)};
    }
  });
}

// Loads lanes [0, low) from `first` and [low, end) from `second`, each at the address plus the
// lane's number; the others are zero. Reads nothing else.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_joined(D d, int64_t low, int64_t end, const T* first, const T* second) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const auto lower = hn::FirstN(d, low);
  const auto upper = hn::AndNot(lower, hn::FirstN(d, end));
  return hn::Or(hn::MaskedLoad(lower, d, first), hn::MaskedLoad(upper, d, second));
#else
  HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
  for (int64_t i = 0; i < end; ++i) lanes[i] = (i < low ? first : second)[i];
  return hn::Load(d, lanes);
#endif
}

// sums[i][j][lane] += many[rows[i] + k] * few[j][k] for k in [0, k_count), as lanes_kernel does.
template <class T, int R, int Few>
HWY_NOINLINE void stretches_kernel(const T* many, const int64_t* rows, const LanesStep* steps,
                                   const T* few, int64_t few_row, int64_t k_count, T* sums) {
  const Vectors<T> d;
  constexpr int width = lanes_of<T>, V = order_lanes / width;
  hn::Vec<Vectors<T>> sum[R][Few][V];
  const T* from[R];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    from[i] = many + rows[i];
    MT_UNROLL for (int j = 0; j < Few; ++j) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        sum[i][j][v] = hn::LoadU(d, sums + (i * Few + j) * order_lanes + v * width);
      }
    }
  }
  for (int64_t k = 0; k < k_count; k += order_lanes, ++steps, few += order_lanes) {
    const int64_t count = steps->count, left = k_count - k;
    if (count == order_lanes) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        hn::Vec<Vectors<T>> ys[Few];
        MT_UNROLL for (int j = 0; j < Few; ++j) {
          ys[j] = hn::LoadU(d, few + j * few_row + v * width);
        }
        MT_UNROLL for (int i = 0; i < R; ++i) {
          const auto x = hn::LoadU(d, from[i] + steps->first + v * width);
          MT_UNROLL for (int j = 0; j < Few; ++j) sum[i][j][v] = fused(d, x, ys[j], sum[i][j][v]);
        }
      }
      continue;
    }
    MT_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t end = std::clamp<int64_t>(left - v * width, 0, width);
      const int64_t low = std::clamp<int64_t>(count - v * width, 0, end);
      const auto mask = hn::FirstN(d, end);
      hn::Vec<Vectors<T>> ys[Few];
      MT_UNROLL for (int j = 0; j < Few; ++j) {
        const auto y = load_part(d, mask, few + j * few_row + v * width);
        ys[j] = hn::IfThenElse(mask, y, hn::Set(d, T(-0.0)));
      }
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const auto x = load_joined(d, low, end, from[i] + steps->first + v * width,
                                   from[i] + steps->second + v * width);
        MT_UNROLL for (int j = 0; j < Few; ++j) sum[i][j][v] = fused(d, x, ys[j], sum[i][j][v]);
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

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
