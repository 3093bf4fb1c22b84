# SPDX-License-Identifier: Apache-2.0
"""Element types, and the Array API's questions about them."""
from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple

from . import native


class DType(int):
    """An element type: the library's number, and what is known about it.

    >>> import mtorch as mt
    >>> mt.float32.itemsize, mt.float32.kind, mt.float32
    (4, 'f', mtorch.float32)
    """

    name: str
    itemsize: int
    kind: str

    def __new__(cls, code: int) -> DType:
        self = super().__new__(cls, code)
        self.name = native.dtype_name(code)
        self.itemsize = native.dtype_size(code)
        self.kind = "b" if self.name == "bool" else {"u": "u", "i": "i"}.get(self.name[0], "f")
        return self

    def __repr__(self) -> str:
        return f"mtorch.{self.name}"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same: also as NumPy's, or by name, whose hashes are others; no type of
        Python's is, of which NumPy has its own idea."""
        if isinstance(other, type) and other in by_type:
            return NotImplemented
        same = other if isinstance(other, int) else _named(other)
        if same is None:
            return NotImplemented
        return int(self) == int(same)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__

    @property
    def dtype(self) -> Any:
        """NumPy's element type of this name, as which NumPy's functions take it; AttributeError if it
        has none."""
        import numpy
        try:
            return numpy.dtype(self.name)
        except TypeError:
            raise AttributeError(f"NumPy has no type {self.name}") from None

    @property
    def __numpy_dtype__(self) -> Any:  # by which it is asked for from NumPy 2.4 on
        return self.dtype

    @property
    def is_floating(self) -> bool:
        """Whether it is a float."""
        return self.kind == "f"


class ComplexDType:
    """The name of a complex element type, of which there are no tensors: using it is TypeError."""

    kind = "c"

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"mtorch.{self.name}"


bool_ = DType(native.MT_BOOL)
uint8, uint16 = DType(native.MT_U8), DType(native.MT_U16)
uint32, uint64 = DType(native.MT_U32), DType(native.MT_U64)
int8, int16 = DType(native.MT_I8), DType(native.MT_I16)
int32, int64 = DType(native.MT_I32), DType(native.MT_I64)
float16, bfloat16 = DType(native.MT_F16), DType(native.MT_BF16)
float32, float64 = DType(native.MT_F32), DType(native.MT_F64)
complex64, complex128 = ComplexDType("complex64"), ComplexDType("complex128")

by_code = {int(d): d for d in (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
                               float16, bfloat16, float32, float64)}
native.set_types_by_code(by_code)
by_name = {d.name: d for d in by_code.values()}
by_type = {bool: bool_, int: int64, float: float32}


def as_dtype(dtype: Any) -> DType:
    """The element type that is meant: one of ours, a name, NumPy's, or bool, int, float.

    >>> import mtorch as mt
    >>> mt.dtypes.as_dtype("float32")
    mtorch.float32
    """
    found = dtype if isinstance(dtype, DType) else _named(dtype)
    if found is None:
        name = _name_of(dtype)
        if name.startswith("complex"):
            raise TypeError(f"{name}: there are no complex numbers here")
        raise TypeError(f"not an element type: {dtype!r}")
    return found


def _name_of(dtype: Any) -> str:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(
        dtype, "__name__", None) or str(dtype).removeprefix("torch.")
    return "bool" if name == "bool_" else str(name)


def _named(dtype: Any) -> DType | None:
    if isinstance(dtype, type) and dtype in by_type:
        return by_type[dtype]
    return by_name.get(_name_of(dtype))


def _dtype_of(x: Any) -> DType:
    return by_code[native.dtype_of(x)] if isinstance(x, native.Tensor) else as_dtype(x)


# ------------------------------------------------------------------------------- Questions

def promote_types(a: Any, b: Any) -> DType:
    """The type in which an operator of both works.

    >>> import mtorch as mt
    >>> mt.promote_types(mt.int8, mt.uint8)
    mtorch.int16
    """
    return by_code[native.promote_types(as_dtype(a), as_dtype(b))]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type in which an operator of them all works: tensors, types and Python numbers, which
    take the type of the others when it can hold them.

    >>> import mtorch as mt
    >>> mt.result_type(mt.float16, mt.float32, 2)
    mtorch.float32
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (builtins.bool, int, float))
               and not isinstance(x, DType)]
    dtypes = [_dtype_of(x) for x in arrays_and_dtypes
              if isinstance(x, DType) or not isinstance(x, (builtins.bool, int, float))]
    if not dtypes:
        raise ValueError("result_type: no tensor and no element type among the arguments")
    found = dtypes[0]
    for dtype in dtypes[1:]:
        found = promote_types(found, dtype)
    for number in numbers:
        kind = type(number)
        if kind is float and found.kind != "f":
            found = float32
        elif kind is int and found.kind == "b":
            found = int64
    return found


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether every value of a type, or of a tensor's, has a place in the type `to`, by the rules
    of promotion.

    >>> import mtorch as mt
    >>> mt.can_cast(mt.int8, mt.int32), mt.can_cast(mt.int32, mt.int8)
    (True, False)
    """
    from_, to = _dtype_of(from_), as_dtype(to)
    try:
        return promote_types(from_, to) == to
    except TypeError:  # uint64 and a signed integer have no type in common
        return False


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
          "real floating": "f", "complex floating": "c", "numeric": "iufc"}


def isdtype(dtype: DType | ComplexDType, kind: Any) -> bool:
    """Whether a type is of a kind: another type, a name of the Array API as "integral", or one of
    several in a tuple.

    >>> import mtorch as mt
    >>> mt.isdtype(mt.int8, ("bool", "signed integer"))
    True
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: {kind!r} is none of {', '.join(_KINDS)}")
        return dtype.kind in _KINDS[kind]
    return dtype == kind


class FloatInfo(NamedTuple):
    """What finfo() gives."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """What iinfo() gives."""

    bits: int
    max: int
    min: int
    dtype: DType


# Bits of the fraction, and the largest exponent.
_FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


def finfo(type: Any, /) -> FloatInfo:
    """Bits, distance from 1 to the next number, and range of a float type or a tensor of it.

    >>> import mtorch as mt
    >>> mt.finfo(mt.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of(type)
    if dtype.kind != "f":
        raise TypeError(f"finfo: {dtype.name} is no float")
    fraction, exponent = _FLOATS[dtype.name]
    largest = math.ldexp(2 - math.ldexp(1, -fraction), exponent)
    return FloatInfo(8 * dtype.itemsize, math.ldexp(1, -fraction), largest, -largest,
                     math.ldexp(1, 1 - exponent), dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """Bits and range of an integer type or a tensor of it.

    >>> import mtorch as mt
    >>> mt.iinfo(mt.int8).max
    127
    """
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: {dtype.name} is no integer")
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return IntegerInfo(bits, 2**bits - 1, 0, dtype)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)
