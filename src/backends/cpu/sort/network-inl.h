// SPDX-License-Identifier: Apache-2.0
// Sorts up to 16 vectors of numbers by a network, without branches: first the columns, then the two
// halves of each group of 2, 4, ... columns are merged, so that its numbers are in row-major order.
#if defined(MT_SORT_NETWORK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_SORT_NETWORK_INL_H
#undef MT_SORT_NETWORK_INL_H
#else
#define MT_SORT_NETWORK_INL_H
#endif

#include <algorithm>

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
using Row = hn::Vec<Vectors<T>>;

template <class V>
HWY_INLINE void put_in_order(V& low, V& high) {
  const V lesser = hn::Min(low, high);
  high = hn::Max(low, high);
  low = lesser;
}

// Sorts each column of R rows by Batcher's odd-even merges: of runs of P, at a distance of K.
template <int R, int P = 1, int K = P, int I = 0, class V>
HWY_INLINE void sort_columns(V* v) {
  if constexpr (P >= R) {
    return;
  } else if constexpr (K == 0) {
    sort_columns<R, 2 * P>(v);
  } else if constexpr (I + K >= R) {
    sort_columns<R, P, K / 2>(v);
  } else {
    constexpr bool ordered = I >= K % P && (I - K % P) % (2 * K) < K;
    if constexpr (ordered && I / (2 * P) == (I + K) / (2 * P)) put_in_order(v[I], v[I + K]);
    sort_columns<R, P, K, I + 1>(v);
  }
}

// Lane c of the result is lane c ^ bits of v.
template <class T, int bits>
HWY_INLINE Row<T> exchange(Row<T> v) {
  constexpr Vectors<T> d;
  if constexpr (bits == 1) return hn::Reverse2(d, v);
  if constexpr (bits == 3) return hn::Reverse4(d, v);
  struct Table {
    T lane[lanes_of<T>];
    constexpr Table() : lane() {
      for (int c = 0; c < lanes_of<T>; ++c) lane[c] = static_cast<T>(c ^ bits);
    }
  };
  alignas(64) static constexpr Table table;
  return hn::TableLookupLanes(v, hn::SetTableIndices(d, table.lane));
}

// Of each pair of exchanged lanes, the one with that bit gets the greater number.
template <class T, int bits, int bit>
HWY_INLINE Row<T> order_lanes(Row<T> v) {
  constexpr Vectors<T> d;
  const auto with_bit = hn::And(hn::Iota(d, 0), hn::Set(d, T{bit}));
  const Row<T> other = exchange<T, bits>(v);
  return hn::IfThenElse(hn::Eq(with_bit, hn::Zero(d)), hn::Min(v, other), hn::Max(v, other));
}
template <class T, int distance>
HWY_INLINE Row<T> clean_lanes(Row<T> v) {
  if constexpr (distance == 0) return v;
  if constexpr (distance > 0) {
    return clean_lanes<T, distance / 2>(order_lanes<T, distance, distance>(v));
  }
}

// Rows of groups of `width` lanes, both halves of which are sorted: moves the lesser numbers of
// each K rows to the first half of these rows, for K = R, R / 2, ... 2.
template <class T, int R, int width, int K = R, int I = 0>
HWY_INLINE void clean_rows(Row<T>* v) {
  if constexpr (K < 2) {
    return;
  } else if constexpr (I == R) {
    clean_rows<T, R, width, K / 2>(v);
  } else {
    if constexpr (I % K < K / 2) {
      constexpr int J = I / K * K + K - 1 - I % K;
      v[J] = exchange<T, width - 1>(v[J]);
      put_in_order(v[I], v[J]);
    }
    clean_rows<T, R, width, K, I + 1>(v);
  }
}
template <class T, int R, int width = 2>
HWY_INLINE void merge_columns(Row<T>* v) {
  if constexpr (width <= lanes_of<T>) {
    clean_rows<T, R, width>(v);
    MT_UNROLL for (int i = 0; i < R; ++i) {
      v[i] = clean_lanes<T, width / 4>(order_lanes<T, width - 1, width / 2>(v[i]));
    }
    merge_columns<T, R, 2 * width>(v);
  }
}

// Sorts up to R vectors of numbers.
template <class T, int R>
HWY_NOINLINE void sort_rows(T* numbers, int64_t count) {
  constexpr Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const Row<T> last = hn::Set(d, hwy::LimitsMax<T>());
  const auto within = [&](int i) HWY_ATTR {
    return hn::FirstN(d, std::max<int64_t>(0, count - i * lanes));
  };
  Row<T> v[R];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    const auto which = within(i);
    v[i] = hn::IfThenElse(which, load_part(d, which, numbers + i * lanes), last);
  }
  sort_columns<R>(v);
  merge_columns<T, R>(v);
  MT_UNROLL for (int i = 0; i < R; ++i) store_part(v[i], d, within(i), numbers + i * lanes);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
