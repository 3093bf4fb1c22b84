# SPDX-License-Identifier: Apache-2.0
"""How exactly products of matrices are formed."""
from __future__ import annotations

from typing import Any

from . import native

_NAMES = ("strict", "split", "bf16", "tf32")


def _number(mode: str) -> int:
    if mode not in _NAMES:
        raise ValueError(f"{mode!r} is no precision: {', '.join(_NAMES)}")
    return _NAMES.index(mode)


def get_matmul_precision() -> str:
    """The mode that products of float32 matrices are recorded in.

    >>> import mtorch as mt
    >>> mt.get_matmul_precision()
    'strict'
    """
    return _NAMES[native.matmul_precision()]


def set_matmul_precision(mode: str) -> None:
    """Sets how exactly products of float32 matrices are formed, for the whole process: "strict",
    float32 as written; "split", each number as the sum of three bfloat16, with errors like
    float32's own; "bf16", each number rounded to bfloat16; "tf32", each number rounded to 11
    significant bits, on GPUs. Where there is no matrix unit for them the others are "strict".

    >>> import mtorch as mt
    >>> mt.set_matmul_precision("strict")
    """
    native.set_matmul_precision(_number(mode))


def matmul_precision_available(mode: str, device: str | None = None) -> bool:
    """Whether a device has something faster for a mode than strict float32.

    >>> import mtorch as mt
    >>> mt.matmul_precision_available("strict")
    False
    """
    return native.matmul_precision_available(_number(mode), device)


class matmul_precision:
    """A `with` block in which products are recorded in a mode; they keep it wherever they are
    computed, and so do their gradients.

    >>> import mtorch as mt
    >>> with mt.matmul_precision("bf16"):
    ...     mode = mt.get_matmul_precision()
    >>> mode, mt.get_matmul_precision()
    ('bf16', 'strict')
    """

    def __init__(self, mode: str) -> None:
        self._mode = _number(mode)
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(native.matmul_precision())
        native.set_matmul_precision(self._mode)

    def __exit__(self, *exception: Any) -> None:
        native.set_matmul_precision(self._before.pop())
