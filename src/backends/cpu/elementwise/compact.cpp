// SPDX-License-Identifier: Apache-2.0
// The table's cheap operators for compact bool, 16-bit floats and integers of one or two bytes, and
// those with a boolean result, which they write as bytes.
#include "backends/cpu/elementwise/compact.h"

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/compact.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/half_floats.h"
#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// A vector that is ready to be stored.
template <class Raw>
struct Finished {
  Raw raw;
};
template <class Raw>
HWY_INLINE Raw to_memory(Finished<Raw> x) {
  return x.raw;
}
template <class Raw>
HWY_INLINE Finished<Raw> finished(Raw raw) {
  return {raw};
}

// A mask as bytes.
template <class T>
HWY_INLINE auto truth_bytes(Mask<T> x) {
  constexpr hn::Rebind<uint8_t, Tag<T>> bytes;
#if HWY_TARGET == HWY_AVX3
  using ByteMask = hn::Mask<hn::Rebind<uint8_t, Tag<T>>>;
  const ByteMask mask{static_cast<typename ByteMask::Raw>(x.raw.raw)};
  return hn::IfThenElseZero(mask, hn::Set(bytes, 1));
#else
  if constexpr (sizeof(T) == 1) {
    return hn::IfThenElseZero(hn::RebindMask(bytes, x.raw), hn::Set(bytes, 1));
  } else {
    constexpr hn::RebindToUnsigned<Tag<T>> d;
    return hn::TruncateTo(bytes, hn::IfThenElseZero(hn::RebindMask(d, x.raw), hn::Set(d, 1)));
  }
#endif
}
template <class T>
HWY_INLINE auto in_bytes(Vector<T> x) {
  return finished(x.raw);
}
template <class T>
HWY_INLINE auto in_bytes(Mask<T> mask) {
  return finished(truth_bytes(mask));
}

// For operands in lanes of their own size. `of_booleans`: numbers of which all but 0 mean 1.
template <class Op, bool of_booleans>
struct InOwnLanes {
  template <class... V>
  static HWY_INLINE auto apply(V... x) {
    if constexpr (of_booleans) {
      return in_bytes(Op::apply(V(hn::Min(x.raw, V(1).raw))...));
    } else {
      return in_bytes(Op::apply(x...));
    }
  }
};

// For 16-bit floats: a vector becomes two of float32, and the operator's results one again.
template <class Op, class Format>
struct InFloat32 {
#if HWY_TARGET != HWY_SCALAR
  using Half = hn::Half<Tag<uint16_t>>;
  static HWY_INLINE Vector<float> to_float(hn::Vec<Half> x) {
    return Vector<float>(Format::load(Tag<float>(), Half(), x));
  }
  static HWY_INLINE auto to_half(Vector<float> x) {
    return Format::store(Tag<float>(), Half(), x.raw);
  }
  static HWY_INLINE auto to_half(Mask<float> mask) { return truth_bytes(mask); }
  template <class... V>
  static HWY_INLINE auto apply(V... x) {
    constexpr Half half;
    auto low = to_half(Op::apply(to_float(hn::LowerHalf(half, x.raw))...));
    auto high = to_half(Op::apply(to_float(hn::UpperHalf(half, x.raw))...));
    constexpr hn::Twice<hn::DFromV<decltype(low)>> whole;
    return finished(hn::Combine(whole, high, low));
  }
#endif
};
// The elements at even places and those at odd ones.
template <class Op>
struct InFloat32<Op, Bfloat16> {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  static HWY_INLINE auto join(Vector<float> even, Vector<float> odd) {
    return finished(Bfloat16::store_even_odd(Tag<float>(), even.raw, odd.raw));
  }
  static HWY_INLINE auto join(Mask<float> even, Mask<float> odd) {
    constexpr Tag<uint16_t> d;
    auto halves = [&](Mask<float> mask)
                      HWY_ATTR { return hn::BitCast(d, hn::VecFromMask(Tag<float>(), mask.raw)); };
    const auto whole = hn::MaskFromVec(hn::OddEven(halves(odd), halves(even)));
    return finished(truth_bytes(Mask<uint16_t>{whole}));
  }
  template <class... V>
  static HWY_INLINE auto apply(V... x) {
    constexpr Tag<float> d;
    return join(Op::apply(Vector<float>(Bfloat16::load_even(d, x.raw))...),
                Op::apply(Vector<float>(Bfloat16::load_odd(d, x.raw))...));
  }
#endif
};

