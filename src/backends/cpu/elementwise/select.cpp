// SPDX-License-Identifier: Apache-2.0
// select: out = condition ? a : b, on elements of 1, 2, 4 or 8 bytes of whatever type.
#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/compact.h"
#include "backends/cpu/elementwise/one_hot.h"
#include "backends/cpu/elementwise/targets.h"
#include "ops/order.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/select.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// The i32 condition as a mask over T, widened for elements of 8 bytes.
template <class T>
HWY_INLINE Mask<T> to_mask(const int32_t* condition, size_t n) {
  if constexpr (sizeof(T) == 4) {
    constexpr Tag<int32_t> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return !Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(c, hn::Zero(d)))};
  } else {
    constexpr Tag<int64_t> wide;
    constexpr hn::Rebind<int32_t, Tag<int64_t>> d;
    auto c = n < lane_count<T> ? load_first(d, condition, n) : hn::LoadU(d, condition);
    return !Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(hn::PromoteTo(wide, c), hn::Zero(wide)))};
  }
}

// The same for a condition of bytes.
template <class T>
HWY_INLINE Mask<T> to_mask(const uint8_t* condition, size_t n) {
  constexpr hn::Rebind<uint8_t, Tag<T>> bytes;
  const auto c = n < lane_count<T> ? load_first(bytes, condition, n) : hn::LoadU(bytes, condition);
#if HWY_TARGET == HWY_AVX3
  using Raw = typename hn::Mask<Tag<T>>::Raw;
  return {hn::Mask<Tag<T>>{static_cast<Raw>(hn::Not(hn::Eq(c, hn::Zero(bytes))).raw)}};
#else
  auto mask = [](auto d, auto wide) HWY_ATTR {
    return !Mask<T>{hn::RebindMask(Tag<T>(), hn::Eq(wide, hn::Zero(d)))};
  };
  if constexpr (sizeof(T) == 1) {
    return mask(bytes, c);
  } else if constexpr (sizeof(T) == 8) {
    constexpr hn::Rebind<uint32_t, Tag<T>> between;
    constexpr Tag<uint64_t> d;
    return mask(d, hn::PromoteTo(d, hn::PromoteTo(between, c)));
  } else {
    constexpr hn::RebindToUnsigned<Tag<T>> d;
    return mask(d, hn::PromoteTo(d, c));
  }
#endif
}

template <class T, class Condition>
void select_elements(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>;
  constexpr Tag<T> d;
  // As many conditions as elements, which may be part of a vector of conditions.
  alignas(HWY_MAX_BYTES) Condition conditions[lane_count<Condition>];
  alignas(HWY_MAX_BYTES) T blocks[2][lanes];
  Cursor<Condition> c(inputs[0]);
  Cursor<T> a(inputs[1]), b(inputs[2]);
  const size_t step_c = c.step / lane_count<Condition> * lanes, step_a = a.step, step_b = b.step;
  T* y = static_cast<T*>(out);
  for (; rows > 0; --rows) {
    const char *m = c.begin(conditions), *p = a.begin(blocks[0]), *q = b.begin(blocks[1]);
    size_t left = columns;
    for (; left >= lanes; left -= lanes, y += lanes) {
      auto mask = to_mask<T>(reinterpret_cast<const Condition*>(m), lanes);
      hn::StoreU(select(mask, load<T>(p), load<T>(q)).raw, d, y);
      m += step_c;
      p += step_a;
      q += step_b;
    }
    if (left > 0) {
      auto mask = to_mask<T>(reinterpret_cast<const Condition*>(m), left);
      store_first(d, select(mask, load<T>(p, left), load<T>(q, left)).raw, y, left);
      y += left;
    }
  }
}

// One element of each row comes from a, if it is within the row, the others from b.
template <class T>
void one_hot_elements(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>;
  alignas(HWY_MAX_BYTES) T block[lanes];
  Cursor<T> b(inputs[2]);
  const size_t step = b.step;
  const Input &sought = inputs[0], &a = inputs[1];
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at;
    memcpy(&at, static_cast<const char*>(sought.data) + r * sought.pitch, sizeof(at));
    bool within = at >= 0 && at < columns;
    T element{};  // read first, as the row may overwrite it
    if (within) {
      const char* from = static_cast<const char*>(a.data) + r * a.pitch;
      memcpy(&element, from + (a.repeated ? 0 : at * int64_t{sizeof(T)}), sizeof(T));
    }
    const char* q = b.begin(block);
    T* row = y;
    size_t left = columns;
    for (; left >= lanes; left -= lanes, y += lanes, q += step) {
      hn::StoreU(load<T>(q).raw, Tag<T>(), y);
    }
    if (left > 0) store_first(Tag<T>(), load<T>(q, left).raw, y, left);
    y += left;
    if (within) row[at] = element;
  }
}

