// SPDX-License-Identifier: Apache-2.0
// Reductions that continue from earlier results: of a row to its lanes, and down columns.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/elementwise/targets.h"
#include "base/rounding.h"
#include "ops/order.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/partial_reduction.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/half_floats.h"
#include "backends/cpu/elementwise/reduction.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Adds a row's next elements to the lanes of ops/order.h, the first of them to lane `lane`.
template <class Op, class T>
void reduce_to_lanes(void* sums, int64_t lane, const void* values, int64_t count) {
  constexpr Tag<T> d;
  constexpr size_t lanes = lane_count<T>, vectors = row_lanes / lanes;
  T* to = static_cast<T*>(sums);
  const T* from = static_cast<const T*>(values);
  auto some_to = [&](T* at, size_t some) HWY_ATTR {
    for (size_t i = 0; i < some; i += lanes) {
      const size_t n = std::min(lanes, some - i);
      const auto sum = Op::combine(load_first(d, at + i, n), load_first(d, from + i, n));
      store_first(d, sum, at + i, n);
    }
    from += some;
  };
  size_t left = count;
  if (lane > 0) {
    const size_t some = std::min(static_cast<size_t>(row_lanes - lane), left);
    some_to(to + lane, some);
    left -= some;
  }
  if constexpr (is_baseline) {  // there small rather than fast
    for (; left >= row_lanes; left -= row_lanes) some_to(to, row_lanes);
  } else {
    hn::Vec<Tag<T>> chains[vectors];
    HWY_UNROLL(16) for (size_t k = 0; k < vectors; ++k) chains[k] = hn::LoadU(d, to + k * lanes);
    for (; left >= row_lanes; left -= row_lanes, from += row_lanes) {
      HWY_UNROLL(16) for (size_t k = 0; k < vectors; ++k) {
        chains[k] = Op::combine(chains[k], hn::LoadU(d, from + k * lanes));
      }
    }
    HWY_UNROLL(16) for (size_t k = 0; k < vectors; ++k) hn::StoreU(chains[k], d, to + k * lanes);
  }
  some_to(to, left);
}

// Every pair is combined as in the table, NaNs as well.
template <class Op>
struct AsInTable : Op {};
template <>
struct AsInTable<Maximum> {
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return max(Vector<hn::TFromV<Raw>>(a), Vector<hn::TFromV<Raw>>(b)).raw;
  }
};
template <>
struct AsInTable<Minimum> {
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return min(Vector<hn::TFromV<Raw>>(a), Vector<hn::TFromV<Raw>>(b)).raw;
  }
};

// V vectors of columns of P panels, where the last vector has `last` lanes: each column is one
// chain, which continues from `out`. If it `fetches`, it prefetches the next P panels meanwhile:
// each is a stream of memory that ends before the hardware prefetches much of it.
template <class Op, int V, int P, class D, class T = hn::TFromD<D>>
HWY_INLINE void reduce_vectors(D d, T* out, const T* from, int64_t rows, int64_t pitch, size_t last,
                               bool fetches = false) {
  constexpr size_t lanes = hn::MaxLanes(D());
  const int64_t next = rows * pitch;  // panel
  hn::Vec<D> chains[P][V];
  auto at = [&](const T* row, int v) HWY_ATTR {
    const T* some = row + static_cast<size_t>(v) * lanes;
    return v + 1 < V || last == lanes ? hn::LoadU(d, some) : load_first(d, some, last);
  };
  HWY_UNROLL(4) for (int p = 0; p < P; ++p) {
    HWY_UNROLL(4) for (int v = 0; v < V; ++v) chains[p][v] = at(out + p * pitch, v);
  }
  const char* ahead = reinterpret_cast<const char*>(from + P * next);
  for (int64_t r = 0; r < rows; ++r, from += pitch) {
    if (P > 1 && fetches) {
      for (size_t line = 0; line < P * lanes * sizeof(T); line += cache_line) {
        __builtin_prefetch(ahead + line);
      }
      ahead += P * pitch * static_cast<int64_t>(sizeof(T));
    }
    HWY_UNROLL(4) for (int p = 0; p < P; ++p) {
      HWY_UNROLL(4) for (int v = 0; v < V; ++v) {
        chains[p][v] = Op::combine(chains[p][v], at(from + p * next, v));
      }
    }
  }
  HWY_UNROLL(4) for (int p = 0; p < P; ++p, out += pitch) {
    HWY_UNROLL(4) for (int v = 0; v + 1 < V; ++v) {
      hn::StoreU(chains[p][v], d, out + static_cast<size_t>(v) * lanes);
    }
    store_first(d, chains[p][V - 1], out + (V - 1) * lanes, last);
  }
}

