# SPDX-License-Identifier: Apache-2.0
"""One thing that against_pytorch.py times, and how it is written down."""
import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Case:
    """An expression names m (the library), F (its functions of layers) and the arrays; where
    PyTorch's differs it is given, too."""
    name: str
    ours: str
    theirs: str
    inputs: dict  # {name: (shape, dtype, the numbers that integers stay below)}
    grads: str = ""  # of which inputs, each by its one letter

    def arrays(self):
        random = numpy.random.default_rng(0)
        made = {}
        for name, (shape, dtype, below) in self.inputs.items():
            if "int" in dtype:
                array = random.integers(0, below, shape).astype(dtype)
            elif dtype == "bool":
                array = random.random(shape) < 0.5
            else:
                array = random.uniform(0.05, 0.95, shape)
            made[name] = array, dtype
        return made


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
