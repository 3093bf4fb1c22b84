# SPDX-License-Identifier: Apache-2.0
"""Pooling as modules. A stride left out is the window's size."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import functional
from .module import Module

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Pool(Module):
    function = staticmethod(functional.max_pool1d)

    def __init__(self, size: Any, **options: Any) -> None:
        self.size, self.options = size, options

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.size, **self.options)

    def _describe(self) -> str:
        return ", ".join([str(self.size), *(f"{k}={v}" for k, v in self.options.items())])


class MaxPool1d(_Pool):
    """max_pool1d(); options as there."""

    function = staticmethod(functional.max_pool1d)


class MaxPool2d(_Pool):
    """max_pool2d(); options as there."""

    function = staticmethod(functional.max_pool2d)


class AvgPool1d(_Pool):
    """avg_pool1d(); options as there."""

    function = staticmethod(functional.avg_pool1d)


class AvgPool2d(_Pool):
    """avg_pool2d(); options as there."""

    function = staticmethod(functional.avg_pool2d)
