# SPDX-License-Identifier: Apache-2.0
"""The tape: what was computed, node by node."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import native
from .autograd import _is_tensor, _listed
from .dtypes import by_code
from ._types import Path

if TYPE_CHECKING:
    from ._tensor import Tensor


class Node:
    """One node of a tape.

    >>> import mtorch as mt
    >>> with mt.Tape() as tape:
    ...     y = mt.ones(2) * 3
    >>> tape.find(y).operator
    'mul'
    """

    def __init__(self, tape: Tape, index: int) -> None:
        self._tape, self.index = tape, index

    operator = property(lambda self: native.tape_operator(self._tape._handle, self.index))
    shape = property(lambda self: native.tape_node_shape(self._tape._handle, self.index))
    dtype = property(lambda self: by_code[native.tape_dtype(self._tape._handle, self.index)])
    tensor = property(lambda self: native.tape_tensor(self._tape._handle, self.index))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that this one reads."""
        return tuple(Node(self._tape, i)
                     for i in native.tape_node_inputs(self._tape._handle, self.index))

    def __repr__(self) -> str:
        read = ", ".join(f"%{node.index}" for node in self.inputs)
        return f"%{self.index} = {self.operator}({read})  {self.dtype.name}{list(self.shape)}"


class Tape:
    """A record of the operators called inside `with Tape() as tape:`; a sequence of nodes.

    >>> import mtorch as mt
    >>> x = mt.ones(2)
    >>> with mt.Tape() as tape:
    ...     y = (x * 3).sum()
    >>> tape.gradient(y, x)
    tensor([3., 3.])
    """

    def __init__(self) -> None:
        self._begun: Any = None

    @property
    def _handle(self) -> Any:
        if self._begun is None:
            raise ValueError("a tape records inside `with Tape() as tape:`; this one has not begun")
        return self._begun

    def __enter__(self) -> Tape:
        self._begun = native.tape_begin()
        return self

    def __exit__(self, *exception: Any) -> None:
        native.tape_end(self._handle)

    def __len__(self) -> int:
        return native.tape_length(self._handle)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [Node(self, at) for at in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"node {i} of a tape of {len(self)}")
        return Node(self, i % len(self))

    def find(self, x: Tensor) -> Node | None:
        """The node whose value x has; None when the tape does not hold it."""
        i = native.tape_find(self._handle, x)
        return None if i < 0 else Node(self, i)

    def gradient(self, output: Tensor, inputs: Any) -> Any:
        """The gradients of sum(output) to each input, whether or not it requires one."""
        found = native.tape_gradients(self._handle, output, _listed(inputs))
        return found[0] if _is_tensor(inputs) else tuple(found)

    def replay(self, inputs: Any, replacements: Any, outputs: Any) -> Any:
        """The new values of `outputs` when the operators run again on other values of `inputs`."""
        found = native.tape_again(self._handle, _listed(inputs), _listed(replacements),
                                  _listed(outputs))
        return found[0] if _is_tensor(outputs) else tuple(found)

    def __str__(self) -> str:
        return native.tape_to_string(self._handle)

    def dot(self) -> str:
        """The tape for Graphviz."""
        return native.tape_to_dot(self._handle)

    def _repr_svg_(self) -> str | None:
        from .tracing import svg_of
        return svg_of(self.dot())

    def draw(self, path: Path) -> None:
        """Draws the tape to a file by Graphviz; the name's ending says how (.svg, .png, .pdf). ValueError
        for one that Graphviz does not know, Error where it is not installed."""
        import subprocess
        try:
            done = subprocess.run(["dot", f"-T{str(path).rpartition('.')[2]}", "-o", str(path)],
                                  input=self.dot(), text=True, capture_output=True)
        except FileNotFoundError:
            raise native.Error("draw: Graphviz, which draws, is not installed") from None
        if done.returncode:
            raise ValueError(f"draw: {path}: {done.stderr.strip()}")
