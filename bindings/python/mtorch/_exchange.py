# SPDX-License-Identifier: Apache-2.0
"""How a tensor goes to other libraries, to files of Python's, and into copies."""
from __future__ import annotations

from typing import Any

from . import native
from .dtypes import as_dtype
from ._types import DTypeLike, Shape


class _Exchanged(native.Tensor):
    """What a tensor offers to NumPy, DLPack, pickle and copy."""

    __slots__ = ()

    def numpy(self) -> Any:
        """A read-only NumPy array over this value, without a copy unless it lies on a GPU. bfloat16
        needs ml_dtypes.

        >>> import mtorch as mt
        >>> mt.tensor([1.0, 2.0]).numpy().tolist()
        [1.0, 2.0]
        """
        import numpy  # type: ignore
        if self.dtype.name == "bfloat16":
            try:
                from ml_dtypes import bfloat16  # type: ignore
            except ImportError:
                raise TypeError("numpy: NumPy has no bfloat16 without the package ml_dtypes; "
                                "convert to float32 first") from None
            return numpy.asarray(native.host_view(self, True, True)).view(bfloat16)
        return numpy.asarray(native.host_view(self, False, True))

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Any:
        if copy is False and self.__dlpack_device__()[0] != 1:
            raise ValueError(f"__array__: memory on {native.device_of(self)} needs a copy")
        array = self.numpy()
        if dtype is not None and dtype != array.dtype:
            if copy is False:
                raise ValueError(f"__array__: {array.dtype} as {dtype} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.dtype.name == "bfloat16":  # which it has no word for; NumPy asks __array__ then
            raise AttributeError("__array_interface__: bfloat16")
        import numpy
        array = numpy.ascontiguousarray(self.numpy())
        return {"version": 3, "shape": self.shape, "data": array, "typestr": array.dtype.str}

    @property
    def __numpy_dtype__(self) -> Any:
        return self.dtype.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (None,),
                        **options: Any) -> Any:
        """NumPy's functions of each element are the package's: numpy.sin(x) is a tensor. What the
        package has not, as numpy.add.reduce(x), NumPy does itself and gives an array."""
        import mtorch
        function = getattr(mtorch, _UFUNCS.get(ufunc.__name__, ufunc.__name__), None)
        if method != "__call__" or options or function is None:
            if method == "at":  # which writes into its operand
                return NotImplemented
            arrays = map(_as_array, inputs)
            options = {name: _as_array(x) for name, x in options.items()}
            if out[0] is not None:  # which `where` may leave as it is
                options["out"] = tuple(_as_array(x).copy() if type(x) is native.Tensor
                                       else x for x in out)
            result = getattr(ufunc, method)(*arrays, **options)
        else:
            result = function(*inputs)
        if out[0] is None:
            return result
        several = isinstance(result, tuple)
        for target, part in zip(out, result if several else (result,)):
            if target is not None:
                target[...] = _as_array(part)
        return out if several else out[0]

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import mtorch
        return mtorch

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        """This value for another library, which must not write there (copy=True: it may)."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"__dlpack__: no copy to device {tuple(dl_device)}")
        versioned = max_version is not None and max_version[0] >= 1
        source = native.copy(self) if copy and not versioned else self
        capsule = native.to_capsule(source, versioned, bool(copy), copy is False)
        if self.__dlpack_device__()[0] == 2 and stream != -1:  # -1: the reader sees to it himself
            if stream == 0:
                raise BufferError("__dlpack__: stream 0 is ambiguous; 1 is CUDA's default")
            native.let_stream_wait(native.device_of(self), 1 if stream is None else int(stream))
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        name, _, number = native.device_of(self).partition(":")
        return (2, int(number or 0)) if name == "cuda" else (1, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (bytes(native.host_view(self, True, False)), self.shape, self.dtype.name,
                          native.is_leaf(self) and native.requires_grad(self))

    def __copy__(self) -> Any:
        return native.copy(self)

    def __deepcopy__(self, memo: Any) -> Any:
        x = native.copy(native.detach(self))
        return native.require_grad(x) if native.is_leaf(self) and native.requires_grad(self) else x


# NumPy's names of functions that have another here.
_UFUNCS = {"absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
           "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
           "conjugate": "conj", "invert": "bitwise_invert",
           "left_shift": "bitwise_left_shift", "power": "pow",
           "right_shift": "bitwise_right_shift", "rint": "round"}


def _rebuild(data: Any, shape: Shape, dtype: DTypeLike, requires_grad: bool) -> Any:
    x = native.tensor_of_bytes(data, shape, as_dtype(dtype))
    return native.require_grad(x) if requires_grad else x


def _as_array(x: Any) -> Any:
    return x.numpy() if type(x) is native.Tensor else x  # type: ignore[attr-defined]
