# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, distinct elements."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import native
from ._names import _explained
from .native import masked_select as masked_select, unique_values as unique_values

if TYPE_CHECKING:
    from ._tensor import Tensor


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


@_explained
def sort(x: Tensor, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along `axis` in order; always stable, NaN last (first when `descending`).

    >>> import mtorch as mt
    >>> mt.sort(mt.tensor([[3, 1, 2], [0, 5, 4]]), descending=True)
    tensor([[3, 2, 1],
            [5, 4, 0]])
    """
    return native.sort(x, axis, descending)


@_explained
def argsort(x: Tensor, /, axis: int = -1, descending: bool = False,
            stable: bool = True) -> Tensor:
    """The indices that sort; always stable.

    >>> import mtorch as mt
    >>> mt.argsort(mt.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return native.argsort(x, axis, descending)


@_explained
def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> TopK:
    """The k largest (or smallest) elements along `axis`, best first, and their indices. ValueError
    if there are not so many.

    >>> import mtorch as mt
    >>> values, indices = mt.topk(mt.tensor([1.0, 9.0, 3.0]), 2)
    >>> values, indices
    (tensor([9., 3.]), tensor([1, 2]))
    """
    return TopK(*native.largest(x, k, axis, largest))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left",
                 sorter: Tensor | None = None) -> Tensor:
    """For each element of x2, the index at which it would go into x1: a vector in ascending order,
    or in that of the indices `sorter`. On the `side` "left" or "right" of its equals.

    >>> import mtorch as mt
    >>> mt.searchsorted(mt.tensor([1.0, 3.0, 5.0]), mt.tensor([3.0, 4.0]))
    tensor([1, 2])
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side {side!r}: left or right")
    return native.searchsorted(x1 if sorter is None else native.index_select(x1, sorter, 0), x2,
                               side == "right")


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """For each axis, the indices of the elements that are not 0. ValueError without an axis; an
    Error inside a trace, where shapes cannot depend on values.

    >>> import mtorch as mt
    >>> mt.nonzero(mt.tensor([[0, 7], [8, 0]]))
    (tensor([0, 1]), tensor([1, 0]))
    """
    if not native.ndim(x):
        raise ValueError("nonzero: needs at least one dimension, got []")
    found = native.nonzero(x)
    return tuple(native.select(found, 1, axis) for axis in range(x.ndim))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements in ascending order, where each occurs first, for each element of x the
    place of its value, and how often each occurs.

    >>> import mtorch as mt
    >>> mt.unique_all(mt.tensor([5, 2, 5]))[1:]
    (tensor([1, 0]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    return UniqueAll(*native.unique_parts(x, True, True, True))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in ascending order, and how often each occurs.

    >>> import mtorch as mt
    >>> mt.unique_counts(mt.tensor([5, 2, 5])).counts
    tensor([1, 2])
    """
    values, _, _, counts = native.unique_parts(x, False, False, True)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in ascending order, and for each of x the place of its value.

    >>> import mtorch as mt
    >>> mt.unique_inverse(mt.tensor([5, 2, 5])).inverse_indices
    tensor([1, 0, 1])
    """
    values, _, inverse, _ = native.unique_parts(x, False, True, False)
    return UniqueInverse(values, inverse)
