// SPDX-License-Identifier: Apache-2.0
/// @file ops.h
/// Element-wise operators: one element of the result from one element of each operand.
///
/// Two operands broadcast by NumPy's rule: shapes are aligned at the right, and a size of 1
/// stretches. They work in the promoted type (mt_promote_types()); 16-bit floats compute in float32
/// and round once. **Types**: *number* takes any integer or float; *real* takes floats, and
/// converts integers to float32; *integer*, *bits* (integers and bool), *boolean* (everything, read
/// as `x != 0`) and *any* say what they say. Another type is MT_EDTYPE.
///
/// exp, log, sin and their kin are within 2 ulp, the same bits on every CPU. NaN propagates. All
/// are differentiable on floats unless marked "no gradient"; where a slope jumps the gradient is
/// named. Each follows the Array API standard's definition where that has one.
#ifndef MTORCH_OPS_H_
#define MTORCH_OPS_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------- Sign, rounding and simple powers

MT_API mt_tensor* mt_neg(mt_tensor* x);         ///< -x; number.
MT_API mt_tensor* mt_abs(mt_tensor* x);         ///< |x|; number. Gradient 0 at 0.
MT_API mt_tensor* mt_sign(mt_tensor* x);        ///< -1, 0 or 1; number. Gradient 0.
MT_API mt_tensor* mt_square(mt_tensor* x);      ///< x^2; number.
MT_API mt_tensor* mt_reciprocal(mt_tensor* x);  ///< 1 / x; real.
MT_API mt_tensor* mt_sqrt(mt_tensor* x);        ///< Square root; real. NaN below 0.
MT_API mt_tensor* mt_rsqrt(mt_tensor* x);       ///< 1 / sqrt(x); real.
MT_API mt_tensor* mt_floor(mt_tensor* x);       ///< Rounded down; number. Gradient 0.
MT_API mt_tensor* mt_ceil(mt_tensor* x);        ///< Rounded up; number. Gradient 0.
MT_API mt_tensor* mt_trunc(mt_tensor* x);       ///< Rounded towards 0; number. Gradient 0.
MT_API mt_tensor* mt_round(mt_tensor* x);       ///< Rounded, ties to even; number. Gradient 0.

// ------------------------------------------------------------------- Exponentials and logarithms

MT_API mt_tensor* mt_exp(mt_tensor* x);    ///< e^x; real.
MT_API mt_tensor* mt_exp2(mt_tensor* x);   ///< 2^x; real.
MT_API mt_tensor* mt_expm1(mt_tensor* x);  ///< e^x - 1, exact near 0; real.
MT_API mt_tensor* mt_log(mt_tensor* x);    ///< Natural logarithm; real. -inf at 0, NaN below.
MT_API mt_tensor* mt_log1p(mt_tensor* x);  ///< log(1 + x), exact near 0; real.
MT_API mt_tensor* mt_log2(mt_tensor* x);   ///< Logarithm to base 2; real.
MT_API mt_tensor* mt_log10(mt_tensor* x);  ///< Logarithm to base 10; real.

// ------------------------------------------------ Trigonometric and hyperbolic (radians; real)

MT_API mt_tensor* mt_sin(mt_tensor* x);    ///< Sine.
MT_API mt_tensor* mt_cos(mt_tensor* x);    ///< Cosine.
MT_API mt_tensor* mt_tan(mt_tensor* x);    ///< Tangent.
MT_API mt_tensor* mt_asin(mt_tensor* x);   ///< Inverse sine in [-pi/2, pi/2]; NaN outside [-1, 1].
MT_API mt_tensor* mt_acos(mt_tensor* x);   ///< Inverse cosine in [0, pi]; NaN outside [-1, 1].
MT_API mt_tensor* mt_atan(mt_tensor* x);   ///< Inverse tangent in [-pi/2, pi/2].
MT_API mt_tensor* mt_sinh(mt_tensor* x);   ///< (e^x - e^-x) / 2.
MT_API mt_tensor* mt_cosh(mt_tensor* x);   ///< (e^x + e^-x) / 2.
MT_API mt_tensor* mt_tanh(mt_tensor* x);   ///< sinh(x) / cosh(x).
MT_API mt_tensor* mt_asinh(mt_tensor* x);  ///< Inverse of sinh.
MT_API mt_tensor* mt_acosh(mt_tensor* x);  ///< Inverse of cosh, >= 0; NaN below 1.
MT_API mt_tensor* mt_atanh(mt_tensor* x);  ///< Inverse of tanh; NaN outside [-1, 1].
MT_API mt_tensor* mt_erf(mt_tensor* x);    ///< 2 / sqrt(pi) times the integral of e^-t^2, 0 to x.

