# SPDX-License-Identifier: Apache-2.0
"""Making tensors: of nothing, of numbers, of other libraries' arrays."""
from __future__ import annotations

import collections.abc
import numbers
from array import array
from typing import TYPE_CHECKING, Any

from . import native
from ._arguments import _checked, _whole
from ._names import _explained
from .dtypes import (
    DType, as_dtype, bfloat16, bool_, by_code, by_name, float32, iinfo, int64, uint64)
from ._types import DTypeLike, Operand, Shape

if TYPE_CHECKING:
    from ._tensor import Tensor


def zeros(shape: Shape, *sizes: int, dtype: DTypeLike = None, device: str | None = None,
          requires_grad: bool = False) -> Tensor:
    """All elements 0; float32 unless said.

    >>> import mtorch as mt
    >>> mt.zeros(3)
    tensor([0., 0., 0.])
    """
    shape = _joined("zeros", shape, sizes) if sizes else shape
    x = native.zeros(shape, float32 if dtype is None else as_dtype(dtype), device)
    return native.require_grad(x) if requires_grad else x


def ones(shape: Shape, *sizes: int, dtype: DTypeLike = None, device: str | None = None,
         requires_grad: bool = False) -> Tensor:
    """All elements 1; float32 unless said.

    >>> import mtorch as mt
    >>> mt.ones((2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    shape = _joined("ones", shape, sizes) if sizes else shape
    x = native.ones(shape, float32 if dtype is None else as_dtype(dtype), device)
    return native.require_grad(x) if requires_grad else x


empty = zeros  # values never change in place, so there is nothing to save


def full(shape: Shape, fill_value: Operand, *, dtype: DTypeLike = None,
         device: str | None = None, requires_grad: bool = False) -> Tensor:
    """All elements `fill_value`, of the type that suits it unless said.

    >>> import mtorch as mt
    >>> mt.full((2,), 7)
    tensor([7, 7])
    """
    dtype = _dtype_of_number(fill_value) if dtype is None else as_dtype(dtype)
    whole = None if isinstance(fill_value, bool) else _whole(fill_value)
    if whole is not None:
        _fits("full", dtype, whole)
    if whole is not None and abs(whole) > 2**53:  # a double cannot hold it
        x = native.broadcast_to(_from_sequence(whole, dtype, device), shape)
    else:
        x = native.full(shape, float(fill_value), dtype, device)
    return native.require_grad(x) if requires_grad else x


def zeros_like(x: Tensor, *, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """Shape, type and device of x, unless said; all elements 0.

    >>> import mtorch as mt
    >>> mt.zeros_like(mt.tensor([1, 2]))
    tensor([0, 0])
    """
    return _like(native.zeros_like(x), dtype, device)


def ones_like(x: Tensor, *, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """Shape, type and device of x, unless said; all elements 1.

    >>> import mtorch as mt
    >>> mt.ones_like(mt.tensor([1, 2]))
    tensor([1, 1])
    """
    return _like(native.ones_like(x), dtype, device)


empty_like = zeros_like


def full_like(x: Tensor, fill_value: Operand, *, dtype: DTypeLike = None,
              device: str | None = None) -> Tensor:
    """Shape, type and device of x, unless said; all elements `fill_value`.

    >>> import mtorch as mt
    >>> mt.full_like(mt.zeros(2), 3.5)
    tensor([3.5, 3.5])
    """
    like = _checked("full_like", x)
    return full(like.shape, fill_value, dtype=dtype or like.dtype, device=device or like.device)


def arange(start: float, stop: float | None = None, step: float = 1, *, dtype: DTypeLike = None,
           device: str | None = None) -> Tensor:
    """start, start + step, ... before stop; arange(n) counts from 0. int64 if all are integers.

    >>> import mtorch as mt
    >>> mt.arange(3), mt.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1. , 1.5]))
    """
    if stop is None:
        start, stop = 0, start
    if dtype is not None:
        dtype = as_dtype(dtype)
    elif type(start) is type(stop) is type(step) is int:
        dtype = int64
    else:
        whole = all(hasattr(number, "__index__") for number in (start, stop, step))
        dtype = int64 if whole else float32
    return native.arange(start, stop, step, dtype, device)


def linspace(start: float, stop: float, num: int, *, dtype: DTypeLike = None,
             device: str | None = None, endpoint: bool = True) -> Tensor:
    """`num` numbers spread evenly from start to stop, which is the last one if `endpoint`.

    >>> import mtorch as mt
    >>> mt.linspace(0, 1, 3)
    tensor([0. , 0.5, 1. ])
    """
    dtype = float32 if dtype is None else as_dtype(dtype)
    if endpoint:
        return native.linspace(start, stop, num, dtype, device)
    return native.slice(native.linspace(start, stop, num + 1, dtype, device), 0, 0, num, 1)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike = None,
        device: str | None = None) -> Tensor:
    """1 on diagonal k, else 0.

    >>> import mtorch as mt
    >>> mt.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    dtype = float32 if dtype is None else as_dtype(dtype)
    k = max(-2**62, min(k, 2**62))  # far outside either way
    return native.eye(n_rows, n_rows if n_cols is None else n_cols, k, dtype, device)


