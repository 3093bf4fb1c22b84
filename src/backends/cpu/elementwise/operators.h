// SPDX-License-Identifier: Apache-2.0
// The table's rows as loops over vectors, for one compute type T at a time. Included once for each
// instruction set; a file that includes it and asks for kernel_table<T>() makes T's kernels.
#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/elementwise/vector.h"

#if defined(MT_CPU_OPERATORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_OPERATORS_H
#undef MT_CPU_OPERATORS_H
#else
#define MT_CPU_OPERATORS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// An operand as a kernel walks along it: vectors that follow one another, or one that stays.
template <class T>
struct Cursor {
  const char* row;
  int64_t pitch;
  size_t step;  // bytes from one vector to the next
  HWY_INLINE explicit Cursor(const Input& in)
      : row(static_cast<const char*>(in.data)),
        pitch(in.pitch),
        step(in.repeated ? 0 : lane_count<T> * sizeof(T)) {}
  // Where the next row begins; `block` is room for a vector.
  HWY_INLINE const char* begin(T* block) {
    const char* at = row;
    row += pitch;
    if (step != 0) return at;
    T value;
    memcpy(&value, at, sizeof(T));
    hn::Store(hn::Set(Tag<T>(), value), Tag<T>(), block);
    return reinterpret_cast<const char*>(block);
  }
};
template <class T>
HWY_INLINE Vector<T> load(const char* from) {
  return Vector<T>(hn::LoadU(Tag<T>(), reinterpret_cast<const T*>(from)));
}
template <class T>
HWY_INLINE Vector<T> load(const char* from, size_t n) {
  return Vector<T>(load_first(Tag<T>(), reinterpret_cast<const T*>(from), n));
}

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

// Elements [0, columns) of a row by one(n), whole vectors by one() and, two at a time where that is
// cheap enough to matter, by two().
template <bool cheap, size_t lanes, class Two, class One, class Some>
HWY_INLINE void along_row(int64_t columns, Two&& two, One&& one, Some&& some) {
  size_t left = static_cast<size_t>(columns);
  if constexpr (cheap) {
    for (; left >= 2 * lanes; left -= 2 * lanes) two();
  }
  for (; left >= lanes; left -= lanes) one();
  if (left > 0) some(left);
}

template <class Op, class T, bool cheap>
void unary(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  using Result = decltype(to_memory(Op::apply(Vector<T>())));
  constexpr size_t lanes = lane_count<T>, result_size = sizeof(hn::TFromV<Result>);
  alignas(HWY_MAX_BYTES) T block[lanes];
  Cursor<T> x(inputs[0]);
  const size_t step = x.step;
  char* y = static_cast<char*>(out);
  for (; rows > 0; --rows) {
    const char* p = x.begin(block);
    auto value = [&](const char* at) HWY_ATTR { return to_memory(Op::apply(load<T>(at))); };
    along_row<cheap, lanes>(
        columns,
        [&]() HWY_ATTR {
          auto first = value(p), second = value(p + step);
          store(first, y);
          store(second, y + lanes * result_size);
          p += 2 * step;
          y += 2 * lanes * result_size;
        },
        [&]() HWY_ATTR {
          store(value(p), y);
          p += step;
          y += lanes * result_size;
        },
        [&](size_t n) HWY_ATTR {
          store(to_memory(Op::apply(load<T>(p, n))), y, n);
          y += n * result_size;
        });
  }
}

template <class Op, class T, bool cheap>
void binary(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  using Result = decltype(to_memory(Op::apply(Vector<T>(), Vector<T>())));
  constexpr size_t lanes = lane_count<T>, result_size = sizeof(hn::TFromV<Result>);
  alignas(HWY_MAX_BYTES) T blocks[2][lanes];
  Cursor<T> a(inputs[0]), b(inputs[1]);
  const size_t step_a = a.step, step_b = b.step;
  char* y = static_cast<char*>(out);
  for (; rows > 0; --rows) {
    const char *p = a.begin(blocks[0]), *q = b.begin(blocks[1]);
    auto value = [&](const char* at, const char* bt)
                     HWY_ATTR { return to_memory(Op::apply(load<T>(at), load<T>(bt))); };
    along_row<cheap, lanes>(
        columns,
        [&]() HWY_ATTR {
          auto first = value(p, q), second = value(p + step_a, q + step_b);
          store(first, y);
          store(second, y + lanes * result_size);
          p += 2 * step_a;
          q += 2 * step_b;
          y += 2 * lanes * result_size;
        },
        [&]() HWY_ATTR {
          store(value(p, q), y);
          p += step_a;
          q += step_b;
          y += lanes * result_size;
        },
        [&](size_t n) HWY_ATTR {
          store(to_memory(Op::apply(load<T>(p, n), load<T>(q, n))), y, n);
          y += n * result_size;
        });
  }
}

