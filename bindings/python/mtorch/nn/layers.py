# SPDX-License-Identifier: Apache-2.0
"""Modules over the library's layers."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Iterator

from .. import native
from .._modes import _changed
from .._porting_names import OPTIONS, _Note
from ..dtypes import as_dtype, float32
from ..random import Generator
from .module import Module
from .._types import DTypeLike, Shape

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Layer(Module):
    """A module over one layer of the library. Its tensors are its attributes, and so are the options
    that it was made with, which stay."""

    def __init_subclass__(cls, **options: Any) -> None:
        if "__init__" in vars(cls):
            begin = vars(cls)["__init__"]

            @functools.wraps(begin)
            def noting(self: Any, *args: Any, **kwargs: Any) -> None:
                self.__dict__.setdefault("_made_of", (args, kwargs))  # what a copy is made of
                if _is_ours(cls):
                    self.__dict__.setdefault("_made_by", (begin, args, kwargs))
                begin(self, *args, **kwargs)
            setattr(cls, "__init__", noting)
        super().__init_subclass__(**options)

    def __init__(self, make: Callable[..., Any], *args: Any, dtype: DTypeLike = None,
                 device: str | None = None, name: str | None = "layer", **unknown: Any) -> None:
        if unknown:
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument "
                            f"{next(iter(unknown))!r}")
        self._parameters = native.parameters_new(float32 if dtype is None else as_dtype(dtype),
                                                 device)
        named = () if name is None else (name,)
        self._layer = make(self._parameters, *named, *args)
        # The name of each tensor with the tensor, and whether it is a buffer.
        self._tensors = {native.parameters_name(self._parameters, i).partition(".")[2]: (
            native.parameters_tensor(self._parameters, i),
            native.parameters_is_buffer(self._parameters, i))
            for i in range(native.parameters_count(self._parameters))}

    def _chosen(self) -> dict[str, Any]:
        """What the library's layer was made with, but for its type and device, which can change."""
        begin, args, kwargs = self.__dict__.get("_made_by", (lambda self: None, (), {}))
        given = inspect.signature(begin).bind(self, *args, **kwargs)
        given.apply_defaults()
        return {name: value for name, value in given.arguments.items()
                if name not in ("self", "where", "dtype", "device")}

    def __getattr__(self, name: str) -> Any:
        tensors = self.__dict__.get("_tensors", {})
        if name in tensors:
            return tensors[name][0]
        options = {} if name[0] == "_" else self._chosen()
        if name not in options:
            raise AttributeError(self._lacks(name, options))
        return None if name == "bias" and "weight" in tensors else options[name]

    def _lacks(self, name: str, options: dict[str, Any]) -> str:
        here = OPTIONS.get(name, "")
        word = next((word for word in here.split() if word in options), "")
        return f"{type(self).__name__} has no attribute {name!r}" + (
            f": {here}" if isinstance(here, _Note) else word and f": it is called {word!r} here")

    def __setattr__(self, name: str, value: Any) -> Any:
        """A parameter takes the place of another: layers can share one. Of other tensors and arrays
        the layer's own takes the value."""
        if name == "training":
            native.parameters_set_training(self._parameters, value)
        if name not in self.__dict__.get("_tensors", ()):
            self._check_new(name, value)
            return super().__setattr__(name, value)
        tensor, is_buffer = self._tensors[name]
        if value is None:
            raise TypeError(f"{type(self).__name__}.{name} takes a tensor or an array, not None" + (
                "; bias=False makes a layer without" if name == "bias" else ""))
        if isinstance(value, native.Tensor) and not is_buffer and native.is_leaf(
                value) and native.requires_grad(value):
            return self._share(name, value)
        before = native.set_grad_mode(False)
        try:
            tensor[...] = value
        finally:
            native.set_grad_mode(before)

    def _check_new(self, name: str, value: Any) -> None:
        """Refuses attributes that would change nothing."""
        if name[0] == "_" or hasattr(Module, name):
            return
        options = self._chosen()
        if name in options:
            raise AttributeError(f"{type(self).__name__}.{name} is what the layer was made with, and stays; "
                                 "make another")
        if _is_ours(type(self)) and not isinstance(value, (native.Tensor, Module)):
            raise AttributeError(self._lacks(name, options) + "; a class derived from it can have its own")

    def _share(self, name: str, tensor: Any) -> None:
        for i in range(native.parameters_count(self._parameters)):
            full_name = native.parameters_name(self._parameters, i)
            if full_name.partition(".")[2] == name:
                native.parameters_share(self._parameters, full_name, tensor)
        self._tensors[name] = tensor, False
        _changed(None)

    def _lasting_tensors(self) -> Iterator[Any]:
        yield from ((name, tensor) for name, (tensor, _) in self._tensors.items())
        yield from super()._lasting_tensors()

    def forward(self, x: Tensor) -> Tensor:
        return native.apply(self._layer, x)

    def _own_tensors(self) -> Iterator[Any]:
        for name, (tensor, is_buffer) in self._tensors.items():
            yield name, tensor, is_buffer
        yield from super()._own_tensors()  # a subclass's

    def _describe(self) -> str:
        args, options = self._made_of
        return ", ".join([*map(repr, args), *(f"{name}={x!r}" for name, x in options.items())])

    def __reduce__(self) -> Any:
        attributes = {name: value for name, value in vars(self).items()
                      if name not in ("_parameters", "_layer", "_tensors", "_made_of", "_made_by")}
        tensors = {name: tensor for name, (tensor, _) in self._tensors.items()}
        return _made_again, (type(self), *self._made_of), (attributes, tensors)

    def __setstate__(self, state: Any) -> None:
        attributes, tensors = state
        self.__dict__.update(attributes)
        for tensor in tensors.values():  # as to() may have left them
            if tensor.dtype.is_floating:
                native.parameters_to(self._parameters, tensor.dtype, tensor.device)
        for name, tensor in tensors.items():
            if not self._tensors.get(name, (None, True))[1]:
                required = native.requires_grad(tensor)
                self._share(name, tensor)  # as other layers may
                native.set_requires_grad(tensor, required)
            else:
                setattr(self, name, tensor)
        self.train(self.training)


