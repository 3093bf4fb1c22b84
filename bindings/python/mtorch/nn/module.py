# SPDX-License-Identifier: Apache-2.0
"""The tree of modules."""
from __future__ import annotations

import reprlib
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, TypeVar

from .. import native
from .._modes import _changed, _log, _Mode
from .._names import _explained
from .._types import DTypeLike, Path
from ..create import _target
from ..dtypes import bfloat16, float16, float32, float64
from ._summary import _summary_of

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Kind(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, native.Tensor) and native.is_leaf(x) and native.requires_grad(x)


if TYPE_CHECKING:
    class Parameter(Tensor):  # what is made is a tensor
        def __new__(cls, x: Tensor) -> Parameter: ...
else:
    class Parameter(metaclass=_Kind):
        """A tensor of the same value as a parameter: marked as one whose gradient is wanted. Of any tensor
        so marked isinstance(x, Parameter) is true.

        >>> import mtorch as mt
        >>> x = mt.nn.Parameter(mt.ones(2))
        >>> x, isinstance(x, mt.nn.Parameter), isinstance(mt.ones(2), mt.nn.Parameter)
        (tensor([1., 1.], requires_grad=True), True, False)
        """

        @_explained
        def __new__(cls, x: Tensor) -> Tensor:
            return native.require_grad(native.detach(x))


_Item = TypeVar("_Item")


class _Listed(list[_Item]):
    """A list from which next() takes one item after another, too: next(net.parameters())."""

    _taken = 0

    def __next__(self) -> _Item:
        if self._taken == len(self):
            raise StopIteration
        self._taken += 1
        return self[self._taken - 1]


