# SPDX-License-Identifier: Apache-2.0
"""Operators by the Array API's names, with its keywords and defaults."""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from . import native
from .create import asarray
from .dtypes import as_dtype
from ._types import Axes, DTypeLike, Operand, Shape

if TYPE_CHECKING:
    from ._tensor import Tensor

# Element-wise operators are the extension's own.
from .native import (  # noqa: F401
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert,
    bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, ceil, copysign, cos, cosh,
    detach, equal, erf, exp, exp2, expm1, floor, floor_divide, gelu_tanh, greater, greater_equal,
    hypot, isfinite, isinf, isnan, less, less_equal, log, log10, log1p, log2, log_sigmoid,
    logaddexp, logical_and, logical_not, logical_or, logical_xor, masked_select, matmul,
    matrix_transpose, maximum, minimum, nextafter, not_equal, reciprocal, relu, remainder, round,
    rsqrt, sigmoid, sign, signbit, silu, sin, sinh, softplus, sqrt, square, tan, tanh, trunc,
    unique_values, where)
from .native import div as divide, mul as multiply, neg as negative
from .native import pow as pow, sub as subtract


def positive(x: Tensor, /) -> Tensor:
    """x itself."""
    return x


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """min(max(x, low), high); None is no bound."""
    return native.clip(x, min, max)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x (1 + erf(x / sqrt(2))) / 2, or its approximation by "tanh"."""
    return native.gelu_tanh(x) if approximate == "tanh" else native.gelu(x)


def leaky_relu(x: Tensor, slope: Operand = 0.01) -> Tensor:
    """x where x > 0, else x slope."""
    return native.leaky_relu(x, slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha (e^x - 1)."""
    return native.elu(x, alpha)


def expression(text: str, *tensors: Tensor) -> Tensor:
    """Element-wise operators written as text: expression("relu(a + b) * 2", x, y)."""
    return native.expression(text, tensors)


# -------------------------------------------------------------------------------- Reductions

def _reduce(name: str, x: Tensor, axis: Axes, keepdims: bool, *more: Any) -> Tensor:
    if axis == ():  # over nothing: as over a new axis of size 1
        return getattr(native, name)(native.expand_dims(x, -1), -1, *more)
    return getattr(native, name + "_keep" if keepdims else name)(x, axis, *more)


def _reduction(name: str, text: str) -> Any:
    def reduction(x, /, axis=None, keepdims=False):
        return _reduce(name, x, axis, keepdims)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"{text} over `axis`: a number, several, or None for all."
    return reduction


mean = _reduction("mean", "The mean")
max = _reduction("max", "The largest element")
min = _reduction("min", "The smallest element")
argmax = _reduction("argmax", "The index of the largest element")
argmin = _reduction("argmin", "The index of the smallest element")
any = _reduction("any", "Whether any element is not 0")
all = _reduction("all", "Whether all elements are not 0")
count_nonzero = _reduction("count_nonzero", "The number of elements that are not 0")
logsumexp = _reduction("logsumexp", "log(sum(e^x))")


def _in_dtype(function: Callable[[Tensor], Tensor], x: Tensor, dtype: DTypeLike) -> Tensor:
    """function(x) with x and the result of the type `dtype`, unless it is None."""
    if dtype is None:
        return function(x)
    dtype = as_dtype(dtype)
    return native.astype(function(native.astype(x, dtype)), dtype)


def sum(x: Tensor, /, axis: Axes = None, dtype: DTypeLike = None, keepdims: bool = False) -> Tensor:
    """The sum over `axis`: a number, several, or None for all."""
    if dtype is None:
        return _reduce("sum", x, axis, keepdims)
    return _in_dtype(lambda x: _reduce("sum", x, axis, keepdims), x, dtype)


def prod(x: Tensor, /, axis: Axes = None, dtype: DTypeLike = None,
         keepdims: bool = False) -> Tensor:
    """The product over `axis`: a number, several, or None for all."""
    return _in_dtype(lambda x: _reduce("prod", x, axis, keepdims), x, dtype)


