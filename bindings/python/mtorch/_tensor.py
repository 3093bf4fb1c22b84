# SPDX-License-Identifier: Apache-2.0
"""The tensor class: what Python expects of an array, over the extension's handle."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterator, TypeAlias, TypeVar

from . import elementwise, native, reductions, searching, shapes
from ._native import SWIG_PyInstanceMethod_New as _bound  # type: ignore
from ._arguments import _place
from ._conversions import _Converted
from ._exchange import _Exchanged
from ._names import _Elsewhere, _explained
from ._porting_names import METHODS
from .dtypes import DType, bool_, by_code, float32, int64, uint64
from ._types import DTypeLike, Operand

_bool: TypeAlias = bool  # which methods of the class hide
_float: TypeAlias = float
_int: TypeAlias = int
_Methods = TypeVar("_Methods")


def _on_the_native_type(methods: type[_Methods]) -> type[_Methods]:
    """Gives the extension's type what a class under it and that class's parts define, and stands for the
    class: objects of a class that Python made cost a third more."""
    for part in reversed(methods.__mro__[:methods.__mro__.index(native.Tensor)]):
        for name, value in vars(part).items():
            if name not in ("__slots__", "__dict__", "__weakref__"):
                setattr(native.Tensor, name, value)
    return native.Tensor  # type: ignore[return-value]


def _method(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The extension's function as a method, which binds without a Python frame."""
    return _bound(function)


