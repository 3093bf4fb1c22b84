# SPDX-License-Identifier: Apache-2.0
"""What the Array API's inspection functions tell."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import native
from .dtypes import DType, by_name, float32, int64, isdtype


def devices() -> list[str]:
    """The devices that this process can use.

    >>> import mtorch as mt
    >>> "cpu" in mt.devices()
    True
    """
    return [native.device_name(i) for i in range(native.device_count())]


class Memory(NamedTuple):
    """What memory() tells, in bytes.

    >>> import mtorch as mt
    >>> x = mt.ones(1000) + 1
    >>> mt.eval(x)
    >>> memory = mt.memory()
    >>> memory.peak >= memory.used >= 4000, memory.limit
    (True, 0)
    """

    used: int  #: held by values now
    peak: int  #: most that `used` has been since reset_peak_memory()
    cached: int  #: kept for reuse beside it
    limit: int  #: as set; 0: none
    allocations: int  #: blocks taken from the system so far, a count


def memory(device: str | None = None) -> Memory:
    """The memory of a device. What is borrowed is not counted, nor are values of at most 64 bytes on
    the host.

    >>> import mtorch as mt
    >>> mt.memory("cpu").used >= 0
    True
    """
    read = native.memory()
    native.memory_read(device, read)
    return Memory(*(getattr(read, name) for name in Memory._fields))


def reset_peak_memory(device: str | None = None) -> None:
    """Starts the peak anew, from what is used now.

    >>> import mtorch as mt
    >>> mt.reset_peak_memory()
    >>> mt.memory().peak == mt.memory().used
    True
    """
    native.reset_peak_memory(device)


def set_memory_limit(limit: int, device: str | None = None) -> None:
    """MemoryError, before anything runs, for what would take the memory used beyond so many bytes; 0
    lifts the limit.

    >>> import mtorch as mt
    >>> mt.set_memory_limit(mt.memory().used + 1000)
    >>> try:
    ...     mt.eval(mt.ones(1000) + 1)
    ... except MemoryError:
    ...     print("refused")
    ... finally:
    ...     mt.set_memory_limit(0)
    refused
    """
    native.set_memory_limit(device, limit)


def release_cached_memory(device: str | None = None) -> None:
    """Gives cached memory back to the system.

    >>> import mtorch as mt
    >>> mt.release_cached_memory()
    >>> mt.memory().cached
    0
    """
    native.release_cached_memory(device)


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
