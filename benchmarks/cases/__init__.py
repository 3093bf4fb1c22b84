# SPDX-License-Identifier: Apache-2.0
"""What against_pytorch.py times, by kinds."""
from . import blocks, convolutions, elementwise, formulas, gradients, moving, norms, products, reductions

KINDS = [elementwise, reductions, norms, products, convolutions, moving, gradients, blocks, formulas]


def cases():
    for kind in KINDS:
        yield from kind.cases()