// --------------------------------------------------------------------------------- Activations

MT_API mt_tensor* mt_relu(mt_tensor* x);         ///< max(x, 0); number. Gradient 0 at 0.
MT_API mt_tensor* mt_sigmoid(mt_tensor* x);      ///< 1 / (1 + e^-x); real.
MT_API mt_tensor* mt_log_sigmoid(mt_tensor* x);  ///< log(sigmoid(x)), without overflow; real.
MT_API mt_tensor* mt_softplus(mt_tensor* x);     ///< log(1 + e^x), without overflow; real.
MT_API mt_tensor* mt_silu(mt_tensor* x);         ///< x sigmoid(x); real.
/// x (1 + erf(x / sqrt(2))) / 2; real. (Hendrycks and Gimpel, 2016, arXiv 1606.08415.)
MT_API mt_tensor* mt_gelu(mt_tensor* x);
/// Its approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2; real.
MT_API mt_tensor* mt_gelu_tanh(mt_tensor* x);
/// x where x > 0, else x slope; real. Usual slope: mt_number(0.01).
MT_API mt_tensor* mt_leaky_relu(mt_tensor* x, mt_tensor* slope);
/// x where x > 0, else alpha (e^x - 1); real. Usual alpha: mt_number(1).
MT_API mt_tensor* mt_elu(mt_tensor* x, mt_tensor* alpha);

// ---------------------------------------------------------------------------------- Arithmetic
// Integers wrap around; integer division by zero gives 0.

MT_API mt_tensor* mt_add(mt_tensor* a, mt_tensor* b);  ///< a + b; number.
MT_API mt_tensor* mt_sub(mt_tensor* a, mt_tensor* b);  ///< a - b; number.
MT_API mt_tensor* mt_mul(mt_tensor* a, mt_tensor* b);  ///< a b; number.
MT_API mt_tensor* mt_div(mt_tensor* a, mt_tensor* b);  ///< a / b; real.
/// a^b; number. The gradient of b is 0 for a <= 0. MT_EINVAL for integers to a plain negative
/// number.
MT_API mt_tensor* mt_pow(mt_tensor* a, mt_tensor* b);
/// floor(a / b); number. No gradient.
MT_API mt_tensor* mt_floor_divide(mt_tensor* a, mt_tensor* b);
/// a - floor(a / b) b, with the sign of b; number.
MT_API mt_tensor* mt_remainder(mt_tensor* a, mt_tensor* b);
/// The larger; number. Where equal, each operand gets half the gradient.
MT_API mt_tensor* mt_maximum(mt_tensor* a, mt_tensor* b);
/// The smaller; number. Where equal, each operand gets half the gradient.
MT_API mt_tensor* mt_minimum(mt_tensor* a, mt_tensor* b);
/// The angle of the point (b, a), in (-pi, pi]; real. At (0, 0) its gradients are 0.
MT_API mt_tensor* mt_atan2(mt_tensor* a, mt_tensor* b);
/// sqrt(a^2 + b^2); real.
MT_API mt_tensor* mt_hypot(mt_tensor* a, mt_tensor* b);
/// log(e^a + e^b), without overflow; real.
MT_API mt_tensor* mt_logaddexp(mt_tensor* a, mt_tensor* b);
/// |a| with the sign of b; real. No gradient for b.
MT_API mt_tensor* mt_copysign(mt_tensor* a, mt_tensor* b);
/// The next representable value from a towards b; real, MT_EDTYPE for 16 bits. No gradient for b.
MT_API mt_tensor* mt_nextafter(mt_tensor* a, mt_tensor* b);
/// min(max(x, low), high); number. Either bound may be NULL: none. A bound takes no part in
/// promotion, unless it is a float and x an integer: a whole number, mt_whole_number(), must fit
/// an integer x's type (MT_EINVAL), other bounds are converted to it, integers beyond it to its
/// least or greatest number. The gradient passes where low <= x <= high.
MT_API mt_tensor* mt_clip(mt_tensor* x, mt_tensor* low, mt_tensor* high);

