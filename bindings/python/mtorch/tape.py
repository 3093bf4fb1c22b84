# SPDX-License-Identifier: Apache-2.0
"""The tape: what was computed, node by node."""
from . import native
from .autograd import _is_tensor, _listed
from .dtypes import by_code


class Node:
    """One node of a tape."""

    def __init__(self, tape, index):
        self._tape, self.index = tape, index

    operator = property(lambda self: native.tape_operator(self._tape._handle, self.index))
    shape = property(lambda self: native.tape_node_shape(self._tape._handle, self.index))
    dtype = property(lambda self: by_code[native.tape_dtype(self._tape._handle, self.index)])
    tensor = property(lambda self: native.tape_tensor(self._tape._handle, self.index))

    @property
    def inputs(self):
        """The nodes that this one reads."""
        return tuple(Node(self._tape, i)
                     for i in native.tape_node_inputs(self._tape._handle, self.index))

    def __repr__(self):
        read = ", ".join(f"%{node.index}" for node in self.inputs)
        return f"%{self.index} = {self.operator}({read})  {self.dtype.name}{list(self.shape)}"


class Tape:
    """A record of the operators called inside `with Tape() as tape:`; a sequence of nodes."""

    def __init__(self):
        self._handle = None

    def __enter__(self):
        self._handle = native.tape_begin()
        return self

    def __exit__(self, *exception):
        native.tape_end(self._handle)

    def __len__(self):
        return native.tape_length(self._handle)

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"node {i} of a tape of {len(self)}")
        return Node(self, i % len(self))

    def find(self, x):
        """The node whose value x has; None when the tape does not hold it."""
        i = native.tape_find(self._handle, x)
        return None if i < 0 else Node(self, i)

    def gradient(self, output, inputs):
        """The gradients of sum(output) to each input, whether or not it requires one."""
        found = native.tape_gradients(self._handle, output, _listed(inputs))
        return found[0] if _is_tensor(inputs) else tuple(found)

    def replay(self, inputs, replacements, outputs):
        """The new values of `outputs` when the operators run again with other values for `inputs`."""
        found = native.tape_again(self._handle, _listed(inputs), _listed(replacements),
                                  _listed(outputs))
        return found[0] if _is_tensor(outputs) else tuple(found)

    def __str__(self):
        return native.tape_to_string(self._handle)

    def dot(self):
        """The tape for Graphviz."""
        return native.tape_to_dot(self._handle)

    def _repr_svg_(self):
        from .tracing import svg_of
        return svg_of(self.dot())

    def draw(self, path):
        """Draws the tape to a file by Graphviz; the name's ending says how (.svg, .png, .pdf)."""
        import subprocess
        subprocess.run(["dot", f"-T{str(path).rpartition('.')[2]}", "-o", str(path)],
                       input=self.dot(), text=True, check=True)
