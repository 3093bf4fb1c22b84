# SPDX-License-Identifier: Apache-2.0
"""Modules made of modules and of functions."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

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


class Flatten(Module):
    """All axes but the first as one.

    >>> import mtorch as mt
    >>> mt.nn.Flatten()(mt.ones((2, 3, 4))).shape
    (2, 12)
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class Sequential(Module):
    """Modules one after the other; its children are named 0, 1, ...

    >>> import mtorch as mt
    >>> model = mt.nn.Sequential(mt.nn.Linear(3, 2), mt.relu)
    >>> model(mt.ones((4, 3))).shape, list(model.state_dict())
    ((4, 2), ['0.weight', '0.bias'])
    """

    def __init__(self, *modules: Module | Callable[..., Any]) -> None:
        for i, module in enumerate(modules):
            setattr(self, str(i), module if isinstance(module, Module) else Function(module))

    def forward(self, x: Tensor) -> Tensor:
        for _, module in self.named_children():
            x = module(x)
        return x

    def __getitem__(self, i: int) -> Module:
        return self.children()[i]

    def __len__(self) -> int:
        return len(self.children())


class ModuleList(Module):
    """Modules in a list, which a subclass of Module calls as it likes; named 0, 1, ...

    >>> import mtorch as mt
    >>> layers = mt.nn.ModuleList(mt.nn.Linear(3, 3) for _ in range(2))
    >>> len(layers.append(mt.nn.ReLU())), layers[2]
    (3, ReLU())
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end; returns the list."""
        setattr(self, str(len(self)), module)
        return self

    def __getitem__(self, i: int) -> Module:
        return self.children()[i]

    def __iter__(self) -> Iterator[Module]:
        return iter(self.children())

    def __len__(self) -> int:
        return len(self.children())
