# SPDX-License-Identifier: Apache-2.0
"""Operators by the Array API's names, with its keywords and defaults."""
import builtins
from typing import NamedTuple

from . import native
from .create import asarray
from .dtypes import as_dtype

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


def positive(x, /):
    """x itself."""
    return x


def clip(x, /, min=None, max=None):
    """min(max(x, low), high); None is no bound."""
    return native.clip(x, min, max)


def gelu(x, approximate="none"):
    """x (1 + erf(x / sqrt(2))) / 2, or its approximation by "tanh"."""
    return native.gelu_tanh(x) if approximate == "tanh" else native.gelu(x)


def leaky_relu(x, slope=0.01):
    """x where x > 0, else x slope."""
    return native.leaky_relu(x, slope)


def elu(x, alpha=1.0):
    """x where x > 0, else alpha (e^x - 1)."""
    return native.elu(x, alpha)


def expression(text, *tensors):
    """Element-wise operators written as text: expression("relu(a + b) * 2", x, y)."""
    return native.expression(text, tensors)


# -------------------------------------------------------------------------------- Reductions

def _reduce(name, x, axis, keepdims, *more):
    if axis == ():  # over nothing: as over a new axis of size 1
        return getattr(native, name)(native.expand_dims(x, -1), -1, *more)
    return getattr(native, name + "_keep" if keepdims else name)(x, axis, *more)


def _reduction(name, text):
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


def _in_dtype(function, x, dtype):
    """function(x) with x and the result of the type `dtype`, unless it is None."""
    if dtype is None:
        return function(x)
    dtype = as_dtype(dtype)
    return native.astype(function(native.astype(x, dtype)), dtype)


def sum(x, /, axis=None, dtype=None, keepdims=False):
    """The sum over `axis`: a number, several, or None for all."""
    if dtype is None:
        return _reduce("sum", x, axis, keepdims)
    return _in_dtype(lambda x: _reduce("sum", x, axis, keepdims), x, dtype)


def prod(x, /, axis=None, dtype=None, keepdims=False):
    """The product over `axis`: a number, several, or None for all."""
    return _in_dtype(lambda x: _reduce("prod", x, axis, keepdims), x, dtype)


def var(x, /, axis=None, correction=0.0, keepdims=False):
    """The variance over `axis`; correction 0 is the population's, 1 the sample's."""
    return _reduce("var", x, axis, keepdims, correction)


