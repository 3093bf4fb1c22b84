# SPDX-License-Identifier: Apache-2.0
"""What a trace records holds for the modules that it calls as they are: for their modes, in training or
not, and for the layers and tensors that are their attributes."""
from __future__ import annotations

import threading
import weakref
from typing import Any


class _Log(threading.local):
    """What this thread records."""

    # By the module's id: the module, and its mode when that was first read, or None where it was set
    # before. None: nothing is recorded.
    met: dict[int, tuple[Any, Any]] | None = None
    called: dict[int, Any] = {}  # the modules that are called meanwhile, by their ids


_log = _Log()


class _Mode:
    """Module.training. A trace that is recorded notes what is read, unless it has set it itself."""

    latest_change = object()  # another whenever any thread has set a mode, a layer or a tensor

    def __init__(self, default: Any) -> None:
        self.default = default

    def __get__(self, module: Any, of: Any = None) -> Any:
        if module is None:
            return self.default
        mode = module.__dict__.get("training", self.default)
        if _log.met is not None:
            _log.met.setdefault(id(module), (module, mode))
        return mode

    def __set__(self, module: Any, mode: Any) -> None:
        module.__dict__["training"] = mode
        _Mode.latest_change = object()
        if _log.met is not None:
            _log.met.setdefault(id(module), (module, None))


def _changed(before: Any) -> None:
    """An attribute of a module that was `before` is another or is gone."""
    for module in before.modules() if hasattr(type(before), "named_modules") else ():
        _replacements(module)[0] += 1
    _Mode.latest_change = object()


def _replacements(module: Any) -> list[int]:
    """How often the module was taken from its place. Who keeps this notices it, also when the module
    is gone, and where its owner itself is not called."""
    return module.__dict__.setdefault("_replacements", [0])


def _parts_of(module: Any) -> list[tuple[str, Any]]:
    return [*module.named_children(), *module._lasting_tensors()]


class _Parts:
    """The layers and tensors that a module has now, none of which this keeps alive."""

    def __init__(self, module: Any) -> None:
        self._module, self._replacements = weakref.ref(module), _replacements(module)
        self._replaced = self._replacements[0]
        self._parts = [(name, weakref.ref(part)) for name, part in _parts_of(module)]

    def are_there(self) -> bool:
        """Whether the module, which may be gone, is where it was and has them and no others."""
        if self._replacements[0] != self._replaced:
            return False
        module = self._module()
        if module is None:
            return True
        parts = _parts_of(module)
        return len(parts) == len(self._parts) and all(
            name == known and part is there()
            for (name, part), (known, there) in zip(parts, self._parts))
