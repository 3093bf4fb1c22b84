# SPDX-License-Identifier: Apache-2.0
"""What parameters of the package take, in words for type checkers."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union

if TYPE_CHECKING:
    from ._tensor import Tensor

Operand = Union["Tensor", float, Any]  # a tensor, a number, or an array of another library
Axes = Union[int, Sequence[int], None]  # one axis, several, or all
Shape = Union[int, Sequence[int]]
DTypeLike = Any  # an element type, its name, NumPy's, or bool, int, float; None for the usual one
Path = Union[str, "os.PathLike[str]"]
Parameters = Union[Iterable["Tensor"], Iterable[Mapping[str, Any]]]  # one group of tensors, or several
