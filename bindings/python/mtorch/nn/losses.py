# SPDX-License-Identifier: Apache-2.0
"""Losses as modules."""
from . import functional
from .module import Module


class _Loss(Module):
    """A loss of a prediction and its target."""

    function = staticmethod(functional.mse_loss)

    def __init__(self, reduction="mean", **options):
        self.options = {"reduction": reduction, **options}

    def forward(self, x, target):
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
