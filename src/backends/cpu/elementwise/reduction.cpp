// SPDX-License-Identifier: Apache-2.0
// Row reductions in the order of ops/order.h, and their counterpart, repeating a value along a row.
#include <algorithm>
#include <bit>

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/reduction.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/reduce_together.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

constexpr size_t most_alone = 256;  // columns of rows that are reduced one by one

template <class Op, Term term, class T>
void reduce_rows(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr Tag<T> d;
  constexpr size_t lanes = lane_count<T>;
  constexpr T nan = watches_nan<Op, T> ? std::numeric_limits<T>::quiet_NaN() : T(0);
  const size_t count = columns;
  auto row = [&](int64_t r) {
    auto at = [&](const Input& input) {
      return static_cast<const char*>(input.data) + r * input.pitch;
    };
    auto of = [&](const Input& input) { return reinterpret_cast<const T*>(at(input)); };
    Row<term, T> row{};
    row.x = reinterpret_cast<decltype(row.x)>(at(inputs[0]));
    if constexpr (term == Term::product || is_of_difference(term)) row.y = of(inputs[1]);
    if constexpr (term == Term::kept_exponential || term == Term::kept_deviation)
      row.kept = const_cast<T*>(of(inputs[2]));
    return row;
  };
  const int64_t ahead = inputs[0].ahead;
  T* to = static_cast<T*>(out);
  int64_t r = 0;
  if (count <= lanes && !is_of_difference(term) && !is_half(term)) {
    // All other lanes hold the identity, which changes nothing.
    const auto identity = hn::Set(d, Op::template identity<T>());
    for (; r < rows; ++r) {
      auto terms = count == lanes ? term_at(row(r), 0) : last_terms<Op>(row(r), 0, count);
      to[r] = halve<Op>(d, Op::combine(identity, terms));
      if (watches_nan<Op, T> && !hn::AllTrue(d, hn::Eq(terms, terms))) to[r] = nan;
    }
    return;
  }
  // Eight chains, unless something else takes longer. Short rows overlap anyway, and prefetched
  // rows are read faster in memory order: both are reduced one by one.
  constexpr size_t together =
      is_of_difference(term) || is_half(term) ? 1 : std::clamp<size_t>(8 * lanes / row_lanes, 1, 4);
  constexpr bool fetches =  // elsewhere small rather than fast
      is_of_difference(term) || (!is_baseline && std::is_floating_point_v<T>);
  if constexpr (together > 1) {
    constexpr int64_t step = together;
    for (; count > most_alone && ahead == 0 && r + step <= rows; r += step) {
      Row<term, T> some[together];
      for (size_t k = 0; k < together; ++k) some[k] = row(r + static_cast<int64_t>(k));
      reduce_together<Op, term, T, together>(to + r, some, count, ahead);
    }
  }
  for (; r < rows; ++r) {
    Row<term, T> one = row(r);
    reduce_together<Op, term, T, 1, fetches>(to + r, &one, count, ahead);
  }
}

// Transposed rows: element c of row r lies r elements after the beginning of column c, and columns
// are `pitch` bytes apart. Lanes without a column hold the identity, which changes nothing but a
// negative zero's sign.
template <class Op, class T>
void reduce_across(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr Tag<T> d;
  constexpr size_t lanes = lane_count<T>;
  const auto identity = hn::Set(d, Op::template identity<T>());
  const size_t count = static_cast<size_t>(rows), width = static_cast<size_t>(columns);
  T* to = static_cast<T*>(out);
  size_t r = 0;
  // Two to four columns stay in registers; the identity stands in for missing ones.
  for (; width >= 2 && width <= 4 && r + lanes <= count; r += lanes) {
    const auto column = [&](size_t c) HWY_ATTR {
      if (c >= width) return identity;
      const char* begin =
          static_cast<const char*>(inputs[0].data) + static_cast<int64_t>(c) * inputs[0].pitch;
      return hn::LoadU(d, reinterpret_cast<const T*>(begin) + r);
    };
    const auto x0 = column(0), x1 = column(1), x2 = column(2), x3 = column(3);
    auto result = Op::combine(identity, Op::combine(Op::combine(x0, x2), Op::combine(x1, x3)));
    if constexpr (watches_nan<Op, T>) {
      const auto numbers =
          hn::And(hn::And(hn::Eq(x0, x0), hn::Eq(x1, x1)), hn::And(hn::Eq(x2, x2), hn::Eq(x3, x3)));
      result = hn::IfThenElse(numbers, result, hn::Set(d, std::numeric_limits<T>::quiet_NaN()));
    }
    hn::StoreU(result, d, to + r);
  }
  for (; r < count; r += lanes) {
    const size_t some = std::min(lanes, count - r);
    hn::Vec<Tag<T>> terms[narrow_columns];
    auto numbers = hn::Eq(identity, identity);
    for (size_t c = 0; c < width; ++c) {
      const char* column =
          static_cast<const char*>(inputs[0].data) + static_cast<int64_t>(c) * inputs[0].pitch;
      const T* from = reinterpret_cast<const T*>(column) + r;
      terms[c] = some == lanes ? hn::LoadU(d, from) : load_first(d, from, some);
      if constexpr (watches_nan<Op, T>) numbers = hn::And(numbers, hn::Eq(terms[c], terms[c]));
    }
    for (size_t half = std::bit_ceil(width) / 2; half >= 1; half /= 2) {
      for (size_t c = 0; c < half && c + half < width; ++c) {
        terms[c] = Op::combine(terms[c], terms[c + half]);
      }
    }
    auto result = Op::combine(identity, terms[0]);
    if constexpr (watches_nan<Op, T>) {
      result = hn::IfThenElse(numbers, result, hn::Set(d, std::numeric_limits<T>::quiet_NaN()));
    }
    some == lanes ? hn::StoreU(result, d, to + r) : store_first(d, result, to + r, some);
  }
}

