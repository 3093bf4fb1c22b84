# SPDX-License-Identifier: Apache-2.0
"""NumPy: what a user of Python compares a call with."""
import numpy


def set_threads(_):
    pass


def version():
    return numpy.__version__


ROWS = {
    "add4": numpy.add,
    "sort": numpy.sort,
    "argsort": numpy.argsort,
    "cumulative_sum": numpy.cumsum,
}


class Row:
    def __init__(self, name, inputs, rows=ROWS):
        if name not in rows:
            raise LookupError("not in this module")
        self._compute, self._inputs = rows[name], inputs

    def run(self, times):
        compute, inputs = self._compute, self._inputs
        for _ in range(times):
            compute(*inputs)

    def result(self):
        return numpy.asarray(self._compute(*self._inputs), numpy.float64).reshape(-1)

    def close(self):
        self._compute = self._inputs = None


open = Row
