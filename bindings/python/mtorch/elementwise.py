# SPDX-License-Identifier: Apache-2.0
"""Operators on each element. Most are the extension's own, without a line of Python."""
from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any

from . import native
from ._arguments import _into
from ._names import _explained
from .create import asarray
from .dtypes import _dtype_of, finfo, float32, float64
from ._types import Operand
from .native import (
    abs as abs, acos as acos, acosh as acosh, add as add, asin as asin, asinh as asinh,
    atan as atan, atan2 as atan2, atanh as atanh, bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor, ceil as ceil, copysign as copysign, cos as cos, cosh as cosh,
    detach as detach, equal as equal, erf as erf, exp as exp, exp2 as exp2, expm1 as expm1,
    floor as floor, floor_divide as floor_divide, gelu_tanh as gelu_tanh, greater as greater,
    greater_equal as greater_equal, hypot as hypot, isfinite as isfinite, isinf as isinf,
    isnan as isnan, less as less, less_equal as less_equal, log as log, log10 as log10,
    log1p as log1p, log2 as log2, log_sigmoid as log_sigmoid, logaddexp as logaddexp,
    logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, maximum as maximum, minimum as minimum, nextafter as nextafter,
    not_equal as not_equal, reciprocal as reciprocal, relu as relu, remainder as remainder,
    rsqrt as rsqrt, sigmoid as sigmoid, sign as sign, signbit as signbit, silu as silu, sin as sin,
    sinh as sinh, softplus as softplus, sqrt as sqrt, square as square, tan as tan, tanh as tanh,
    trunc as trunc, where as where)
from .native import pow as pow

if TYPE_CHECKING:
    from ._tensor import Tensor

divide, multiply, negative, subtract = native.div, native.mul, native.neg, native.sub

