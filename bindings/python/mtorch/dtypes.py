# SPDX-License-Identifier: Apache-2.0
"""Element types."""
from . import native


class DType(int):
    """An element type: the library's number, and what is known about it."""

    def __new__(cls, code):
        self = super().__new__(cls, code)
        self.name = native.dtype_name(code)
        self.itemsize = native.dtype_size(code)
        self.kind = "b" if self.name == "bool" else {"u": "u", "i": "i"}.get(self.name[0], "f")
        return self

    def __repr__(self):
        return f"mtorch.{self.name}"

    __str__ = __repr__

    def __reduce__(self):
        return as_dtype, (self.name,)

    @property
    def is_floating(self):
        return self.kind == "f"


bool_ = DType(native.MT_BOOL)
uint8, uint16 = DType(native.MT_U8), DType(native.MT_U16)
uint32, uint64 = DType(native.MT_U32), DType(native.MT_U64)
int8, int16 = DType(native.MT_I8), DType(native.MT_I16)
int32, int64 = DType(native.MT_I32), DType(native.MT_I64)
float16, bfloat16 = DType(native.MT_F16), DType(native.MT_BF16)
float32, float64 = DType(native.MT_F32), DType(native.MT_F64)

by_code = {int(d): d for d in (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
                               float16, bfloat16, float32, float64)}
by_name = {d.name: d for d in by_code.values()}
by_type = {bool: bool_, int: int64, float: float32}


def as_dtype(dtype):
    """The element type that is meant: one of ours, a name, NumPy's, or bool, int, float."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, type) and dtype in by_type:
        return by_type[dtype]
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(
        dtype, "__name__", None)
    found = by_name.get("bool" if name == "bool_" else name)
    if found is None:
        raise TypeError(f"not an element type: {dtype!r}")
    return found


def promote_types(a, b):
    """The type in which an operator of both works."""
    return by_code[native.promote_types(as_dtype(a), as_dtype(b))]
