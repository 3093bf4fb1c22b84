# SPDX-License-Identifier: Apache-2.0
"""What a script for PyTorch asks for by a name that is another one here, all of it at once:
python3 -m mtorch.porting SCRIPT... Methods may be another object's: nothing is run to find out."""
from __future__ import annotations

import ast
import importlib
import inspect
import sys
from typing import Any, Iterator

from . import _names, _porting_names

_MODULES = {"torch.utils.data": "mtorch.data", "torch.nn.functional": "mtorch.nn.functional",
            "torch.nn.init": "mtorch.nn.init", "torch.optim.lr_scheduler": "mtorch.optim"}


def notes(source: str) -> list[tuple[int, str]]:
    """Lines, and what there is to say about them.

    >>> import mtorch as mt
    >>> from mtorch.porting import notes
    >>> notes("import torch\\nx = torch.cat([a, b], dim=1).clamp(0, 1)")
    [(2, 'cat: it is called concat here'), (2, 'clamp: it is called clip here'), (2, "dim: it is called 'axis' here")]
    """
    tree = ast.parse(source)
    known = dict(_imported(tree))
    found = [(node.lineno, text) for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.stmt))
             for text in _notes(node, known)]
    return sorted(set(found))


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The script's names of what it imports, and torch's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "torch":
                    yield (one.asname, one.name) if one.asname else ("torch", "torch")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for one in node.names:
                yield one.asname or one.name, f"{node.module}.{one.name}"


def _dotted(node: ast.AST, known: dict[str, str]) -> str:
    """The name in torch that an expression is, or nothing."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, known)
        return owner and f"{owner}.{node.attr}"
    return ""


def _found(dotted: str) -> Any:
    """What has this name here, else an AttributeError that says what to take."""
    *owners, name = dotted.split(".")
    if not owners:
        return importlib.import_module("mtorch")
    module = _MODULES.get(dotted)
    if module:
        return importlib.import_module(module)
    owner = _MODULES.get(".".join(owners))
    return getattr(importlib.import_module(owner) if owner else _found(".".join(owners)), name)


def _notes(node: ast.AST, known: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
        for one in node.names:
            yield from _missing(f"{node.module}.{one.name}")
    elif isinstance(node, ast.Attribute):
        dotted = _dotted(node, known)
        if dotted:
            yield from _missing(dotted)
        elif node.attr in _porting_names.METHODS:
            yield node.attr + _names._said(_porting_names.METHODS, node.attr)
    elif isinstance(node, ast.Call):
        dotted = _dotted(node.func, known)
        yield from _options(node, dotted)
        yield from _meaning(node, dotted)


def _missing(dotted: str) -> Iterator[str]:
    owner, _, name = dotted.rpartition(".")
    if not owner or dotted in _MODULES or any(module.startswith(dotted + ".") for module in _MODULES):
        return
    try:
        _found(owner)
    except (AttributeError, ImportError):
        return  # which was said of the owner
    try:
        _found(dotted)
    except AttributeError as error:
        said = str(error).partition(f"no attribute {name!r}")[2]
        yield name + (said or ": it is not here")


def _meaning(node: ast.Call, dotted: str) -> Iterator[str]:
    """What a name means here, if it is called as PyTorch's: its options are not those of lists."""
    if not isinstance(node.func, ast.Attribute):
        return
    options = [option.arg for option in node.keywords]
    chosen = len(node.args) > (dotted != "") or "dim" in options
    said = _porting_names.MEANINGS.get(node.func.attr)
    if said and (chosen or node.func.attr in ("size", "std", "var")):
        yield f"{node.func.attr}: {said}"


def _options(node: ast.Call, dotted: str) -> Iterator[str]:
    """Of options, those of functions that are not known to have them."""
    try:
        has = dict(inspect.signature(_found(dotted)).parameters) if dotted else {}
    except (AttributeError, ImportError, TypeError, ValueError):
        has = {}
    open_ended = any(one.kind == one.VAR_KEYWORD for one in has.values())
    for option in node.keywords:
        here = _porting_names.OPTIONS.get(option.arg or "")
        if here is None or option.arg in has:
            continue
        if isinstance(here, _porting_names._Note):
            yield f"{option.arg}: {here}"
        if open_ended or isinstance(here, _porting_names._Note):
            continue
        word = next((word for word in here.split() if word in has), here.split()[0])
        yield f"{option.arg}: it is called {word!r} here"


def _main(paths: list[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line, text in notes(file.read()):
                print(f"{path}:{line}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
