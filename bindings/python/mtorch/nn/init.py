# SPDX-License-Identifier: Apache-2.0
"""Initialisers: each binds a tensor to fresh values and returns it."""
from .. import native


def uniform_(x, low=0.0, high=1.0):
    """Uniform in [low, high)."""
    return native.init_uniform(x, low, high) or x


def normal_(x, mean=0.0, deviation=1.0):
    """Of the normal distribution."""
    return native.init_normal(x, mean, deviation) or x


def zeros_(x):
    """All 0."""
    return native.init_uniform(x, 0, 0) or x


def xavier_uniform_(x, gain=1.0):
    """Uniform, for layers that neither grow nor shrink (Glorot and Bengio, 2010)."""
    return native.init_xavier_uniform(x, gain) or x


def xavier_normal_(x, gain=1.0):
    """Normal, as xavier_uniform_()."""
    return native.init_xavier_normal(x, gain) or x


def kaiming_uniform_(x, slope=0.0):
    """Uniform, for layers before relu or leaky relu of that slope (He and others, 2015)."""
    return native.init_kaiming_uniform(x, slope) or x


def kaiming_normal_(x, slope=0.0):
    """Normal, as kaiming_uniform_()."""
    return native.init_kaiming_normal(x, slope) or x


def orthogonal_(x, gain=1.0):
    """A random matrix with orthonormal rows or columns, times gain."""
    return native.init_orthogonal(x, gain) or x


def ones_(x):
    """All 1."""
    return native.init_uniform(x, 1, 1) or x
