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

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class ReLU(_Activation):
    """relu().

    >>> import mtorch as mt
    >>> mt.nn.ReLU()(mt.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """

    function = staticmethod(native.relu)


class Sigmoid(_Activation):
    """sigmoid().

    >>> import mtorch as mt
    >>> mt.nn.Sigmoid()(mt.tensor([0.0, 100.0]))
    tensor([0.5, 1. ])
    """

    function = staticmethod(native.sigmoid)


class LogSigmoid(_Activation):
    """log_sigmoid().

    >>> import mtorch as mt
    >>> mt.nn.LogSigmoid()(mt.tensor([-100.0, 0.0]))
    tensor([-100.       ,   -0.6931472])
    """

    function = staticmethod(native.log_sigmoid)


class Tanh(_Activation):
    """tanh().

    >>> import mtorch as mt
    >>> mt.nn.Tanh()(mt.tensor([-100.0, 0.0, 100.0]))
    tensor([-1.,  0.,  1.])
    """

    function = staticmethod(native.tanh)


class SiLU(_Activation):
    """silu().

    >>> import mtorch as mt
    >>> mt.nn.SiLU()(mt.tensor([0.0, 100.0]))
    tensor([  0., 100.])
    """

    function = staticmethod(native.silu)


class Softplus(_Activation):
    """softplus().

    >>> import mtorch as mt
    >>> mt.nn.Softplus()(mt.tensor([-200.0, 100.0]))
    tensor([  0., 100.])
    """

    function = staticmethod(native.softplus)


class GELU(Module):
    """gelu(), or with approximate="tanh" its approximation.

    >>> import mtorch as mt
    >>> mt.nn.GELU()(mt.tensor([0.0, 100.0]))
    tensor([  0., 100.])
    >>> mt.nn.GELU(approximate="tanh")(mt.tensor([0.0, 100.0]))
    tensor([  0., 100.])
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return elementwise.gelu(x, self.approximate)


class LeakyReLU(Module):
    """leaky_relu().

    >>> import mtorch as mt
    >>> mt.nn.LeakyReLU(0.5)(mt.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  3.])
    """

    def __init__(self, slope: Operand = 0.01) -> None:
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        return native.leaky_relu(x, self.slope)


class ELU(Module):
    """elu().

    >>> import mtorch as mt
    >>> mt.nn.ELU(alpha=2.0)(mt.tensor([-100.0, 0.0, 3.0]))
    tensor([-2.,  0.,  3.])
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return native.elu(x, self.alpha)


class Softmax(Module):
    """softmax() along an axis.

    >>> import mtorch as mt
    >>> mt.nn.Softmax()(mt.tensor([[1.0, 1.0], [0.0, 200.0]]))
    tensor([[0.5, 0.5],
            [0. , 1. ]])
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return native.softmax(x, self.axis)


class LogSoftmax(Module):
    """log_softmax() along an axis.

    >>> import mtorch as mt
    >>> mt.nn.LogSoftmax()(mt.tensor([0.0, 100.0]))
    tensor([-100.,    0.])
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return native.log_softmax(x, self.axis)
