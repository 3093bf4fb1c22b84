# SPDX-License-Identifier: Apache-2.0
"""Convolutions as modules. Of two axes, kernel, stride, padding and dilation are numbers or pairs."""
from __future__ import annotations

from typing import Any

from .. import native
from ._windows import _conv_options, _pair
from .layers import _Layer
from .._types import DTypeLike


class _Convolution(_Layer):
    _make: Any = None
    _axes = 1

    def __init__(self, in_channels: int, out_channels: int, kernel: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, *,
                 output_padding: Any = 0, dtype: DTypeLike = None,
                 device: str | None = None) -> None:
        sizes = _pair(kernel) if self._axes == 2 else (kernel,)
        options = _conv_options(stride, padding, dilation, groups, output_padding, bias)
        super().__init__(self._make, in_channels, out_channels, *sizes, options, dtype=dtype,
                         device=device)


class _Transposed(_Convolution):
    def __init__(self, in_channels: int, out_channels: int, kernel: Any, stride: Any = 1,
                 padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
                 dilation: Any = 1, *, dtype: DTypeLike = None, device: str | None = None) -> None:
        super().__init__(in_channels, out_channels, kernel, stride, padding, dilation, groups, bias,
                         output_padding=output_padding, dtype=dtype, device=device)


class Conv1d(_Convolution):
    """conv1d() with weights.

    >>> import mtorch as mt
    >>> mt.nn.Conv1d(3, 8, 5, padding=2)(mt.ones((2, 3, 10))).shape
    (2, 8, 10)
    """

    _make: Any = native.layer_conv1d


class Conv2d(_Convolution):
    """conv2d() with weights.

    >>> import mtorch as mt
    >>> mt.nn.Conv2d(3, 8, 3, stride=2, padding=1)(mt.ones((2, 3, 10, 10))).shape
    (2, 8, 5, 5)
    """

    _make: Any = native.layer_conv2d
    _axes = 2


class ConvTranspose1d(_Transposed):
    """conv_transpose1d() with weights.

    >>> import mtorch as mt
    >>> mt.nn.ConvTranspose1d(8, 3, 2, stride=2)(mt.ones((2, 8, 5))).shape
    (2, 3, 10)
    """

    _make: Any = native.layer_conv_transpose1d


class ConvTranspose2d(_Transposed):
    """conv_transpose2d() with weights.

    >>> import mtorch as mt
    >>> mt.nn.ConvTranspose2d(8, 3, 2, stride=2)(mt.ones((2, 8, 5, 5))).shape
    (2, 3, 10, 10)
    """

    _make: Any = native.layer_conv_transpose2d
    _axes = 2
