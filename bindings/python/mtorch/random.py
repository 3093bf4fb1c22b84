# SPDX-License-Identifier: Apache-2.0
"""Random numbers that depend on seed and position alone. Each thread has a generator."""
from . import native
from .dtypes import as_dtype, bool_, float32, int64


def seed(seed):
    """Restarts this thread's generator."""
    native.seed(seed)


def get_state():
    """Key and counter of this thread's generator, to go on from later."""
    return native.generator_get_state(None)


def set_state(state):
    """Goes on from a state that get_state() gave."""
    native.generator_set_state(None, *state)


def uniform(shape=(), low=0.0, high=1.0, *, dtype=float32, device=None):
    """Floats uniform in [low, high)."""
    return native.uniform(shape, low, high, as_dtype(dtype), device)


def normal(shape=(), mean=0.0, deviation=1.0, *, dtype=float32, device=None):
    """Floats of the normal distribution."""
    return native.normal(shape, mean, deviation, as_dtype(dtype), device)


def integers(low, high, shape=(), *, dtype=int64, device=None):
    """Integers uniform in [low, high)."""
    return native.integers(shape, low, high, as_dtype(dtype), device)


def bernoulli(shape, probability, *, dtype=bool_, device=None):
    """1 with the given probability, else 0."""
    return native.bernoulli(shape, probability, as_dtype(dtype), device)


def permutation(n, *, device=None):
    """The numbers 0 to n - 1 in random order."""
    return native.permutation(n, device)
