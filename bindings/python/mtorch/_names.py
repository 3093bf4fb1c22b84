# SPDX-License-Identifier: Apache-2.0
"""Errors about names that are not here say what PyTorch's and NumPy's are called (_porting_names.py)."""
from __future__ import annotations

import functools
import opcode
import os
import re
import sys
import types
from typing import Any, Callable, TypeVar

from ._porting_names import METHODS, OPTIONS, POSITIONAL, _Note

_HERE = os.path.dirname(__file__) + os.sep
_Callable = TypeVar("_Callable", bound=Callable[..., Any])


def _said(names: dict[str, str], name: str) -> str:
    here = names.get(name, "")
    return f": {here}" if isinstance(here, _Note) else here and f": it is called {here} here"


def _missing(module: str, names: dict[str, str]) -> Callable[[str], Any]:
    """What a module does when it is asked for a name that it does not have."""
    def __getattr__(name: str) -> Any:
        here = _said(names, name)
        if here and _is_import():
            raise ImportError(f"cannot import name {name!r} from {module!r}{here}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}{here}")
    return __getattr__


def _is_import() -> bool:
    """Whether the caller of the function that asks is an import statement."""
    try:
        frame = sys._getframe(2)
    except ValueError:  # it is no Python code
        return False
    return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def _public(module: dict[str, Any], *modules: str) -> Callable[[], list[str]]:
    """What a module shows of itself: what it is for, and these of its modules."""
    def is_shown(name: str, value: Any) -> bool:
        if isinstance(value, types.ModuleType) or name == "TYPE_CHECKING":
            return name in modules
        ours = (getattr(value, "__module__", None) or "mtorch").startswith(("mtorch", "_native"))
        return name.startswith("__") or ours and name[0] != "_"
    return lambda: sorted(name for name, value in module.items() if is_shown(name, value))


class _Elsewhere:
    """What tensors do not have, and what to take in its place."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"a tensor has no attribute {self.name!r}{_said(METHODS, self.name)}")


def _explained(function: _Callable) -> _Callable:
    """The function, whose error about an option of another name says how it is called here."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "argument" in str(error) and _is_ours(error.__traceback__.tb_next):  # type: ignore[union-attr]
                _explain(error, function, kwargs)
            raise
    return call  # type: ignore[return-value]


def _is_ours(traceback: Any) -> bool:
    """Whether none but the package's own code is there, which hands options on."""
    while traceback:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            return False
        traceback = traceback.tb_next
    return True


def _explain(error: TypeError, function: Callable[..., Any], kwargs: Any) -> None:
    import inspect
    known, said = inspect.signature(function).parameters, str(error)
    if re.search(r"takes .* positional arguments? but \d+ were given$", said):
        if note := POSITIONAL.get(function.__qualname__.removeprefix("Tensor.")):
            error.args = f"{said}: {note}",
        return
    for name in kwargs:
        here = OPTIONS.get(name, "")
        word = "" if isinstance(here, _Note) else next((w for w in here.split() if w in known), "")
        if name in known or not (word or isinstance(here, _Note)):
            continue
        if said.endswith(f"unexpected keyword argument {name!r}"):
            error.args = f"{said}: " + (f"it is called {word!r} here" if word else here),
        elif word and "required positional argument" in said and f"{word!r}" in said:
            error.args = f"{said}: so {name!r} is called here",
