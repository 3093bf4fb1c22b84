# SPDX-License-Identifier: Apache-2.0
"""Pooling as modules. A stride left out is the window's size."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import functional
from ._optioned import _Optioned

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Pool(_Optioned):
    function = staticmethod(functional.max_pool1d)

    def __init__(self, size: Any, stride: Any = None, padding: Any = 0, **options: Any) -> None:
        if stride is not None:
            options["stride"] = stride
        self._take(**options, **({"padding": padding} if padding else {}))
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.size, **self.options)

    def _describe(self) -> str:
        return ", ".join([str(self.size), *(f"{k}={v}" for k, v in self.options.items())])


class MaxPool1d(_Pool):
    """max_pool1d(); options as there.

    >>> import mtorch as mt
    >>> mt.nn.MaxPool1d(2)(mt.tensor([[[1.0, 5.0, 2.0, 4.0]]]))
    tensor([[[5., 4.]]])
    """

    function = staticmethod(functional.max_pool1d)


class MaxPool2d(_Pool):
    """max_pool2d(); options as there.

    >>> import mtorch as mt
    >>> mt.nn.MaxPool2d(2)(mt.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    function = staticmethod(functional.max_pool2d)


class AvgPool1d(_Pool):
    """avg_pool1d(); options as there.

    >>> import mtorch as mt
    >>> mt.nn.AvgPool1d(2, stride=1)(mt.tensor([[[1.0, 5.0, 2.0, 4.0]]]))
    tensor([[[3. , 3.5, 3. ]]])
    """

    function = staticmethod(functional.avg_pool1d)


class AvgPool2d(_Pool):
    """avg_pool2d(); options as there.

    >>> import mtorch as mt
    >>> mt.nn.AvgPool2d(2)(mt.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    function = staticmethod(functional.avg_pool2d)
