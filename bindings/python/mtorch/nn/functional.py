# SPDX-License-Identifier: Apache-2.0
"""Functions of networks, and losses."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .. import native
from .._arguments import _options, _whole
from .._names import _explained, _missing
from .._porting_names import FUNCTIONAL
from ..elementwise import (
    elu as elu, gelu as gelu, leaky_relu as leaky_relu, log_sigmoid as log_sigmoid, relu as relu,
    sigmoid as sigmoid, silu as silu, softplus as softplus, tanh as tanh)
from .._types import Operand
from ._windows import (
    avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d, conv1d as conv1d, conv2d as conv2d,
    conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d,
    max_pool1d as max_pool1d, max_pool2d as max_pool2d, resize_linear as resize_linear,
    resize_nearest as resize_nearest)

if TYPE_CHECKING:
    from .._tensor import Tensor

_REDUCTIONS = {"mean": native.MT_REDUCTION_MEAN, "sum": native.MT_REDUCTION_SUM,
               "none": native.MT_REDUCTION_NONE}


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ValueError(f"reduction {name!r}: mean, sum or none")
    return _REDUCTIONS[name]


@_explained
def dropout(x: Tensor, probability: float = 0.5, training: bool = True) -> Tensor:
    """In training each element is 0 with the given probability, else x / (1 - probability);
    otherwise x. ValueError unless 0 <= probability <= 1.

    >>> import mtorch as mt
    >>> mt.nn.dropout(mt.tensor([1.0, 2.0]), 0.5, training=False)
    tensor([1., 2.])
    """
    return native.dropout(x, probability, training)


@_explained
def linear(x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias over the last axis, with `weight` [out, in]. ValueError unless they fit.

    >>> import mtorch as mt
    >>> mt.nn.linear(mt.tensor([1.0, 2.0]), mt.tensor([[3.0, 4.0]]), mt.tensor([5.0]))
    tensor([16.])
    """
    return native.linear(x, weight, bias)


@_explained
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """e^x / sum(e^x) along `axis`.

    >>> import mtorch as mt
    >>> mt.nn.softmax(mt.tensor([[1.0, 1.0], [0.0, 200.0]]))
    tensor([[0.5, 0.5],
            [0. , 1. ]])
    """
    return native.softmax(x, axis)


@_explained
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """x - logsumexp(x) along `axis`.

    >>> import mtorch as mt
    >>> mt.nn.log_softmax(mt.tensor([0.0, 100.0]))
    tensor([-100.,    0.])
    """
    return native.log_softmax(x, axis)


def _last(name: str, axes: Any) -> int:
    """How many of the last axes."""
    count = _whole(axes)
    if count is None:
        raise TypeError(f"{name}: axes is how many of the last ones, not {type(axes).__name__}")
    if not 1 <= count <= 16:
        raise ValueError(f"{name}: axes is {count}, which is no number of the last ones")
    return count


@_explained
def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, axes: int = 1,
               epsilon: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * weight + bias over the last `axes` axes.

    >>> import mtorch as mt
    >>> mt.nn.layer_norm(mt.tensor([[1.0, 3.0], [0.0, 8.0]]), epsilon=0.0)
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """
    return native.layer_norm(x, _last("layer_norm", axes), weight, bias, epsilon)


@_explained
def rms_norm(x: Tensor, weight: Tensor | None = None, axes: int = 1,
             epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last `axes` axes.

    >>> import mtorch as mt
    >>> mt.nn.rms_norm(mt.tensor([[1.0, 7.0], [-2.0, 2.0]]), epsilon=0.0)
    tensor([[ 0.2,  1.4],
            [-1. ,  1. ]])
    """
    return native.rms_norm(x, _last("rms_norm", axes), weight, epsilon)


@_explained
def batch_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
               running_mean: Tensor | None = None, running_var: Tensor | None = None,
               training: bool = False, momentum: float = 0.1, epsilon: float = 1e-5) -> Tensor:
    """Normalises each channel, axis 1; in training rebinds the running statistics.

    >>> import mtorch as mt
    >>> x = mt.tensor([[1.0, 0.0], [3.0, 8.0]])
    >>> mt.nn.batch_norm(x, training=True, epsilon=0.0)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """
    options = _options(native.batch_norm_options(), training=training, momentum=momentum,
                       epsilon=epsilon)
    return native.batch_norm(x, weight, bias, running_mean, running_var, options)


