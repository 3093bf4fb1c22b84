# SPDX-License-Identifier: Apache-2.0
"""Functions of networks, and losses."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import native
from ..native import dropout, linear  # noqa: F401
from .._types import Operand

if TYPE_CHECKING:
    from .._tensor import Tensor

_REDUCTIONS = {"mean": native.MT_REDUCTION_MEAN, "sum": native.MT_REDUCTION_SUM,
               "none": native.MT_REDUCTION_NONE}


def _options(options: Any, **values: Any) -> Any:
    for name, value in values.items():
        setattr(options, name, value)
    return options


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ValueError(f"reduction {name!r}: mean, sum or none")
    return _REDUCTIONS[name]


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """e^x / sum(e^x) along `axis`."""
    return native.softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """x - logsumexp(x) along `axis`."""
    return native.log_softmax(x, axis)


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, axes: int = 1,
               epsilon: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * weight + bias over the last `axes` axes."""
    return native.layer_norm(x, axes, weight, bias, epsilon)


def rms_norm(x: Tensor, weight: Tensor | None = None, axes: int = 1,
             epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last `axes` axes."""
    return native.rms_norm(x, axes, weight, epsilon)


def batch_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
               running_mean: Tensor | None = None, running_var: Tensor | None = None,
               training: bool = False, momentum: float = 0.1, epsilon: float = 1e-5) -> Tensor:
    """Normalises each channel, axis 1; in training rebinds the running statistics."""
    options = _options(native.batch_norm_options(), training=training, momentum=momentum,
                       epsilon=epsilon)
    return native.batch_norm(x, weight, bias, running_mean, running_var, options)


def group_norm(x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               epsilon: float = 1e-5) -> Tensor:
    """Normalises each group of channels, axis 1, together with all axes after it."""
    return native.group_norm(x, groups, weight, bias, epsilon)


def embedding(indices: Tensor, weight: Tensor | None) -> Tensor:
    """Rows of `weight`."""
    return native.embedding(indices, weight)


def scaled_dot_product_attention(query: Tensor, key: Tensor | None, value: Operand,
                                 mask: Tensor | None = None, causal: bool = False,
                                 scale: float = 0.0, dropout: float = 0.0,
                                 training: bool = False) -> Tensor:
    """softmax(query key^T scale + mask) value; scale 0 means 1 / sqrt(d)."""
    options = _options(native.attention_options(), causal=causal, scale=scale, dropout=dropout,
                       training=training)
    return native.scaled_dot_product_attention(query, key, value, mask, options)


def _conv_options(stride: Any = 1, padding: Any = 0, dilation: Any = 1, output_padding: Any = 0,
                  groups: int = 1, bias: bool = True) -> Any:
    return _options(native.conv_options(), stride=stride, padding=padding, dilation=dilation,
                    output_padding=output_padding, groups=groups, bias=bias)


def conv1d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None, **options: Any) -> Tensor:
    """Cross-correlation over one axis; options: stride, padding, dilation, groups."""
    return native.conv1d(x, weight, bias, _conv_options(**options))


def conv2d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None, **options: Any) -> Tensor:
    """Cross-correlation over two axes; options: stride, padding, dilation, groups."""
    return native.conv2d(x, weight, bias, _conv_options(**options))


def conv_transpose1d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None,
                     **options: Any) -> Tensor:
    """The transpose of conv1d(); options as there, and output_padding."""
    return native.conv_transpose1d(x, weight, bias, _conv_options(**options))


def conv_transpose2d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None,
                     **options: Any) -> Tensor:
    """The transpose of conv2d(); options as there, and output_padding."""
    return native.conv_transpose2d(x, weight, bias, _conv_options(**options))


def _pool_options(stride: Any = 0, padding: Any = 0, dilation: Any = 1,
                  exclude_padding: bool = False) -> Any:
    return _options(native.pool_options(), stride=stride, padding=padding, dilation=dilation,
                    exclude_padding=exclude_padding)


def max_pool1d(x: Tensor, size: Any, **options: Any) -> Tensor:
    """The largest element of each window; options: stride, padding, dilation."""
    return native.max_pool1d(x, size, _pool_options(**options))


def max_pool2d(x: Tensor, size: Any, **options: Any) -> Tensor:
    """The largest element of each window, `size` or (height, width)."""
    height, width = _pair(size)
    return native.max_pool2d(x, height, width, _pool_options(**options))


def avg_pool1d(x: Tensor, size: Any, **options: Any) -> Tensor:
    """The mean of each window; options as max_pool1d(), and exclude_padding."""
    return native.avg_pool1d(x, size, _pool_options(**options))


def avg_pool2d(x: Tensor, size: Any, **options: Any) -> Tensor:
    """The mean of each window, `size` or (height, width)."""
    height, width = _pair(size)
    return native.avg_pool2d(x, height, width, _pool_options(**options))


def _pair(size: Any) -> Any:
    return (size, size) if isinstance(size, int) else size


def cross_entropy(logits: Tensor, targets: Tensor, axis: int = -1,
                  reduction: str = "mean") -> Tensor:
    """-sum(p log_softmax(logits)) along `axis`; targets are classes or probabilities."""
    return native.cross_entropy(logits, targets, axis, _reduction(reduction))


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(x - target)^2."""
    return native.mse_loss(x, target, _reduction(reduction))


def l1_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|x - target|."""
    return native.l1_loss(x, target, _reduction(reduction))


def huber_loss(x: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    """(x - target)^2 / 2 within delta, a line beyond."""
    return native.huber_loss(x, target, delta, _reduction(reduction))


def bce_with_logits(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x)))."""
    return native.bce_with_logits(x, target, _reduction(reduction))


__all__ = [name for name, value in globals().items() if callable(value) and name[0] != "_"]