// At most a vector of columns of P panels. Short rows take a short vector: of a long one they would
// take part, which would be read across cache lines.
template <class Op, class T, int P>
HWY_INLINE void reduce_several(T* out, const T* from, int64_t rows, int64_t pitch, size_t columns,
                               bool far) {
  constexpr bool reads_short = HWY_TARGET == HWY_AVX2 || (HWY_TARGET == HWY_AVX3 && sizeof(T) == 4);
  if constexpr (reads_short && std::is_same_v<Op, AsInTable<Sum>> && std::is_floating_point_v<T>) {
    constexpr hn::CappedTag<T, 16 / sizeof(T)> quarter;
    constexpr hn::CappedTag<T, 32 / sizeof(T)> half;
    if constexpr (HWY_TARGET == HWY_AVX2 && sizeof(T) == 4) {
      constexpr hn::CappedTag<T, 2> eighth;
      if (columns == 2) return reduce_vectors<Op, 1, P>(eighth, out, from, rows, pitch, 2, far);
    }
    if (columns <= 16 / sizeof(T)) {
      return reduce_vectors<Op, 1, P>(quarter, out, from, rows, pitch, columns, far);
    }
    if (columns <= 32 / sizeof(T)) {
      return reduce_vectors<Op, 1, P>(half, out, from, rows, pitch, columns, far);
    }
  }
  reduce_vectors<Op, 1, P>(Tag<T>(), out, from, rows, pitch, columns);
}

// Four vectors at a time, since a single chain would have to wait for itself: of one row, or of
// four panels where rows are too short (otherwise small rather than fast).
template <class Op, class T>
void reduce_columns(void* out, const void* values, int64_t rows, int64_t columns, int64_t panels,
                    bool far) {
  constexpr Tag<T> d;
  constexpr int64_t lanes = static_cast<int64_t>(lane_count<T>), together = 4;
  constexpr bool often =
      !is_baseline && std::is_floating_point_v<T> && !std::is_same_v<Op, AsInTable<Product>>;
  constexpr int most = often ? 4 : 1;  // panels
  T* to = static_cast<T*>(out);
  const T* from = static_cast<const T*>(values);
  while (panels > 0) {
    const bool several = columns < together * lanes && panels >= most;
    for (int64_t c = 0, some; c < columns; c += some) {
      some = columns - c >= together * lanes ? together * lanes : std::min(lanes, columns - c);
      if (some > lanes) {
        reduce_vectors<Op, together, 1>(d, to + c, from + c, rows, columns, lane_count<T>);
      } else if (several) {
        reduce_several<Op, T, most>(to + c, from + c, rows, columns, size_t(some), far);
      } else {
        reduce_vectors<Op, 1, 1>(d, to + c, from + c, rows, columns, size_t(some));
      }
    }
    const int64_t done = several ? most : 1;
    panels -= done;
    to += done * columns;
    from += done * rows * columns;
  }
}

template <class Op, class T>
struct Down {
  static constexpr ColumnReduction kernel = &reduce_columns<AsInTable<Op>, T>;
};

// Adds rows of 16-bit floats to float32 sums, four rows at a time, so that sums are read and
// written less often, and memory in order.
template <class E>
void add_halves(float* sums, const uint16_t* from, int64_t pitch, int64_t rows, int64_t columns) {
  constexpr Tag<float> d;
  constexpr hn::Rebind<uint16_t, Tag<float>> memory;
  constexpr int64_t lanes = static_cast<int64_t>(lane_count<float>);
  const auto add = [&]<int R>(std::integral_constant<int, R>, const uint16_t* row) HWY_ATTR {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      auto sum = hn::LoadU(d, sums + c);
      HWY_UNROLL(4) for (int r = 0; r < R; ++r) {
        sum = hn::Add(sum, E::load(d, memory, hn::LoadU(memory, row + r * pitch + c)));
      }
      hn::StoreU(sum, d, sums + c);
    }
    if (const auto n = static_cast<size_t>(columns - c); n > 0) {
      auto sum = load_first(d, sums + c, n);
      HWY_UNROLL(4) for (int r = 0; r < R; ++r) {
        sum = hn::Add(sum, E::load(d, memory, load_first(memory, row + r * pitch + c, n)));
      }
      store_first(d, sum, sums + c, n);
    }
  };
  for (; rows >= 4; rows -= 4, from += 4 * pitch) add(std::integral_constant<int, 4>(), from);
  for (; rows > 0; --rows, from += pitch) add(std::integral_constant<int, 1>(), from);
}
HalfColumnSum sum_of_half_columns(Dtype dtype) {
  if constexpr (!is_baseline) {  // there small rather than fast
    if (dtype == Dtype::float16) return &add_halves<Float16>;
    if (dtype == Dtype::bfloat16) return &add_halves<Bfloat16>;
  }
  return nullptr;
}

template <class Op, class T>
struct ToLanes {
  static constexpr LaneReduction kernel = &reduce_to_lanes<AsInTable<Op>, T>;
};

ColumnReduction reduction_down_of(Reduction reduction, Compute type) {
  return kernel_of<ColumnReduction, Down>(reduction, type);
}
LaneReduction reduction_to_lanes_of(Reduction reduction, Compute type) {
  return kernel_of<LaneReduction, ToLanes>(reduction, type);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(reduction_down_of);
HWY_EXPORT(reduction_to_lanes_of);
HWY_EXPORT(sum_of_half_columns);
HalfColumnSum column_sum_of_halves(Dtype dtype) {
  return HWY_DYNAMIC_DISPATCH(sum_of_half_columns)(dtype);
}
ColumnReduction reduction_down(Reduction reduction, Compute type) {
  return HWY_DYNAMIC_DISPATCH(reduction_down_of)(reduction, type);
}
LaneReduction reduction_to_lanes(Reduction reduction, Compute type) {
  return HWY_DYNAMIC_DISPATCH(reduction_to_lanes_of)(reduction, type);
}
}  // namespace mt::cpu
#endif