@_explained
def group_norm(x: Tensor, groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               epsilon: float = 1e-5) -> Tensor:
    """Normalises each group of channels, axis 1, together with all axes after it.

    >>> import mtorch as mt
    >>> mt.nn.group_norm(mt.tensor([[1.0, 3.0, 0.0, 8.0]]), groups=2, epsilon=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    return native.group_norm(x, groups, weight, bias, epsilon)


def embedding(indices: Tensor, weight: Tensor | None) -> Tensor:
    """Rows of `weight`; each of `indices` is from 0 to their number less one.

    >>> import mtorch as mt
    >>> mt.nn.embedding(mt.tensor([2, 0]), mt.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    tensor([[4., 5.],
            [0., 1.]])
    """
    return native.embedding(indices, weight)


@_explained
def scaled_dot_product_attention(query: Tensor, key: Tensor | None, value: Operand,
                                 mask: Tensor | None = None, causal: bool = False,
                                 scale: float = 0.0, dropout: float = 0.0,
                                 training: bool = False) -> Tensor:
    """softmax(query key^T scale + mask) value; scale 0 means 1 / sqrt(d).

    >>> import mtorch as mt
    >>> query, key = mt.zeros((1, 2)), mt.ones((2, 2))
    >>> value = mt.tensor([[1.0, 2.0], [3.0, 6.0]])
    >>> mt.nn.scaled_dot_product_attention(query, key, value)
    tensor([[2., 4.]])
    """
    options = _options(native.attention_options(), causal=causal, scale=scale, dropout=dropout,
                       training=training)
    return native.scaled_dot_product_attention(query, key, value, mask, options)


@_explained
def cross_entropy(logits: Tensor, targets: Tensor, axis: int = -1, reduction: str = "mean", *,
                  weight: Tensor | None = None, ignore_index: int | None = None,
                  label_smoothing: float = 0.0) -> Tensor:
    """-sum(p log_softmax(logits)) along `axis`, the last; targets are classes or probabilities p.
    `weight` has a factor for each class; a target of `ignore_index` has no loss and is left out of
    the mean (None: there is none); all classes share `label_smoothing` of each target alike.

    >>> import mtorch as mt
    >>> logits = mt.tensor([[0.0, 100.0], [0.0, 100.0]])
    >>> classes = mt.tensor([1, 0])
    >>> mt.nn.cross_entropy(logits, classes), mt.nn.cross_entropy(logits, classes, reduction="none")
    (tensor(50.0), tensor([  0., 100.]))
    """
    if weight is None and ignore_index is None and not label_smoothing:
        return native.cross_entropy(logits, targets, axis, _reduction(reduction))
    options = _options(native.cross_entropy_options(), label_smoothing=label_smoothing)
    if ignore_index is not None:
        options.ignore_index = ignore_index
    return native.cross_entropy_with(logits, targets, axis, _reduction(reduction), weight, options)


def _warn_of_broadcasting(loss: str, x: Any, target: Any) -> None:
    a, b = getattr(x, "shape", ()), getattr(target, "shape", ())
    fits = all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))
    if a and b and tuple(a) != tuple(b) and fits:  # most often [n, 1] and [n]: every pair of them
        warnings.warn(f"{loss}: x of shape {tuple(a)} and a target of shape {tuple(b)} broadcast; "
                      "give both the same shape if that is not meant", UserWarning, stacklevel=3)


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(x - target)^2.

    >>> import mtorch as mt
    >>> mt.nn.mse_loss(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]))
    tensor(5.0)
    """
    _warn_of_broadcasting("mse_loss", x, target)
    return native.mse_loss(x, target, _reduction(reduction))


def l1_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|x - target|.

    >>> import mtorch as mt
    >>> mt.nn.l1_loss(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]))
    tensor(2.0)
    """
    _warn_of_broadcasting("l1_loss", x, target)
    return native.l1_loss(x, target, _reduction(reduction))


def huber_loss(x: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    """(x - target)^2 / 2 within delta, a line beyond.

    >>> import mtorch as mt
    >>> mt.nn.huber_loss(mt.tensor([1.0, 5.0]), mt.tensor([2.0, 2.0]), reduction="none")
    tensor([0.5, 2.5])
    """
    _warn_of_broadcasting("huber_loss", x, target)
    return native.huber_loss(x, target, delta, _reduction(reduction))


def bce_with_logits(x: Tensor, target: Tensor, reduction: str = "mean", *,
                    pos_weight: Tensor | None = None) -> Tensor:
    """-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x))), the first t times `pos_weight`, if there is one.

    >>> import mtorch as mt
    >>> mt.nn.bce_with_logits(mt.tensor([100.0, -100.0]), mt.tensor([1.0, 1.0]), reduction="none")
    tensor([  0., 100.])
    """
    _warn_of_broadcasting("bce_with_logits", x, target)
    if pos_weight is not None:
        return native.bce_with_logits_weighted(x, target, pos_weight, _reduction(reduction))
    return native.bce_with_logits(x, target, _reduction(reduction))


if not TYPE_CHECKING:
    __all__ = [name for name, value in globals().items()
               if callable(value) and name[0] != "_" and value.__module__ != "typing"]
    __getattr__ = _missing("mtorch.nn.functional", FUNCTIONAL)