def std(x, /, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over `axis`; correction 0 is the population's, 1 the sample's."""
    return _reduce("std", x, axis, keepdims, correction)


def norm(x, /, axis=None, keepdims=False, ord=2):
    """The vector norm over `axis`."""
    return _reduce("norm", x, axis, keepdims, ord)


def _cumulative(name, first, x, axis, dtype, include_initial):
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


def cumulative_sum(x, /, axis=None, dtype=None, include_initial=False):
    """Running sums along one axis; with `include_initial` from 0 on."""
    return _cumulative("cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, axis=None, dtype=None, include_initial=False):
    """Running products along one axis; with `include_initial` from 1 on."""
    return _cumulative("cumulative_prod", 1, x, axis, dtype, include_initial)


def diff(x, /, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times; the ends may be extended first."""
    parts = [part for part in (prepend, x, append) if part is not None]
    return native.diff(native.concat(parts, axis) if len(parts) > 1 else x, axis, n)


# -------------------------------------------------------------------- Sorting and searching

class TopK(NamedTuple):
    values: object
    indices: object


class UniqueAll(NamedTuple):
    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    values: object
    counts: object


class UniqueInverse(NamedTuple):
    values: object
    inverse_indices: object


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements along `axis` in order; always stable."""
    return native.sort(x, axis, descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort; always stable."""
    return native.argsort(x, axis, descending)


def topk(x, k, axis=-1, largest=True):
    """The k largest (or smallest) elements along `axis`, best first, and their indices."""
    return TopK(*native.largest(x, k, axis, largest))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """For each element of x2, the index at which it would go into x1: a vector in ascending order,
    or in that of the indices `sorter`. On the `side` "left" or "right" of its equals."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side {side!r}: left or right")
    return native.searchsorted(x1 if sorter is None else native.index_select(x1, sorter, 0), x2,
                               side == "right")


def nonzero(x, /):
    """For each axis, the indices of the elements that are not 0."""
    if not native.ndim(x):
        raise ValueError("nonzero: needs at least one dimension, got []")
    found = native.nonzero(x)
    return tuple(native.select(found, 1, axis) for axis in range(x.ndim))


def unique_all(x, /):
    return UniqueAll(*native.unique_parts(x, True, True, True))


def unique_counts(x, /):
    values, _, _, counts = native.unique_parts(x, False, False, True)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    values, _, inverse, _ = native.unique_parts(x, False, True, False)
    return UniqueInverse(values, inverse)


# --------------------------------------------------------------------- Shapes and their parts

def reshape(x, /, shape, *, copy=None):
    """The same elements in row-major order under another shape; one size may be -1."""
    return native.reshape(native.copy(x) if copy else x, shape)


def permute_dims(x, /, axes):
    """Axis i of the result is axis axes[i] of x."""
    return native.permute_dims(x, axes)


def transpose(x, axis0, axis1):
    """Two axes exchanged."""
    return native.transpose(x, axis0, axis1)


def moveaxis(x, source, destination, /):
    """Some axes moved to other places."""
    source, destination = ([a % x.ndim for a in (axes if isinstance(axes, (tuple, list)) else [axes])]
                           for axes in (source, destination))
    order = [axis for axis in range(x.ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return native.permute_dims(x, order)


def broadcast_to(x, /, shape):
    """Sizes of 1, and missing leading axes, stretched to a larger shape."""
    return native.broadcast_to(x, shape)


def broadcast_arrays(*arrays):
    """All stretched to one shape."""
    sizes = [[1] * (builtins.max(x.ndim for x in arrays) - x.ndim) + list(x.shape) for x in arrays]
    shape = [builtins.max(axis, key=lambda size: size if size != 1 else -1) for axis in zip(*sizes)]
    return [native.broadcast_to(x, shape) for x in arrays]


def expand_dims(x, /, axis=0):
    """A new axis of size 1."""
    return native.expand_dims(x, axis)


def squeeze(x, /, axis=None):
    """Without the named axes, which have size 1; None drops every such axis."""
    return x if axis == () else native.squeeze(x, axis)


def flip(x, /, *, axis=None):
    """Reversed along the named axes; None means all."""
    return x if axis == () else native.flip(x, axis)


def roll(x, /, shift, *, axis=None):
    """Moved along axes, what falls off one end coming in at the other; None rolls the elements in
    row-major order."""
    if axis is None:
        return native.reshape(native.roll(native.reshape(x, -1), (shift, 0)), x.shape)
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = [shift] * len(axis)
    return native.roll(x, (shift, axis))


def tile(x, repetitions, /):
    """Side by side as often as `repetitions` says along each axis, the last one for the last."""
    return native.tile(x, repetitions)


def repeat(x, repeats, /, *, axis=None):
    """Each position along `axis` several times in a row: a number, or a tensor with one for each
    position. None repeats the elements in row-major order."""
    if axis is None:
        x, axis = native.reshape(x, -1), 0
    if isinstance(repeats, int):
        return native.repeat(x, repeats, axis)
    return native.repeat_by(x, asarray(repeats), axis)


def window(x, axis, size, step=1, dilation=1):
    """Sliding windows along `axis`, as a last axis."""
    return native.window(x, axis, size, step, dilation)


def concat(arrays, /, *, axis=0):
    """Joined along an existing axis; None flattens first."""
    if axis is None:
        arrays, axis = [native.reshape(x, -1) for x in arrays], 0
    return native.concat(arrays, axis)


def stack(arrays, /, *, axis=0):
    """Joined along a new axis."""
    return native.stack(arrays, axis)


def unstack(x, /, *, axis=0):
    """The slices along an axis."""
    return tuple(native.select(x, axis, i) for i in range(native.dim(x, axis)))


def split(x, sizes, axis=0):
    """Cut along `axis` into pieces of the given sizes; a number is the size of each."""
    if isinstance(sizes, int):
        length = native.dim(x, axis)
        sizes = [builtins.min(sizes, length - at) for at in range(0, length, sizes)]
    return native.split_into(x, sizes, axis)


def pad(x, widths, value=0.0):
    """With (before, after) elements of `value` added along each axis."""
    return native.pad(x, ([w[0] for w in widths], [w[1] for w in widths]), value)


def tril(x, /, *, k=0):
    """Matrices with everything above diagonal k set to 0."""
    return native.tril(x, k)


def triu(x, /, *, k=0):
    """Matrices with everything below diagonal k set to 0."""
    return native.triu(x, k)


def take(x, indices, /, *, axis=None):
    """Positions `indices` along `axis`."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: {x.ndim} dimensions need an axis")
        axis = 0
    return native.index_select(x, asarray(indices), axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """For each position of `indices`, the element of x there along `axis`."""
    return native.take_along_axis(x, indices, axis)


def scatter_add(x, indices, values, axis=-1):
    """x with each value added at its index along `axis`."""
    return native.scatter_add(x, indices, values, axis)


def meshgrid(*arrays, indexing="xy"):
    """Each one-dimensional array along an axis of its own, all stretched to one shape."""
    n = len(arrays)
    grids = [native.reshape(x, [-1 if i == axis else 1 for i in range(n)])
             for axis, x in enumerate(arrays)]
    grids = broadcast_arrays(*grids)
    if indexing == "xy" and n > 1:
        grids = [native.transpose(x, 0, 1) for x in grids]
    return grids


# ------------------------------------------------------------------------------ Contractions

def einsum(equation, *operands):
    """The Einstein sum, by NumPy's grammar: einsum("ij,jk->ik", a, b)."""
    return native.einsum(equation, operands)


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over the last axes of x1 and the first of x2, or over pairs of axes."""
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    return native.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of products along an axis."""
    return native.vecdot(x1, x2, axis)


# ------------------------------------------------------------- Complex numbers there are none of

def conj(x, /):
    """x itself, since there are no complex numbers."""
    return x


def real(x, /):
    """x itself, since there are no complex numbers."""
    return x


def imag(x, /):
    """Zeros of x's shape, since there are no complex numbers."""
    return native.zeros_like(x)


def eval(*tensors):
    """Computes tensors now, together; none: everything that is pending on this thread."""
    native.eval(tensors)


__all__ = [name for name, value in globals().items()
           if callable(value) and not name.startswith("_") and value not in (NamedTuple, as_dtype)]
