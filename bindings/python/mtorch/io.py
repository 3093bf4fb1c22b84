# SPDX-License-Identifier: Apache-2.0
"""Files of tensors: safetensors, NumPy's, IDX. The name's ending says which."""
from __future__ import annotations

import collections.abc
import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from . import native
from .create import asarray, full, zeros
from .dtypes import float32, float64
from ._types import Path

if TYPE_CHECKING:
    from ._tensor import Tensor


def collection(tensors: Mapping[str, Any]) -> Any:
    """A collection of the library that holds the tensors and numbers of a dictionary."""
    if not isinstance(tensors, collections.abc.Mapping):
        raise TypeError(f"needs tensors by name, as a module's state_dict(), not "
                        f"{type(tensors).__name__}")
    parameters = native.parameters_new(float32, None)
    for name, tensor in tensors.items():
        if not isinstance(tensor, (native.Tensor, int, float)):
            tensor = _as_tensor(name, tensor)
        if isinstance(tensor, float):  # with all its digits
            tensor = full((), tensor, dtype=float64)
        native.parameters_add_buffer(parameters, name, tensor)
    return parameters


def _as_tensor(name: str, value: Any) -> Tensor:
    try:
        return asarray(value)
    except TypeError:
        raise TypeError(f"{name!r} is a {type(value).__name__}; tensors and numbers alone have names "
                        "in a file") from None


def _named(tensors: Any) -> Any:
    """The tensors of dictionaries within dictionaries by one name each; ValueError for one that would be
    read as part of another dictionary."""
    if not isinstance(tensors, collections.abc.Mapping):
        return tensors
    items = list(_flat(tensors))
    folders = {name for _, name, _ in items if name.endswith("/")}
    for prefix, name, _ in items:
        ends = (i + 1 for i in range(len(name) - 1) if name[i] == "/" and i + 1 > len(prefix))
        if inner := next((name[:end] for end in ends if name[:end] in folders), None):
            raise ValueError(f"save: {name!r} is a name within {inner[:-1]!r}, which is a dictionary")
    return {name: value for _, name, value in items}


def _flat(tensors: Any, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """What dictionaries within dictionaries hold, each after the prefix of its dictionary, by names as
    of files in folders; of each folder there is an entry too, by which _nested() knows it from a name
    with a slash."""
    for name, value in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"names in a file are text, not {type(name).__name__}: {name!r}")
        if isinstance(value, collections.abc.Mapping):
            yield prefix, f"{prefix}{name}/", zeros(0)
            yield from _flat(value, f"{prefix}{name}/")
        elif (prefix + name).endswith("/"):
            raise ValueError(f"save: {prefix + name!r}: the name of a tensor has no / at its end")
        else:
            yield prefix, prefix + name, value


def _nested(tensors: dict[str, Tensor]) -> dict[str, Any]:
    folders: dict[str, Any] = {"": {}}

    def place(name: str) -> tuple[Any, str]:
        length = next(i for i in range(len(name), -1, -1) if name[:i] in folders)
        return folders[name[:length]], name[length:]

    marks = [name for name, x in tensors.items() if name.endswith("/") and x.shape == (0,)]
    for name in sorted(marks, key=len):
        outer, rest = place(name)
        folders[name] = outer[rest[:-1]] = {}
    for name, tensor in tensors.items():
        if name not in folders:
            outer, rest = place(name)
            outer[rest] = tensor
    return folders[""]


def dictionary(parameters: Any) -> dict[str, Tensor]:
    """The tensors of a collection of the library by their names."""
    return {native.parameters_name(parameters, i): native.parameters_tensor(parameters, i)
            for i in range(native.parameters_count(parameters))}


def save(tensors: Any, path: Path, compress: bool = False) -> None:
    """Writes a dictionary of tensors and numbers, or of such dictionaries, to a .safetensors or .npz
    file, or one tensor to a .npy file. The file appears whole under its name, or the old one stays.

    >>> import mtorch as mt
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> mt.save({"w": mt.ones(2)}, path)
    >>> mt.load(path)
    {'w': tensor([1., 1.])}
    >>> mt.save({"net": mt.nn.Linear(2, 1).state_dict(), "epoch": 3}, path)
    >>> checkpoint = mt.load(path)
    >>> list(checkpoint["net"]), int(checkpoint["epoch"])
    (['weight', 'bias'], 3)
    """
    if isinstance(tensors, (str, os.PathLike)):
        raise TypeError("save: the tensors come first, then the path")
    path = os.fspath(path)
    if path.endswith(".npy"):
        native.save_npy(tensors, path)
    elif path.endswith(".npz"):
        native.save_npz(collection(_named(tensors)), path, compress)
    elif path.endswith(".safetensors"):
        native.parameters_save(collection(_named(tensors)), path)
    else:
        raise ValueError(f"{path}: files end in .safetensors, .npy or .npz")


def _existing(path: Path) -> str:
    """The path as text; where there is no such file, Python's own exception says so."""
    os.stat(path)
    return os.fspath(path)


def load(path: Path, device: str | None = None) -> Any:
    """Reads a .safetensors or .npz file as a dictionary, a .npy file or, by any other name, an IDX
    file (as MNIST's, plain or gzip) as a tensor.

    >>> import mtorch as mt
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> mt.save(mt.arange(3), path)
    >>> mt.load(path)
    tensor([0, 1, 2])
    """
    path = _existing(path)
    if path.endswith(".npy"):
        return native.load_npy(path, device)
    if path.endswith(".npz"):
        return _nested(dictionary(native.load_npz(path, device)))
    if path.endswith(".safetensors"):
        return _nested(dictionary(native.load_safetensors(path, device)))
    return native.load_idx(path, device)
