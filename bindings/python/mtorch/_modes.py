# SPDX-License-Identifier: Apache-2.0
"""The modes of modules, in training or not: what a trace records holds for those that it reads."""
from __future__ import annotations

import threading
from typing import Any


class _Log(threading.local):
    """What this thread records."""

    # By the module's id: the module, and its mode when that was first read, or None where it was set
    # before. None: nothing is recorded.
    met: dict[int, tuple[Any, Any]] | None = None


_log = _Log()


class _Mode:
    """Module.training. A trace that is recorded notes what is read, unless it has set it itself."""

    latest_change = object()  # another whenever any thread has set a mode

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
