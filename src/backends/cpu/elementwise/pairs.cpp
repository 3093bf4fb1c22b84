// SPDX-License-Identifier: Apache-2.0
// Pairs of operators that often follow one another, as one kernel: what the first computes stays in
// a vector register.
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/pairs.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class First, class Second>
struct Then {
  template <class V>
  static HWY_INLINE auto apply(V a, V b) {
    return Second::apply(First::apply(a, b));
  }
};
template <class First, class Second>
struct Before {
  template <class V>
  static HWY_INLINE auto apply(V a, V b) {
    return Second::apply(First::apply(a), b);
  }
};
template <class First, class Second, bool right>
struct Joined {
  template <class V>
  static HWY_INLINE auto apply(V a, V b, V c) {
    V value = First::apply(a, b);
    return right ? Second::apply(c, value) : Second::apply(value, c);
  }
};

template <class First, class T>
Operator second_of(Elementwise second, bool right) {
  switch (second) {
    case Elementwise::add: return &elements<Joined<First, add_operator, false>, T, true, 3>;
    case Elementwise::mul: return &elements<Joined<First, mul_operator, false>, T, true, 3>;
    case Elementwise::sub:
      return right ? &elements<Joined<First, sub_operator, true>, T, true, 3>
                   : &elements<Joined<First, sub_operator, false>, T, true, 3>;
    case Elementwise::div:  // division by a constant number has a faster kernel
      return right ? &elements<Joined<First, div_operator, true>, T, false, 3> : nullptr;
    case Elementwise::maximum:
      return right ? &elements<Joined<First, maximum_operator, true>, T, true, 3>
                   : &elements<Joined<First, maximum_operator, false>, T, true, 3>;
    case Elementwise::relu: return &elements<Then<First, relu_operator>, T, true, 2>;
    case Elementwise::abs: return &elements<Then<First, abs_operator>, T, true, 2>;
    case Elementwise::sqrt: return &elements<Then<First, sqrt_operator>, T, false, 2>;
    case Elementwise::exp: return &elements<Then<First, exp_operator>, T, false, 2>;
    case Elementwise::tanh: return &elements<Then<First, tanh_operator>, T, false, 2>;
    default: return nullptr;
  }
}

template <class Last, bool right, bool squared>
struct Products {
  template <class V>
  static HWY_INLINE auto apply(V a, V b, V c, V d) {
    V first = a * b, second = squared ? c * c * d : c * d;
    return right ? Last::apply(second, first) : Last::apply(first, second);
  }
};

// Where b and d are one number each, as they are for moving averages, they stay in registers.
template <class Op, class T>
void products(void* out, const Input* inputs, int64_t rows, int64_t columns) {
  constexpr size_t lanes = lane_count<T>, bytes = lanes * sizeof(T);
  Input in[4] = {inputs[0], inputs[1], inputs[2], inputs[3]};
  char* y = static_cast<char*>(out);
  if (rows == 1 && in[1].repeated && in[3].repeated && !in[0].repeated && !in[2].repeated) {
    const Vector<T> b(*static_cast<const T*>(in[1].data)), d(*static_cast<const T*>(in[3].data));
    const char *p = static_cast<const char*>(in[0].data), *q = static_cast<const char*>(in[2].data);
    for (; columns >= int64_t{2 * lanes}; columns -= 2 * lanes) {
      auto first = Op::apply(load<T>(p), b, load<T>(q), d);
      auto second = Op::apply(load<T>(p + bytes), b, load<T>(q + bytes), d);
      store(first.raw, y);
      store(second.raw, y + bytes);
      p += 2 * bytes, q += 2 * bytes, y += 2 * bytes;
    }
    in[0].data = p;
    in[2].data = q;
  }
  if (columns > 0) elements<Op, T, true, 4>(y, in, rows, columns);
}

template <class T>
Operator products_for(Elementwise last, bool right, bool squared) {
  if (last == Elementwise::add) {
    return squared ? &products<Products<add_operator, false, true>, T>
                   : &products<Products<add_operator, false, false>, T>;
  }
  if (last != Elementwise::sub || squared) return nullptr;
  return right ? &products<Products<sub_operator, true, false>, T>
               : &products<Products<sub_operator, false, false>, T>;
}
Operator products_of(Elementwise last, bool right, bool squared, Compute type) {
  if (is_baseline) return nullptr;  // small rather than fast
  return type == Compute::f32 ? products_for<float>(last, right, squared) : nullptr;
}

struct scaled_sum {
  template <class V>
  static HWY_INLINE auto apply(V a, V b, V c, V d) {
    return a * b * c + d;
  }
};
struct centred_sum {
  template <class V>
  static HWY_INLINE auto apply(V a, V b, V c, V d) {
    return (a - b) * c + d;
  }
};
Operator scaled_sum_of(bool centred, Compute type) {
  if (type != Compute::f32 || is_baseline) return nullptr;
  return centred ? &elements<centred_sum, float, true, 4> : &elements<scaled_sum, float, true, 4>;
}

template <class T>
Operator pair_for(Elementwise first, Elementwise second, bool right) {
  switch (first) {
    case Elementwise::add: return second_of<add_operator, T>(second, right);
    case Elementwise::sub: return second_of<sub_operator, T>(second, right);
    case Elementwise::mul: return second_of<mul_operator, T>(second, right);
    case Elementwise::maximum:  // clip
      return second == Elementwise::minimum && right
                 ? &elements<Joined<maximum_operator, minimum_operator, true>, T, true, 3>
                 : nullptr;
    case Elementwise::sqrt:
      return second == Elementwise::mul && !right
                 ? &elements<Before<sqrt_operator, mul_operator>, T, false, 2>
                 : nullptr;
    default: return nullptr;
  }
}
Operator pair_of(Elementwise first, Elementwise second, bool right, Compute type) {
  if (is_baseline) return nullptr;  // small rather than fast
  if (type == Compute::f32) return pair_for<float>(first, second, right);
  return type == Compute::f64 ? pair_for<double>(first, second, right) : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(pair_of);
HWY_EXPORT(products_of);
HWY_EXPORT(scaled_sum_of);
Operator paired_operator(Elementwise first, Elementwise second, bool right, Compute type) {
  return HWY_DYNAMIC_DISPATCH(pair_of)(first, second, right, type);
}
Operator products_operator(Elementwise last, bool right, bool squared, Compute type) {
  return HWY_DYNAMIC_DISPATCH(products_of)(last, right, squared, type);
}
Operator scaled_sum_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(scaled_sum_of)(false, type);
}
Operator centred_sum_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(scaled_sum_of)(true, type);
}
}  // namespace mt::cpu
#endif