def var(x: Tensor, /, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over `axis`; correction 0 is the population's, 1 the sample's."""
    return _reduce("var", x, axis, keepdims, correction)


def std(x: Tensor, /, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over `axis`; correction 0 is the population's, 1 the sample's."""
    return _reduce("std", x, axis, keepdims, correction)


def norm(x: Tensor, /, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The vector norm over `axis`."""
    return _reduce("norm", x, axis, keepdims, ord)


def _cumulative(name: str, first: float, x: Tensor, axis: int | None, dtype: DTypeLike,
                include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: {x.ndim} dimensions need an axis")
        axis = 0
    y = _in_dtype(lambda x: getattr(native, name)(x, axis), x, dtype)
    if not include_initial:
        return y
    before = [0] * x.ndim
    before[axis] = 1
    return native.pad(y, (before, [0] * x.ndim), first)


def cumulative_sum(x: Tensor, /, axis: int | None = None, dtype: DTypeLike = None,
                   include_initial: bool = False) -> Tensor:
    """Running sums along one axis; with `include_initial` from 0 on."""
    return _cumulative("cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, axis: int | None = None, dtype: DTypeLike = None,
                    include_initial: bool = False) -> Tensor:
    """Running products along one axis; with `include_initial` from 1 on."""
    return _cumulative("cumulative_prod", 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis, n times; the ends may be extended first."""
    parts = [part for part in (prepend, x, append) if part is not None]
    return native.diff(native.concat(parts, axis) if len(parts) > 1 else x, axis, n)


# -------------------------------------------------------------------- Sorting and searching

class TopK(NamedTuple):
    """What topk() gives."""

    values: object
    indices: object


class UniqueAll(NamedTuple):
    """What unique_all() gives."""

    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    """What unique_counts() gives."""

    values: object
    counts: object


class UniqueInverse(NamedTuple):
    """What unique_inverse() gives."""

    values: object
    inverse_indices: object


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along `axis` in order; always stable."""
    return native.sort(x, axis, descending)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False,
            stable: bool = True) -> Tensor:
    """The indices that sort; always stable."""
    return native.argsort(x, axis, descending)


def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> TopK:
    """The k largest (or smallest) elements along `axis`, best first, and their indices."""
    return TopK(*native.largest(x, k, axis, largest))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left",
                 sorter: Tensor | None = None) -> Tensor:
    """For each element of x2, the index at which it would go into x1: a vector in ascending order,
    or in that of the indices `sorter`. On the `side` "left" or "right" of its equals."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side {side!r}: left or right")
    return native.searchsorted(x1 if sorter is None else native.index_select(x1, sorter, 0), x2,
                               side == "right")


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """For each axis, the indices of the elements that are not 0."""
    if not native.ndim(x):
        raise ValueError("nonzero: needs at least one dimension, got []")
    found = native.nonzero(x)
    return tuple(native.select(found, 1, axis) for axis in range(x.ndim))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements in ascending order, where each occurs first, for each element of x the
    place of its value, and how often each occurs."""
    return UniqueAll(*native.unique_parts(x, True, True, True))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in ascending order, and how often each occurs."""
    values, _, _, counts = native.unique_parts(x, False, False, True)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in ascending order, and for each of x the place of its value."""
    values, _, inverse, _ = native.unique_parts(x, False, True, False)
    return UniqueInverse(values, inverse)


# --------------------------------------------------------------------- Shapes and their parts

def reshape(x: Tensor, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in row-major order under another shape; one size may be -1."""
    return native.reshape(native.copy(x) if copy else x, shape)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Axis i of the result is axis axes[i] of x."""
    return native.permute_dims(x, axes)


def transpose(x: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged."""
    return native.transpose(x, axis0, axis1)


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Some axes moved to other places."""
    taken, places = ([a % x.ndim for a in ([axes] if isinstance(axes, int) else axes)]
                     for axes in (source, destination))
    order = [axis for axis in range(x.ndim) if axis not in taken]
    for to, axis in sorted(zip(places, taken)):
        order.insert(to, axis)
    return native.permute_dims(x, order)


def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """Sizes of 1, and missing leading axes, stretched to a larger shape."""
    return native.broadcast_to(x, shape)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """All stretched to one shape."""
    sizes = [[1] * (builtins.max(x.ndim for x in arrays) - x.ndim) + list(x.shape) for x in arrays]
    shape = [builtins.max(axis, key=lambda size: size if size != 1 else -1) for axis in zip(*sizes)]
    return [native.broadcast_to(x, shape) for x in arrays]


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of size 1."""
    return native.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: Axes = None) -> Tensor:
    """Without the named axes, which have size 1; None drops every such axis."""
    return x if axis == () else native.squeeze(x, axis)


