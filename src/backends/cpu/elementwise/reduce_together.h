// SPDX-License-Identifier: Apache-2.0
// Reduces rows together, in the order of ops/order.h. Included once for each instruction set.
#include "backends/cpu/elementwise/cursor.h"
#include "backends/cpu/elementwise/half_floats.h"
#include "backends/cpu/elementwise/reduction.h"
#include "backends/cpu/elementwise/vector_math.h"
#include "base/rounding.h"
#include "ops/order.h"

#if defined(MT_CPU_REDUCE_TOGETHER_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_REDUCE_TOGETHER_H
#undef MT_CPU_REDUCE_TOGETHER_H
#else
#define MT_CPU_REDUCE_TOGETHER_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// What is reduced: x, x * x, x * y, x stored in 16 bits or, with one y for the whole row, the
// square of x - y or exp(x - y), which may be kept; and the terms of norms' gradients
// (normalize_gradient.h).
enum class Term {
  itself,
  square,
  product,
  float16,
  bfloat16,
  exponential,
  kept_exponential,
  deviation,
  kept_deviation,
  weighted_product,
  kept_slope
};
constexpr bool is_of_difference(Term term) {
  return term >= Term::exponential && term <= Term::kept_deviation;
}
constexpr bool is_deviation(Term term) {
  return term == Term::deviation || term == Term::kept_deviation;
}
constexpr bool is_cheap(Term term) { return term <= Term::bfloat16; }
constexpr bool is_half(Term term) { return term == Term::float16 || term == Term::bfloat16; }
constexpr bool reads_two(Term term) {
  return term == Term::product || term == Term::weighted_product;
}
// Whether exponentials are computed faster where they are known to be normal numbers.
template <Term term, class T>
constexpr bool tests_normal = (term == Term::exponential || term == Term::kept_exponential) &&
                              !skips_lanes<Vector<T>> && sizeof(T) == 4 && !is_baseline;
constexpr bool is_kept(Term term) {
  return term == Term::kept_exponential || term == Term::kept_deviation;
}

// A row's operands. No other members, so that rows that are reduced together stay in registers.
template <Term term, class T>
struct Row {
  const T *x, *y;
};
template <Term term, class T>
requires(is_of_difference(term)) struct Row<term, T> {
  const T *x, *y;
  T* kept;
};
template <Term term>
requires(is_half(term)) struct Row<term, float> {
  const uint16_t* x;
};

// Access to a row's vector at element `at`: a whole one, or the last one, which has only n lanes.
template <class T>
struct Whole {
  size_t at;
  HWY_INLINE auto load(const uint16_t* row) const {
    return hn::LoadU(hn::Rebind<uint16_t, Tag<T>>(), row + at);
  }
  HWY_INLINE hn::Vec<Tag<T>> load(const T* row) const { return hn::LoadU(Tag<T>(), row + at); }
  HWY_INLINE void store(hn::Vec<Tag<T>> x, T* row) const { hn::StoreU(x, Tag<T>(), row + at); }
};
template <class T>
struct First {
  size_t at, n;
  HWY_INLINE auto load(const uint16_t* row) const {
    return load_first(hn::Rebind<uint16_t, Tag<T>>(), row + at, n);
  }
  HWY_INLINE hn::Vec<Tag<T>> load(const T* row) const { return load_first(Tag<T>(), row + at, n); }
  HWY_INLINE void store(hn::Vec<Tag<T>> x, T* row) const { store_first(Tag<T>(), x, row + at, n); }
};

// `normal`: its exponential is known to be a normal number.
template <bool normal = false, Term term, class T, class Lanes>
HWY_INLINE hn::Vec<Tag<T>> term_of(const Row<term, T>& row, Lanes lanes) {
  const auto x = lanes.load(row.x);
  if constexpr (term == Term::itself) {
    return x;
  } else if constexpr (is_half(term)) {
    using F = std::conditional_t<term == Term::float16, Float16, Bfloat16>;
    return F::load(Tag<T>(), hn::Rebind<uint16_t, Tag<T>>(), x);
  } else if constexpr (is_of_difference(term)) {
    const Vector<T> difference(x - hn::Set(Tag<T>(), *row.y));
    const auto value = (is_deviation(term) ? difference
                        : normal           ? normal_exp(difference)
                                           : exp(difference))
                           .raw;
    if constexpr (is_kept(term)) lanes.store(value, row.kept);
    return is_deviation(term) ? value * value : value;
  } else {
    return x * (term == Term::square ? x : lanes.load(row.y));
  }
}
template <bool normal = false, Term term, class T>
HWY_INLINE hn::Vec<Tag<T>> term_at(const Row<term, T>& row, size_t at) {
  if constexpr (normal) return term_of<normal>(row, Whole<T>{at});
  return term_of(row, Whole<T>{at});  // which other terms may overload
}
// The last n terms, which are less than a vector; the other lanes hold the identity.
template <class Op, Term term, class T>
HWY_INLINE hn::Vec<Tag<T>> last_terms(const Row<term, T>& row, size_t at, size_t n) {
  constexpr Tag<T> d;
  const auto identity = hn::Set(d, Op::template identity<T>());
  return hn::IfThenElse(hn::FirstN(d, n), term_of(row, First<T>{at, n}), identity);
}

