# SPDX-License-Identifier: Apache-2.0
"""A tensor's values as another type and on another device."""
from __future__ import annotations

from typing import Any, TypeAlias

from . import create, native
from .dtypes import bfloat16, bool_, float16, float32, float64, int32, int64
from ._types import DTypeLike

_bool: TypeAlias = bool  # which a method of the class hides


class _Converted(native.Tensor):
    """What gives the same values in another form."""

    __slots__ = ()

    def to(self, *targets: Any, dtype: DTypeLike = None, device: str | None = None) -> Any:
        """The same values as another type or on another device: x.to("cuda:0"), x.to(float64), or
        those of a tensor: x.to(y).

        >>> import mtorch as mt
        >>> mt.ones(2).to(mt.float64).dtype
        mtorch.float64
        """
        return create._like(self, *create._target(targets, dtype, device))  # type: ignore[arg-type]

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """The same values on another device; this tensor, if it lies there. Error if there is
        none of that name.

        >>> import mtorch as mt
        >>> mt.ones(2).to_device("cpu").device
        'cpu'
        """
        return native.to_device(self, device)

    def cpu(self) -> Any:
        """The same values on the CPU.

        >>> import mtorch as mt
        >>> mt.ones(2).cpu().device
        'cpu'
        """
        return native.to_device(self, "cpu")

    def cuda(self) -> Any:
        """The same values on the first GPU; Error without one."""
        return native.to_device(self, "cuda:0")

    def astype(self, dtype: DTypeLike, copy: _bool = True) -> Any:
        """Each element converted, as astype() does.

        >>> import mtorch as mt
        >>> mt.tensor([1.5, -2.5]).astype(mt.int32)
        tensor([ 1, -2], dtype=int32)
        """
        return create.astype(self, dtype, copy=copy)  # type: ignore[arg-type]

    def float(self) -> Any:
        """Each element as float32.

        >>> import mtorch as mt
        >>> mt.arange(2).float()
        tensor([0., 1.])
        """
        return native.astype(self, float32)

    def double(self) -> Any:
        """Each element as float64.

        >>> import mtorch as mt
        >>> mt.ones(1).double()
        tensor([1.], dtype=float64)
        """
        return native.astype(self, float64)

    def half(self) -> Any:
        """Each element as float16.

        >>> import mtorch as mt
        >>> mt.ones(1).half()
        tensor([1.], dtype=float16)
        """
        return native.astype(self, float16)

    def bfloat16(self) -> Any:
        """Each element as bfloat16.

        >>> import mtorch as mt
        >>> mt.ones(1).bfloat16()
        tensor([1.], dtype=bfloat16)
        """
        return native.astype(self, bfloat16)

    def int(self) -> Any:
        """Each element as int32.

        >>> import mtorch as mt
        >>> mt.ones(1).int()
        tensor([1], dtype=int32)
        """
        return native.astype(self, int32)

    def long(self) -> Any:
        """Each element as int64.

        >>> import mtorch as mt
        >>> mt.ones(1).long()
        tensor([1])
        """
        return native.astype(self, int64)

    def bool(self) -> Any:
        """Each element as whether it is not 0.

        >>> import mtorch as mt
        >>> mt.arange(2).bool()
        tensor([False,  True])
        """
        return native.astype(self, bool_)
