# SPDX-License-Identifier: Apache-2.0
"""Linear algebra by the Array API's names."""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from . import native
from .functions import _reduce, tensordot, vecdot  # noqa: F401
from .native import matmul, matrix_transpose, outer  # noqa: F401
from ._types import Axes, DTypeLike

if TYPE_CHECKING:
    from ._tensor import Tensor


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of 3 along an axis."""
    return native.cross(x1, x2, axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes, as a last axis; offset 0 is the main one, above it 1."""
    return native.matrix_diagonal(x, offset)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike = None) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    from .functions import _in_dtype
    return _in_dtype(lambda x: native.matrix_trace(x, offset), x, dtype)


def vector_norm(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False,
                ord: float = 2) -> Tensor:
    """(sum(|x|^ord))^(1 / ord) over `axis`: a number, several, or None for all."""
    return _reduce("norm", x, axis, keepdims, ord)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """A norm of the matrices in the last two axes: "fro", the Euclidean one of all elements, or the
    largest (1, inf) or smallest (-1, -inf) sum of magnitudes of a column (1) or row (inf)."""
    if ord == "fro":
        return _reduce("norm", x, (-2, -1), keepdims, 2)
    if ord not in (1, -1, float("inf"), -float("inf")):
        raise ValueError(f"matrix_norm: {ord!r} is none of 'fro', 1, -1, inf, -inf")
    along = -2 if builtins.abs(ord) == 1 else -1
    sums = native.sum_keep(native.abs(x), along)
    reduce = "max" if ord > 0 else "min"
    return getattr(native, reduce + "_keep" if keepdims else reduce)(sums, (-2, -1))


def norm(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """vector_norm()."""
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The product of n copies of a square matrix: [..., m, m]; n from 0 on."""
    if n < 0:
        raise ValueError(f"matrix_power: {n} is negative")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: {x.shape} is not square")
    size = x.shape[-1]
    result = native.broadcast_to(native.eye(size, size, 0, native.dtype_of(x), x.device), x.shape)
    while n:
        if n & 1:
            result = native.matmul(result, x)
        n >>= 1
        x = native.matmul(x, x) if n else x
    return result
