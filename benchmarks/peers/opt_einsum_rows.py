# SPDX-License-Identifier: Apache-2.0
"""opt_einsum over NumPy: the best known order of contracting several operands."""
import functools

import opt_einsum

from inputs import EINSUMS
from peers import numpy_rows

set_threads = numpy_rows.set_threads
ROWS = {name: functools.partial(opt_einsum.contract, equation)
        for name, equation in EINSUMS.items()}


def version():
    return opt_einsum.__version__


open = functools.partial(numpy_rows.Row, rows=ROWS)
