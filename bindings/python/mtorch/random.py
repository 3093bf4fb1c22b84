# SPDX-License-Identifier: Apache-2.0
"""Random numbers that depend on seed and position alone. Each thread has a generator."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import _names, _porting_names, native
from ._names import _explained
from .dtypes import as_dtype, bool_, float32, int64
from ._types import DTypeLike, Shape

if TYPE_CHECKING:
    from ._tensor import Tensor


def seed(seed: int) -> None:
    """Restarts this thread's generator. Those of threads that first draw later begin with the same seed;
    threads that are to draw different numbers are each given one. No generator is made, seeded or set
    inside a trace, whose replays draw the numbers that follow.

    >>> import mtorch as mt
    >>> mt.seed(1)
    """
    native.seed(seed)


def get_state() -> tuple[int, int]:
    """Key and counter of this thread's generator, to go on from later.

    >>> import mtorch as mt
    >>> mt.seed(1)
    >>> state = mt.random.get_state()
    >>> x = mt.random.uniform(3)
    >>> mt.random.set_state(state)
    >>> bool((mt.random.uniform(3) == x).all())
    True
    """
    return native.generator_get_state(None)


def set_state(state: tuple[int, int]) -> None:
    """Goes on from a state that get_state() gave.

    >>> import mtorch as mt
    >>> mt.random.set_state(mt.random.get_state())
    """
    native.generator_set_state(None, *state)


class _Used(threading.local):
    def __init__(self) -> None:
        self.handles: list[Any] = [None]  # of the generators that this thread uses; None: its own


_used = _Used()


class Generator:
    """A source of random numbers of its own, that all draws come from within `with`.

    >>> import mtorch as mt
    >>> generator = mt.random.Generator(5)
    >>> with generator:
    ...     x = mt.random.uniform(3)
    >>> with mt.random.Generator(5):
    ...     bool((mt.random.uniform(3) == x).all())
    True
    >>> generator.get_state()
    (5, 1)
    """

    def __init__(self, seed: int = 0) -> None:
        self._handle = native.generator_new(seed)

    def __enter__(self) -> Generator:
        native.generator_use(self._handle)
        _used.handles.append(self._handle)
        return self

    def __exit__(self, *exception: Any) -> None:
        _used.handles.pop()
        native.generator_use(_used.handles[-1])

    def get_state(self) -> tuple[int, int]:
        """Key and counter, to go on from later."""
        return native.generator_get_state(self._handle)

    def set_state(self, state: tuple[int, int]) -> None:
        """Goes on from a state that get_state() gave."""
        native.generator_set_state(self._handle, *state)


def uniform(shape: Shape = (), low: float = 0.0, high: float = 1.0, *, dtype: DTypeLike = float32,
            device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Floats uniform in [low, high).

    >>> import mtorch as mt
    >>> mt.random.uniform((2, 3), -1, 1).shape
    (2, 3)
    """
    x = native.uniform(shape, low, high, as_dtype(dtype), device)
    return native.require_grad(x) if requires_grad else x


@_explained
def normal(shape: Shape = (), mean: float = 0.0, deviation: float = 1.0, *,
           dtype: DTypeLike = float32, device: str | None = None,
           requires_grad: bool = False) -> Tensor:
    """Floats of the normal distribution.

    >>> import mtorch as mt
    >>> mt.random.normal((2, 3), deviation=0.1).shape
    (2, 3)
    """
    if type(shape) is type(mean) is int and mean:  # as another library's randn() takes a shape
        raise TypeError(f"normal: a shape is one tuple, as ({shape}, {mean}); a mean of {mean} is written {mean}.0")
    x = native.normal(shape, mean, deviation, as_dtype(dtype), device)
    return native.require_grad(x) if requires_grad else x


def integers(low: int, high: int, shape: Shape = (), *, dtype: DTypeLike = int64,
             device: str | None = None) -> Tensor:
    """Integers uniform in [low, high).

    >>> import mtorch as mt
    >>> bool((mt.random.integers(0, 6, 100) < 6).all())
    True
    """
    return native.integers(shape, low, high, as_dtype(dtype), device)


def bernoulli(shape: Shape, probability: float, *, dtype: DTypeLike = bool_,
              device: str | None = None) -> Tensor:
    """1 with the given probability, else 0.

    >>> import mtorch as mt
    >>> mt.random.bernoulli((4,), 0.5).dtype
    mtorch.bool
    """
    return native.bernoulli(shape, probability, as_dtype(dtype), device)


def categorical(logits: Tensor, axis: int = -1) -> Tensor:
    """Classes along an axis, each drawn with its probability in softmax(logits); log(p) are the
    logits of probabilities p. Broadcast them for several draws of each.

    >>> import mtorch as mt
    >>> logits = mt.log(mt.tensor([0.0, 1.0, 3.0]))
    >>> draws = mt.random.categorical(mt.broadcast_to(logits, (1000, 3)))
    >>> draws.shape, bool((draws > 0).all()), bool((draws == 2).sum() > 600)
    ((1000,), True, True)
    """
    return native.categorical(logits, axis)


def permutation(n: int, *, device: str | None = None) -> Tensor:
    """The numbers 0 to n - 1 in random order.

    >>> import mtorch as mt
    >>> mt.sort(mt.random.permutation(4))
    tensor([0, 1, 2, 3])
    """
    return native.permutation(n, device)


if not TYPE_CHECKING:
    __getattr__ = _names._missing("mtorch.random", _porting_names.RANDOM)
    __dir__ = _names._public(globals())
