# SPDX-License-Identifier: Apache-2.0
"""Sums of products: what the matrix product is a case of."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import native
from ._arguments import _whole
from .native import matmul as matmul, matrix_transpose as matrix_transpose

if TYPE_CHECKING:
    from ._tensor import Tensor


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The Einstein sum, by NumPy's grammar. ValueError names the label whose sizes differ.

    >>> import mtorch as mt
    >>> a, b = mt.tensor([[1.0, 2.0], [3.0, 4.0]]), mt.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> mt.einsum("ij,jk->ik", a, b)
    tensor([[1., 4.],
            [3., 8.]])
    """
    return native.einsum(equation, operands)


def tensordot(x1: Tensor, x2: Tensor, /, axes: Any = 2) -> Tensor:
    """The sum of products over the last `axes` axes of x1 and the first of x2, or over the pairs of
    axes in two lists. ValueError if their sizes differ.

    >>> import mtorch as mt
    >>> mt.tensordot(mt.ones((2, 3)), mt.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    count = _whole(axes)
    if count is not None:
        if not 0 <= count <= 16:
            raise ValueError(f"tensordot: axes is {count}, neither a number from 0 to 16 nor two lists")
        axes = range(-count, 0), range(count)
    return native.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, axis: int = -1) -> Tensor:
    """The sum of products along an axis, which both have.

    >>> import mtorch as mt
    >>> mt.vecdot(mt.tensor([[1.0, 2.0], [3.0, 4.0]]), mt.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    return native.vecdot(x1, x2, axis)