def positive(x: Tensor, /) -> Tensor:
    """x itself.

    >>> import mtorch as mt
    >>> mt.positive(mt.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """
    return x


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Each element no less than `min` and no more than `max`: numbers, or tensors that broadcast
    to x; None is no bound. x keeps its type, unless that is an integer and a bound is a float.

    >>> import mtorch as mt
    >>> mt.clip(mt.tensor([-2, 0, 7]), 0, 5)
    tensor([0, 0, 5])
    """
    return native.clip(x, min, max)


def nan_to_num(x: Tensor, /, nan: float = 0.0, posinf: float | None = None,
               neginf: float | None = None) -> Tensor:
    """x with NaNs as `nan`, and infinities as the largest and smallest numbers of its type, unless
    said.

    >>> import mtorch as mt
    >>> mt.nan_to_num(mt.tensor([1.0, mt.nan, mt.inf, -mt.inf]), posinf=9.0, neginf=-9.0)
    tensor([ 1.,  0.,  9., -9.])
    """
    x = x if isinstance(x, native.Tensor) else asarray(x)
    if not x.dtype.is_floating:
        return x
    most = finfo(x.dtype).max
    y = native.clip(x, -most if neginf is None else None, most if posinf is None else None)
    if posinf is not None:
        y = native.where(native.equal(x, float("inf")), posinf, y)
    if neginf is not None:
        y = native.where(native.equal(x, -float("inf")), neginf, y)
    return native.where(native.isnan(x), nan, y)


def round(x: Tensor, /, decimals: int = 0, *, out: Any = None) -> Tensor:
    """The nearest integer to each element, or number of so many decimals (with a negative number,
    multiple of 10, 100, ...); ties go to the even one. What is too large to have so many decimals stays
    as it is.

    >>> import mtorch as mt
    >>> mt.round(mt.tensor([0.5, 1.5, -2.7])), mt.round(mt.tensor([1.234, 5.678]), 2)
    (tensor([ 0.,  2., -3.]), tensor([1.23, 5.68]))
    """
    x, decimals = x if isinstance(x, native.Tensor) else asarray(x), operator.index(decimals)
    dtype = _dtype_of(x)
    if decimals == 0 or decimals > 0 and not dtype.is_floating:
        y = native.round(x)
    elif dtype in (float32, float64) and 10 ** builtins.min(builtins.abs(decimals), 400) <= finfo(dtype).max:
        y = _round_to(x, decimals)
    else:  # where there is such a power of 10, and nearly exact
        y = native.astype(_round_to(native.astype(x, float64), decimals), dtype)
    return _into(out, y)


def _round_to(x: Tensor, decimals: int) -> Tensor:
    if builtins.abs(decimals) > 308:  # of which there is no power of 10
        fixed, rounded = native.detach(x), native.round(x)  # which alone depends on x, with a slope of 0
        if decimals > 0:
            return native.where(native.isnan(fixed), rounded, fixed)
        return native.where(native.isfinite(fixed), native.mul(fixed, 0), rounded)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals < 0:
        return native.mul(native.round(native.div(x, scale)), scale)
    scaled = native.mul(x, scale)
    rounded = native.div(native.round(scaled), scale)
    return native.where(native.isfinite(native.detach(scaled)), rounded, native.detach(x))


def _as_floats(x: Any) -> Any:
    """Integers, whose differences could wrap, as float64."""
    if isinstance(x, native.Tensor) and not x.dtype.is_floating:  # type: ignore[attr-defined]
        return native.astype(x, float64)
    return x


def isclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8,
            equal_nan: bool = False) -> Tensor:
    """Where |a - b| <= atol + rtol |b|, or both are the same infinity, or, if `equal_nan`, NaN.

    >>> import mtorch as mt
    >>> mt.isclose(mt.tensor([1.0, 2.0]), mt.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    x, y = _as_floats(a), _as_floats(b)
    near = native.abs(native.sub(x, y)) <= native.abs(y) * rtol + atol
    close = native.logical_or(native.equal(a, b), native.logical_and(near, native.isfinite(b)))
    if not equal_nan:
        return close
    return native.logical_or(close, native.logical_and(native.isnan(a), native.isnan(b)))


def allclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> bool:
    """Whether isclose() holds everywhere.

    >>> import mtorch as mt
    >>> mt.allclose(mt.ones(3) / 3 * 3, mt.ones(3))
    True
    """
    return bool(native.all(isclose(a, b, rtol, atol, equal_nan), None))


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x (1 + erf(x / sqrt(2))) / 2, or its approximation by "tanh". TypeError for integers.

    >>> import mtorch as mt
    >>> mt.gelu(mt.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.15865524,  0.        ,  0.8413448 ])
    """
    return native.gelu_tanh(x) if approximate == "tanh" else native.gelu(x)


@_explained
def leaky_relu(x: Tensor, slope: Operand = 0.01) -> Tensor:
    """x where x > 0, else x slope.

    >>> import mtorch as mt
    >>> mt.leaky_relu(mt.tensor([-2.0, 3.0]), 0.5)
    tensor([-1.,  3.])
    """
    return native.leaky_relu(x, slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha (e^x - 1).

    >>> import mtorch as mt
    >>> mt.elu(mt.tensor([-1.0, 2.0]))
    tensor([-0.63212055,  2.        ])
    """
    return native.elu(x, alpha)


def expression(text: str, *tensors: Tensor) -> Tensor:
    """Element-wise operators written as text, in which `tensors` are a, b, c, ..., or have the names
    that a list in front gives them. ValueError says where the text makes no sense.

    >>> import mtorch as mt
    >>> mt.expression("relu(a + b) * 2", mt.tensor([1.0, -3.0]), mt.tensor([2.0, 1.0]))
    tensor([6., 0.])
    >>> mt.expression("y, x -> x - y", mt.tensor([1.0]), mt.tensor([3.0]))
    tensor([2.])
    """
    return native.expression(text, tensors)


# ------------------------------------------------------------- Complex numbers there are none of

def conj(x: Tensor, /) -> Tensor:
    """x itself, since there are no complex numbers.

    >>> import mtorch as mt
    >>> mt.conj(mt.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return x


def real(x: Tensor, /) -> Tensor:
    """x itself, since there are no complex numbers.

    >>> import mtorch as mt
    >>> mt.real(mt.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return x


def imag(x: Tensor, /) -> Tensor:
    """Zeros of x's shape, since there are no complex numbers.

    >>> import mtorch as mt
    >>> mt.imag(mt.tensor([1.0, 2.0]))
    tensor([0., 0.])
    """
    return native.zeros_like(x)