def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """Reversed along the named axes; None means all."""
    return x if axis == () else native.flip(x, axis)


def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axes = None) -> Tensor:
    """Moved along axes, what falls off one end coming in at the other; None rolls the elements in
    row-major order."""
    if axis is None:
        return native.reshape(native.roll(native.reshape(x, -1), (shift, 0)), x.shape)
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = [shift] * len(axis)
    return native.roll(x, (shift, axis))


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """Side by side as often as `repetitions` says along each axis, the last one for the last."""
    return native.tile(x, repetitions)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each position along `axis` several times in a row: a number, or a tensor with one for each
    position. None repeats the elements in row-major order."""
    if axis is None:
        x, axis = native.reshape(x, -1), 0
    if isinstance(repeats, int):
        return native.repeat(x, repeats, axis)
    return native.repeat_by(x, asarray(repeats), axis)


def window(x: Tensor, axis: int, size: int, step: int = 1, dilation: int = 1) -> Tensor:
    """Sliding windows along `axis`, as a last axis."""
    return native.window(x, axis, size, step, dilation)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Joined along an existing axis; None flattens first."""
    if axis is None:
        arrays, axis = [native.reshape(x, -1) for x in arrays], 0
    return native.concat(arrays, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Joined along a new axis."""
    return native.stack(arrays, axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    return tuple(native.select(x, axis, i) for i in range(native.dim(x, axis)))


def split(x: Tensor, sizes: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Cut along `axis` into pieces of the given sizes; a number is the size of each."""
    if isinstance(sizes, int):
        length = native.dim(x, axis)
        sizes = [builtins.min(sizes, length - at) for at in range(0, length, sizes)]
    return native.split_into(x, sizes, axis)


def pad(x: Tensor, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    """With (before, after) elements of `value` added along each axis."""
    return native.pad(x, ([w[0] for w in widths], [w[1] for w in widths]), value)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with everything above diagonal k set to 0."""
    return native.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with everything below diagonal k set to 0."""
    return native.triu(x, k)


def take(x: Tensor, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """Positions `indices` along `axis`."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: {x.ndim} dimensions need an axis")
        axis = 0
    return native.index_select(x, asarray(indices), axis)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each position of `indices`, the element of x there along `axis`."""
    return native.take_along_axis(x, indices, axis)


def scatter_add(x: Tensor, indices: Tensor, values: Tensor, axis: int = -1) -> Tensor:
    """x with each value added at its index along `axis`."""
    return native.scatter_add(x, indices, values, axis)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Each one-dimensional array along an axis of its own, all stretched to one shape."""
    n = len(arrays)
    grids = [native.reshape(x, [-1 if i == axis else 1 for i in range(n)])
             for axis, x in enumerate(arrays)]
    grids = broadcast_arrays(*grids)
    if indexing == "xy" and n > 1:
        grids = [native.transpose(x, 0, 1) for x in grids]
    return grids


# ------------------------------------------------------------------------------ Contractions

def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The Einstein sum, by NumPy's grammar: einsum("ij,jk->ik", a, b)."""
    return native.einsum(equation, operands)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over the last axes of x1 and the first of x2, or over pairs of axes."""
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    return native.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis."""
    return native.vecdot(x1, x2, axis)


# ------------------------------------------------------------- Complex numbers there are none of

def conj(x: Tensor, /) -> Tensor:
    """x itself, since there are no complex numbers."""
    return x


def real(x: Tensor, /) -> Tensor:
    """x itself, since there are no complex numbers."""
    return x


def imag(x: Tensor, /) -> Tensor:
    """Zeros of x's shape, since there are no complex numbers."""
    return native.zeros_like(x)


def eval(*tensors: Tensor) -> None:
    """Computes tensors now, together; none: everything that is pending on this thread."""
    native.eval(tensors)


_not_ours = (NamedTuple, Any, Callable, Sequence, as_dtype, asarray)
__all__ = [name for name, value in globals().items()
           if callable(value) and name[0] != "_" and value not in _not_ours]