// The lanes where neither is NaN.
template <class T>
HWY_INLINE hn::Mask<Tag<T>> both_numbers(hn::Vec<Tag<T>> a, hn::Vec<Tag<T>> b) {
#if HWY_TARGET == HWY_AVX3  // in one instruction
  if constexpr (std::is_same_v<T, float>) return {_mm512_cmp_ps_mask(a.raw, b.raw, _CMP_ORD_Q)};
#endif
  return hn::And(hn::Eq(a, a), hn::Eq(b, b));
}

constexpr int unrolled = is_baseline ? 1 : 16;  // iterations of a loop over registers: all

// Prefetches memory `ahead` bytes after a panel's next elements. `alone`: nothing else at work
// needs the first-level cache.
template <bool alone, class T>
HWY_INLINE void fetch_lines(const T* from, int64_t ahead) {
  HWY_UNROLL(unrolled)
  for (size_t at = 0; at < row_lanes * sizeof(T); at += cache_line) {
    const intptr_t line = reinterpret_cast<intptr_t>(from) + static_cast<intptr_t>(at) + ahead;
    if constexpr (alone) {
      __builtin_prefetch(reinterpret_cast<const char*>(line));
    } else {
      fetch_line(reinterpret_cast<const char*>(line));
    }
  }
}

// Combines vector k with k + half, for ever smaller halves. A recursion, because compilers keep
// vectors that a loop indexes in memory.
template <class Op, size_t half, class V, size_t vectors>
HWY_INLINE void halve_vectors(V (&sums)[vectors]) {
  if constexpr (half >= 1) {
    HWY_UNROLL(unrolled)
    for (size_t k = 0; k < half; ++k) sums[k] = Op::combine(sums[k], sums[k + half]);
    halve_vectors<Op, half / 2>(sums);
  }
}

// Reduces `together` rows at once: the lanes of one row are too few chains to keep the adders busy.
// If it `fetches`, it prefetches memory `ahead` bytes after the operands as it goes. All
// exponentials may be known to be normal numbers, which then need no test.
template <class Op, Term term, class T, size_t together, bool fetches = is_of_difference(term)>
HWY_INLINE void reduce_together(T* out, const Row<term, T>* rows, size_t count, int64_t ahead,
                                bool all_normal = false) {
  constexpr Tag<T> d;
  constexpr size_t lanes = lane_count<T>;
  constexpr size_t vectors = row_lanes / lanes;
  constexpr T nan = watches_nan<Op, T> ? std::numeric_limits<T>::quiet_NaN() : T(0);
  const auto identity = hn::Set(d, Op::template identity<T>());
  using Numbers = decltype(hn::Eq(identity, identity));
  hn::Vec<Tag<T>> sums[together][vectors];
  Numbers numbers[together];  // lanes that have seen no NaN
  HWY_UNROLL(unrolled)
  for (size_t r = 0; r < together; ++r) {
    HWY_UNROLL(unrolled)
    for (size_t k = 0; k < vectors; ++k) sums[r][k] = identity;
    numbers[r] = hn::Eq(identity, identity);
  }
  auto take = [&](size_t r, size_t k, hn::Vec<Tag<T>> v)
                  HWY_ATTR { sums[r][k] = Op::combine(sums[r][k], v); };
  auto watch = [&](size_t r, hn::Vec<Tag<T>> a, hn::Vec<Tag<T>> b) HWY_ATTR {
    if constexpr (watches_nan<Op, T>) numbers[r] = hn::And(numbers[r], both_numbers<T>(a, b));
  };
  size_t j = 0;
  if constexpr (tests_normal<term, T>) {
    for (; all_normal && j + row_lanes <= count; j += row_lanes) {
      fetch_lines<is_cheap(term)>(rows[0].x + j, ahead);
      HWY_UNROLL(unrolled)
      for (size_t k = 0; k < vectors; ++k) take(0, k, term_at<true>(rows[0], j + k * lanes));
    }
  }
  for (; j + row_lanes <= count; j += row_lanes) {
    HWY_UNROLL(unrolled)
    for (size_t r = 0; r < together; ++r) {
      if constexpr (fetches) fetch_lines<is_cheap(term)>(rows[r].x + j, ahead);
      if constexpr (fetches && reads_two(term)) fetch_lines<is_cheap(term)>(rows[r].y + j, ahead);
      HWY_UNROLL(unrolled)
      for (size_t k = 0; k < vectors; k += 2) {
        const auto a = term_at(rows[r], j + k * lanes);
        const auto b = term_at(rows[r], j + (k + 1) * lanes);
        take(r, k, a);
        take(r, k + 1, b);
        watch(r, a, b);
      }
    }
  }
  HWY_UNROLL(unrolled)
  for (size_t r = 0; r < together; ++r) {
    size_t at = j;
    HWY_UNROLL(unrolled)
    for (size_t k = 0; k < vectors; ++k) {
      if (at < count) {
        const bool whole = lanes == 1 || at + lanes <= count;
        const auto v = whole ? term_at(rows[r], at) : last_terms<Op>(rows[r], at, count - at);
        take(r, k, v);
        watch(r, v, v);
      }
      at += lanes;
    }
    halve_vectors<Op, vectors / 2>(sums[r]);
    out[r] = halve<Op>(d, sums[r][0]);
    if (watches_nan<Op, T> && !hn::AllTrue(d, numbers[r])) out[r] = nan;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