def _is_ours(layer: type) -> bool:
    """Whether the class is the library's, not derived from one."""
    return layer.__module__.startswith(__package__)


_unheeded = Generator()


def _made_again(layer: type[_Layer], args: Any, kwargs: Any) -> Any:
    """A layer for the values of another to be put in, which draws no random numbers for it."""
    with _unheeded:
        return layer(*args, **kwargs)


class Linear(_Layer):
    """x weight^T + bias.

    >>> import mtorch as mt
    >>> layer = mt.nn.Linear(3, 2)
    >>> layer, layer(mt.ones((4, 3))).shape, layer.weight.shape
    (Linear(3, 2), (4, 2), (2, 3))
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True,
                 **where: Any) -> None:
        super().__init__(native.layer_linear, in_features, out_features, bias, **where)


class LayerNorm(_Layer):
    """layer_norm() over last axes of a shape, with weight and bias.

    >>> import mtorch as mt
    >>> norm = mt.nn.LayerNorm(2, epsilon=0.0)
    >>> norm(mt.tensor([[1.0, 3.0], [0.0, 8.0]])).tolist(), list(norm.state_dict())
    ([[-1.0, 1.0], [-1.0, 1.0]], ['weight', 'bias'])
    """

    def __init__(self, shape: Shape, epsilon: float = 1e-5, **where: Any) -> None:
        super().__init__(native.layer_layer_norm, shape, epsilon, **where)


class RMSNorm(_Layer):
    """rms_norm() over last axes of a shape, with weight.

    >>> import mtorch as mt
    >>> mt.nn.RMSNorm(2, epsilon=0.0)(mt.tensor([[-2.0, 2.0]])).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(self, shape: Shape, epsilon: float = 1e-6, **where: Any) -> None:
        super().__init__(native.layer_rms_norm, shape, epsilon, **where)


class GroupNorm(_Layer):
    """group_norm() of so many groups of channels, with weight and bias.

    >>> import mtorch as mt
    >>> mt.nn.GroupNorm(2, 4, epsilon=0.0)(mt.tensor([[1.0, 3.0, 0.0, 8.0]])).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """

    def __init__(self, groups: int, channels: int, epsilon: float = 1e-5, **where: Any) -> None:
        super().__init__(native.layer_group_norm, groups, channels, epsilon, **where)


class BatchNorm(_Layer):
    """batch_norm() with weight and bias, running_mean and running_var.

    >>> import mtorch as mt
    >>> norm = mt.nn.BatchNorm(2, momentum=0.5)
    >>> norm(mt.tensor([[1.0, 0.0], [3.0, 8.0]])).shape, norm.running_mean
    ((2, 2), tensor([1., 2.]))
    """

    def __init__(self, channels: int, *, momentum: float = 0.1, epsilon: float = 1e-5,
                 **where: Any) -> None:
        super().__init__(native.layer_batch_norm, channels, momentum, epsilon, **where)


class Embedding(_Layer):
    """Rows of a weight [count, size].

    >>> import mtorch as mt
    >>> layer = mt.nn.Embedding(10, 4)
    >>> layer(mt.tensor([[1, 2, 3]])).shape, layer.weight.shape
    ((1, 3, 4), (10, 4))
    """

    def __init__(self, count: int, size: int, **where: Any) -> None:
        super().__init__(native.layer_embedding, count, size, **where)


class Dropout(_Layer):
    """In training, each element is 0 with the given probability, and the others grow.

    >>> import mtorch as mt
    >>> layer = mt.nn.Dropout(0.5)
    >>> sorted(set(layer(mt.ones(100)).tolist())), layer.eval()(mt.ones(2))
    ([0.0, 2.0], tensor([1., 1.]))
    """

    def __init__(self, probability: float = 0.5) -> None:
        super().__init__(native.layer_dropout, probability, name=None)
