# SPDX-License-Identifier: Apache-2.0
"""Functions of networks, and losses."""
from .. import native
from ..native import dropout, linear  # noqa: F401

_REDUCTIONS = {"mean": native.MT_REDUCTION_MEAN, "sum": native.MT_REDUCTION_SUM,
               "none": native.MT_REDUCTION_NONE}


def _options(options, **values):
    for name, value in values.items():
        setattr(options, name, value)
    return options


def _reduction(name):
    if name not in _REDUCTIONS:
        raise ValueError(f"reduction {name!r}: mean, sum or none")
    return _REDUCTIONS[name]


def softmax(x, axis=-1):
    """e^x / sum(e^x) along `axis`."""
    return native.softmax(x, axis)


def log_softmax(x, axis=-1):
    """x - logsumexp(x) along `axis`."""
    return native.log_softmax(x, axis)


def layer_norm(x, weight=None, bias=None, axes=1, epsilon=1e-5):
    """(x - mean) / sqrt(var + epsilon) * weight + bias over the last `axes` axes."""
    return native.layer_norm(x, axes, weight, bias, epsilon)


def rms_norm(x, weight=None, axes=1, epsilon=1e-6):
    """x / sqrt(mean(x^2) + epsilon) * weight over the last `axes` axes."""
    return native.rms_norm(x, axes, weight, epsilon)


def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, training=False,
               momentum=0.1, epsilon=1e-5):
    """Normalises each channel, axis 1; in training rebinds the running statistics."""
    options = _options(native.batch_norm_options(), training=training, momentum=momentum,
                       epsilon=epsilon)
    return native.batch_norm(x, weight, bias, running_mean, running_var, options)


def group_norm(x, groups, weight=None, bias=None, epsilon=1e-5):
    """Normalises each group of channels, axis 1, together with all axes after it."""
    return native.group_norm(x, groups, weight, bias, epsilon)


def embedding(indices, weight):
    """Rows of `weight`."""
    return native.embedding(indices, weight)


def scaled_dot_product_attention(query, key, value, mask=None, causal=False, scale=0.0,
                                 dropout=0.0, training=False):
    """softmax(query key^T scale + mask) value; scale 0 means 1 / sqrt(d)."""
    options = _options(native.attention_options(), causal=causal, scale=scale, dropout=dropout,
                       training=training)
    return native.scaled_dot_product_attention(query, key, value, mask, options)


def _conv_options(stride=1, padding=0, dilation=1, output_padding=0, groups=1, bias=True):
    return _options(native.conv_options(), stride=stride, padding=padding, dilation=dilation,
                    output_padding=output_padding, groups=groups, bias=bias)


def conv1d(x, weight, bias=None, **options):
    """Cross-correlation over one axis; options: stride, padding, dilation, groups."""
    return native.conv1d(x, weight, bias, _conv_options(**options))


def conv2d(x, weight, bias=None, **options):
    """Cross-correlation over two axes; options: stride, padding, dilation, groups."""
    return native.conv2d(x, weight, bias, _conv_options(**options))


def conv_transpose1d(x, weight, bias=None, **options):
    """The transpose of conv1d(); options as there, and output_padding."""
    return native.conv_transpose1d(x, weight, bias, _conv_options(**options))


def conv_transpose2d(x, weight, bias=None, **options):
    """The transpose of conv2d(); options as there, and output_padding."""
    return native.conv_transpose2d(x, weight, bias, _conv_options(**options))


def _pool_options(stride=0, padding=0, dilation=1, exclude_padding=False):
    return _options(native.pool_options(), stride=stride, padding=padding, dilation=dilation,
                    exclude_padding=exclude_padding)


def max_pool1d(x, size, **options):
    """The largest element of each window; options: stride, padding, dilation."""
    return native.max_pool1d(x, size, _pool_options(**options))


def max_pool2d(x, size, **options):
    """The largest element of each window, `size` or (height, width)."""
    return native.max_pool2d(x, *_pair(size), _pool_options(**options))


def avg_pool1d(x, size, **options):
    """The mean of each window; options as max_pool1d(), and exclude_padding."""
    return native.avg_pool1d(x, size, _pool_options(**options))


def avg_pool2d(x, size, **options):
    """The mean of each window, `size` or (height, width)."""
    return native.avg_pool2d(x, *_pair(size), _pool_options(**options))


def _pair(size):
    return (size, size) if isinstance(size, int) else size


def cross_entropy(logits, targets, axis=-1, reduction="mean"):
    """-sum(p log_softmax(logits)) along `axis`; targets are classes or probabilities."""
    return native.cross_entropy(logits, targets, axis, _reduction(reduction))


def mse_loss(x, target, reduction="mean"):
    """(x - target)^2."""
    return native.mse_loss(x, target, _reduction(reduction))


def l1_loss(x, target, reduction="mean"):
    """|x - target|."""
    return native.l1_loss(x, target, _reduction(reduction))


def huber_loss(x, target, delta=1.0, reduction="mean"):
    """(x - target)^2 / 2 within delta, a line beyond."""
    return native.huber_loss(x, target, delta, _reduction(reduction))


def bce_with_logits(x, target, reduction="mean"):
    """-(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x)))."""
    return native.bce_with_logits(x, target, _reduction(reduction))


__all__ = [name for name, value in globals().items() if callable(value) and name[0] != "_"]