// Operators that only change or test the sign of 16-bit floats, without float32: NaNs become quiet
// as they do there.
template <Elementwise code, int16_t infinity, int16_t quiet>
struct InSigns {
  using V = Vector<int16_t>;
  static HWY_INLINE auto with_sign(V x, V sign) {
    const V size = x & V(0x7fff);
    return finished((select(size > V(infinity), size | V(quiet), size) | (sign & V(-0x8000))).raw);
  }
  static HWY_INLINE auto apply(V x) {
    if constexpr (code == Elementwise::relu) {
      const V kept = select(x > V(0), x, V(0));
      return finished(select((x & V(0x7fff)) > V(infinity), x | V(quiet), kept).raw);
    } else {
      return with_sign(x, code == Elementwise::neg ? ~x : V(0));
    }
  }
  static HWY_INLINE auto apply(V a, V b) { return with_sign(a, b); }
};
constexpr bool is_of_signs(Elementwise code) {
  return code == Elementwise::neg || code == Elementwise::abs || code == Elementwise::copysign ||
         code == Elementwise::relu;
}

struct IsTrue {
  template <class V>
  static HWY_INLINE auto apply(V x) {
    return x != V(0);
  }
};

// Operators that keep booleans 0 or 1.
constexpr bool is_of_booleans(Elementwise code) {
  return code == Elementwise::bitwise_and || code == Elementwise::bitwise_or ||
         code == Elementwise::bitwise_xor;
}
constexpr bool is_cheap_in_integers(Elementwise code) {
  switch (code) {
    case Elementwise::neg:
    case Elementwise::abs:
    case Elementwise::sign:
    case Elementwise::square:
    case Elementwise::relu:
    case Elementwise::add:
    case Elementwise::sub:
    case Elementwise::mul:
    case Elementwise::maximum:
    case Elementwise::minimum:
    case Elementwise::bitwise_invert: return true;
    default: return is_of_booleans(code);
  }
}
constexpr bool is_cheap_in_float32(Elementwise code, Domain domain) {
  if (code == Elementwise::div || code == Elementwise::sqrt) return true;
  const bool of_numbers = domain == Domain::number || code == Elementwise::leaky_relu;
  return of_numbers && is_cheap<float>(code, domain);
}
// Operators worth a kernel for float16 too: arithmetic, rather than comparing and rounding.
constexpr bool is_arithmetic(Elementwise code, bool truth) {
  switch (code) {
    case Elementwise::sign:
    case Elementwise::floor:
    case Elementwise::ceil:
    case Elementwise::trunc:
    case Elementwise::round: return false;
    default: return !truth;
  }
}
// 16-bit floats go by Highway's names, as not all compilers have types for them.
template <class Compact>
constexpr bool is_half_float =
    std::is_same_v<Compact, hwy::bfloat16_t> || std::is_same_v<Compact, hwy::float16_t>;
template <class Op, class Compact, Elementwise code, Domain domain, bool truth, size_t arity>
constexpr Operator half_float_kernel() {
  constexpr bool wide_range = std::is_same_v<Compact, hwy::bfloat16_t>;
  if constexpr (is_of_signs(code)) {
    using Signs = InSigns<code, wide_range ? 0x7f80 : 0x7c00, wide_range ? 0x40 : 0x200>;
    return &elements<Signs, int16_t, true, arity>;
  } else if constexpr (!wide_range && !is_arithmetic(code, truth)) {
    return nullptr;
  } else if constexpr (truth ? domain != Domain::boolean : is_cheap_in_float32(code, domain)) {
    using Format = std::conditional_t<wide_range, Bfloat16, Float16>;
    // One vector at a time, as that is two of float32.
    return &elements<InFloat32<Op, Format>, uint16_t, false, arity>;
  }
  return nullptr;
}

