# SPDX-License-Identifier: Apache-2.0
"""Functions over windows of sequences and images, and their sizes: part of mtorch.nn.functional."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from .. import native
from .._arguments import _options
from .._names import _explained

if TYPE_CHECKING:
    from .._tensor import Tensor


def _refuse_zeros(**values: Any) -> None:
    """In C they stand for the defaults; here they are mistakes."""
    for name, value in values.items():
        if 0 in (value if isinstance(value, (list, tuple)) else (value,)):
            raise ValueError(f"{name} {value}: must be at least 1")


def _conv_options(stride: Any, padding: Any, dilation: Any, groups: int, output_padding: Any = 0,
                  bias: bool = True) -> Any:
    same = isinstance(padding, str)
    if same and padding not in ("same", "valid"):
        raise ValueError(f"padding {padding!r}: numbers, 'same' or 'valid'")
    _refuse_zeros(stride=stride, dilation=dilation, groups=groups)
    return _options(native.conv_options(), stride=stride, padding=0 if same else padding,
                    dilation=dilation, output_padding=output_padding, groups=groups, bias=bias,
                    same=same and padding == "same")


def conv1d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None, stride: Any = 1,
           padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Cross-correlation over one axis. `padding` is a number or "same", which keeps the length.

    >>> import mtorch as mt
    >>> x = mt.tensor([[[1.0, 2.0, 4.0, 8.0]]])
    >>> mt.nn.conv1d(x, mt.tensor([[[-1.0, 1.0]]])), mt.nn.conv1d(x, mt.ones((1, 1, 2)), stride=2)
    (tensor([[[1., 2., 4.]]]), tensor([[[ 3., 12.]]]))
    """
    return native.conv1d(x, weight, bias, _conv_options(stride, padding, dilation, groups))


def conv2d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None, stride: Any = 1,
           padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Cross-correlation over two axes; stride, padding and dilation are numbers or pairs, or
    `padding` is "same", which keeps the size.

    >>> import mtorch as mt
    >>> mt.nn.conv2d(mt.ones((1, 1, 3, 3)), mt.ones((1, 1, 3, 3)), padding=1)
    tensor([[[[4., 6., 4.],
              [6., 9., 6.],
              [4., 6., 4.]]]])
    """
    return native.conv2d(x, weight, bias, _conv_options(stride, padding, dilation, groups))


def conv_transpose1d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None,
                     stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                     dilation: Any = 1) -> Tensor:
    """The transpose of conv1d().

    >>> import mtorch as mt
    >>> mt.nn.conv_transpose1d(mt.tensor([[[1.0, 2.0]]]), mt.tensor([[[1.0, 10.0]]]), stride=2)
    tensor([[[ 1., 10.,  2., 20.]]])
    """
    options = _conv_options(stride, padding, dilation, groups, output_padding)
    return native.conv_transpose1d(x, weight, bias, options)


def conv_transpose2d(x: Tensor, weight: Tensor | None, bias: Tensor | None = None,
                     stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                     dilation: Any = 1) -> Tensor:
    """The transpose of conv2d().

    >>> import mtorch as mt
    >>> mt.nn.conv_transpose2d(mt.tensor([[[[1.0, 2.0]]]]), mt.ones((1, 1, 2, 2)))
    tensor([[[[1., 3., 2.],
              [1., 3., 2.]]]])
    """
    options = _conv_options(stride, padding, dilation, groups, output_padding)
    return native.conv_transpose2d(x, weight, bias, options)


def _pool_options(stride: Any, padding: Any, dilation: Any = 1,
                  exclude_padding: bool = False) -> Any:
    _refuse_zeros(stride=stride, dilation=dilation)
    return _options(native.pool_options(), stride=stride or 0, padding=padding, dilation=dilation,
                    exclude_padding=exclude_padding)


@_explained
def max_pool1d(x: Tensor, size: Any, stride: Any = None, padding: Any = 0,
               dilation: Any = 1) -> Tensor:
    """The largest element of each window; a stride left out is the window's size.

    >>> import mtorch as mt
    >>> mt.nn.max_pool1d(mt.tensor([[[1.0, 5.0, 2.0, 4.0]]]), 2)
    tensor([[[5., 4.]]])
    """
    return native.max_pool1d(x, size, _pool_options(stride, padding, dilation))


@_explained
def max_pool2d(x: Tensor, size: Any, stride: Any = None, padding: Any = 0,
               dilation: Any = 1) -> Tensor:
    """The largest element of each window, `size` or (height, width).

    >>> import mtorch as mt
    >>> mt.nn.max_pool2d(mt.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    height, width = _pair(size)
    return native.max_pool2d(x, height, width, _pool_options(stride, padding, dilation))


@_explained
def avg_pool1d(x: Tensor, size: Any, stride: Any = None, padding: Any = 0,
               exclude_padding: bool = False) -> Tensor:
    """The mean of each window, in which padding counts as zeros unless `exclude_padding`.

    >>> import mtorch as mt
    >>> mt.nn.avg_pool1d(mt.tensor([[[1.0, 5.0, 2.0, 4.0]]]), 2, stride=1)
    tensor([[[3. , 3.5, 3. ]]])
    """
    options = _pool_options(stride, padding, exclude_padding=exclude_padding)
    return native.avg_pool1d(x, size, options)


@_explained
def avg_pool2d(x: Tensor, size: Any, stride: Any = None, padding: Any = 0,
               exclude_padding: bool = False) -> Tensor:
    """The mean of each window, `size` or (height, width).

    >>> import mtorch as mt
    >>> mt.nn.avg_pool2d(mt.arange(16.0).reshape(1, 1, 4, 4), (2, 4))
    tensor([[[[ 3.5],
              [11.5]]]])
    """
    height, width = _pair(size)
    options = _pool_options(stride, padding, exclude_padding=exclude_padding)
    return native.avg_pool2d(x, height, width, options)


@_explained
def resize_nearest(x: Tensor, sizes: int | Sequence[int]) -> Tensor:
    """The last axes at other sizes, one for each of `sizes`: element i of an axis of n that becomes
    m is element i n // m.

    >>> import mtorch as mt
    >>> mt.nn.resize_nearest(mt.tensor([[1, 2], [3, 4]]), (2, 4))
    tensor([[1, 1, 2, 2],
            [3, 3, 4, 4]])
    """
    return native.resize_nearest(x, sizes)


@_explained
def resize_linear(x: Tensor, sizes: int | Sequence[int], align_corners: bool = False) -> Tensor:
    """The last axes at other sizes, one for each of `sizes`, each new element between the two old
    ones next to its place; over two axes this is bilinear. Elements are areas, or with
    `align_corners` points, of which the first and the last stay. Nothing is averaged: an image that
    becomes much smaller is pooled first.

    >>> import mtorch as mt
    >>> x = mt.tensor([0.0, 4.0])
    >>> mt.nn.resize_linear(x, 4), mt.nn.resize_linear(x, 5, align_corners=True)
    (tensor([0., 1., 3., 4.]), tensor([0., 1., 2., 3., 4.]))
    """
    return native.resize_linear(x, sizes, align_corners)


def _pair(size: Any) -> Any:
    return (size, size) if isinstance(size, int) else size
