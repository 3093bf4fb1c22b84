# SPDX-License-Identifier: Apache-2.0
"""Modules made of modules and of functions."""
from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping

from .module import Module

if TYPE_CHECKING:
    from .._tensor import Tensor


class Function(Module):
    """A function as a module: Function(mtorch.relu).

    >>> import mtorch as mt
    >>> square = mt.nn.Function(mt.square)
    >>> square(mt.tensor([2.0, 3.0])), square
    (tensor([4., 9.]), Function(square))
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def forward(self, *args: Any) -> Tensor:
        return self.function(*args)

    def _describe(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def _as_module(owner: Module, module: Any) -> Module:
    """The module, or the function as one; else TypeError."""
    kind = type(owner).__name__
    if isinstance(module, type):
        raise TypeError(f"{kind}: {module.__name__} is a class; {module.__name__}() is a module")
    if isinstance(module, Module):
        return module
    if not callable(module):
        raise TypeError(f"{kind}: needs modules or functions, not {type(module).__name__}")
    return Function(module)


class Identity(Module):
    """What it is given.

    >>> import mtorch as mt
    >>> mt.nn.Identity()(mt.ones(2))
    tensor([1., 1.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """All axes but the first as one, or those from `start` to `end`.

    >>> import mtorch as mt
    >>> mt.nn.Flatten()(mt.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start: int = 1, end: int = -1) -> None:
        self.start, self.end = start, end

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start, self.end)


class Sequential(Module):
    """Modules one after the other; its children are named 0, 1, ..., or by a dictionary. A slice is
    a Sequential of the same modules.

    >>> import mtorch as mt
    >>> model = mt.nn.Sequential(mt.nn.Linear(3, 2), mt.relu)
    >>> model(mt.ones((4, 3))).shape, list(model.state_dict())
    ((4, 2), ['0.weight', '0.bias'])
    """

    def __init__(self, *modules: Module | Callable[..., Any] | Mapping[str, Any]) -> None:
        given: Any = modules
        if len(given) == 1 and isinstance(given[0], (collections.abc.Mapping, ModuleDict)):
            given = given[0]
        for name in given if given is not modules else range(len(modules)):
            self.add_module(str(name), _as_module(self, given[name]))

    def append(self, module: Module | Callable[..., Any]) -> Sequential:
        """Adds a module, or a function as one, at the end; returns the whole."""
        self.add_module(str(len(self)), _as_module(self, module))
        return self

    def forward(self, x: Tensor) -> Tensor:
        for _, module in self.named_children():
            x = module(x)
        return x

    def __getitem__(self, i: Any) -> Any:
        found: Any = self.children()[i]
        return type(self)(*found) if isinstance(i, slice) else found

    def __len__(self) -> int:
        return len(self.children())


class ModuleList(Module):
    """Modules in a list, which a subclass of Module calls as it likes; named 0, 1, ...

    >>> import mtorch as mt
    >>> layers = mt.nn.ModuleList(mt.nn.Linear(3, 3) for _ in range(2))
    >>> len(layers.append(mt.nn.ReLU())), layers[2]
    (3, ReLU())
    """

    def __init__(self, modules: Iterable[Module | Callable[..., Any]] = ()) -> None:
        for module in modules:
            self.append(module)

    def append(self, module: Module | Callable[..., Any]) -> ModuleList:
        """Adds a module, or a function as one, at the end; returns the list."""
        setattr(self, str(len(self)), _as_module(self, module))
        return self

    def extend(self, modules: Iterable[Module | Callable[..., Any]]) -> ModuleList:
        """Adds several at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self

    def __getitem__(self, i: Any) -> Any:
        found: Any = self.children()[i]
        return type(self)(found) if isinstance(i, slice) else found

    def __iter__(self) -> Iterator[Module]:
        return iter(self.children())

    def __len__(self) -> int:
        return len(self.children())


class ModuleDict(Module):
    """Modules by name, which a subclass of Module calls as it likes.

    >>> import mtorch as mt
    >>> heads = mt.nn.ModuleDict({"a": mt.nn.Linear(3, 2), "b": mt.nn.Linear(3, 1)})
    >>> heads["b"](mt.ones((4, 3))).shape, list(heads)
    ((4, 1), ['a', 'b'])
    """

    def __init__(self, modules: Mapping[str, Module | Callable[..., Any]] = {}) -> None:
        if not isinstance(modules, (collections.abc.Mapping, ModuleDict)):
            raise TypeError(f"ModuleDict: needs modules by name, not {type(modules).__name__}")
        for name, module in modules.items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __setitem__(self, name: str, module: Module | Callable[..., Any]) -> None:
        self.add_module(name, _as_module(self, module))

    def __contains__(self, name: Any) -> bool:
        return name in dict(self.named_children())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.children())

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, _ in self.named_children()]

    def values(self) -> list[Module]:
        """The modules."""
        return self.children()

    def items(self) -> list[tuple[str, Module]]:
        """Pairs of name and module."""
        return list(self.named_children())
