// SPDX-License-Identifier: Apache-2.0
// Reductions of integers of one or two bytes, as they are in memory. Order makes no difference to
// them, so they use all lanes of a vector.
#include <algorithm>
#include <array>

#include "backends/cpu/elementwise/compact.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/compact_reduction.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/reduction.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Each defines how a vector of elements is loaded, how it is combined into a result of as many
// bytes, and how the last vector of a row is loaded, of which only the last n lanes are new.

template <class Op, class T>
struct Extreme {
  using Result = int32_t;
  static constexpr T identity = Op::template identity<T>();
  static Result combine(Result a, Result b) {
    return std::is_same_v<Op, Maximum> ? std::max(a, b) : std::min(a, b);
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return Op::combine(a, b);
  }
  template <class D>
  static HWY_INLINE auto begin(D d) {
    return hn::Set(d, identity);
  }
  template <class D>
  static HWY_INLINE auto load(D d, const T* x) {
    return hn::LoadU(d, x);
  }
  // Elements that are taken twice change nothing.
  template <class D>
  static HWY_INLINE auto last(D d, const T* x, size_t) {
    return hn::LoadU(d, x);
  }
  template <class V>
  static HWY_INLINE V take(V result, V x) {
    return Op::combine(result, x);
  }
  template <class V>
  static HWY_INLINE Result finish(V v, size_t) {
    return halve<Op>(hn::DFromV<V>(), v);
  }
};

constexpr auto zeros_then_ones = [] {
  std::array<uint8_t, 2 * HWY_MAX_BYTES> result{};
  for (size_t i = HWY_MAX_BYTES; i < result.size(); ++i) result[i] = 0xff;
  return result;
}();

// Bytes are added as unsigned numbers, eight to a lane; two-byte numbers two to a lane, which holds
// the sum of a panel (ops/order.h).
template <class T, bool booleans = false>
struct Total {
  using Result = int64_t;
  static constexpr T identity = 0;
  static constexpr bool flips_sign = std::is_same_v<T, int8_t>;
  static Result combine(Result a, T b) { return a + (booleans ? b != 0 : b); }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
  template <class D>
  static HWY_INLINE auto begin(D) {
    return hn::Zero(hn::Repartition<std::conditional_t<sizeof(T) == 1, uint64_t, int32_t>, D>());
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* x) {
    const auto v = hn::LoadU(d, x);
    if constexpr (booleans) return hn::Min(v, hn::Set(d, 1));
    if constexpr (flips_sign) return hn::Xor(v, hn::SignBit(d));
    return v;
  }
  template <class D>
  static HWY_INLINE auto last(D d, const T* x, size_t n) {
    constexpr hn::Repartition<uint8_t, D> bytes;
    const size_t old = (hn::MaxLanes(D()) - n) * sizeof(T);
    const auto mask = hn::LoadU(bytes, zeros_then_ones.data() + HWY_MAX_BYTES - old);
    return hn::And(load(d, x), hn::BitCast(d, mask));
  }
  template <class R, class V>
  static HWY_INLINE R take(R result, V x) {
    constexpr hn::DFromV<R> d;
    if constexpr (sizeof(T) == 1) {
      return hn::Add(result,
                     hn::SumsOf8(hn::BitCast(hn::Repartition<uint8_t, hn::DFromV<V>>(), x)));
    } else if constexpr (std::is_signed_v<T>) {
      const auto pairs = hn::BitCast(d, x);
      return hn::Add(hn::Add(result, hn::ShiftRight<16>(pairs)),
                     hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs)));
    } else {
      const auto pairs = hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), x);
      const auto even = hn::And(hn::BitCast(d, x), hn::Set(d, 0xffff));
      return hn::Add(hn::Add(result, hn::BitCast(d, hn::ShiftRight<16>(pairs))), even);
    }
  }
  template <class V>
  static HWY_INLINE Result finish(V v, size_t count) {
    const auto sum = static_cast<Result>(halve<Sum>(hn::DFromV<V>(), v));
    return flips_sign ? sum - 128 * static_cast<Result>(count) : sum;
  }
};

// Reduces a row of at least one vector.
template <class Kind, class D, class T>
HWY_INLINE typename Kind::Result reduce_row(D d, const T* x, size_t count) {
  constexpr size_t lanes = hn::MaxLanes(D());
  auto a = Kind::begin(d), b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a = Kind::take(a, Kind::load(d, x + i));
    b = Kind::take(b, Kind::load(d, x + i + lanes));
  }
  if (i + lanes <= count) {
    a = Kind::take(a, Kind::load(d, x + i));
    i += lanes;
  }
  if (i < count) b = Kind::take(b, Kind::last(d, x + count - lanes, count - i));
  return Kind::finish(Kind::join(a, b), count);
}
template <class Kind, class T, bool booleans>
void reduce_compact(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  using Result = typename Kind::Result;
  constexpr hn::Full128<T> small;
  const char* row = static_cast<const char*>(inputs[0].data);
  Result* to = static_cast<Result*>(out);
  const size_t count = static_cast<size_t>(columns);
  for (int64_t r = 0; r < rows; ++r, row += inputs[0].pitch) {
    const T* x = reinterpret_cast<const T*>(row);
    Result result = Kind::identity;
    if (count >= lane_count<T>) {
      result = reduce_row<Kind>(Tag<T>(), x, count);
    } else if (count >= hn::MaxLanes(small)) {
      result = reduce_row<Kind>(small, x, count);
    } else {
      for (size_t i = 0; i < count; ++i) result = Kind::combine(result, x[i]);
    }
    to[r] = booleans ? result != 0 : result;
  }
}

template <class T, bool booleans = false>
Operator compact_kernel_for(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return &reduce_compact<Total<T, booleans>, T, false>;
    case Reduction::max: return &reduce_compact<Extreme<Maximum, T>, T, booleans>;
    case Reduction::min: return &reduce_compact<Extreme<Minimum, T>, T, booleans>;
    case Reduction::prod: return nullptr;
  }
  return nullptr;
}
Operator compact_reduction_of(Reduction reduction, Dtype operand) {
  switch (operand) {
    case Dtype::boolean: return compact_kernel_for<uint8_t, true>(reduction);
    case Dtype::uint8: return compact_kernel_for<uint8_t>(reduction);
    case Dtype::int8: return compact_kernel_for<int8_t>(reduction);
    case Dtype::uint16: return compact_kernel_for<uint16_t>(reduction);
    case Dtype::int16: return compact_kernel_for<int16_t>(reduction);
    default: return nullptr;
  }
}
#else
Operator compact_reduction_of(Reduction, Dtype) { return nullptr; }  // small rather than fast
#endif

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(compact_reduction_of);
Operator compact_reduction(Reduction reduction, Dtype operand) {
  return HWY_DYNAMIC_DISPATCH(compact_reduction_of)(reduction, operand);
}
}  // namespace mt::cpu
#endif
