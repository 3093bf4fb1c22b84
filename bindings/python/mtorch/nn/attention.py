# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads, and the block that transformers are made of."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .. import native
from .functional import _options
from .layers import _Layer
from .._types import DTypeLike

if TYPE_CHECKING:
    from .._tensor import Tensor


class MultiheadAttention(_Layer):
    """Attention with several heads on [..., n, width]; options: causal, dropout, bias.

    attention(x) is self-attention; attention(query, key, value, mask) lets each query see all keys,
    or those that the mask, which broadcasts to [..., heads, n, m], shows (bool) or weighs (floats,
    added to the scores).

    >>> import mtorch as mt
    >>> attention = mt.nn.MultiheadAttention(8, heads=2, causal=True)
    >>> attention(mt.ones((3, 5, 8))).shape
    (3, 5, 8)
    >>> seen = mt.ones((3, 5, 8))
    >>> attention(mt.ones((3, 1, 8)), seen, seen).shape
    (3, 1, 8)
    """

    def __init__(self, width: int, heads: int, dtype: DTypeLike = None, device: str | None = None,
                 **options: Any) -> None:
        super().__init__(native.layer_attention, width, heads,
                         _options(native.attention_options(), **options), dtype=dtype,
                         device=device)

    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                mask: Tensor | None = None) -> Tensor:
        return native.apply_attention(self._layer, query, key, value, mask)


class TransformerBlock(_Layer):
    """Self-attention and a network of two layers, each added to what it reads, with layer norms
    before them (norm_first) or after. The names are those of PyTorch's TransformerEncoderLayer.
    `activation` is a function of mtorch, or an expression of a, as "relu(a) ** 2".

    >>> import mtorch as mt
    >>> block = mt.nn.TransformerBlock(8, heads=2, activation="relu(a) ** 2")
    >>> block(mt.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(self, width: int, heads: int, hidden: int | None = None, dropout: float = 0.0,
                 activation: Callable[[Tensor], Tensor] | str = native.relu,
                 norm_first: bool = True, causal: bool = False, epsilon: float = 1e-5,
                 **where: Any) -> None:
        text = activation if isinstance(activation, str) else f"{activation.__name__}(a)"
        super().__init__(native.layer_transformer, width, heads, hidden or 0, dropout, text,
                         norm_first, causal, epsilon, **where)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return native.apply_attention(self._layer, x, None, None, mask)