// The kernel of each reduction and type, along rows or across them.
template <class Op, class T>
struct Along {
  static constexpr Operator kernel = &reduce_rows<Op, Term::itself, T>;
};
template <class Op, class T>
struct Across {
  static constexpr Operator kernel = &reduce_across<Op, T>;
};

Operator reduction_of(Reduction reduction, Compute type) {
  return kernel_of<Operator, Along>(reduction, type);
}
Operator reduction_across_of(Reduction reduction, Compute type) {
  return kernel_of<Operator, Across>(reduction, type);
}
Operator sum_of_squares(Compute type) {
  if (type == Compute::f32) return &reduce_rows<Sum, Term::square, float>;
  return type == Compute::f64 ? &reduce_rows<Sum, Term::square, double> : nullptr;
}
Operator sum_of_products(Compute type) {
  if (type == Compute::f32) return &reduce_rows<Sum, Term::product, float>;
  return type == Compute::f64 ? &reduce_rows<Sum, Term::product, double> : nullptr;
}

template <class T>
Operator halves_of(Dtype dtype) {
  if constexpr (!is_baseline) {  // there small rather than fast
    if (dtype == Dtype::float16) return &reduce_rows<Sum, Term::float16, T>;
    if (dtype == Dtype::bfloat16) return &reduce_rows<Sum, Term::bfloat16, T>;
  }
  return nullptr;
}
Operator sum_of_halves(Dtype dtype) { return halves_of<float>(dtype); }

template <class T>
Operator exponentials_of(bool kept) {
  return kept ? &reduce_rows<Sum, Term::kept_exponential, T>
              : &reduce_rows<Sum, Term::exponential, T>;
}
Operator sum_of_deviations(Compute type) {
  if (is_baseline || type != Compute::f32) return nullptr;  // small rather than fast
  return &reduce_rows<Sum, Term::kept_deviation, float>;
}
Operator sum_of_exponentials(Compute type, bool kept) {
  if (type == Compute::f32) return exponentials_of<float>(kept);
  if (HWY_TARGET == HWY_AVX2 || type != Compute::f64) return nullptr;  // too few registers
  return exponentials_of<double>(kept);
}

template <class T>
void expand_rows(void* out, const void* input, int64_t rows, int64_t columns) {
  constexpr Tag<T> d;
  constexpr size_t lanes = lane_count<T>;
  const T* x = static_cast<const T*>(input);
  T* y = static_cast<T*>(out);
  size_t count = columns;
  for (int64_t r = 0; r < rows; ++r, y += count) {
    auto value = hn::Set(d, x[r]);
    size_t j = 0;
    for (; j + lanes <= count; j += lanes) hn::StoreU(value, d, y + j);
    if (j < count) store_first(d, value, y + j, count - j);
  }
}
RowExpansion expansion_of(size_t element_size) {
  switch (element_size) {
    case 1: return &expand_rows<uint8_t>;
    case 2: return &expand_rows<uint16_t>;
    case 4: return &expand_rows<uint32_t>;
    case 8: return &expand_rows<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(reduction_of);
HWY_EXPORT(reduction_across_of);
HWY_EXPORT(sum_of_squares);
HWY_EXPORT(sum_of_products);
HWY_EXPORT(sum_of_halves);
HWY_EXPORT(sum_of_deviations);
HWY_EXPORT(sum_of_exponentials);
HWY_EXPORT(expansion_of);
Operator row_reduction(Reduction reduction, Compute type) {
  return HWY_DYNAMIC_DISPATCH(reduction_of)(reduction, type);
}
Operator reduction_across(Reduction reduction, Compute type) {
  return HWY_DYNAMIC_DISPATCH(reduction_across_of)(reduction, type);
}
Operator row_sum_of_squares(Compute type) { return HWY_DYNAMIC_DISPATCH(sum_of_squares)(type); }
Operator row_sum_of_products(Compute type) { return HWY_DYNAMIC_DISPATCH(sum_of_products)(type); }
Operator row_sum_of_halves(Dtype dtype) { return HWY_DYNAMIC_DISPATCH(sum_of_halves)(dtype); }
Operator row_sum_of_deviations(Compute type) {
  return HWY_DYNAMIC_DISPATCH(sum_of_deviations)(type);
}
Operator row_sum_of_exponentials(Compute type, bool kept) {
  return HWY_DYNAMIC_DISPATCH(sum_of_exponentials)(type, kept);
}
RowExpansion row_expansion(size_t element_size) {
  return HWY_DYNAMIC_DISPATCH(expansion_of)(element_size);
}
}  // namespace mt::cpu
#endif
