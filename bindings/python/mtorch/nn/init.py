# SPDX-License-Identifier: Apache-2.0
"""Initialisers: each binds a tensor to fresh values and returns it."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import native
from .._names import _explained, _missing
from .._porting_names import INITIALISERS

if TYPE_CHECKING:
    from .._tensor import Tensor


@_explained
def uniform_(x: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform in [low, high).

    >>> import mtorch as mt
    >>> x = mt.nn.init.uniform_(mt.zeros(1000), -1.0, 1.0)
    >>> bool(x.min() < -0.9), bool(x.max() > 0.9), bool((abs(x) <= 1).all())
    (True, True, True)
    """
    native.init_uniform(x, low, high)
    return x


@_explained
def normal_(x: Tensor, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Of the normal distribution.

    >>> import mtorch as mt
    >>> x = mt.nn.init.normal_(mt.zeros(10000), mean=5.0)
    >>> bool(abs(x.mean() - 5) < 0.1), bool(abs(x.std() - 1) < 0.1)
    (True, True)
    """
    native.init_normal(x, mean, deviation)
    return x


def zeros_(x: Tensor) -> Tensor:
    """All 0.

    >>> import mtorch as mt
    >>> mt.nn.init.zeros_(mt.ones(2))
    tensor([0., 0.])
    """
    native.init_uniform(x, 0, 0)
    return x


def xavier_uniform_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, for layers that neither grow nor shrink (Glorot and Bengio, 2010).

    >>> import mtorch as mt
    >>> w = mt.nn.init.xavier_uniform_(mt.zeros((50, 100)))
    >>> bool((abs(w) <= (6 / 150) ** 0.5).all())
    True
    """
    native.init_xavier_uniform(x, gain)
    return x


def xavier_normal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, as xavier_uniform_().

    >>> import mtorch as mt
    >>> w = mt.nn.init.xavier_normal_(mt.zeros((50, 100)))
    >>> bool(abs(w.std() - (2 / 150) ** 0.5) < 0.01)
    True
    """
    native.init_xavier_normal(x, gain)
    return x


def kaiming_uniform_(x: Tensor, slope: float = 0.0) -> Tensor:
    """Uniform, for layers before relu or leaky relu of that slope (He and others, 2015).

    >>> import mtorch as mt
    >>> w = mt.nn.init.kaiming_uniform_(mt.zeros((50, 100)))
    >>> bool((abs(w) <= (6 / 100) ** 0.5).all())
    True
    """
    native.init_kaiming_uniform(x, slope)
    return x


def kaiming_normal_(x: Tensor, slope: float = 0.0) -> Tensor:
    """Normal, as kaiming_uniform_().

    >>> import mtorch as mt
    >>> w = mt.nn.init.kaiming_normal_(mt.zeros((50, 100)))
    >>> bool(abs(w.std() - (2 / 100) ** 0.5) < 0.01)
    True
    """
    native.init_kaiming_normal(x, slope)
    return x


def orthogonal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """A random matrix with orthonormal rows or columns, times gain.

    >>> import mtorch as mt
    >>> w = mt.nn.init.orthogonal_(mt.zeros((3, 5)))
    >>> bool((abs(w @ w.T - mt.eye(3)) < 1e-5).all())
    True
    """
    native.init_orthogonal(x, gain)
    return x


def ones_(x: Tensor) -> Tensor:
    """All 1.

    >>> import mtorch as mt
    >>> mt.nn.init.ones_(mt.zeros(2))
    tensor([1., 1.])
    """
    native.init_uniform(x, 1, 1)
    return x


if not TYPE_CHECKING:
    __getattr__ = _missing("mtorch.nn.init", INITIALISERS)