// Such rows, where b is one number for each.
template <class T>
struct OneHotRows {
  const Input &sought, &a, &b;
  int64_t columns;
  int64_t place(int64_t r) const {  // of the element from a; negative: none
    const int64_t at = read<int64_t>(sought, r, 0);
    return at < columns ? at : -1;
  }
  T element(int64_t r, int64_t at) const { return read<T>(a, r, a.repeated ? 0 : at); }
  T number(int64_t r) const { return read<T>(b, r, 0); }

 private:
  template <class Value>
  static Value read(const Input& from, int64_t r, int64_t at) {
    Value value;
    const char* row = static_cast<const char*>(from.data) + r * from.pitch;
    memcpy(&value, row + at * int64_t{sizeof(Value)}, sizeof(Value));
    return value;
  }
};

// The lanes that are halved to a row's sum, in the order of ops/order.h; `alike`: the lanes without
// the element from a.
template <class T>
void fill_lanes(const OneHotRows<T>& rows, int64_t r, const T* alike, T* lanes) {
  memcpy(lanes, alike, row_lanes * sizeof(T));
  const int64_t at = rows.place(r);
  if (at < 0) return;
  const T element = rows.element(r, at), number = rows.number(r);
  const int64_t lane = at % row_lanes;
  T sum{};
  for (int64_t j = lane; j < rows.columns; j += row_lanes) sum += j == at ? element : number;
  lanes[lane] = sum;
}
template <class T>
void fill_alike(const OneHotRows<T>& rows, int64_t r, T* lanes) {
  const T number = rows.number(r);
  T sum{};
  for (int64_t j = 0; j < rows.columns / row_lanes; ++j) sum += number;
  for (int64_t k = 0; k < row_lanes; ++k) {
    lanes[k] = k < rows.columns % row_lanes ? sum + number : sum;
  }
}
// The sum of each row.
template <class T>
void one_hot_sums(void* out, const Input* inputs, int64_t count, int64_t columns) {
  const OneHotRows<T> rows{inputs[0], inputs[1], inputs[2], columns};
  const bool is_same = rows.b.pitch == 0;
  T* y = static_cast<T*>(out);
  if (is_same && rows.number(0) == T{0}) {
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = rows.place(r);
      y[r] = T{0} + (at < 0 ? T{0} : rows.element(r, at));
    }
    return;
  }
  constexpr int64_t most = 16;
  T lanes[most][row_lanes], alike[row_lanes];
  const Operator sum = row_reduction(Reduction::sum, sizeof(T) == 4 ? Compute::f32 : Compute::f64);
  for (int64_t first = 0; first < count; first += most) {
    const int64_t some = std::min(most, count - first);
    for (int64_t k = 0; k < some; ++k) {
      const int64_t r = first + k;
      if (r == 0 || !is_same) fill_alike(rows, r, alike);
      fill_lanes(rows, r, alike, lanes[k]);
    }
    const Input sums{lanes, sizeof(alike)};
    sum(y + first, &sums, some, row_lanes);
  }
}

Operator one_hot_sum_of(Compute type) {
  if (type == Compute::f32) return &one_hot_sums<float>;
  return type == Compute::f64 ? &one_hot_sums<double> : nullptr;
}
Operator one_hot_of(bool wide) {
  return wide ? &one_hot_elements<uint64_t> : &one_hot_elements<uint32_t>;
}
Operator select_of(bool wide) {
  return wide ? &select_elements<uint64_t, int32_t> : &select_elements<uint32_t, int32_t>;
}
Operator compact_select_of(size_t element_size) {
  switch (element_size) {
    case 1: return &select_elements<uint8_t, uint8_t>;
    case 2: return &select_elements<uint16_t, uint8_t>;
    case 4: return &select_elements<uint32_t, uint8_t>;
    default: return &select_elements<uint64_t, uint8_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(select_of);
HWY_EXPORT(compact_select_of);
HWY_EXPORT(one_hot_of);
HWY_EXPORT(one_hot_sum_of);
Operator select_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(select_of)(size_of(type) == 8);
}
Operator compact_select_operator(size_t element_size) {
  return HWY_DYNAMIC_DISPATCH(compact_select_of)(element_size);
}
Operator row_sum_of_one_hot(Compute type) { return HWY_DYNAMIC_DISPATCH(one_hot_sum_of)(type); }
Operator one_hot_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(one_hot_of)(size_of(type) == 8);
}
}  // namespace mt::cpu
#endif
