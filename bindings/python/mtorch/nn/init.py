# SPDX-License-Identifier: Apache-2.0
"""Initialisers: each binds a tensor to fresh values and returns it."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import native

if TYPE_CHECKING:
    from .._tensor import Tensor


def uniform_(x: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform in [low, high)."""
    native.init_uniform(x, low, high)
    return x


def normal_(x: Tensor, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Of the normal distribution."""
    native.init_normal(x, mean, deviation)
    return x


def zeros_(x: Tensor) -> Tensor:
    """All 0."""
    native.init_uniform(x, 0, 0)
    return x


def xavier_uniform_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, for layers that neither grow nor shrink (Glorot and Bengio, 2010)."""
    native.init_xavier_uniform(x, gain)
    return x


def xavier_normal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, as xavier_uniform_()."""
    native.init_xavier_normal(x, gain)
    return x


def kaiming_uniform_(x: Tensor, slope: float = 0.0) -> Tensor:
    """Uniform, for layers before relu or leaky relu of that slope (He and others, 2015)."""
    native.init_kaiming_uniform(x, slope)
    return x


def kaiming_normal_(x: Tensor, slope: float = 0.0) -> Tensor:
    """Normal, as kaiming_uniform_()."""
    native.init_kaiming_normal(x, slope)
    return x


def orthogonal_(x: Tensor, gain: float = 1.0) -> Tensor:
    """A random matrix with orthonormal rows or columns, times gain."""
    native.init_orthogonal(x, gain)
    return x


def ones_(x: Tensor) -> Tensor:
    """All 1."""
    native.init_uniform(x, 1, 1)
    return x