template <class Op, class Compact, Elementwise code, Domain domain, Domain result, size_t arity>
constexpr Operator compact_kernel() {
  constexpr bool truth = result == Domain::boolean, booleans = std::is_same_v<Compact, bool>;
  if constexpr (is_baseline) {  // small rather than fast
    return nullptr;
  } else if constexpr (is_half_float<Compact>) {
    return half_float_kernel<Op, Compact, code, domain, truth, arity>();
  } else if constexpr (truth      ? domain != Domain::real
                       : booleans ? is_of_booleans(code)
                                  : is_cheap_in_integers(code)) {
    using Number = std::conditional_t<booleans, uint8_t, Compact>;
    using T = std::conditional_t<ignores_sign(code), std::make_unsigned_t<Number>, Number>;
    // Operators on booleans test their operands for 0 themselves.
    constexpr bool of_booleans = booleans && domain != Domain::boolean;
    return &elements<InOwnLanes<Op, of_booleans>, T, true, arity>;
  }
  return nullptr;
}
template <class Op, class T, Elementwise code, Domain domain, Domain result, size_t arity>
constexpr Operator truth_kernel_of() {
  if constexpr (result == Domain::boolean && has_values<T>(domain)) {
    return &elements<InOwnLanes<Op, false>, LaneFor<T, code>, true, arity>;
  } else {
    return nullptr;
  }
}

#define same any
template <class Compact>
Operator compact_row(Elementwise code) {
  static constexpr OperatorTable table = {
#define UNARY(name, domain, result, value, gradient) \
  compact_kernel<name##_operator, Compact, Elementwise::name, Domain::domain, Domain::result, 1>(),
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  compact_kernel<name##_operator, Compact, Elementwise::name, Domain::domain, Domain::result, 2>(),
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  };
  return table[static_cast<size_t>(code)];
}
template <class T>
Operator truth_row(Elementwise code) {
  static constexpr OperatorTable table = {
#define UNARY(name, domain, result, value, gradient) \
  truth_kernel_of<name##_operator, T, Elementwise::name, Domain::domain, Domain::result, 1>(),
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  truth_kernel_of<name##_operator, T, Elementwise::name, Domain::domain, Domain::result, 2>(),
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  };
  return table[static_cast<size_t>(code)];
}
#undef same

Operator compact_of(Elementwise code, Dtype operands) {
  switch (operands) {
    case Dtype::boolean: return compact_row<bool>(code);
    case Dtype::uint8: return compact_row<uint8_t>(code);
    case Dtype::int8: return compact_row<int8_t>(code);
    case Dtype::uint16: return compact_row<uint16_t>(code);
    case Dtype::int16: return compact_row<int16_t>(code);
    case Dtype::float16: return compact_row<hwy::float16_t>(code);
    case Dtype::bfloat16: return compact_row<hwy::bfloat16_t>(code);
    default: return nullptr;
  }
}
Operator truth_of(Elementwise code, Compute type) {
  switch (type) {
    case Compute::f32: return truth_row<float>(code);
    case Compute::f64: return truth_row<double>(code);
    case Compute::i32: return truth_row<int32_t>(code);
    case Compute::i64: return truth_row<int64_t>(code);
    case Compute::u64: return truth_row<uint64_t>(code);
  }
  return nullptr;
}

template <class T>
void truth(void* out, const void* const* inputs, int64_t n) {
  const Input input{inputs[0]};
  elements<InOwnLanes<IsTrue, false>, T, true, 1>(out, &input, 1, n);
}
Kernel truth_kernel_for(Compute type) {
  switch (type) {
    case Compute::f32: return &truth<float>;
    case Compute::f64: return &truth<double>;
    case Compute::i32: return &truth<int32_t>;
    case Compute::i64: return &truth<int64_t>;
    case Compute::u64: return &truth<uint64_t>;
  }
  return nullptr;
}
Kernel truth_of_bytes() { return &truth<uint8_t>; }

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(compact_of);
HWY_EXPORT(truth_of);
HWY_EXPORT(truth_kernel_for);
HWY_EXPORT(truth_of_bytes);
Operator compact_operator(Elementwise code, Dtype operands) {
  return HWY_DYNAMIC_DISPATCH(compact_of)(code, operands);
}
Operator truth_operator(Elementwise code, Compute type) {
  return HWY_DYNAMIC_DISPATCH(truth_of)(code, type);
}
Kernel truth_kernel(Compute type) { return HWY_DYNAMIC_DISPATCH(truth_kernel_for)(type); }
Kernel truth_of_bytes_kernel() { return HWY_DYNAMIC_DISPATCH(truth_of_bytes)(); }
}  // namespace mt::cpu
#endif