// ----------------------------------------------------------------- Comparison and choice (any)
// The result is bool, with no gradient. NaN is unequal to everything.

MT_API mt_tensor* mt_equal(mt_tensor* a, mt_tensor* b);          ///< a == b.
MT_API mt_tensor* mt_not_equal(mt_tensor* a, mt_tensor* b);      ///< a != b.
MT_API mt_tensor* mt_less(mt_tensor* a, mt_tensor* b);           ///< a < b.
MT_API mt_tensor* mt_less_equal(mt_tensor* a, mt_tensor* b);     ///< a <= b.
MT_API mt_tensor* mt_greater(mt_tensor* a, mt_tensor* b);        ///< a > b.
MT_API mt_tensor* mt_greater_equal(mt_tensor* a, mt_tensor* b);  ///< a >= b.
MT_API mt_tensor* mt_isnan(mt_tensor* x);                        ///< Whether x is NaN.
MT_API mt_tensor* mt_isinf(mt_tensor* x);                        ///< Whether x is infinite.
MT_API mt_tensor* mt_isfinite(mt_tensor* x);                     ///< Neither NaN nor infinite.
MT_API mt_tensor* mt_signbit(mt_tensor* x);                      ///< Below 0, or -0.
/// a where `condition` (read as bool) holds, else b, in their promoted type; all three broadcast.
/// Differentiable in a and b.
MT_API mt_tensor* mt_where(mt_tensor* condition, mt_tensor* a, mt_tensor* b);

// ----------------------------------------------------------------- Logic (boolean; gives bool)

MT_API mt_tensor* mt_logical_not(mt_tensor* x);                ///< not x.
MT_API mt_tensor* mt_logical_and(mt_tensor* a, mt_tensor* b);  ///< a and b.
MT_API mt_tensor* mt_logical_or(mt_tensor* a, mt_tensor* b);   ///< a or b.
MT_API mt_tensor* mt_logical_xor(mt_tensor* a, mt_tensor* b);  ///< Exactly one of a and b.

// ------------------------------------------------------------------- Bits (bits; no gradient)

MT_API mt_tensor* mt_bitwise_invert(mt_tensor* x);             ///< ~x; for bool, not x.
MT_API mt_tensor* mt_bitwise_and(mt_tensor* a, mt_tensor* b);  ///< a & b.
MT_API mt_tensor* mt_bitwise_or(mt_tensor* a, mt_tensor* b);   ///< a | b.
MT_API mt_tensor* mt_bitwise_xor(mt_tensor* a, mt_tensor* b);  ///< a ^ b.
/// a << b; integer. A shift by the type's width or more gives 0.
MT_API mt_tensor* mt_bitwise_left_shift(mt_tensor* a, mt_tensor* b);
/// a >> b, keeping the sign; integer. A shift by the type's width or more gives 0, or -1 for a < 0.
MT_API mt_tensor* mt_bitwise_right_shift(mt_tensor* a, mt_tensor* b);

// ---------------------------------------------------------------------------- Expressions in text

/// Element-wise operators written as text: mt_expression("relu(a + b) * 2", tensors, 2). The
/// tensors are named a, b, c, ... in order, or by a list in front: "x, bias -> relu(x + bias) * 2".
/// It becomes ordinary operators, so it broadcasts, fuses, differentiates and runs everywhere.
///
/// Grammar, loosest first: `c ? p : q` (mt_where()); `|` `^` `&` (bits); `==` `!=` `<` `<=` `>`
/// `>=`; `+` `-`; `*` `/` `%` (mt_remainder()); unary `-` `!` `~`; `**` (right to left); numbers
/// (mt_number(), or mt_whole_number() without point and exponent), names, brackets, and calls of
/// every function of this file by its name without mt_. MT_EINVAL with the position and the fault
/// for anything else.
MT_API mt_tensor* mt_expression(const char* text, mt_tensor* const* tensors, size_t n);

#ifdef __cplusplus
}
#endif
#endif