#define UNARY(name, domain, result, value, gradient) \
  struct name##_operator {                           \
    template <class V>                               \
    static HWY_INLINE auto apply(V x) {              \
      return value;                                  \
    }                                                \
  };
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  struct name##_operator {                                          \
    template <class V>                                              \
    static HWY_INLINE auto apply(V a, V b) {                        \
      return value;                                                 \
    }                                                               \
  };
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

// x / d for the same d all along, by its reciprocal r = 1 / d, rounded. Two steps of Newton's
// method in fused multiply-adds end at the quotient that division rounds to (Markstein's theorem),
// in less than half the time, as long as the rests can be told exactly: where the quotient is not
// too small, and not a NaN, which it becomes where it overflows.
template <class T>
struct Divisor {
  Vector<T> d, minus_d, r, least;
  static constexpr T tiny = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-960);
  static constexpr T least_quotient = sizeof(T) == 4 ? T(0x1p-124) : T(0x1p-1020);
  static bool serves(T value) { return std::abs(value) >= tiny && std::abs(value) <= 1 / tiny; }
  explicit Divisor(T value)
      : d(value),
        minus_d(-value),
        r(1 / value),
        least(std::max(least_quotient, 2 * tiny * std::abs(1 / value))) {}
  HWY_INLINE Vector<T> divide(Vector<T> x) const {
    Vector<T> first = x * r;
    Vector<T> q = fma(fma(minus_d, first, x), r, first);
    q = fma(fma(minus_d, q, x), r, q);
    Mask<T> exact = abs(q) >= least;
    if (HWY_LIKELY(all(exact))) return q;
    Mask<T> zero = x == Vector<T>(0);
    return all(exact | zero) ? select(zero, first, q) : x / d;
  }
};

template <class T>
void divide(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>;
  if (is_baseline || !inputs[1].repeated || columns < int64_t{4 * lanes}) {
    return binary<div_operator, T, false>(out, inputs, rows, columns);
  }
  Input row[2] = {inputs[0], inputs[1]};
  char* y = static_cast<char*>(out);
  for (; rows > 0; --rows) {
    T value;
    memcpy(&value, row[1].data, sizeof(T));
    if (Divisor<T>::serves(value) && !row[0].repeated) {
      const Divisor<T> divisor(value);
      const char* p = static_cast<const char*>(row[0].data);
      size_t left = static_cast<size_t>(columns);
      for (; left >= lanes; left -= lanes, p += lanes * sizeof(T), y += lanes * sizeof(T)) {
        store(divisor.divide(load<T>(p)).raw, y);
      }
      if (left > 0) store(divisor.divide(load<T>(p, left)).raw, y, left);
      y += left * sizeof(T);
    } else {
      binary<div_operator, T, false>(y, row, 1, columns);
      y += static_cast<size_t>(columns) * sizeof(T);
    }
    for (Input& input : row) input.data = static_cast<const char*>(input.data) + input.pitch;
  }
}

// Which compute types a domain has kernels for.
template <class T>
constexpr bool has_kernel(Domain domain) {
  switch (domain) {
    case Domain::real:
      return std::is_floating_point_v<T>;
    case Domain::integer:
    case Domain::bits:
      return std::is_integral_v<T>;
    case Domain::boolean:
      return std::is_same_v<T, int32_t>;
    default:
      return true;
  }
}

// What is cheaper than the loop around it.
constexpr bool is_cheap(Domain domain) { return domain != Domain::real; }

using OperatorTable = std::array<Operator, static_cast<size_t>(Elementwise::count)>;

template <class Op, class T, Domain domain>
constexpr Operator unary_or_none() {
  if constexpr (has_kernel<T>(domain)) {
    return &unary<Op, T, is_cheap(domain)>;
  } else {
    return nullptr;
  }
}
template <class Op, class T, Domain domain>
constexpr Operator binary_or_none() {
  if constexpr (std::is_same_v<Op, div_operator> && std::is_floating_point_v<T>) {
    return &divide<T>;
  } else if constexpr (has_kernel<T>(domain)) {
    return &binary<Op, T, is_cheap(domain)>;
  } else {
    return nullptr;
  }
}

template <class T>
const Operator* kernel_table() {
  static constexpr OperatorTable table = {
#define UNARY(name, domain, result, value, gradient) \
  unary_or_none<name##_operator, T, Domain::domain>(),
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  binary_or_none<name##_operator, T, Domain::domain>(),
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  };
  return table.data();
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
