# SPDX-License-Identifier: Apache-2.0
"""Operators over axes: sums, extremes, moments, running sums. An axis outside of x is an
IndexError. With `out`, a tensor or an array of the result's shape, it takes the result's values and
is returned: so NumPy's functions, which call these as methods, take tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import native
from ._arguments import _checked, _into, _no_axes
from ._names import _explained
from .dtypes import as_dtype
from ._types import Axes, DTypeLike

if TYPE_CHECKING:
    from ._tensor import Tensor


def _reduce(name: str, x: Tensor, axis: Axes, keepdims: bool, *more: Any) -> Tensor:
    if type(keepdims) is int:
        raise TypeError(f"{name}: keepdims is True or False, not {keepdims}; several axes are one tuple, as "
                        "axis=(0, 1)")
    if name in ("max", "min") and isinstance(axis, native.Tensor):
        raise TypeError(f"{name}: the axis is a number or several, not a tensor; of two tensors it is {name}imum()")
    if _no_axes(axis):  # over nothing: as over a new axis of size 1
        return getattr(native, name)(native.expand_dims(x, -1), -1, *more)
    return getattr(native, name + "_keep" if keepdims else name)(x, axis, *more)


def _in_dtype(function: Callable[[Tensor], Tensor], x: Tensor, dtype: DTypeLike) -> Tensor:
    """function(x) with x and the result of the type `dtype`, unless it is None."""
    if dtype is None:
        return function(x)
    if isinstance(dtype, int):
        raise TypeError(f"{dtype} is no element type; several axes are one tuple, as axis=(0, 1), and keepdims "
                        "goes by name")
    dtype = as_dtype(dtype)
    return native.astype(function(native.astype(x, dtype)), dtype)


def _reduction(name: str, text: str, example: str) -> Any:
    def reduction(x, /, axis=None, keepdims=False, *, out=None):
        y = _reduce(name, x, axis, keepdims)
        return y if out is None else _into(out, y)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"""{text} over `axis`: a number, several, or None for all. Their sizes
    are gone from the result's shape, or 1 with `keepdims`.

    >>> import mtorch as mt
    >>> mt.{name}(mt.tensor([[1.0, 5.0], [4.0, 0.0]]), axis=1)
    {example}
    """
    return _explained(reduction)


max = _reduction("max", "The largest element", "tensor([5., 4.])")
min = _reduction("min", "The smallest element", "tensor([1., 0.])")
argmax = _reduction("argmax", "The index of the largest element", "tensor([1, 0])")
argmin = _reduction("argmin", "The index of the smallest element", "tensor([0, 1])")
any = _reduction("any", "Whether any element is not 0", "tensor([ True,  True])")
all = _reduction("all", "Whether all elements are not 0", "tensor([ True, False])")
count_nonzero = _reduction("count_nonzero", "The number of elements that are not 0",
                           "tensor([2, 1])")
logsumexp = _reduction("logsumexp", "log(sum(e^x))", "tensor([5.01815, 4.01815])")


@_explained
def sum(x: Tensor, /, axis: Axes = None, dtype: DTypeLike = None, keepdims: bool = False, *,
        out: Any = None) -> Any:
    """The sum over `axis`: a number, several, or None for all. Integers are summed as int64, or
    uint64, unless `dtype` says otherwise.

    >>> import mtorch as mt
    >>> x = mt.tensor([[1, 2, 3], [4, 5, 6]])
    >>> mt.sum(x), mt.sum(x, axis=0), mt.sum(x, axis=1, keepdims=True).shape
    (tensor(21), tensor([5, 7, 9]), (2, 1))
    """
    if dtype is None and out is None:
        return _reduce("sum", x, axis, keepdims)
    return _into(out, _in_dtype(lambda x: _reduce("sum", x, axis, keepdims), x, dtype))


@_explained
def mean(x: Tensor, /, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike = None,
         out: Any = None) -> Any:
    """The mean over `axis`: a number, several, or None for all. Their sizes are gone from the
    result's shape, or 1 with `keepdims`. With `dtype`, of x as that type.

    >>> import mtorch as mt
    >>> mt.mean(mt.tensor([[1.0, 5.0], [4.0, 0.0]]), axis=1)
    tensor([3., 2.])
    """
    if dtype is None and out is None:
        return _reduce("mean", x, axis, keepdims)
    return _into(out, _in_dtype(lambda x: _reduce("mean", x, axis, keepdims), x, dtype))


@_explained
def prod(x: Tensor, /, axis: Axes = None, dtype: DTypeLike = None, keepdims: bool = False, *,
         out: Any = None) -> Any:
    """The product over `axis`: a number, several, or None for all.

    >>> import mtorch as mt
    >>> mt.prod(mt.tensor([[1, 2], [3, 4]]), axis=1)
    tensor([ 2, 12])
    """
    return _into(out, _in_dtype(lambda x: _reduce("prod", x, axis, keepdims), x, dtype))


def _moment(name: str, x: Tensor, axis: Axes, correction: float, keepdims: bool, dtype: DTypeLike,
            out: Any, ddof: float | None) -> Any:
    correction = correction if ddof is None else ddof
    return _into(out, _in_dtype(lambda x: _reduce(name, x, axis, keepdims, correction), x, dtype))


@_explained
def var(x: Tensor, /, axis: Axes = None, correction: float = 0.0, keepdims: bool = False, *,
        dtype: DTypeLike = None, out: Any = None, ddof: float | None = None) -> Any:
    """The variance over `axis`; correction 0 is the population's, 1 the sample's. `ddof` is NumPy's
    name of it. With `dtype`, of x as that type.

    >>> import mtorch as mt
    >>> mt.var(mt.tensor([[1.0, 3.0], [0.0, 4.0]]), axis=1)
    tensor([1., 4.])
    """
    return _moment("var", x, axis, correction, keepdims, dtype, out, ddof)


@_explained
def std(x: Tensor, /, axis: Axes = None, correction: float = 0.0, keepdims: bool = False, *,
        dtype: DTypeLike = None, out: Any = None, ddof: float | None = None) -> Any:
    """The standard deviation over `axis`; correction, ddof and dtype as var()'s.

    >>> import mtorch as mt
    >>> mt.std(mt.tensor([[1.0, 3.0], [0.0, 4.0]]), axis=1)
    tensor([1., 2.])
    """
    return _moment("std", x, axis, correction, keepdims, dtype, out, ddof)


@_explained
def norm(x: Tensor, /, ord: float = 2, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The vector norm over `axis`: the `ord`-th root of the sum of |x|^ord.

    >>> import mtorch as mt
    >>> mt.norm(mt.tensor([[3.0, 4.0], [0.0, 2.0]]), axis=1)
    tensor([5., 2.])
    """
    return _reduce("norm", x, axis, keepdims, ord)