@_on_the_native_type
class Tensor(_Converted, _Exchanged):
    """An array of numbers with one element type on one device. Its value never changes in place:
    `x += 1` and `x[i] = v` bind the tensor to a new value, which no other tensor sees."""

    __slots__ = ()

    device = property(native.device_of, doc='The device, as "cpu".')
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda self: self.size * self.dtype.itemsize, doc="Bytes of all elements.")
    mT = property(native.matrix_transpose, doc="The last two axes exchanged.")

    # -------------------------------------------------------------------------- Operators

    def __pos__(self) -> Tensor:
        return self

    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return native.floor_divide(self, other), native.remainder(self, other)

    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return native.floor_divide(other, self), native.remainder(other, self)

    def __iadd__(self, other: Operand) -> Any:
        return self._assign(native.add(self, other))

    def __isub__(self, other: Operand) -> Any:
        return self._assign(native.sub(self, other))

    def __imul__(self, other: Operand) -> Any:
        return self._assign(native.mul(self, other))

    def __itruediv__(self, other: Operand) -> Any:
        return self._assign(native.div(self, other))

    def __ifloordiv__(self, other: Operand) -> Any:
        return self._assign(native.floor_divide(self, other))

    def __imod__(self, other: Operand) -> Any:
        return self._assign(native.remainder(self, other))

    def __ipow__(self, other: Operand) -> Any:
        return self._assign(native.pow(self, other))

    def __imatmul__(self, other: Operand) -> Any:
        return self._assign(native.matmul(self, other))

    def __iand__(self, other: Operand) -> Any:
        return self._assign(native.bitwise_and(self, other))

    def __ior__(self, other: Operand) -> Any:
        return self._assign(native.bitwise_or(self, other))

    def __ixor__(self, other: Operand) -> Any:
        return self._assign(native.bitwise_xor(self, other))

    def __ilshift__(self, other: Operand) -> Any:
        return self._assign(native.bitwise_left_shift(self, other))

    def __irshift__(self, other: Operand) -> Any:
        return self._assign(native.bitwise_right_shift(self, other))

    def _assign(self, value: Tensor) -> Tensor:
        native.assign(self, value)
        return self

    def copy_(self, value: Any) -> Tensor:
        """Binds this tensor to another's value: x[...] = value.

        >>> import mtorch as mt
        >>> mt.zeros(2).copy_(mt.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
        self[...] = value
        return self

    # ------------------------------------------------------------------------ As numbers

    def item(self) -> Any:
        """The one element, as a Python number.

        >>> import mtorch as mt
        >>> mt.tensor(2.5).item()
        2.5
        """
        dtype = by_code[native.dtype_of(self)]
        if dtype.kind == "f":
            return native.item(self)
        if dtype == uint64 and self.size == 1:
            return native.reshape(self, None).tolist()
        number = native.item_int(self)
        return bool(number) if dtype == bool_ else number

    def tolist(self) -> Any:
        """All elements, as nested lists of Python numbers.

        >>> import mtorch as mt
        >>> mt.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        wide = native.astype(self, float32) if self.dtype.name in ("float16", "bfloat16") else self
        return memoryview(wide).tolist()  # type: ignore[arg-type]

    def __float__(self) -> _float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __int__(self) -> _int:
        return int(self.item())

    def __bool__(self) -> _bool:
        if self.size != 1:
            raise ValueError(f"a tensor of shape {self.shape} is neither true nor false; use any() "
                             "or all()")
        return bool(self.item())

    def __round__(self, decimals: _int | None = None) -> Any:
        return elementwise.round(self, decimals or 0)

    def __index__(self) -> _int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(f"no index: {self.dtype.name} of shape {self.shape}")
        return self.item()

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, number: Any) -> _bool:
        return bool(native.any(native.equal(self, number), None))

    def __repr__(self) -> str:
        more = [] if self.size else [f"shape={self.shape}"]
        if self.dtype not in (float32, int64, bool_) or not self.size:
            more.append(f"dtype={self.dtype.name}")
        if self.device != "cpu":
            more.append(f"device={self.device!r}")
        if self.requires_grad:
            more.append("requires_grad=True")
        text = "tensor(" + native.to_text(self, ", ", 7, 74)
        if not more:
            return text + ")"
        words, last = ", ".join(more) + ")", len(text) - text.rfind("\n")
        return text + (",\n       " if last + 1 + len(words) > 75 else ", ") + words

    def __str__(self) -> str:
        return native.to_string(self)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in METHODS]

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else str(self)

    # ---------------------------------------------------------------------------- Gradients

    @property
    def requires_grad(self) -> Any:
        """Whether a gradient is wanted: of a leaf, because it was marked; else by its history."""
        return native.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, require: _bool) -> Any:
        native.set_requires_grad(self, require)

    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Marks a leaf as one whose gradient is wanted, or not; returns it.

        >>> import mtorch as mt
        >>> mt.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        native.set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> _bool:
        """Whether it has no history: its gradient, if it requires one, is collected here."""
        return native.is_leaf(self)

    @property
    def grad(self) -> Any:
        """The gradient that backward() has added up in a leaf; None when there is none."""
        return native.gradient(self)

    @grad.setter
    def grad(self, gradient: Any) -> Any:
        native.set_gradient(self, gradient)

    def backward(self, gradient: Tensor | None = None, retain_graph: _bool = False,
                 create_graph: _bool = False) -> None:
        """Adds d self / d leaf to the gradient of each leaf that requires one.

        >>> import mtorch as mt
        >>> x = mt.tensor([1.0, 2.0]).requires_grad_()
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        if gradient is None and not retain_graph and not create_graph:
            return native.backward(self)
        if gradient is None and self.size != 1:
            raise ValueError(f"backward: shape {self.shape} needs a gradient to begin with")
        options = native.backward_options()
        options.retain, options.differentiable = retain_graph, create_graph
        native.backward_with(self, gradient, options)

    # ------------------------------------------------------------------------------- Methods

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements under another shape, given as numbers or as one tuple; see
        reshape().

        >>> import mtorch as mt
        >>> mt.arange(4).reshape(2, -1)
        tensor([[0, 1],
                [2, 3]])
        """
        return native.reshape(self, shape[0] if len(shape) == 1 else shape)

    def permute(self, *axes: Any) -> Tensor:
        """The axes in another order, given as numbers or as one tuple; see permute_dims().

        >>> import mtorch as mt
        >>> mt.ones((2, 3, 4)).permute(2, 0, 1).shape
        (4, 2, 3)
        """
        return native.permute_dims(self, axes[0] if len(axes) == 1 else axes)

    def view(self, *shape: Any) -> Tensor:
        """reshape(), by PyTorch's name.

        >>> import mtorch as mt
        >>> mt.arange(4).view(2, 2).shape
        (2, 2)
        """
        if isinstance(shape[0] if shape else None, DType):
            raise TypeError("view: needs sizes; astype() converts to another type, and "
                            "asarray(x.numpy().view(...)) has the same bits as one")
        return self.reshape(*shape)

    def numel(self) -> _int:
        """How many elements there are.

        >>> import mtorch as mt
        >>> mt.ones((2, 3)).numel()
        6
        """
        return self.size

    def dim(self) -> _int:
        """How many dimensions there are.

        >>> import mtorch as mt
        >>> mt.ones((2, 3)).dim()
        2
        """
        return self.ndim

    def flatten(self, start: _int = 0, end: _int = -1) -> Tensor:
        """The axes from `start` to `end`, which is one of them, as one. IndexError for axes that are
        not there.

        >>> import mtorch as mt
        >>> mt.ones((2, 3, 4)).flatten(1).shape, mt.ones((2, 3, 4)).flatten(0, 1).shape
        ((2, 12), (6, 4))
        """
        most = max(self.ndim, 1)
        start, end = (_place("flatten", axis, most) for axis in (start, end))
        if start > end:
            raise ValueError(f"flatten: axis {start} comes after axis {end}")
        shape = self.shape
        return native.reshape(self, (*shape[:start], math.prod(shape[start:end + 1]), *shape[end + 1:]))

    @_explained
    def repeat(self, repeats: Any, /, *, axis: int | None = None) -> Any:
        """repeat(), as NumPy has it; tile() is what PyTorch calls so.

        >>> import mtorch as mt
        >>> mt.tensor([[7, 8]]).repeat(2, axis=1)
        tensor([[7, 7, 8, 8]])
        """
        return shapes.repeat(self, repeats, axis)

    # ------------------------------------------------------- Functions that are methods too

    abs = _method(native.abs)
    acos = _method(native.acos)
    acosh = _method(native.acosh)
    add = _method(native.add)
    asin = _method(native.asin)
    asinh = _method(native.asinh)
    atan = _method(native.atan)
    atanh = _method(native.atanh)
    ceil = _method(native.ceil)
    copy = clone = _method(native.copy)  # the second is PyTorch's name
    cos = _method(native.cos)
    cosh = _method(native.cosh)
    detach = _method(native.detach)
    div = _method(native.div)
    erf = _method(native.erf)
    exp = _method(native.exp)
    exp2 = _method(native.exp2)
    expm1 = _method(native.expm1)
    floor = _method(native.floor)
    isfinite = _method(native.isfinite)
    isinf = _method(native.isinf)
    isnan = _method(native.isnan)
    log = _method(native.log)
    log10 = _method(native.log10)
    log1p = _method(native.log1p)
    log2 = _method(native.log2)
    log_sigmoid = _method(native.log_sigmoid)
    logical_not = _method(native.logical_not)
    matmul = _method(native.matmul)
    maximum = _method(native.maximum)
    minimum = _method(native.minimum)
    mul = _method(native.mul)
    neg = _method(native.neg)
    pow = _method(native.pow)
    reciprocal = _method(native.reciprocal)
    relu = _method(native.relu)
    rsqrt = _method(native.rsqrt)
    sigmoid = _method(native.sigmoid)
    sign = _method(native.sign)
    silu = _method(native.silu)
    sin = _method(native.sin)
    sinh = _method(native.sinh)
    softplus = _method(native.softplus)
    sqrt = _method(native.sqrt)
    square = _method(native.square)
    sub = _method(native.sub)
    tan = _method(native.tan)
    tanh = _method(native.tanh)
    transpose = _method(native.transpose)
    trunc = _method(native.trunc)

    all, any, argmax, argmin = reductions.all, reductions.any, reductions.argmax, reductions.argmin
    count_nonzero, cumulative_prod = reductions.count_nonzero, reductions.cumulative_prod
    cumulative_sum, diff, logsumexp = reductions.cumulative_sum, reductions.diff, reductions.logsumexp
    max, mean, min, norm = reductions.max, reductions.mean, reductions.min, reductions.norm
    prod, std, sum, var = reductions.prod, reductions.std, reductions.sum, reductions.var
    argsort, nonzero = searching.argsort, searching.nonzero
    sort, topk = searching.sort, searching.topk
    broadcast_to, chunk, expand_dims = shapes.broadcast_to, shapes.chunk, shapes.expand_dims
    flip = shapes.flip
    roll, split, squeeze = shapes.roll, shapes.split, shapes.squeeze
    take, take_along_axis, tile = shapes.take, shapes.take_along_axis, shapes.tile
    tril, triu, unsqueeze, unstack = shapes.tril, shapes.triu, shapes.expand_dims, shapes.unstack
    clip, gelu, round = elementwise.clip, elementwise.gelu, elementwise.round


for _name in METHODS:
    setattr(Tensor, _name, _Elsewhere(_name))
