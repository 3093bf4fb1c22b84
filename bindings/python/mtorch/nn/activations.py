# SPDX-License-Identifier: Apache-2.0
"""Activations as modules."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import elementwise, native
from .module import Module
from .._types import Operand

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Activation(Module):
    """A function of one tensor without parameters of its own."""

    function = staticmethod(native.relu)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class ReLU(_Activation):
    """relu()."""

    function = staticmethod(native.relu)


class Sigmoid(_Activation):
    """sigmoid()."""

    function = staticmethod(native.sigmoid)


class LogSigmoid(_Activation):
    """log_sigmoid()."""

    function = staticmethod(native.log_sigmoid)


class Tanh(_Activation):
    """tanh()."""

    function = staticmethod(native.tanh)


class SiLU(_Activation):
    """silu()."""

    function = staticmethod(native.silu)


class Softplus(_Activation):
    """softplus()."""

    function = staticmethod(native.softplus)


class GELU(Module):
    """gelu(), or with approximate="tanh" its approximation."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return elementwise.gelu(x, self.approximate)


class LeakyReLU(Module):
    """leaky_relu()."""

    def __init__(self, slope: Operand = 0.01) -> None:
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        return native.leaky_relu(x, self.slope)


class ELU(Module):
    """elu()."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return native.elu(x, self.alpha)


class Softmax(Module):
    """softmax() along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return native.softmax(x, self.axis)


class LogSoftmax(Module):
    """log_softmax() along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return native.log_softmax(x, self.axis)
