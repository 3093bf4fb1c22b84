// SPDX-License-Identifier: Apache-2.0
// The table's rows as loops over vectors, for one compute type T at a time. Included once for each
// instruction set; a file that includes it and asks for kernel_table<T>() makes T's kernels.
#include <array>

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

template <class T>
HWY_INLINE Vector<T> load(const T* from) {
  return Vector<T>(hn::LoadU(Tag<T>(), from));
}
template <class T>
HWY_INLINE Vector<T> load(const T* from, size_t n) {
  return Vector<T>(load_first(Tag<T>(), from, n));
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
HWY_INLINE void store(Raw raw, void* out, size_t at) {
  hn::DFromV<Raw> d;
  hn::StoreU(raw, d, static_cast<hn::TFromV<Raw>*>(out) + at);
}
template <class Raw>
HWY_INLINE void store(Raw raw, void* out, size_t at, size_t n) {
  hn::DFromV<Raw> d;
  store_first(d, raw, static_cast<hn::TFromV<Raw>*>(out) + at, n);
}

template <class Operator, class T>
void unary(void* out, const void* const* inputs, int64_t n) {
  constexpr size_t lanes = lane_count<T>;
  const T* x = static_cast<const T*>(inputs[0]);
  size_t i = 0, count = static_cast<size_t>(n);
  for (; i + lanes <= count; i += lanes) store(to_memory(Operator::apply(load(x + i))), out, i);
  if (i < count) store(to_memory(Operator::apply(load(x + i, count - i))), out, i, count - i);
}
template <class Operator, class T>
void binary(void* out, const void* const* inputs, int64_t n) {
  constexpr size_t lanes = lane_count<T>;
  const T* a = static_cast<const T*>(inputs[0]);
  const T* b = static_cast<const T*>(inputs[1]);
  size_t i = 0, count = static_cast<size_t>(n);
  for (; i + lanes <= count; i += lanes) {
    store(to_memory(Operator::apply(load(a + i), load(b + i))), out, i);
  }
  if (i < count) {
    size_t rest = count - i;
    store(to_memory(Operator::apply(load(a + i, rest), load(b + i, rest))), out, i, rest);
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

using KernelTable = std::array<Kernel, static_cast<size_t>(Elementwise::count)>;

template <class Operator, class T, Domain domain>
constexpr Kernel unary_or_none() {
  if constexpr (has_kernel<T>(domain)) {
    return &unary<Operator, T>;
  } else {
    return nullptr;
  }
}
template <class Operator, class T, Domain domain>
constexpr Kernel binary_or_none() {
  if constexpr (has_kernel<T>(domain)) {
    return &binary<Operator, T>;
  } else {
    return nullptr;
  }
}

template <class T>
const Kernel* kernel_table() {
  static constexpr KernelTable table = {
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
