# SPDX-License-Identifier: Apache-2.0
"""Losses as modules."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import functional
from .module import Module

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Loss(Module):
    """A loss of a prediction and its target."""

    function: Callable[..., Any] = staticmethod(functional.mse_loss)

    def __init__(self, reduction: str = "mean", **options: Any) -> None:
        self.options = {"reduction": reduction, **options}

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return self.function(x, target, **self.options)


class MSELoss(_Loss):
    """mse_loss()."""


class L1Loss(_Loss):
    """l1_loss()."""

    function = staticmethod(functional.l1_loss)


class HuberLoss(_Loss):
    """huber_loss(), with delta."""

    function = staticmethod(functional.huber_loss)


class BCEWithLogitsLoss(_Loss):
    """bce_with_logits()."""

    function = staticmethod(functional.bce_with_logits)


class CrossEntropyLoss(_Loss):
    """cross_entropy(), along `axis`, the last unless said."""

    function = staticmethod(functional.cross_entropy)