@_explained
def one_hot(indices: Tensor, classes: int, *, dtype: DTypeLike = None) -> Tensor:
    """[..., classes]: 1 where the last index equals the value; no 1 for a value that is no class.

    >>> import mtorch as mt
    >>> mt.one_hot(mt.tensor([2, 0]), 3)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    return native.one_hot(indices, classes, float32 if dtype is None else as_dtype(dtype))


def asarray(obj: Any, *, dtype: DTypeLike = None, device: str | None = None,
            copy: bool | None = None) -> Tensor:
    """A tensor of numbers, nested lists, or whatever has a buffer, __dlpack__ or is a tensor.

    Memory of others is copied, unless copy=False: then it is borrowed, must be contiguous, and
    must not be written while a tensor made of it lives, since it is read when a value is needed.

    >>> import mtorch as mt
    >>> mt.asarray([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    x: Any
    if isinstance(obj, native.Tensor):
        x = native.copy(obj) if copy else obj
    elif isinstance(obj, (list, tuple)) or type(obj) in (bool, int, float):
        if copy is False:
            raise ValueError("asarray: Python's numbers cannot be used without a copy")
        return _from_sequence(obj, dtype, device)
    elif isinstance(obj, numbers.Integral) and not hasattr(obj, "dtype"):  # as an IntEnum
        return asarray(int(obj), dtype=dtype, device=device, copy=copy)
    else:
        _check_no_date(obj)
        if isinstance(obj, numbers.Integral):  # NumPy's
            _fits("asarray", dtype, int(obj))
        x = _from_object(obj, copy, device)
    return _like(x, dtype, device)


def _check_no_date(obj: Any) -> None:
    """TypeError for NumPy's dates and spans of time, which show themselves as bytes or integers."""
    if getattr(getattr(obj, "dtype", None), "kind", None) in ("M", "m"):
        raise TypeError(f"no element type here is {obj.dtype}; its view as int64 is numbers")


def _from_object(obj: Any, copy: bool | None, device: str | None) -> Tensor:
    try:
        memoryview(obj)
    except (TypeError, ValueError, BufferError):  # no buffer, or of a type that buffers lack
        if getattr(getattr(obj, "dtype", None), "name", None) == "bfloat16" and hasattr(
                obj, "tobytes"):  # ml_dtypes'
            if copy is False:
                raise ValueError("asarray: bfloat16 cannot be used without a copy") from None
            return _like(native.tensor_of_bytes(obj.tobytes(), obj.shape, bfloat16), None, device)
        if hasattr(obj, "__dlpack__"):
            try:
                return from_dlpack(obj, copy=copy is not False)
            except (BufferError, RuntimeError) as error:
                if copy is not False and _is_truths_of_torch(obj):  # which older ones do not give
                    return _from_object(obj.numpy(), True, device)
                if isinstance(error, RuntimeError):
                    raise
                raise TypeError(f"no tensor can be made of {obj.dtype} from "
                                f"{type(obj).__name__}: {error}") from error
        if isinstance(obj, collections.abc.Sequence) and not isinstance(obj, str):  # as a range
            return asarray(list(obj), device=device, copy=copy)
        raise TypeError(f"no tensor can be made of {type(obj).__name__}") from None
    try:
        return native.tensor_from_buffer(obj, copy is not False, device)
    except TypeError as error:
        if hasattr(obj, "dtype"):
            raise TypeError(f"no element type here is {obj.dtype}") from error
        raise


def _is_truths_of_torch(obj: Any) -> bool:
    return str(obj.dtype) == "torch.bool" and not obj.is_cuda


def tensor(data: Any, *, dtype: DTypeLike = None, device: str | None = None,
           requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of numbers, nested lists or an array.

    >>> import mtorch as mt
    >>> mt.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    if isinstance(data, (list, tuple)):
        x = _from_sequence(data, dtype, device)
    else:
        x = asarray(data, dtype=dtype, device=device, copy=True)
    return native.require_grad(x) if requires_grad else x


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, without a copy unless `copy` asks for
    one, or `device` for another place.

    Memory that is borrowed must not be written while a tensor made of it lives: it is read when a
    value is needed, which may be long after the call.

    >>> import mtorch as mt
    >>> mt.from_dlpack(mt.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__(); asarray() takes lists, "
                        "numbers and buffers")
    where = getattr(x, "__dlpack_device__", lambda: (1, 0))()
    stream: dict[str, int] = {}
    if int(where[0]) == 2:  # a GPU: its owner lets our stream wait for what he has put into his
        stream["stream"] = native.stream_of(f"cuda:{where[1]}")
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:  # from before version 1.0
        capsule = x.__dlpack__(**stream)
    y = native.from_capsule(capsule)
    if device is not None and device != native.device_of(y):
        if copy is False:
            raise ValueError(f"from_dlpack: {native.device_of(y)} to {device} needs a copy")
        return native.to_device(y, device)
    if copy:  # now, since the owner may write from here on
        y = native.copy(y)
        native.eval(y)
    return y


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: bool = True,
           device: str | None = None) -> Tensor:
    """Each element converted.

    >>> import mtorch as mt
    >>> mt.astype(mt.tensor([1.5, -2.5]), mt.int32)
    tensor([ 1, -2], dtype=int32)
    """
    dtype = as_dtype(dtype)
    if getattr(x, "dtype", None) is not dtype:
        x = native.astype(x, dtype)
    elif copy:
        x = native.copy(x)
    return x if device is None else _like(x, None, device)


def _joined(name: str, first: Any, others: tuple[Any, ...]) -> Shape:
    """Sizes that are arguments each, as a shape."""
    if not all(type(size) is not DType and _whole(size) is not None for size in (first, *others)):
        raise TypeError(f"{name}: takes a shape or its sizes, and a type by name, as dtype=...")
    return (first, *others)


def _like(x: Tensor, dtype: DTypeLike, device: str | None) -> Tensor:
    if dtype is not None and x.dtype is not as_dtype(dtype):
        x = native.astype(x, as_dtype(dtype))
    if device is not None and device != native.device_of(x):
        x = native.to_device(x, device)
    return x


def _target(targets: tuple[Any, ...], dtype: DTypeLike,
            device: str | None) -> tuple[DType | None, str | None]:
    """What the arguments of to() name: types, devices, or a tensor that has both."""
    for target in targets:
        if isinstance(target, native.Tensor):
            dtype, device = by_code[native.dtype_of(target)], native.device_of(target)
        elif isinstance(target, str) and target.partition(":")[0] in ("cpu", "cuda"):
            device = target
        else:
            dtype = target
    if isinstance(dtype, str) and dtype not in by_name:
        raise TypeError(f"{dtype!r} is neither an element type nor a device")
    return None if dtype is None else as_dtype(dtype), device


def _dtype_of_number(value: Operand) -> DType:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64 if value < 2**63 else uint64
    if isinstance(value, native.Tensor):
        return by_code[native.dtype_of(value)]
    return as_dtype(getattr(value, "dtype", float))


def _from_sequence(nested: Any, dtype: DTypeLike, device: str | None) -> Tensor:
    made = native.tensor_of_numbers(nested, 0 if dtype is None else as_dtype(dtype), device)
    if not isinstance(made, tuple):
        return made
    flat, shape = made
    kinds = set(map(type, flat))
    whole = _whole_array(flat, kinds)
    if whole is not None:
        if isinstance(flat[0], numbers.Integral):
            _fits("asarray", dtype, int(whole.min()), int(whole.max()))
        x = _from_object(whole, True, device)
        return _like(native.reshape(x, shape + x.shape[1:]), dtype, None)
    for item in flat:
        _check_no_date(item)
    _fits("asarray", dtype, *(int(item) for item in flat if isinstance(item, numbers.Integral)))
    if kinds <= {bool, int}:  # some beyond int64
        low, high = min(flat), max(flat)
        if 0 <= low and high < 2**64:
            x = native.tensor_from_buffer(array("Q", flat), True, device)
        elif dtype is not None and as_dtype(dtype).kind in "f":
            x = native.tensor_from_buffer(array("d", flat), True, device)
        else:
            raise ValueError(f"asarray: {low} to {high} are beyond every integer type; a dtype of "
                             "floats holds them rounded")
    elif kinds <= {bool, int, float}:
        x = native.tensor_from_buffer(array("d", flat), True, device)
        dtype = float32 if dtype is None else dtype
    else:  # tensors and arrays among them
        rows = [asarray(item, device=device) for item in flat]
        x = native.stack(rows, 0)
        shape += x.shape[1:]
    return _like(native.reshape(x, shape), dtype, None)


def _whole_array(items: list[Any], kinds: set[type]) -> Any:
    """NumPy's numbers of one type, or arrays of one type and shape, as one array; else None."""
    if len(kinds) == 1 and next(iter(kinds)).__module__ == "numpy":
        import numpy  # type: ignore
        first = items[0]
        alike = isinstance(first, numpy.generic) or isinstance(first, numpy.ndarray) and all(
            item.dtype == first.dtype and item.shape == first.shape for item in items)
        if alike and first.dtype.kind in "biuf":
            return numpy.asarray(items)
    return None


def _fits(name: str, dtype: DTypeLike, *numbers: int) -> None:
    """ValueError for whole numbers that integers of the type do not reach."""
    if dtype is None or as_dtype(dtype).kind not in "iu":
        return
    limits = iinfo(dtype)
    for number in numbers:
        if not limits.min <= number <= limits.max:
            raise ValueError(f"{name}: {number} does not fit into {as_dtype(dtype).name}")


def _index_tensor(obj: Any, device: str | None) -> Tensor:
    x = asarray(obj, device=device)
    return native.astype(x, int64) if isinstance(obj, list) and x.size == 0 else x


native.set_array_to_tensor(_index_tensor)
