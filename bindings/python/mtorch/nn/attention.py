# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads, and the block that transformers are made of."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .. import native
from .functional import _options, scaled_dot_product_attention
from .layers import Dropout, LayerNorm, Linear, _Layer
from .module import Module
from .._types import DTypeLike

if TYPE_CHECKING:
    from .._tensor import Tensor


class MultiheadAttention(_Layer):
    """Attention with several heads on [..., n, width]; options: causal, dropout, bias.

    attention(x) is self-attention; attention(query, key, value, mask) lets each query see all keys,
    or those that the mask, which broadcasts to [..., heads, n, m], shows (bool) or weighs (floats,
    added to the scores)."""

    def __init__(self, width: int, heads: int, dtype: DTypeLike = None, device: str | None = None,
                 **options: Any) -> None:
        super().__init__(native.layer_attention, width, heads,
                         _options(native.attention_options(), **options), dtype=dtype,
                         device=device)
        self.width, self.heads, self.options = width, heads, options

    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                mask: Tensor | None = None) -> Tensor:
        if key is None and mask is None:
            return super().forward(query)
        key = query if key is None else key
        value = key if value is None else value
        parts = [self._project(x, i) for i, x in enumerate((query, key, value))]
        mixed = scaled_dot_product_attention(
            parts[0], parts[1], parts[2], mask=mask, causal=self.options.get("causal", False),
            dropout=self.options.get("dropout", 0.0), training=self.training)
        joined = native.transpose(mixed, -2, -3)
        joined = native.reshape(joined, (*joined.shape[:-2], self.width))
        return native.linear(joined, getattr(self, "out_proj.weight"), self._bias("out_proj.bias"))

    def _bias(self, name: str) -> Tensor | None:
        return getattr(self, name) if name in self._places else None

    def _project(self, x: Tensor, part: int) -> Tensor:
        """Query, key or value: [..., heads, n, width / heads]."""
        rows = slice(part * self.width, (part + 1) * self.width)
        bias = self._bias("in_proj_bias")
        y = native.linear(x, self.in_proj_weight[rows], None if bias is None else bias[rows])
        return native.transpose(
            native.reshape(y, (*y.shape[:-1], self.heads, self.width // self.heads)), -2, -3)


class TransformerBlock(Module):
    """Self-attention and a network of two layers, each added to what it reads, with layer norms
    before them (norm_first) or after. The names are those of PyTorch's TransformerEncoderLayer."""

    def __init__(self, width: int, heads: int, hidden: int | None = None, dropout: float = 0.0,
                 activation: Callable[[Tensor], Tensor] = native.relu, norm_first: bool = True,
                 causal: bool = False, epsilon: float = 1e-5, **where: Any) -> None:
        hidden = 4 * width if hidden is None else hidden
        self.self_attn = MultiheadAttention(width, heads, dropout=dropout, causal=causal, **where)
        self.linear1, self.linear2 = Linear(width, hidden, **where), Linear(hidden, width, **where)
        self.norm1 = LayerNorm(width, epsilon, **where)
        self.norm2 = LayerNorm(width, epsilon, **where)
        self.dropout, self.norm_first = Dropout(dropout), norm_first
        self.activation = activation

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        def attend(x):
            return self.dropout(self.self_attn(x, mask=mask))

        def feed(x):
            return self.dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + feed(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + feed(x))
