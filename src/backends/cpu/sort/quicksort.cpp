// SPDX-License-Identifier: Apache-2.0
// Sorts numbers in place: splits them at pivots, in vectors, until a network sorts a piece at once.
// On AVX-512; elsewhere Highway's quicksort does it.
#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/sort/sorting.h"
#include "hwy/contrib/sort/vqsort.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sort/quicksort.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/compress-inl.h"
#include "backends/cpu/sort/network-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class T>
void sort_by_highway(T* numbers, int64_t count) {
  hwy::Sorter()(numbers, static_cast<size_t>(count), hwy::SortAscending());
}

#if HWY_TARGET == HWY_AVX3

template <class V>
HWY_INLINE V middle(V a, V b, V c) {
  return hn::Max(hn::Min(a, b), hn::Min(hn::Max(a, b), c));
}

// The median lane of the lane-wise median of three or nine vectors.
template <class T>
HWY_NOINLINE T middle_of(const T* numbers, int64_t count) {
  constexpr Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const auto at = [&](int i) HWY_ATTR { return hn::LoadU(d, numbers + (count - lanes) * i / 8); };
  Row<T> v = middle(at(0), at(4), at(8));
  if (count >= 64 * lanes) {
    v = middle(v, middle(at(1), at(3), at(6)), middle(at(2), at(5), at(7)));
  }
  alignas(64) T taken[lanes];
  hn::Store(v, d, taken);
  Row<T> below = hn::Zero(d);
  MT_UNROLL for (int i = 0; i < lanes; ++i) {
    const auto greater = hn::Lt(hn::Set(d, taken[i]), v);
    below = hn::Add(below, hn::IfThenElseZero(greater, hn::Set(d, T{1})));
  }
  const auto in_front = hn::Lt(below, hn::Set(d, T{lanes / 2 + 1}));
  hn::Store(hn::IfThenElseZero(in_front, v), d, taken);
  T best = 0;
  MT_UNROLL for (int i = 0; i < lanes; ++i) best = std::max(best, taken[i]);
  return best;
}

// Writes the numbers below the pivot at `low`, and the others in front of `high`. Not a lane more:
// numbers that are still to be read lie beside them.
template <class T, class Which>
HWY_INLINE void put(Row<T> v, Which is_low, Which is_high, T*& low, T*& high) {
  constexpr Vectors<T> d;
  const size_t lows = hn::CountTrue(d, is_low), highs = hn::CountTrue(d, is_high);
  high -= highs;
  store_part(compress(d, v, is_high), d, hn::FirstN(d, highs), high);
  store_part(compress(d, v, is_low), d, hn::FirstN(d, lows), low);
  low += lows;
}
template <class T>
HWY_INLINE void put(Row<T> v, Row<T> pivot, T*& low, T*& high) {
  const auto is_low = hn::Lt(v, pivot);
  put(v, is_low, hn::Not(is_low), low, high);
}

// Splits more numbers than two times `together` vectors; returns how many are below the pivot. The
// first and last vectors, and the remainder of `together` vectors, are set aside, so that on either
// side there is room for those that are read next.
template <class T>
HWY_NOINLINE int64_t split_in_place(T* numbers, int64_t count, T pivot) {
  constexpr Vectors<T> d;
  constexpr int lanes = lanes_of<T>, together = 4, step = together * lanes;
  const int64_t odd = count % step;
  const Row<T> limit = hn::Set(d, pivot);
  T *low = numbers, *high = numbers + count;
  Row<T> first[together], last[together], v[together];
  alignas(64) T rest[step];
  MT_UNROLL for (int i = 0; i < together; ++i) {
    first[i] = hn::LoadU(d, numbers + i * lanes);
    last[i] = hn::LoadU(d, numbers + count - step + i * lanes);
    hn::Store(hn::LoadU(d, numbers + count - 2 * step + i * lanes), d, rest + i * lanes);
  }
  const T *left = numbers + step, *right = numbers + count - step - odd;
  while (left != right) {
    const bool from_right = left - low > step;
    if (from_right) right -= step;
    const T* from = from_right ? right : left;
    if (!from_right) left += step;
    MT_UNROLL for (int i = 0; i < together; ++i) v[i] = hn::LoadU(d, from + i * lanes);
    put(v[0], limit, low, high);  // gcc does not unroll a loop of these
    put(v[1], limit, low, high);
    put(v[2], limit, low, high);
    put(v[3], limit, low, high);
  }
  MT_UNROLL for (int i = 0; i < together; ++i) put(first[i], limit, low, high);
  MT_UNROLL for (int i = 0; i < together; ++i) put(last[i], limit, low, high);
  for (int64_t i = 0; i < odd; i += lanes) {
    const auto which = hn::FirstN(d, odd - i);
    const Row<T> some = load_part(d, which, rest + step - odd + i);
    const auto is_low = hn::And(which, hn::Lt(some, limit));
    put(some, is_low, hn::AndNot(is_low, which), low, high);
  }
  return low - numbers;
}

// `splits`: how many are left before pivots count as badly chosen.
template <class T>
void sort_with_pivots(T* numbers, int64_t count, int splits) {
  constexpr int lanes = lanes_of<T>;
  while (count > 16 * lanes) {
    if (splits-- == 0) return sort_by_highway(numbers, count);
    const T pivot = middle_of(numbers, count);
    int64_t below = split_in_place(numbers, count, pivot);
    if (below > 0) {
      sort_with_pivots(numbers, below, splits);
    } else {  // it is the least: all that equal it are in order
      if (pivot == hwy::LimitsMax<T>()) return;
      below = split_in_place(numbers, count, static_cast<T>(pivot + 1));
    }
    numbers += below;
    count -= below;
  }
  if (count > 8 * lanes) return sort_rows<T, 16>(numbers, count);
  if (count > 4 * lanes) return sort_rows<T, 8>(numbers, count);
  if (count > lanes) return sort_rows<T, 4>(numbers, count);
  if (count > 1) sort_rows<T, 1>(numbers, count);
}

template <class T>
void quicksort(T* numbers, int64_t count, int splits) {
  sort_with_pivots(numbers, count, splits);
}

#else

template <class T>
void quicksort(T* numbers, int64_t count, int) {
  constexpr int64_t few = 32;  // too few to repay the call, which asks the system for randomness
  count <= few ? std::sort(numbers, numbers + count) : sort_by_highway(numbers, count);
}

#endif

void quicksort_32(uint32_t* numbers, int64_t count, int splits) {
  quicksort(numbers, count, splits);
}
void quicksort_64(uint64_t* numbers, int64_t count, int splits) {
  quicksort(numbers, count, splits);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(quicksort_32);
HWY_EXPORT(quicksort_64);

void sort_numbers(uint32_t* numbers, int64_t count, int splits) {
  HWY_DYNAMIC_DISPATCH(quicksort_32)(numbers, count, splits);
}
void sort_numbers(uint64_t* numbers, int64_t count, int splits) {
  HWY_DYNAMIC_DISPATCH(quicksort_64)(numbers, count, splits);
}

}  // namespace mt::cpu
#endif
