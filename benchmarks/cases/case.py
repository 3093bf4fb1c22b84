# SPDX-License-Identifier: Apache-2.0
"""One thing that against_pytorch.py times, and how it is written down."""
import dataclasses
from collections.abc import Callable, Collection

import numpy

TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 5e-2, "float16": 1e-2}


@dataclasses.dataclass(frozen=True)
class Case:
    """An expression names m (the library), F (its functions of layers) and the arrays, and a
    function takes them; where PyTorch's differs it is given, too."""
    name: str
    ours: str | Callable
    theirs: str | Callable
    inputs: dict  # {name: (shape, dtype, the numbers that integers stay below)}
    grads: Collection[str] = ""  # the names of inputs

    def arrays(self):
        random = numpy.random.default_rng(0)
        made = {}
        for name, (shape, dtype, below) in self.inputs.items():
            if "int" in dtype:
                array = random.integers(0, below, shape).astype(dtype)
            elif dtype == "bool":
                array = random.random(shape) < 0.5
            else:
                array = self.floats(random, shape)
            made[name] = array, dtype
        return made

    def floats(self, random, shape):
        return random.uniform(0.05, 0.95, shape)

    def tolerance(self):
        """Of the difference, by the type of the first array."""
        return TOLERANCE.get(next(iter(self.inputs.values()))[1], 0)

    def difference(self, ours, theirs):
        """The largest one, as a part of the largest number."""
        return numpy.max(apart(ours, theirs)) / max(numpy.max(numpy.abs(theirs)), 1e-30)


def apart(ours, theirs):
    with numpy.errstate(invalid="ignore"):  # of infinities
        return numpy.where(ours == theirs, 0, numpy.abs(ours - theirs))


def text(shape):
    return " x ".join(map(str, shape))


def case(ours, theirs="", grads="", dtype="float32", label="", below=0, **shapes):
    """Each array is given by its shape, or as (shape, type, what integers stay below) if its type
    is not that of the case."""
    inputs, said = {}, []
    for name, what in shapes.items():
        of_its_own = len(what) == 3 and isinstance(what[1], str)
        inputs[name] = what if of_its_own else (what, dtype, below)
        said.append(text(inputs[name][0]))
    note = "" if dtype == "float32" else f" {dtype}"
    name = f"{label or ours}{note} [{', '.join(said)}]" + (" gradients" if grads else "")
    return Case(name, ours, theirs or ours, inputs, grads)


FLOATS = ["float32", "float64", "bfloat16"]
