# SPDX-License-Identifier: Apache-2.0
"""What the Array API's inspection functions tell."""
from __future__ import annotations

from typing import Any

from . import native
from .dtypes import DType, by_name, float32, int64, isdtype


def devices() -> list[str]:
    """The devices that this process can use.

    >>> import mtorch as mt
    >>> "cpu" in mt.devices()
    True
    """
    return [native.device_name(i) for i in range(native.device_count())]


class ArrayNamespaceInfo:
    """What this namespace can do, as the Array API standard asks."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        """Where tensors are made unless said."""
        return native.default_device()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType | None]:
        """The types of tensors made of Python numbers; there is no complex one."""
        return {"real floating": float32, "complex floating": None, "integral": int64,
                "indexing": int64}

    def devices(self) -> list[str]:
        """The devices that this process can use.

        >>> import mtorch as mt
        >>> "cpu" in mt.devices()
        True
        """
        return devices()

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """The standard's element types by name, which 16-bit floats are none of; or one kind."""
        return {name: dtype for name, dtype in by_name.items()
                if name not in ("float16", "bfloat16") and (kind is None or isdtype(dtype, kind))}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """An object that answers the Array API's questions about this namespace."""
    return ArrayNamespaceInfo()
