# SPDX-License-Identifier: Apache-2.0
"""The tensor class: what Python expects of an array, over the extension's handle."""
import math

from . import create, functions, native
from ._native import SWIG_PyInstanceMethod_New as method
from .dtypes import as_dtype, bool_, by_code, float32, int64, uint64


class Tensor(native.Tensor):
    """An array of numbers with one element type on one device. Its value never changes in place:
    `x += 1` and `x[i] = v` bind the tensor to a new value, which no other tensor sees."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves operators with a tensor to the tensor

    device = property(native.device_of, doc='The device, as "cpu".')
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    mT = property(native.matrix_transpose, doc="The last two axes exchanged.")

    @property
    def T(self):
        """The axes in reverse order."""
        return native.permute_dims(self, range(self.ndim)[::-1]) if self.ndim > 1 else self

    # -------------------------------------------------------------------------- Operators

    def __pos__(self):
        return self

    def __iadd__(self, other):
        return self._assign(native.add(self, other))

    def __isub__(self, other):
        return self._assign(native.sub(self, other))

    def __imul__(self, other):
        return self._assign(native.mul(self, other))

    def __itruediv__(self, other):
        return self._assign(native.div(self, other))

    def __ifloordiv__(self, other):
        return self._assign(native.floor_divide(self, other))

    def __imod__(self, other):
        return self._assign(native.remainder(self, other))

    def __ipow__(self, other):
        return self._assign(native.pow(self, other))

    def __imatmul__(self, other):
        return self._assign(native.matmul(self, other))

    def __iand__(self, other):
        return self._assign(native.bitwise_and(self, other))

    def __ior__(self, other):
        return self._assign(native.bitwise_or(self, other))

    def __ixor__(self, other):
        return self._assign(native.bitwise_xor(self, other))

    def __ilshift__(self, other):
        return self._assign(native.bitwise_left_shift(self, other))

    def __irshift__(self, other):
        return self._assign(native.bitwise_right_shift(self, other))

    def _assign(self, value):
        native.assign(self, value)
        return self

    def copy_(self, value):
        """Binds this tensor to another's value: x[...] = value."""
        self[...] = value
        return self

    # ------------------------------------------------------------------------ As numbers

    def item(self):
        """The one element, as a Python number."""
        dtype = by_code[native.dtype_of(self)]
        if dtype.kind == "f":
            return native.item(self)
        if dtype == uint64 and self.size == 1:
            return native.reshape(self, None).tolist()
        number = native.item_int(self)
        return bool(number) if dtype == bool_ else number

    def tolist(self):
        """All elements, as nested lists of Python numbers."""
        wide = native.astype(self, float32) if self.dtype.name in ("float16", "bfloat16") else self
        return memoryview(wide).tolist()

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def __index__(self):
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(f"no index: {self.dtype.name} of shape {self.shape}")
        return self.item()

    def __len__(self):
        if not native.ndim(self):
            raise TypeError("a tensor without dimensions has no length")
        return native.dim(self, 0)

    def __iter__(self):
        return (native.select(self, 0, i) for i in range(len(self)))

    def __contains__(self, number):
        return bool(native.any(native.equal(self, number), None))

    def __repr__(self):
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
        more = ", ".join(more) + ")"
        last = len(text) - text.rfind("\n")
        return text + (",\n       " if last + 1 + len(more) > 75 else ", ") + more

    def __str__(self):
        return native.to_string(self)

    def __format__(self, form):
        return format(self.item(), form) if form else str(self)

    # -------------------------------------------------------------------- Other libraries

    def numpy(self):
        """A read-only NumPy array over this value, without a copy. bfloat16 needs ml_dtypes."""
        import numpy
        if self.dtype.name == "bfloat16":
            try:
                from ml_dtypes import bfloat16
            except ImportError:
                raise TypeError("numpy: NumPy has no bfloat16 without the package ml_dtypes; "
                                "convert to float32 first") from None
            return numpy.asarray(native.host_view(self, True)).view(bfloat16)
        return numpy.asarray(native.host_view(self, False))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and dtype != array.dtype:
            if copy is False:
                raise ValueError(f"__array__: {array.dtype} as {dtype} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __array_interface__(self):
        array = self.numpy()
        return {"version": 3, "shape": self.shape, "data": array, "typestr": array.dtype.str}

    def __array_namespace__(self, *, api_version=None):
        import mtorch
        return mtorch

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"__dlpack__: no copy to device {tuple(dl_device)}")
        versioned = max_version is not None and max_version[0] >= 1
        source = native.copy(self) if copy and not versioned else self
        return native.to_capsule(source, versioned, bool(copy))

    def __dlpack_device__(self):
        name, _, number = self.device.partition(":")
        return (2, int(number or 0)) if name == "cuda" else (1, 0)

    def __reduce__(self):
        return _rebuild, (bytes(native.host_view(self, True)), self.shape, self.dtype.name,
                          self.is_leaf and self.requires_grad)

    def __copy__(self):
        return native.copy(self)

    def __deepcopy__(self, memo):
        x = native.copy(native.detach(self))
        return native.require_grad(x) if self.is_leaf and self.requires_grad else x

    # ---------------------------------------------------------------------------- Gradients

    @property
    def requires_grad(self):
        """Whether a gradient is wanted: of a leaf, because it was marked; else by its history."""
        return native.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, require):
        native.set_requires_grad(self, require)

    def requires_grad_(self, requires_grad=True):
        """Marks a leaf as one whose gradient is wanted, or not; returns it."""
        native.set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self):
        return native.is_leaf(self)

    @property
    def grad(self):
        """The gradient that backward() has added up in a leaf; None when there is none."""
        return native.gradient(self)

    @grad.setter
    def grad(self, gradient):
        native.set_gradient(self, gradient)

    def backward(self, gradient=None, retain_graph=False, create_graph=False):
        """Adds d self / d leaf to the gradient of each leaf that requires one."""
        if gradient is None and not retain_graph and not create_graph:
            return native.backward(self)
        if gradient is None and self.size != 1:
            raise ValueError(f"backward: shape {self.shape} needs a gradient to begin with")
        options = native.backward_options()
        options.retain, options.differentiable = retain_graph, create_graph
        native.backward_with(self, gradient, options)

    # ------------------------------------------------------------------------------- Methods

    def to(self, *targets, dtype=None, device=None):
        """The same values as another type or on another device: x.to("cuda:0"), x.to(float64)."""
        for target in targets:
            if isinstance(target, str) and target.partition(":")[0] in ("cpu", "cuda"):
                device = target
            else:
                dtype = as_dtype(target)
        return create._like(self, dtype, device)

    def to_device(self, device, /, *, stream=None):
        return native.to_device(self, device)

    def cpu(self):
        return native.to_device(self, "cpu")

    def cuda(self):
        return native.to_device(self, "cuda:0")

    def astype(self, dtype, copy=True):
        return create.astype(self, dtype, copy=copy)

    def float(self):
        return native.astype(self, float32)

    def reshape(self, *shape):
        return native.reshape(self, shape[0] if len(shape) == 1 else shape)

    def permute(self, *axes):
        return native.permute_dims(self, axes[0] if len(axes) == 1 else axes)

    def flatten(self, start=0):
        """The axes from `start` on as one."""
        return native.reshape(self, (*self.shape[:start], -1) if self.size else (
            *self.shape[:start], math.prod(self.shape[start:])))

    def eval(self):
        """Computes this tensor now; returns it."""
        native.eval(self)
        return self


def _rebuild(data, shape, dtype, requires_grad):
    x = native.tensor_of_bytes(data, shape, as_dtype(dtype))
    return native.require_grad(x) if requires_grad else x


# The functions that are methods too: those of the extension bind without a Python frame.
for _name in """abs acos acosh asin asinh atan atanh ceil cos cosh detach erf exp exp2 expm1 floor
        isfinite isinf isnan log log10 log1p log2 logical_not log_sigmoid matmul maximum minimum
        reciprocal relu round rsqrt sigmoid sign silu sin sinh softplus sqrt square tan tanh
        transpose trunc add sub mul div pow neg copy""".split():
    setattr(Tensor, _name, method(getattr(native, _name)))
for _name in """sum mean prod max min argmax argmin any all var std norm logsumexp cumulative_sum
        sort argsort topk nonzero clip squeeze expand_dims flip broadcast_to gelu split unstack
        take take_along_axis tril triu cumulative_prod count_nonzero repeat tile roll diff""".split():
    setattr(Tensor, _name, getattr(functions, _name))
Tensor.unsqueeze = Tensor.expand_dims

native.set_tensor_class(Tensor)
