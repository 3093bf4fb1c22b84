# SPDX-License-Identifier: Apache-2.0
"""Our library from Python: what a call costs there."""
import mtorch

from peers import numpy_rows

set_threads = mtorch.set_threads
ROWS = {
    "record": lambda x, y: x + y,
    "add4": lambda x, y: (x + y).eval(),
}


def version():
    return mtorch.__version__


class Row(numpy_rows.Row):
    def __init__(self, name, inputs):
        super().__init__(name, [mtorch.asarray(x) for x in inputs], ROWS)


open = Row
