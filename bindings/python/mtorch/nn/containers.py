# SPDX-License-Identifier: Apache-2.0
"""Modules made of modules and of functions."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from .module import Module

if TYPE_CHECKING:
    from .._tensor import Tensor


class Function(Module):
    """A function as a module: Function(mtorch.relu)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def forward(self, *args: Any) -> Tensor:
        return self.function(*args)

    def _describe(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


class Flatten(Module):
    """All axes but the first as one."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class Sequential(Module):
    """Modules one after the other; its children are named 0, 1, ..."""

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
    """Modules in a list, which a subclass of Module calls as it likes; named 0, 1, ..."""

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
