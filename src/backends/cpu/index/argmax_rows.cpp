// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/index/argmax_rows.h"

#include <cstring>

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/index/argmax_rows.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Whether x is better than y, which stays if they are equal.
template <bool largest, class T>
HWY_INLINE Mask<T> is_better(Vector<T> x, Vector<T> y) {
  const Mask<T> better = largest ? x > y : x < y;
  if constexpr (std::is_floating_point_v<T>) return better | ((x != x) & (y == y));
  return better;
}

// Takes a vector of a row, or its first n elements.
template <class T, class Place, bool largest, class... N>
HWY_INLINE void follow(const char* row, Vector<Place> here, char* best, char* places, N... n) {
  const Vector<T> x = load<T>(row, n...), y = load<T>(best, n...);
  const Mask<T> better = is_better<largest>(x, y);
  const Mask<Place> moves{hn::RebindMask(Tag<Place>(), better.raw)};
  store(select(better, x, y).raw, best, n...);
  store(select(moves, here, load<Place>(places, n...)).raw, places, n...);
}

template <class T, class Place, bool largest>
void follow_rows(const void* rows, int64_t stride, int64_t begin, int64_t end, int64_t width,
                 void* best, void* places) {
  static_assert(sizeof(T) == sizeof(Place));
  constexpr size_t lanes = lane_count<T>, vector = lanes * sizeof(T);
  const size_t bytes = static_cast<size_t>(width) * sizeof(T), rest = bytes % vector;
  const int64_t pitch = stride * static_cast<int64_t>(sizeof(T));
  const char* row = static_cast<const char*>(rows) + begin * pitch;
  char *const keys = static_cast<char*>(best), *const of = static_cast<char*>(places);
  if (begin == 0 && end > 0) {
    std::memcpy(keys, row, bytes);
    std::memset(of, 0, bytes);
    ++begin;
    row += pitch;
  }
  for (int64_t i = begin; i < end; ++i, row += pitch) {
    const Vector<Place> here(i);
    size_t at = 0;
    for (; at + vector <= bytes; at += vector) {
      follow<T, Place, largest>(row + at, here, keys + at, of + at);
    }
    if (rest > 0) {
      follow<T, Place, largest>(row + at, here, keys + at, of + at, rest / sizeof(T));
    }
  }
}

template <bool largest>
ArgmaxRows rows_of(Compute type) {
  switch (type) {
    case Compute::f32: return follow_rows<float, int32_t, largest>;
    case Compute::f64: return follow_rows<double, int64_t, largest>;
    case Compute::i32: return follow_rows<int32_t, int32_t, largest>;
    case Compute::i64: return follow_rows<int64_t, int64_t, largest>;
    default: return nullptr;
  }
}
ArgmaxRows rows_kernel(bool largest, Compute type) {
  if constexpr (is_baseline) return nullptr;  // small rather than fast
  return largest ? rows_of<true>(type) : rows_of<false>(type);
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(rows_kernel);
ArgmaxRows argmax_rows(bool largest, Compute type) {
  return HWY_DYNAMIC_DISPATCH(rows_kernel)(largest, type);
}
}  // namespace mt::cpu
#endif
