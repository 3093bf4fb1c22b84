# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over [batch, n, in]: PyTorch's with batch_first."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import native
from .layers import _Layer

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Recurrent(_Layer):
    kind = ""

    def __init__(self, in_features: int, hidden: int, layers: int = 1, bias: bool = True,
                 **where: Any) -> None:
        super().__init__(getattr(native, f"layer_{self.kind}"), in_features, hidden, layers, bias,
                         **where)

    def forward(self, x: Tensor, state: Any = None) -> Any:
        """All states of the last layer [batch, n, hidden], and the last of all [layers, batch,
        hidden]. `state` is what they begin with: zeros unless given."""
        y, last, _ = native.apply_recurrent(self._layer, x, state, None)
        return y, last


class RNN(_Recurrent):
    """Elman's network: h = tanh(W x + b + U h + c).

    >>> import mtorch as mt
    >>> y, last = mt.nn.RNN(3, 4, layers=2)(mt.ones((2, 5, 3)))
    >>> y.shape, last.shape
    ((2, 5, 4), (2, 2, 4))
    """

    kind = "rnn"


class GRU(_Recurrent):
    """Gated recurrent units (Cho and others, 2014).

    >>> import mtorch as mt
    >>> y, last = mt.nn.GRU(3, 4)(mt.ones((2, 5, 3)))
    >>> y.shape, bool((y[:, -1] == last[0]).all())
    ((2, 5, 4), True)
    """

    kind = "gru"


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997).

    >>> import mtorch as mt
    >>> y, (state, cell) = mt.nn.LSTM(3, 4)(mt.ones((2, 5, 3)))
    >>> y.shape, state.shape, cell.shape
    ((2, 5, 4), (1, 2, 4), (1, 2, 4))
    """

    kind = "lstm"

    def forward(self, x: Tensor, state: Any = None) -> Any:
        """All states of the last layer [batch, n, hidden], and the pair of the last states and
        cells of all [layers, batch, hidden], which `state` is too."""
        if state is not None and not (isinstance(state, (tuple, list)) and len(state) == 2):
            raise TypeError("LSTM: the state is a pair, of states and of cells, each [layers, batch, hidden]")
        y, *last = native.apply_recurrent(self._layer, x, *(state or (None, None)))
        return y, tuple(last)
