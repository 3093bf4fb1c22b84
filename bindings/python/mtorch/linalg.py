# SPDX-License-Identifier: Apache-2.0
"""Linear algebra by the Array API's names.

Functions take the matrices in the last two axes; leading axes are a batch. A matrix that has no
such solution or decomposition is a ValueError that names it. All but `matrix_rank` are
differentiable, to any order.

>>> import mtorch as mt
>>> a = mt.tensor([[2.0, 1.0], [1.0, 3.0]])
>>> mt.linalg.solve(a, mt.tensor([3.0, 4.0]))
tensor([1., 1.])
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import native
from ._arguments import _several
from .products import tensordot as tensordot, vecdot as vecdot
from .reductions import _in_dtype, _reduce
from .shapes import moveaxis as _moveaxis
from .native import (
    lapack as lapack, matmul as matmul, matrix_transpose as matrix_transpose, outer as outer)
from ._types import Axes, DTypeLike, Operand

if TYPE_CHECKING:
    from ._tensor import Tensor


class QRResult(NamedTuple):
    """What qr() gives."""
    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """What eigh() gives."""
    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """What svd() gives."""
    U: Tensor
    S: Tensor
    Vh: Tensor


class SlogdetResult(NamedTuple):
    """What slogdet() gives."""
    sign: Tensor
    logabsdet: Tensor


# -------------------------------------------------------------------- Products and diagonals

def cross(x1: Tensor, x2: Tensor, /, axis: int = -1) -> Tensor:
    """The cross product of vectors of 3 along an axis.

    >>> import mtorch as mt
    >>> mt.linalg.cross(mt.tensor([1.0, 0.0, 0.0]), mt.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return native.cross(x1, x2, axis)


def diagonal(x: Tensor, /, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes, as a last axis; offset 0 is the main one, above it 1.

    >>> import mtorch as mt
    >>> mt.linalg.diagonal(mt.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return native.matrix_diagonal(x, offset)


def trace(x: Tensor, /, offset: int = 0, dtype: DTypeLike = None) -> Tensor:
    """The sum of a diagonal of the last two axes.

    >>> import mtorch as mt
    >>> mt.linalg.trace(mt.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    return _in_dtype(lambda x: native.matrix_trace(x, offset), x, dtype)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The product of n copies of a square matrix, [..., m, m]; of its inverse for n below 0.

    >>> import mtorch as mt
    >>> mt.linalg.matrix_power(mt.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    return native.matrix_power(x, n)


# --------------------------------------------------------------------- Systems of equations

def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x with x1 x = x2: [..., m, m] and [..., m, k], or one column [m].

    >>> import mtorch as mt
    >>> mt.linalg.solve(mt.tensor([[2.0, 0.0], [0.0, 4.0]]), mt.tensor([[2.0], [2.0]]))
    tensor([[1. ],
            [0.5]])
    """
    return native.solve(x1, x2)


def solve_triangular(x1: Tensor, x2: Tensor, /, *, upper: bool = False) -> Tensor:
    """The same where only one triangle of x1 is read; x2 is [..., m, k].

    >>> import mtorch as mt
    >>> mt.linalg.solve_triangular(mt.tensor([[2.0, 9.0], [1.0, 1.0]]), mt.tensor([[2.0], [2.0]]))
    tensor([[1.],
            [1.]])
    """
    return native.solve_triangular(x1, x2, upper)


def inv(x: Tensor, /) -> Tensor:
    """The inverse of square matrices.

    >>> import mtorch as mt
    >>> mt.linalg.inv(mt.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return native.inv(x)


def pinv(x: Tensor, /, *, rtol: Operand | None = None) -> Tensor:
    """The pseudo-inverse [..., n, m] of [..., m, n]. Singular values up to `rtol` times the largest
    count as 0; None is max(m, n) times the type's epsilon.

    >>> import mtorch as mt
    >>> mt.linalg.pinv(mt.tensor([[2.0], [0.0]]))
    tensor([[0.5, 0. ]])
    """
    return native.pinv(x, rtol)


def det(x: Tensor, /) -> Tensor:
    """The determinant of square matrices.

    >>> import mtorch as mt
    >>> mt.linalg.det(mt.tensor([[2.0, 1.0], [1.0, 3.0]]))
    tensor(5.0)
    """
    return native.det(x)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its magnitude, which does not overflow.

    >>> import mtorch as mt
    >>> mt.linalg.slogdet(mt.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.0)
    """
    return SlogdetResult(*native.matrix_parts("slogdet", x, False))


# --------------------------------------------------------------------------- Decompositions

def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """L with x = L L^T, or U with x = U^T U, for a symmetric positive definite x, of which the
    lower triangle is read.

    >>> import mtorch as mt
    >>> mt.linalg.cholesky(mt.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return native.cholesky(x, upper)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """x = Q R, with orthonormal columns in Q, [..., m, min(m, n)] or, for the mode "complete",
    [..., m, m], and an upper triangle R.

    >>> import mtorch as mt
    >>> Q, R = mt.linalg.qr(mt.tensor([[3.0], [4.0]]))
    >>> mt.abs(R)
    tensor([[5.]])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode {mode!r}: reduced or complete")
    return QRResult(*native.matrix_parts("qr", x, mode == "complete"))


def eigh(x: Tensor, /) -> EighResult:
    """The eigenvalues [..., m], ascending, and eigenvectors, the columns of [..., m, m], of a
    symmetric x, of which the lower triangle is read.

    >>> import mtorch as mt
    >>> mt.linalg.eigh(mt.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvectors
    tensor([[0., 1.],
            [1., 0.]])
    """
    return EighResult(*native.matrix_parts("eigh", x, False))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of eigh() alone, which takes less.

    >>> import mtorch as mt
    >>> mt.linalg.eigvalsh(mt.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return native.eigvalsh(x)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """x = U diag(S) Vh for [..., m, n]: singular values S [..., p], descending, with p = min(m, n);
    orthonormal columns of U [..., m, m] and rows of Vh [..., n, n], or p of each without
    `full_matrices`. No gradient passes through those that belong to no value.

    >>> import mtorch as mt
    >>> mt.linalg.svd(mt.tensor([[0.0, 2.0], [3.0, 0.0]])).S
    tensor([3., 2.])
    """
    return SVDResult(*native.matrix_parts("svd", x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of svd() alone, which takes less.

    >>> import mtorch as mt
    >>> mt.linalg.svdvals(mt.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([3., 2.])
    """
    return native.svdvals(x)


# -------------------------------------------------------------------------- Norms and rank

def matrix_rank(x: Tensor, /, *, rtol: Operand | None = None) -> Tensor:
    """How many singular values lie above `rtol` times the largest, as in pinv().

    >>> import mtorch as mt
    >>> mt.linalg.matrix_rank(mt.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    return native.matrix_rank(x, rtol)


def vector_norm(x: Tensor, /, axis: Axes = None, keepdims: bool = False,
                ord: float = 2) -> Tensor:
    """(sum(|x|^ord))^(1 / ord) over `axis`: a number, several, or None for all.

    >>> import mtorch as mt
    >>> mt.linalg.vector_norm(mt.tensor([3.0, 4.0]))
    tensor(5.0)
    """
    return _reduce("norm", x, axis, keepdims, ord)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """A norm of the matrices in the last two axes: "fro", the Euclidean one of all elements; the
    largest (1, inf) or smallest (-1, -inf) sum of magnitudes of a column (1) or row (inf); of the
    singular values the largest (2), the smallest (-2) or the sum ("nuc").

    >>> import mtorch as mt
    >>> mt.linalg.matrix_norm(mt.tensor([[0.0, 2.0], [3.0, 0.0]]), ord=2)
    tensor(3.0)
    """
    name = ord if isinstance(ord, str) else f"{ord:g}"
    return (native.matrix_norm_keep if keepdims else native.matrix_norm)(x, name)


def norm(x: Tensor, /, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """As NumPy's: over one axis, or of a vector, vector_norm(); with an `ord`, over two axes, or of a
    matrix, matrix_norm(); without, the Euclidean norm of all elements. ValueError for an `ord` of more
    axes.

    >>> import mtorch as mt
    >>> x = mt.tensor([[3.0, 4.0], [0.0, 5.0]])
    >>> mt.linalg.norm(x[0]), mt.linalg.norm(x, axis=1), mt.linalg.norm(x, 1)
    (tensor(5.0), tensor([5., 5.]), tensor(9.0))
    """
    if ord is None:
        return vector_norm(x, axis=axis, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else _several(axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise ValueError(f"norm: ord={ord!r} needs one or two axes, not {len(axes)}")
    y = matrix_norm(_moveaxis(x, axes, (-2, -1)), keepdims=keepdims, ord=ord)
    return _moveaxis(y, (-2, -1), axes) if keepdims else y