def _cumulative(name: str, first: float, x: Tensor, axis: int | None, dtype: DTypeLike,
                include_initial: bool) -> Tensor:
    if axis is None:
        if _checked(name, x).ndim != 1:
            raise ValueError(f"{name}: {x.ndim} dimensions need an axis")
        axis = 0
    y = _in_dtype(lambda x: getattr(native, name)(x, axis), x, dtype)
    if not include_initial:
        return y
    before = [0] * x.ndim
    before[axis] = 1
    return native.pad(y, (before, [0] * x.ndim), first)


@_explained
def cumulative_sum(x: Tensor, /, axis: int | None = None, dtype: DTypeLike = None,
                   include_initial: bool = False) -> Tensor:
    """Running sums along one axis, which only a vector need not name (ValueError); with
    `include_initial` from 0 on, one more.

    >>> import mtorch as mt
    >>> mt.cumulative_sum(mt.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", 0, x, axis, dtype, include_initial)


@_explained
def cumulative_prod(x: Tensor, /, axis: int | None = None, dtype: DTypeLike = None,
                    include_initial: bool = False) -> Tensor:
    """Running products along one axis, which only a vector need not name (ValueError); with
    `include_initial` from 1 on, one more.

    >>> import mtorch as mt
    >>> mt.cumulative_prod(mt.tensor([[1, 2, 3], [2, 2, 2]]), axis=1)
    tensor([[1, 2, 6],
            [2, 4, 8]])
    """
    return _cumulative("cumulative_prod", 1, x, axis, dtype, include_initial)


@_explained
def diff(x: Tensor, /, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis, n times; the ends may be extended first.

    >>> import mtorch as mt
    >>> mt.diff(mt.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    return native.diff(native.concat(parts, axis) if len(parts) > 1 else x, axis, n)
