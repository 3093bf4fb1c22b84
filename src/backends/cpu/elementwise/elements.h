// SPDX-License-Identifier: Apache-2.0
// An operator's loop over the vectors of its operands. Included once for each instruction set.
#include <utility>

#include "backends/cpu/elementwise/cursor.h"
#include "backends/cpu/elementwise/vector.h"

#if defined(MT_CPU_ELEMENTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_ELEMENTS_H
#undef MT_CPU_ELEMENTS_H
#else
#define MT_CPU_ELEMENTS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// A result goes to memory as it is, a mask as the i32 0 or 1.
template <class T>
HWY_INLINE auto to_memory(Vector<T> v) {
  return v.raw;
}
template <class T>
HWY_INLINE auto to_memory(Mask<T> mask) {
  if constexpr (sizeof(T) == 4) {
    constexpr Tag<int32_t> d;
    return hn::IfThenElseZero(hn::RebindMask(d, mask.raw), hn::Set(d, 1));
  } else {
    constexpr Tag<uint64_t> wide;
    constexpr hn::Rebind<uint32_t, Tag<uint64_t>> narrow;
    auto one = hn::IfThenElseZero(hn::RebindMask(wide, mask.raw), hn::Set(wide, 1));
    return hn::BitCast(hn::RebindToSigned<decltype(narrow)>(), hn::TruncateTo(narrow, one));
  }
}
template <class Raw>
HWY_INLINE void store(Raw raw, char* out) {
  hn::DFromV<Raw> d;
  hn::StoreU(raw, d, reinterpret_cast<hn::TFromV<Raw>*>(out));
}
template <class Raw>
HWY_INLINE void store(Raw raw, char* out, size_t n) {
  hn::DFromV<Raw> d;
  store_first(d, raw, reinterpret_cast<hn::TFromV<Raw>*>(out), n);
}

// The vector that an operator's result goes to memory as.
template <class Op, class T, size_t... k>
auto result_of(std::index_sequence<k...>)
    -> decltype(to_memory(Op::apply((void(k), Vector<T>())...)));

// All elements of a cheap operator, two vectors at a time, as the loop itself matters.
template <class Op, class T, size_t... k>
HWY_INLINE void each_two_vectors(void* out, const Input* inputs, int64_t rows, int64_t columns,
                                 std::index_sequence<k...> operands) {
  constexpr size_t arity = sizeof...(k), lanes = lane_count<T>, together = 2 * lanes;
  using Result = decltype(result_of<Op, T>(operands));
  constexpr size_t bytes = lanes * sizeof(hn::TFromV<Result>);
  alignas(HWY_MAX_BYTES) T blocks[arity][together];
  Cursor<T> cursors[arity] = {Cursor<T>(inputs[k])...};
  char* y = static_cast<char*>(out);
  for (; rows > 0; --rows) {
    const char* at[arity] = {cursors[k].template begin<together>(blocks[k])...};
    for (size_t left = columns, n; left > 0; left -= n) {
      if (HWY_LIKELY(left >= together)) {
        n = together;
        auto first = to_memory(Op::apply(load<T>(at[k])...));
        auto second = to_memory(Op::apply(load<T>(at[k] + lanes * sizeof(T))...));
        store(first, y);
        store(second, y + bytes);
        ((at[k] += 2 * cursors[k].step), ...);
        y += 2 * bytes;
      } else {
        n = left < lanes ? left : lanes;
        auto result = to_memory(Op::apply((n == lanes ? load<T>(at[k]) : load<T>(at[k], n))...));
        n == lanes ? store(result, y) : store(result, y, n);
        ((at[k] += cursors[k].step), ...);
        y += n * sizeof(hn::TFromV<Result>);
      }
    }
  }
}

// Whole vectors of a costly operator, which has the time to prefetch memory meanwhile: each operand
// begins at `from` and continues by `steps` bytes.
using WholeVectors = void (*)(char* to, const char* const* from, const size_t* steps, size_t count,
                              int64_t ahead);
template <class Op, class T, size_t... k>
HWY_INLINE void each_vector(char* to, const char* const* from, const size_t* steps, size_t count,
                            int64_t ahead, std::index_sequence<k...> operands) {
  using Result = decltype(result_of<Op, T>(operands));
  const char* at[] = {from[k]...};
  const size_t step[] = {steps[k]...};
  for (; count > 0; --count, to += lane_count<T> * sizeof(hn::TFromV<Result>)) {
    fetch(at[0], ahead);
    store(to_memory(Op::apply(load<T>(at[k])...)), to);
    ((at[k] += step[k]), ...);
  }
}
template <class Op, class T, size_t arity>
void whole_vectors(char* to, const char* const* from, const size_t* steps, size_t count,
                   int64_t ahead) {
  each_vector<Op, T>(to, from, steps, count, ahead, std::make_index_sequence<arity>());
}

// All elements of a costly operator. Its code is long, so that a row's remainder is computed by the
// same, on the stack, and what goes from row to row is not part of it.
template <class T, class Result, size_t... k>
HWY_NOINLINE void by_whole_vectors(WholeVectors run, void* out, const Input* inputs, int64_t rows,
                                   int64_t columns, std::index_sequence<k...>) {
  using Element = hn::TFromV<Result>;
  constexpr size_t lanes = lane_count<T>;
  alignas(HWY_MAX_BYTES) T blocks[sizeof...(k)][lanes];
  alignas(HWY_MAX_BYTES) Element last[lanes];
  Cursor<T> cursors[] = {Cursor<T>(inputs[k])...};
  const size_t steps[] = {cursors[k].step...};
  const size_t count = static_cast<size_t>(columns), whole = count / lanes, rest = count % lanes;
  Element* y = static_cast<Element*>(out);
  for (; rows > 0; --rows, y += count) {
    const char* from[] = {cursors[k].begin(blocks[k])...};
    if (whole > 0) run(reinterpret_cast<char*>(y), from, steps, whole, inputs[0].ahead);
    if (rest == 0) continue;
    ((from[k] = cursors[k].first(from[k] + whole * steps[k], rest, blocks[k])), ...);
    run(reinterpret_cast<char*>(last), from, steps, 1, 0);
    constexpr hn::DFromV<Result> d;
    store_first(d, hn::Load(d, last), y + whole * lanes, rest);
  }
}

template <class Op, class T, bool cheap, size_t arity>
void elements(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr std::make_index_sequence<arity> operands;
  if constexpr (cheap) {
    each_two_vectors<Op, T>(out, inputs, rows, columns, operands);
  } else {
    using Result = decltype(result_of<Op, T>(operands));
    by_whole_vectors<T, Result>(&whole_vectors<Op, T, arity>, out, inputs, rows, columns, operands);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
