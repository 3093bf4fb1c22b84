// SPDX-License-Identifier: Apache-2.0
// Sums in the 16 lanes of ops/order.h, for a large operand whose rows are neighbours in memory:
// vectors run along the rows, one lane's terms at a time. Included once for each instruction set.
#if defined(MT_CONTRACT_LANE_TERMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_LANE_TERMS_INL_H
#undef MT_CONTRACT_LANE_TERMS_INL_H
#else
#define MT_CONTRACT_LANE_TERMS_INL_H
#endif

#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/elementwise/half_floats.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// The type in memory of elements that are summed as T: E is T, or Float16 or Bfloat16, which are
// widened as they are read.
template <class T, class E>
struct ElementsOf {
  using Stored = typename E::Stored;
};
template <class T>
struct ElementsOf<T, T> {
  using Stored = T;
};
template <class T, class E>
using Stored = typename ElementsOf<T, E>::Stored;

template <class E, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_as(D d, const Stored<T, E>* from) {
  if constexpr (std::is_same_v<E, T>) {
    return hn::LoadU(d, from);
  } else {
    constexpr hn::Rebind<uint16_t, D> memory;
    return E::load(d, memory, hn::LoadU(memory, from));
  }
}
// The first lanes, those in `mask`; the others are zero.
template <class E, class D, class M, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part_as(D d, M mask, const Stored<T, E>* from) {
  if constexpr (std::is_same_v<E, T>) {
    return load_part(d, mask, from);
  } else {
    const size_t count = hn::CountTrue(d, mask);
#if HWY_TARGET == HWY_AVX3
    constexpr hn::Rebind<uint16_t, D> memory;
    return E::load(d, memory, hn::MaskedLoad(hn::FirstN(memory, count), memory, from));
#else
    HWY_ALIGN uint16_t lanes[hn::MaxLanes(D())] = {};
    for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
    return load_as<E>(d, lanes);
#endif
  }
}

// Terms of one lane, which are order_lanes apart, where the rows of `many` are neighbours in
// memory.
template <class T, class E = T>
struct LaneTerms {
  const Stored<T, E>* many;
  int64_t many_step, ahead;  // from term to term, and to what is fetched meanwhile
  const T* few;
  int64_t few_row, count;
  bool first;  // sums begin at zero
};

// sums[j][r] += many[r, k] * few[j][k] for such terms and r in [0, V vectors), or less by a mask.
template <class T, int Few, int V, class E, class... Mask>
HWY_INLINE void add_terms(const LaneTerms<T, E>& terms, int64_t r, T* sums, int64_t strip,
                          Mask... mask) {
  const Vectors<T> d;
  constexpr int64_t width = lanes_of<T>;
  hn::Vec<Vectors<T>> sum[Few][V];
  MT_UNROLL for (int j = 0; j < Few; ++j) {
    MT_UNROLL for (int v = 0; v < V; ++v) {
      sum[j][v] = terms.first ? hn::Zero(d) : hn::Load(d, sums + j * strip + r + v * width);
    }
  }
  const Stored<T, E>* many = terms.many + r;
  const T* few = terms.few;
  for (int64_t k = 0; k < terms.count; ++k, many += terms.many_step, few += order_lanes) {
    hn::Vec<Vectors<T>> ys[Few];
    MT_UNROLL for (int j = 0; j < Few; ++j) ys[j] = hn::Set(d, few[j * terms.few_row]);
    hn::Vec<Vectors<T>> xs[V];
    MT_UNROLL for (int v = 0; v < V; ++v) {
      if constexpr (sizeof...(Mask) > 0) {
        xs[v] = load_part_as<E>(d, mask..., many);
      } else {
        xs[v] = load_as<E>(d, many + v * width);
      }
    }
    // Fetched to the second-level cache, which has more lines under way at once than the first.
    if (sizeof...(Mask) == 0 && terms.ahead != 0) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        if (begins_line<Stored<T, E>>(v * width)) {
          __builtin_prefetch(many + v * width + terms.ahead, 0, 2);
        }
      }
    }
    forget(many);  // or each would be loaded Few times
    MT_UNROLL for (int v = 0; v < V; ++v) {
      MT_UNROLL for (int j = 0; j < Few; ++j) sum[j][v] = fused(d, xs[v], ys[j], sum[j][v]);
    }
  }
  MT_UNROLL for (int j = 0; j < Few; ++j) {
    MT_UNROLL for (int v = 0; v < V; ++v) {
      hn::Store(sum[j][v], d, sums + j * strip + r + v * width);
    }
  }
}

// The same for r in [begin, count), V vectors at a time and then fewer.
template <class T, int Few, int V, class E>
void add_terms_from(const LaneTerms<T, E>& terms, int64_t begin, int64_t count, T* sums,
                    int64_t strip) {
  constexpr int64_t width = lanes_of<T>;
  int64_t r = begin;
  for (; r + V * width <= count; r += V * width) add_terms<T, Few, V>(terms, r, sums, strip);
  if (r == count) return;
  if constexpr (V > 1) {
    add_terms_from<T, Few, V / 2>(terms, r, count, sums, strip);
  } else {
    const auto mask = hn::FirstN(Vectors<T>(), static_cast<size_t>(count - r));
    add_terms<T, Few, 1>(terms, r, sums, strip, mask);
  }
}

// sums[0][i] = all lanes' sums[lane][i], combined by halving.
template <class T>
void halve_all(T* sums, int64_t lane, int64_t count) {
  const Vectors<T> d;
  for (int64_t i = 0; i < count; i += lanes_of<T>) {
    hn::Vec<Vectors<T>> sum[order_lanes / 2];
    MT_UNROLL for (int l = 0; l < 8; ++l) {
      sum[l] = hn::Add(hn::Load(d, sums + l * lane + i), hn::Load(d, sums + (l + 8) * lane + i));
    }
    MT_UNROLL for (int l = 0; l < 4; ++l) sum[l] = hn::Add(sum[l], sum[l + 4]);
    MT_UNROLL for (int l = 0; l < 2; ++l) sum[l] = hn::Add(sum[l], sum[l + 2]);
    hn::Store(hn::Add(sum[0], sum[1]), d, sums + i);
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
