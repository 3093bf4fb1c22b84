# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads, and the block that transformers are made of."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .. import native
from .._names import _explained
from .._arguments import _options
from .layers import _Layer
from .._types import Shape

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Keeping(_Layer):
    def kept_zeros(self, shape: Shape, context: int) -> Tensor:
        """Room for the keys and values of `context` places, in sequences of this shape: zeros, for
        `kept`."""
        return native.kept_zeros(self._layer, shape, context)


class MultiheadAttention(_Keeping):
    """Attention with several heads on [..., n, width].

    attention(x) is self-attention; attention(query, key, value, mask) lets each query see all keys,
    or those that the mask, which broadcasts to [..., heads, n, m], shows (bool) or weighs (floats,
    added to the scores). The result is one tensor, where PyTorch returns a pair of it and the
    weights: `y, _ = attention(x, x, x)` takes a batch of two apart.

    >>> import mtorch as mt
    >>> attention = mt.nn.MultiheadAttention(8, heads=2, causal=True)
    >>> attention(mt.ones((3, 5, 8))).shape
    (3, 5, 8)
    >>> seen = mt.ones((3, 5, 8))
    >>> attention(mt.ones((3, 1, 8)), seen, seen).shape
    (3, 1, 8)

    attention(x, kept=kept, places=places) is causal self-attention that goes on: the rows of x stand
    at `places` [n] and see what `kept`, from kept_zeros(), holds up to there, of which they become
    part. Within no_grad(), or `kept` carries a history.

    >>> kept = attention.kept_zeros(3, context=6)
    >>> with mt.no_grad():
    ...     first = attention(seen, kept=kept, places=mt.arange(5))
    ...     attention(mt.ones((3, 1, 8)), kept=kept, places=mt.tensor([5])).shape
    (3, 1, 8)
    """

    def __init__(self, width: int, heads: int, *, causal: bool = False, dropout: float = 0.0,
                 bias: bool = True, **where: Any) -> None:
        options = _options(native.attention_options(), causal=causal, dropout=dropout, bias=bias)
        super().__init__(native.layer_attention, width, heads, options, **where)

    @_explained
    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                mask: Tensor | None = None, *, kept: Tensor | None = None,
                places: Tensor | None = None) -> Tensor:
        if kept is not None or places is not None:
            return _go_on(self, query, kept, places, key, value, mask)
        return native.apply_attention(self._layer, query, key, value, mask)


class TransformerBlock(_Keeping):
    """Self-attention and a network of two layers, each added to what it reads, with layer norms
    before them (norm_first) or after. The names are those of PyTorch's TransformerEncoderLayer.
    `activation` is a function of mtorch or its name, or an expression of a, as "relu(a) ** 2".

    >>> import mtorch as mt
    >>> block = mt.nn.TransformerBlock(8, heads=2, activation="relu(a) ** 2")
    >>> block(mt.ones((3, 5, 8))).shape
    (3, 5, 8)

    A causal block goes on from the keys and values that it kept, as MultiheadAttention does, so that
    each new row costs only itself:

    >>> block = mt.nn.TransformerBlock(8, heads=2, causal=True)
    >>> x, kept = mt.random.normal((5, 8)), block.kept_zeros((), context=5)
    >>> with mt.no_grad():
    ...     rows = [block(x[i:i + 1], kept=kept, places=mt.tensor([i])) for i in range(5)]
    >>> bool((mt.abs(mt.concat(rows) - block(x)) < 1e-5).all())
    True
    """

    def __init__(self, width: int, heads: int, hidden: int | None = None, dropout: float = 0.0,
                 activation: Callable[[Tensor], Tensor] | str = native.relu,
                 norm_first: bool = True, causal: bool = False, epsilon: float = 1e-5,
                 **where: Any) -> None:
        super().__init__(native.layer_transformer, width, heads, hidden or 0, dropout,
                         _expression(activation), norm_first, causal, epsilon, **where)

    @_explained
    def forward(self, x: Tensor, mask: Tensor | None = None, *, kept: Tensor | None = None,
                places: Tensor | None = None) -> Tensor:
        if kept is not None or places is not None:
            return _go_on(self, x, kept, places, mask)
        return native.apply_attention(self._layer, x, None, None, mask)


def _expression(activation: Any) -> str:
    name = activation if isinstance(activation, str) else getattr(activation, "__name__", "")
    if name.isidentifier() and name != "a":
        return f"{name}(a)"
    if isinstance(activation, str):
        return activation
    raise TypeError(f"TransformerBlock: the activation is {activation!r}: needs a function of mtorch, as mtorch.gelu, "
                    'or an expression of a, as "leaky_relu(a, 0.1)"')


def _go_on(layer: _Layer, x: Tensor, kept: Tensor | None, places: Tensor | None,
           *others: Any) -> Tensor:
    if kept is None or places is None:
        raise TypeError("kept and places go together: keys and values, and where the rows of x stand among them")
    if any(other is not None for other in others):
        raise ValueError("kept keys and values go with neither others nor a mask")
    return native.apply_kept(layer._layer, x, kept, places)
