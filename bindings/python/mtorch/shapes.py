# SPDX-License-Identifier: Apache-2.0
"""Shapes and their parts: views where strides can express them, and what joins, cuts and picks."""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Sequence

from . import native
from ._arguments import _checked, _no_axes, _place, _several, _whole
from ._names import _explained
from .create import asarray
from ._types import Axes, Shape

if TYPE_CHECKING:
    from ._tensor import Tensor


def reshape(x: Tensor, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in row-major order under another shape; one size may be -1. ValueError
    when the elements do not fill it.

    >>> import mtorch as mt
    >>> mt.reshape(mt.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return native.reshape(native.copy(x) if copy else x, shape)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Axis i of the result is axis axes[i] of x. ValueError unless each axis is named once.

    >>> import mtorch as mt
    >>> mt.permute_dims(mt.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return native.permute_dims(x, axes)


def transpose(x: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged.

    >>> import mtorch as mt
    >>> mt.transpose(mt.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return native.transpose(x, axis0, axis1)


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """Some axes moved to other places. IndexError for one that is not there.

    >>> import mtorch as mt
    >>> mt.moveaxis(mt.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    ndim = _checked("moveaxis", x).ndim
    taken, places = ([_place("moveaxis", axis, ndim) for axis in _several(axes)]
                     for axes in (source, destination))
    if not len(set(taken)) == len(set(places)) == len(taken) == len(places):
        raise ValueError(f"moveaxis: axes {source} to {destination}: needs as many places as axes, "
                         "each once")
    order = [axis for axis in range(ndim) if axis not in taken]
    for to, axis in sorted(zip(places, taken)):
        order.insert(to, axis)
    return native.permute_dims(x, order)


def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """Sizes of 1, and missing leading axes, stretched to a larger shape. ValueError if they
    cannot be.

    >>> import mtorch as mt
    >>> mt.broadcast_to(mt.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return native.broadcast_to(x, shape)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """All stretched to one shape. ValueError if there is none.

    >>> import mtorch as mt
    >>> [x.shape for x in mt.broadcast_arrays(mt.zeros((3, 1)), mt.zeros((1, 2)))]
    [(3, 2), (3, 2)]
    """
    most = builtins.max((_checked("broadcast_arrays", x).ndim for x in arrays), default=0)
    sizes = [[1] * (most - x.ndim) + list(x.shape) for x in arrays]
    shape = [builtins.max(axis, key=lambda size: size if size != 1 else -1) for axis in zip(*sizes)]
    return [native.broadcast_to(x, shape) for x in arrays]


@_explained
def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of size 1.

    >>> import mtorch as mt
    >>> mt.expand_dims(mt.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return native.expand_dims(x, axis)


@_explained
def squeeze(x: Tensor, /, axis: Axes = None) -> Tensor:
    """Without the named axes, which have size 1 (ValueError); None drops every such axis.

    >>> import mtorch as mt
    >>> mt.squeeze(mt.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    return x if _no_axes(axis) else native.squeeze(x, axis)


@_explained
def flip(x: Tensor, /, axis: Axes = None) -> Tensor:
    """Reversed along the named axes; None means all.

    >>> import mtorch as mt
    >>> mt.flip(mt.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([[3, 4],
            [1, 2]])
    """
    return x if _no_axes(axis) else native.flip(x, axis)


@_explained
def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axes = None) -> Tensor:
    """Moved along axes, what falls off one end coming in at the other; None rolls the elements in
    row-major order.

    >>> import mtorch as mt
    >>> mt.roll(mt.arange(5), 2)
    tensor([3, 4, 0, 1, 2])
    """
    if axis is None:
        shape = _checked("roll", x).shape
        return native.reshape(native.roll(native.reshape(x, -1), (shift, 0)), shape)
    if _whole(shift) is not None and _whole(axis) is None:
        shift = _several(shift) * len(_several(axis))
    return native.roll(x, (shift, axis))


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """Side by side as often as `repetitions` says along each axis, the last one for the last.

    >>> import mtorch as mt
    >>> mt.tile(mt.tensor([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return native.tile(x, repetitions)


@_explained
def repeat(x: Tensor, repeats: Any, /, axis: int | None = None) -> Tensor:
    """Each position along `axis` several times in a row: a number, or a tensor with one for each
    position. None repeats the elements in row-major order.

    >>> import mtorch as mt
    >>> mt.repeat(mt.tensor([7, 8]), mt.tensor([1, 3]))
    tensor([7, 8, 8, 8])
    """
    if axis is None:
        x, axis = native.reshape(x, -1), 0
    if isinstance(repeats, int):
        return native.repeat(x, repeats, axis)
    return native.repeat_by(x, asarray(repeats), axis)


def window(x: Tensor, axis: int, size: int, step: int = 1, dilation: int = 1) -> Tensor:
    """Sliding windows along `axis`, as a last axis: a view.

    >>> import mtorch as mt
    >>> mt.window(mt.arange(5), 0, size=3)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    return native.window(x, axis, size, step, dilation)


@_explained
def concat(arrays: Sequence[Tensor], /, axis: int | None = 0) -> Tensor:
    """Joined along an existing axis, in which alone the shapes may differ (ValueError); None
    flattens first.

    >>> import mtorch as mt
    >>> mt.concat([mt.tensor([1, 2]), mt.tensor([3])])
    tensor([1, 2, 3])
    """
    if axis is None:
        arrays, axis = [native.reshape(x, -1) for x in arrays], 0
    return native.concat(arrays, axis)


@_explained
def stack(arrays: Sequence[Tensor], /, axis: int = 0) -> Tensor:
    """Joined along a new axis. ValueError if the shapes differ.

    >>> import mtorch as mt
    >>> mt.stack([mt.tensor([1, 2]), mt.tensor([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return native.stack(arrays, axis)


@_explained
def unstack(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis.

    >>> import mtorch as mt
    >>> mt.unstack(mt.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(native.select(x, axis, i) for i in range(native.dim(x, axis)))


@_explained
def split(x: Tensor, sizes: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Cut along `axis` into pieces of the given sizes, which add up to its length (ValueError); a
    number is the size of each, the last one perhaps smaller.

    >>> import mtorch as mt
    >>> mt.split(mt.arange(5), 2)
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """
    size = _whole(sizes)
    if size is not None:
        if size < 1:
            raise ValueError(f"split: pieces of size {size}")
        length = native.dim(x, axis)
        sizes = [builtins.min(size, length - at) for at in range(0, length, size)]
    return native.split_into(x, sizes, axis)


@_explained
def chunk(x: Tensor, count: int, axis: int = 0) -> list[Tensor]:
    """Cut along `axis` into `count` pieces of one size, the last one perhaps smaller, or fewer.

    >>> import mtorch as mt
    >>> mt.chunk(mt.arange(6), 3), mt.arange(5).chunk(2)
    ([tensor([0, 1]), tensor([2, 3]), tensor([4, 5])], [tensor([0, 1, 2]), tensor([3, 4])])
    """
    if count < 1:
        raise ValueError(f"chunk: {count} pieces")
    return split(x, builtins.max(-(-native.dim(x, axis) // count), 1), axis)


_BORDERS = {"reflect": native.pad_reflect, "edge": native.pad_edge, "wrap": native.pad_wrap}


def pad(x: Tensor, widths: int | Sequence[int] | Sequence[tuple[int, int]], value: float = 0.0,
        mode: str = "constant") -> Tensor:
    """With (before, after) elements added along each axis; one pair is for every axis, and one number for
    every side. They are `value`, or by NumPy's modes "reflect" (a mirror at the ends, which are not
    repeated), "edge" (the ends again and again) and "wrap" (the other end) those of x.

    >>> import mtorch as mt
    >>> mt.pad(mt.tensor([1, 2]), [(1, 2)])
    tensor([0, 1, 2, 0, 0])
    >>> [mt.pad(mt.tensor([1, 2, 3]), 2, mode=mode).tolist() for mode in ("reflect", "edge", "wrap")]
    [[3, 2, 1, 2, 3, 2, 1], [1, 1, 1, 2, 3, 3, 3], [2, 3, 1, 2, 3, 1, 2]]
    """
    sides: Any = widths if _whole(widths) is None else (widths, widths)
    try:
        pairs = [sides] if len(sides) == 2 and None not in map(_whole, sides) else list(sides)
        if any(len(pair) != 2 for pair in pairs):
            raise TypeError
    except TypeError:  # also of what has no length
        raise TypeError(f"pad: widths {widths!r} are neither a number, nor (before, after), nor such a pair "
                        "for each axis") from None
    pairs = pairs * _checked("pad", x).ndim if len(pairs) == 1 else pairs
    both = [w[0] for w in pairs], [w[1] for w in pairs]
    if mode == "constant":
        return native.pad(x, both, value)
    if mode not in _BORDERS:
        known = {"replicate": ': PyTorch\'s "replicate" is "edge"', "circular": ': PyTorch\'s "circular" is "wrap"'}
        raise ValueError(f"pad: mode {mode!r} is none of constant, {', '.join(_BORDERS)}{known.get(mode, '')}")
    if value != 0:
        raise ValueError(f"pad: value {value} in mode {mode!r}, which adds none")
    return _BORDERS[mode](x, both)


@_explained
def tril(x: Tensor, /, k: int = 0) -> Tensor:
    """Matrices with everything above diagonal k set to 0.

    >>> import mtorch as mt
    >>> mt.tril(mt.ones((2, 3)))
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    return native.tril(x, k)


@_explained
def triu(x: Tensor, /, k: int = 0) -> Tensor:
    """Matrices with everything below diagonal k set to 0.

    >>> import mtorch as mt
    >>> mt.triu(mt.ones((2, 3)))
    tensor([[1., 1., 1.],
            [0., 1., 1.]])
    """
    return native.triu(x, k)


@_explained
def take(x: Tensor, indices: Any, /, axis: int | None = None) -> Tensor:
    """Positions `indices` along `axis`, which only a vector need not name. IndexError for one
    outside.

    >>> import mtorch as mt
    >>> mt.take(mt.tensor([[1, 2, 3], [4, 5, 6]]), [2, 0], axis=1)
    tensor([[3, 1],
            [6, 4]])
    """
    if axis is None:
        if _checked("take", x).ndim != 1:
            raise ValueError(f"take: {x.ndim} dimensions need an axis")
        axis = 0
    return native.index_select(x, asarray(indices), axis)


@_explained
def take_along_axis(x: Tensor, indices: Tensor, /, axis: int = -1) -> Tensor:
    """For each position of `indices`, the element of x there along `axis`; the other sizes agree.

    >>> import mtorch as mt
    >>> x = mt.tensor([[5, 6], [7, 8]])
    >>> mt.take_along_axis(x, mt.tensor([[1], [0]]), axis=1)
    tensor([[6],
            [7]])
    """
    return native.take_along_axis(x, indices, axis)


@_explained
def scatter_add(x: Tensor, indices: Tensor, values: Tensor, axis: int = -1) -> Tensor:
    """x with each value added at its index along `axis`.

    >>> import mtorch as mt
    >>> mt.scatter_add(mt.zeros(3), mt.tensor([0, 2, 2]), mt.ones(3))
    tensor([1., 0., 2.])
    """
    return native.scatter_add(x, indices, values, axis)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Each one-dimensional array along an axis of its own, all stretched to one shape. By "xy" the
    first two axes are exchanged; by "ij" they are not.

    >>> import mtorch as mt
    >>> mt.meshgrid(mt.arange(2), mt.arange(3), indexing="ij")[0]
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    n = len(arrays)
    grids = [native.reshape(x, [-1 if i == axis else 1 for i in range(n)])
             for axis, x in enumerate(arrays)]
    grids = broadcast_arrays(*grids)
    if indexing == "xy" and n > 1:
        grids = [native.transpose(x, 0, 1) for x in grids]
    return grids
