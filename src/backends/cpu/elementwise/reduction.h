// SPDX-License-Identifier: Apache-2.0
// What kernels of reductions share: how two values are combined, and the choice of a kernel.
// Included once for each instruction set.
#include <limits>
#include <type_traits>

#include "backends/cpu/elementwise/first_lanes.h"
#include "backends/cpu/elementwise/kernels.h"

#if defined(MT_CPU_REDUCTION_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_REDUCTION_H
#undef MT_CPU_REDUCTION_H
#else
#define MT_CPU_REDUCTION_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class T>
constexpr T largest() {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? limits::infinity() : limits::max();
}
template <class T>
constexpr T lowest() {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? -limits::infinity() : limits::lowest();
}

// Each combines Highway vectors of any width, as halving needs.
struct Sum {
  template <class T>
  static constexpr T identity() {
    return 0;
  }
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class T>
  static constexpr T identity() {
    return 1;
  }
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return a * b;
  }
};
// For numbers, these make the same choices as max and min in the table. A row with a NaN is
// detected separately, which costs less than a test in every step.
struct Maximum {
  template <class T>
  static constexpr T identity() {
    return lowest<T>();
  }
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return ordered_max(a, b);
  }
};
struct Minimum {
  template <class T>
  static constexpr T identity() {
    return largest<T>();
  }
  template <class Raw>
  static HWY_INLINE Raw combine(Raw a, Raw b) {
    return ordered_min(a, b);
  }
};
template <class Op, class T>
constexpr bool watches_nan = std::is_floating_point_v<T> &&
                             (std::is_same_v<Op, Maximum> || std::is_same_v<Op, Minimum>);

// Halves a vector down to one lane.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> halve(D d, hn::Vec<D> v) {
  (void)d;
#if HWY_TARGET != HWY_SCALAR
  constexpr size_t size = sizeof(hn::TFromD<D>), bytes = hn::MaxLanes(D()) * size;
  if constexpr (bytes > 16) {
    constexpr hn::Half<D> half;
    return halve<Op>(half, Op::combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (size < 4) {
    v = Op::combine(v, hn::ShiftRightBytes<8>(d, v));
    v = Op::combine(v, hn::ShiftRightBytes<4>(d, v));
    v = Op::combine(v, hn::ShiftRightBytes<2>(d, v));
    if constexpr (size == 1) v = Op::combine(v, hn::ShiftRightBytes<1>(d, v));
  } else if constexpr (size == 4) {
    v = Op::combine(v, hn::Shuffle1032(v));
    v = Op::combine(v, hn::Shuffle2301(v));
  } else {
    v = Op::combine(v, hn::Shuffle01(v));
  }
#endif
  return hn::GetLane(v);
}

// The kernel of a reduction and a type: Kernels<Sum, float>::kernel, and so on. Sums and products
// of integers have 64 bits, and are the same for signed and unsigned ones.
template <class Kernel, template <class, class> class Kernels, class Op>
Kernel kernel_for(Compute type) {
  constexpr bool adds_up = std::is_same_v<Op, Sum> || std::is_same_v<Op, Product>;
  switch (type) {
    case Compute::f32: return Kernels<Op, float>::kernel;
    case Compute::f64: return Kernels<Op, double>::kernel;
    case Compute::i32:
      if constexpr (adds_up)
        return nullptr;
      else
        return Kernels<Op, int32_t>::kernel;
    case Compute::i64: return Kernels<Op, int64_t>::kernel;
    case Compute::u64: return Kernels<Op, std::conditional_t<adds_up, int64_t, uint64_t>>::kernel;
  }
  return nullptr;
}
template <class Kernel, template <class, class> class Kernels>
Kernel kernel_of(Reduction reduction, Compute type) {
  switch (reduction) {
    case Reduction::sum: return kernel_for<Kernel, Kernels, Sum>(type);
    case Reduction::prod: return kernel_for<Kernel, Kernels, Product>(type);
    case Reduction::max: return kernel_for<Kernel, Kernels, Maximum>(type);
    case Reduction::min: return kernel_for<Kernel, Kernels, Minimum>(type);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