class _Hook:
    """A hook that is registered."""

    def __init__(self, hooks: list[Any], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._hook: Callable[..., Any] | None = hook

    def remove(self) -> None:
        """It is not called any more."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)
        self._hook = None

    __call__ = remove


class Module:
    """A part of a network: its attributes that are modules are its children, those that are
    tensors marked with requires_grad its parameters, other tensors its buffers, which are saved but
    not trained; what forward() is the first to set is neither. Subclasses define forward().

    >>> import mtorch as mt
    >>> class Scale(mt.nn.Module):
    ...     def __init__(self):
    ...         self.factor = mt.nn.Parameter(mt.ones(1))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> scale = Scale()
    >>> scale(mt.tensor([2.0, 3.0])).tolist(), list(scale.state_dict())
    ([2.0, 3.0], ['factor'])
    """

    training: bool = _Mode(True)  # type: ignore[assignment]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _explained(vars(cls)["__init__"]))
        if isinstance(vars(cls).get("training"), bool):
            setattr(cls, "training", _Mode(vars(cls)["training"]))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _log.met is not None:
            _log.called[id(self)] = self
        hooks = self.__dict__.get("_hooks")
        if not hooks:
            return self.forward(*args, **kwargs)
        for hook in hooks["before"]:
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in hooks["after"]:
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result

    # -------------------------------------------------------------------------------- Hooks

    def _register(self, when: str, hook: Callable[..., Any]) -> _Hook:
        hooks = self.__dict__.setdefault("_hooks", {"before": [], "after": []})[when]
        hooks.append(hook)
        return _Hook(hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> _Hook:
        """Calls hook(module, args) before forward(); what it returns, unless None, replaces the
        arguments. Returns what removes it, when called or by its remove()."""
        return self._register("before", hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> _Hook:
        """Calls hook(module, args, result) after forward(); what it returns, unless None, replaces
        the result. Returns what removes it, when called or by its remove()."""
        return self._register("after", hook)

    # --------------------------------------------------------------------------------- Tree

    def named_children(self) -> Iterator[Any]:
        """Pairs of name and module, in the order they were set; also in lists and dictionaries."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value
            elif isinstance(value, (list, tuple, dict)):
                pairs = value.items() if isinstance(value, dict) else enumerate(value)
                for i, item in pairs:
                    if isinstance(item, Module):
                        yield f"{name}.{i}", item

    def children(self) -> _Listed[Module]:
        """The modules directly below."""
        return _Listed(child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[Any]:
        """Pairs of dotted name and module: this one, whose name is "", and all below, each once."""
        yield from self._named_modules(prefix, set())

    def _named_modules(self, prefix: str, known: set[int]) -> Iterator[Any]:
        if id(self) in known:
            return
        known.add(id(self))
        yield prefix, self
        for name, child in self.named_children():
            yield from child._named_modules(f"{prefix}.{name}" if prefix else name, known)

    def modules(self) -> _Listed[Module]:
        """This module and all below."""
        return _Listed(module for _, module in self.named_modules())

    def add_module(self, name: str, module: Module) -> None:
        """Sets a module as the attribute of this name. KeyError for the name of a method."""
        if hasattr(type(self), name):
            raise KeyError(f"{type(self).__name__}: {name!r} is the name of a method")
        setattr(self, name, module)

    def apply(self, function: Callable[..., Any]) -> Any:
        """Calls function(module) for this module and all below; returns this one."""
        for module in self.modules():
            function(module)
        return self

    # ------------------------------------------------------------------------------ Tensors

    def __setattr__(self, name: str, value: Any) -> None:
        trained = self.__dict__.setdefault("_trained", set())
        before = vars(self).get(name)
        if not isinstance(value, native.Tensor):
            trained.discard(name)
        elif value is not before or native.requires_grad(value):  # stays while it is frozen
            (trained.add if native.requires_grad(value) else trained.discard)(name)
            self._note_passing(name, value, isinstance(before, native.Tensor))
        super().__setattr__(name, value)
        if value is not before and name not in vars(self).get("_passing", ()) and (
                isinstance(value, (Module, native.Tensor)) or isinstance(before, (Module, native.Tensor))):
            _changed(before)

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name)
        super().__delattr__(name)
        _changed(before)

    def _note_passing(self, name: str, value: Any, was_there: bool) -> None:
        """Keeps in mind which tensors forward() was the first to set, and is the last."""
        passing = self.__dict__.setdefault("_passing", set())
        if native.requires_grad(value) and native.is_leaf(value):
            passing.discard(name)
        elif name in passing or not was_there:
            (passing.add if self._is_called() else passing.discard)(name)

    def _is_called(self) -> bool:
        """Whether this runs within a call of the module."""
        frame: Any = sys._getframe(1)
        while frame and not (frame.f_code is Module.__call__.__code__
                             and frame.f_locals["self"] is self):
            frame = frame.f_back
        return frame is not None

    def register_parameter(self, name: str, tensor: Tensor | None) -> None:
        """Sets a parameter, or None, as the attribute of this name."""
        if tensor is not None and not isinstance(tensor, Parameter):
            tensor = Parameter(tensor)
        setattr(self, name, tensor)

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Adds a tensor that is not trained, and saved unless it is not `persistent`."""
        setattr(self, name, tensor)
        self.__dict__.setdefault("_registered", set()).add(name)
        self.__dict__.get("_passing", set()).discard(name)
        unsaved = self.__dict__.setdefault("_unsaved", set())
        (unsaved.discard if persistent else unsaved.add)(name)

    def _lasting_tensors(self) -> Iterator[Any]:
        """Names and tensors of this module alone, without those that forward() sets anew."""
        passing = self.__dict__.get("_passing", ())
        for name, value in vars(self).items():
            if isinstance(value, native.Tensor) and name not in passing:
                yield name, value

    def _own_tensors(self) -> Iterator[Any]:
        trained = self.__dict__.get("_trained", ())
        registered, passing = (self.__dict__.get(kind, ()) for kind in ("_registered", "_passing"))
        for name, value in vars(self).items():
            if not isinstance(value, native.Tensor) or name in passing:
                continue
            if name in registered:
                yield name, value, True
            elif native.is_leaf(value):  # what has a history is no part of the module
                yield name, value, not native.requires_grad(value) and name not in trained

    def _named_tensors(self, prefix: str = "", saved: bool = False, above: tuple[Module, ...] = ()
                       ) -> Iterator[Any]:
        """Those of a module that is there twice have both names; one that refers to a module above it
        does not repeat that."""
        if any(self is module for module in above):
            return
        unsaved = self.__dict__.get("_unsaved", ()) if saved else ()
        for name, tensor, is_buffer in self._own_tensors():
            if name not in unsaved:
                yield prefix + name, tensor, is_buffer
        for name, child in self.named_children():
            yield from child._named_tensors(f"{prefix}{name}.", saved, (*above, self))

    def named_parameters(self) -> _Listed[tuple[str, Tensor]]:
        """Pairs of dotted name and parameter; one that modules share is there once."""
        first: dict[int, tuple[str, Tensor]] = {}
        for name, tensor, is_buffer in self._named_tensors():
            if not is_buffer:
                first.setdefault(id(tensor), (name, tensor))
        return _Listed(first.values())

    def parameters(self) -> _Listed[Tensor]:
        """What is trained: a list, from which next() takes the first too."""
        return _Listed(tensor for _, tensor in self.named_parameters())

    def named_buffers(self) -> _Listed[tuple[str, Tensor]]:
        """Pairs of dotted name and tensor that is only saved."""
        return _Listed((name, tensor) for name, tensor, is_buffer in self._named_tensors() if is_buffer)

    def buffers(self) -> _Listed[Tensor]:
        """What is saved but not trained."""
        return _Listed(tensor for _, tensor in self.named_buffers())

    def state_dict(self) -> dict[str, Tensor]:
        """Every parameter and buffer that is saved, by its dotted name."""
        return {name: tensor for name, tensor, _ in self._named_tensors(saved=True)}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Binds every parameter and buffer to the value of its name in `state`: tensors, or arrays
        of other libraries, as a PyTorch module's. Nothing changes unless all names are there (not
        `strict`: only those that both have) and all shapes fit. PyTorch's num_batches_tracked,
        which nothing here counts, is passed over."""
        own = self.state_dict()
        state = {name: value for name, value in state.items()
                 if name in own or not name.endswith("num_batches_tracked")}
        if strict and own.keys() != state.keys():
            raise ValueError(f"load_state_dict: missing {sorted(own.keys() - state.keys())}, "
                             f"unknown {sorted(state.keys() - own.keys())}")
        both = [name for name in own if name in state]
        for name in both:
            if own[name].shape != tuple(state[name].shape):
                raise ValueError(f"load_state_dict: {name} is {own[name].shape}, not "
                                 f"{tuple(state[name].shape)}")
        before = native.set_grad_mode(False)
        try:
            for name in both:
                value = state[name]
                at = own[name].device  # where they stay
                own[name][...] = native.to_device(value, at) if isinstance(value, native.Tensor) else value
        finally:
            native.set_grad_mode(before)

    def save(self, path: Path) -> None:
        """Writes every parameter and buffer to a .safetensors or .npz file, as mt.save() does."""
        from .. import io
        io.save(self.state_dict(), path)

    def load(self, path: Path) -> None:
        """Binds every parameter and buffer to the values in a .npz or, by any other name, a
        safetensors file of the same names and shapes, the latter of the same types too; nothing
        changes unless all fit."""
        from ..io import _existing, collection, dictionary
        path = _existing(path)
        if path.endswith(".npz"):
            return self.load_state_dict(dictionary(native.load_npz(path, None)))
        native.parameters_load(collection(self.state_dict()), path)

    def to(self, *targets: Any, dtype: DTypeLike = None, device: str | None = None) -> Any:
        """Brings every parameter and buffer to a device, and the floats among them to a type, in
        place: net.to("cuda:0"), net.to(mt.bfloat16). Gradients and what optimizers keep go along.
        Returns the module.

        >>> import mtorch as mt
        >>> net = mt.nn.Linear(2, 1).to(mt.float64)
        >>> net.weight.dtype
        mtorch.float64
        """
        dtype, device = _target(targets, dtype, device)
        from ..io import collection
        tensors = {name: tensor for name, tensor, _ in self._named_tensors()}
        native.parameters_to(collection(tensors), dtype or 0, device)
        return self

    def half(self) -> Any:
        """to(float16)."""
        return self.to(float16)

    def bfloat16(self) -> Any:
        """to(bfloat16)."""
        return self.to(bfloat16)

    def float(self) -> Any:
        """to(float32)."""
        return self.to(float32)

    def double(self) -> Any:
        """to(float64)."""
        return self.to(float64)

    def cpu(self) -> Any:
        """to("cpu")."""
        return self.to("cpu")

    def cuda(self) -> Any:
        """to("cuda:0")."""
        return self.to("cuda:0")

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Freezes all parameters, or frees them again; returns the module."""
        for tensor in self.parameters():
            native.set_requires_grad(tensor, requires_grad)
        return self

    def train(self, mode: bool = True) -> Any:
        """Switches dropout and batch norm, here and below; returns the module."""
        if "_is_switching" in self.__dict__:  # it refers to itself
            return self
        self.__dict__["_is_switching"] = True
        try:
            self.training = mode
            for _, child in self.named_children():
                child.train(mode)
        finally:
            del self.__dict__["_is_switching"]
        return self

    def eval(self) -> Any:
        """train(False)."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Removes the gradients of all parameters."""
        native.zero_grad(self.parameters())

    # --------------------------------------------------------------------------------- Text

    def summary(self, *args: Any, **kwargs: Any) -> str:
        """A table of the modules below, with their numbers of parameters; with arguments for
        forward(), which is then called, the shapes of their results too.

        >>> import mtorch as mt
        >>> print(mt.nn.Sequential(mt.nn.Linear(4, 3), mt.relu).summary(mt.ones((2, 4))))
        module       result  parameters
        Sequential   [2, 3]          15
        0: Linear    [2, 3]          15
        1: Function  [2, 3]           0
        """
        return _summary_of(self, args, kwargs)

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        children = "".join(f"  ({name}): {child!r}".replace("\n", "\n  ") + "\n"
                           for name, child in self.named_children())
        return (f"{type(self).__name__}({self._describe()}"
                + (f"\n{children})" if children else ")"))

    def _describe(self) -> str:
        return ""
