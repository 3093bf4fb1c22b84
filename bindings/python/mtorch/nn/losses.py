# SPDX-License-Identifier: Apache-2.0
"""Losses as modules."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..create import asarray
from . import functional
from ._optioned import _Optioned

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Loss(_Optioned):
    """A loss of a prediction and its target."""

    def __init__(self, reduction: str = "mean", **options: Any) -> None:
        self._take(reduction=reduction, **options)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return self.function(x, target, **self.options)


class MSELoss(_Loss):
    """mse_loss().

    >>> import mtorch as mt
    >>> mt.nn.MSELoss()(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]))
    tensor(5.0)
    """


class L1Loss(_Loss):
    """l1_loss().

    >>> import mtorch as mt
    >>> mt.nn.L1Loss(reduction="sum")(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]))
    tensor(4.0)
    """

    function = staticmethod(functional.l1_loss)


class HuberLoss(_Loss):
    """huber_loss(), with delta.

    >>> import mtorch as mt
    >>> mt.nn.HuberLoss(delta=2.0)(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]))
    tensor(2.25)
    """

    function = staticmethod(functional.huber_loss)


class BCEWithLogitsLoss(_Loss):
    """bce_with_logits(). `pos_weight`, of the positives, is a buffer.

    >>> import mtorch as mt
    >>> mt.nn.BCEWithLogitsLoss()(mt.tensor([100.0, -100.0]), mt.tensor([1.0, 1.0]))
    tensor(50.0)
    """

    function = staticmethod(functional.bce_with_logits)

    def __init__(self, reduction: str = "mean", *, pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        if pos_weight is not None:
            self.register_buffer("pos_weight", asarray(pos_weight))

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.bce_with_logits(x, target, pos_weight=getattr(self, "pos_weight", None),
                                          **self.options)


class CrossEntropyLoss(_Loss):
    """cross_entropy(), along `axis`, the last unless said. `weight`, of the classes, is a buffer.

    >>> import mtorch as mt
    >>> mt.nn.CrossEntropyLoss()(mt.tensor([[0.0, 100.0], [0.0, 100.0]]), mt.tensor([1, 0]))
    tensor(50.0)
    """

    function = staticmethod(functional.cross_entropy)

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", **options: Any) -> None:
        super().__init__(reduction, **options)
        if weight is not None:
            self.register_buffer("weight", asarray(weight))

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(x, target, weight=getattr(self, "weight", None),
                                        **self.options)
