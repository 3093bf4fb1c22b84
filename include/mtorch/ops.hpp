// SPDX-License-Identifier: Apache-2.0
/// @file ops.hpp
/// Element-wise operators. See mtorch.hpp.
#ifndef MTORCH_OPS_HPP_
#define MTORCH_OPS_HPP_

#include "ops.h"
#include "tensor.hpp"

namespace mtorch {

/// @cond
#define MT_UNARY_(name)                                                           \
  inline Tensor name(const Tensor& x) { return Tensor::own(mt_##name(x.get())); } \
  static_assert(true)
#define MT_BINARY_(name)                                 \
  inline Tensor name(const Tensor& a, const Tensor& b) { \
    return Tensor::own(mt_##name(a.get(), b.get()));     \
  }                                                      \
  static_assert(true)
/// @endcond
// clang-format off
MT_UNARY_(neg); MT_UNARY_(abs); MT_UNARY_(sign); MT_UNARY_(square); MT_UNARY_(reciprocal);
MT_UNARY_(sqrt); MT_UNARY_(rsqrt);
MT_UNARY_(floor); MT_UNARY_(ceil); MT_UNARY_(trunc); MT_UNARY_(round);
MT_UNARY_(exp); MT_UNARY_(exp2); MT_UNARY_(expm1);
MT_UNARY_(log); MT_UNARY_(log1p); MT_UNARY_(log2); MT_UNARY_(log10);
MT_UNARY_(sin); MT_UNARY_(cos); MT_UNARY_(tan); MT_UNARY_(asin); MT_UNARY_(acos); MT_UNARY_(atan);
MT_UNARY_(sinh); MT_UNARY_(cosh); MT_UNARY_(tanh);
MT_UNARY_(asinh); MT_UNARY_(acosh); MT_UNARY_(atanh);
MT_UNARY_(erf); MT_UNARY_(relu); MT_UNARY_(sigmoid); MT_UNARY_(log_sigmoid); MT_UNARY_(softplus);
MT_UNARY_(silu); MT_UNARY_(gelu); MT_UNARY_(gelu_tanh);
MT_UNARY_(isnan); MT_UNARY_(isinf); MT_UNARY_(isfinite); MT_UNARY_(signbit);
MT_UNARY_(logical_not); MT_UNARY_(bitwise_invert);
MT_UNARY_(zeros_like); MT_UNARY_(ones_like); MT_UNARY_(copy);
MT_BINARY_(add); MT_BINARY_(sub); MT_BINARY_(mul); MT_BINARY_(div); MT_BINARY_(pow);
MT_BINARY_(floor_divide); MT_BINARY_(remainder); MT_BINARY_(maximum); MT_BINARY_(minimum);
MT_BINARY_(atan2); MT_BINARY_(hypot); MT_BINARY_(logaddexp); MT_BINARY_(copysign);
MT_BINARY_(nextafter); MT_BINARY_(leaky_relu); MT_BINARY_(elu);
MT_BINARY_(equal); MT_BINARY_(not_equal); MT_BINARY_(less); MT_BINARY_(less_equal);
MT_BINARY_(greater); MT_BINARY_(greater_equal);
MT_BINARY_(logical_and); MT_BINARY_(logical_or); MT_BINARY_(logical_xor);
MT_BINARY_(bitwise_and); MT_BINARY_(bitwise_or); MT_BINARY_(bitwise_xor);
MT_BINARY_(bitwise_left_shift); MT_BINARY_(bitwise_right_shift);
// clang-format on
#undef MT_UNARY_
#undef MT_BINARY_

inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
/// @cond
namespace detail {
inline Tensor& become(Tensor& x, Tensor value) {
  if (!x.is_leaf() || !x.requires_grad()) return x = std::move(value);
  x.assign(value);
  return x;
}
}  // namespace detail
/// @endcond

/// x = x + y: x becomes another tensor, and its copies stay what they were. A leaf that requires a
/// gradient is bound to the sum as by assign(), for all copies, so a model's own tensor is changed;
/// an error unless that is within NoGrad.
inline Tensor& operator+=(Tensor& x, const Tensor& y) { return detail::become(x, add(x, y)); }
inline Tensor& operator-=(Tensor& x, const Tensor& y) { return detail::become(x, sub(x, y)); }
inline Tensor& operator*=(Tensor& x, const Tensor& y) { return detail::become(x, mul(x, y)); }
inline Tensor& operator/=(Tensor& x, const Tensor& y) { return detail::become(x, div(x, y)); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }

/// A bound that is {} is none.
inline Tensor clip(const Tensor& x, const Tensor& low, const Tensor& high) {
  return Tensor::own(mt_clip(x.get(), low.get(), high.get()));
}
inline Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return Tensor::own(mt_where(condition.get(), a.get(), b.get()));
}
inline Tensor expression(const char* text, const Tensors& tensors) {
  return Tensor::own(mt_expression(text, detail::handles(tensors).data(), tensors.size()));
}
inline Tensor astype(const Tensor& x, DType dtype) {
  return Tensor::own(mt_astype(x.get(), detail::code(dtype)));
}
inline Tensor to_device(const Tensor& x, const Device& device) {
  return Tensor::own(mt_to_device(x.get(), device));
}

}  // namespace mtorch

#endif
