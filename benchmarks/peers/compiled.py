# SPDX-License-Identifier: Apache-2.0
"""torch.compile: expressions that it fuses by compiling C++ as it runs."""
import functools

import torch

from peers import pytorch

if not hasattr(torch, "compile"):
    raise ImportError("no torch.compile")

set_threads = torch.set_num_threads
version = pytorch.version


def _compiled(name):
    # Each row anew: a function that has met two shapes would be compiled for all.
    return torch.compile(pytorch.FUSIBLE[name], dynamic=False)


ROWS = {name: lambda *inputs, name=name: pytorch.value(_compiled(name))(*inputs)
        for name in pytorch.FUSIBLE} | {
    f"{name}_gradient": lambda *inputs, name=name, count=count:
        pytorch.gradients(_compiled(name), count)(*inputs)
    for name, count in pytorch.DIFFERENTIABLE.items()}

open = functools.partial(pytorch.Row, rows=ROWS)
