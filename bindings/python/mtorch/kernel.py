# SPDX-License-Identifier: Apache-2.0
"""Kernels of your own: what each cell of a grid computes."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import native
from .dtypes import as_dtype

if TYPE_CHECKING:
    from ._tensor import Tensor

Place = tuple[int, int, int]


@dataclass(frozen=True)
class Cell:
    """Where a cell is, as (x, y, z): what CUDA calls blockIdx, threadIdx, blockDim and gridDim.

    >>> import mtorch as mt
    >>> mt.Cell(block=(1, 0, 0), thread=(2, 0, 0), block_size=(4, 1, 1), grid_size=(3, 1, 1)).index
    (6, 0, 0)
    """

    block: Place
    thread: Place
    block_size: Place
    grid_size: Place

    @property
    def index(self) -> Place:
        """block * block_size + thread: the cell's place in the whole grid."""
        x, y, z = (b * s + t for b, s, t in zip(self.block, self.block_size, self.thread))
        return x, y, z


class _Cells:
    """A Python function and what one call hands to it, as the library calls it back."""

    def __init__(self, function: Callable[..., Any], inputs: Any, results: Any, numbers: Any):
        self.function, self.numbers = function, tuple(numbers)
        self.inputs, self.results = inputs, results  # shapes and types
        self.arrays: tuple[Any, ...] = ()

    def run(self, block: Place, thread: Place, block_size: Place, grid_size: Place, inputs: int,
            results: int) -> None:
        if not any(block) and not any(thread):  # the first
            self.arrays = (*_arrays(inputs, self.inputs, False),
                           *_arrays(results, self.results, True))
        self.function(Cell(block, thread, block_size, grid_size), *self.arrays, *self.numbers)


def _arrays(addresses: int, forms: Any, writable: bool) -> list[Any]:
    """NumPy's view of memory whose addresses lie there."""
    import numpy as np
    pointers = (ctypes.c_void_p * len(forms)).from_address(addresses)
    arrays = []
    for pointer, (shape, dtype) in zip(pointers, forms):
        count = 1
        for size in shape:
            count *= size
        element = np.dtype("uint16" if dtype.name == "bfloat16" else dtype.name)
        memory = (ctypes.c_char * (count * element.itemsize)).from_address(pointer or addresses)
        array = np.frombuffer(memoryview(memory), element, count).reshape(shape)
        array.flags.writeable = writable
        arrays.append(array)
    return arrays


def _address(function: Any) -> int:
    """Of a C function, 0 for one of Python's."""
    if isinstance(function, int):
        return function
    if isinstance(getattr(function, "address", None), int):  # numba's cfunc
        return int(function.address)
    if not callable(function):
        raise TypeError(f"kernel: {function!r} is neither a function nor the address of one")
    try:
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except ctypes.ArgumentError:
        return 0


def _three(sizes: int | Sequence[int]) -> list[int]:
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    if len(sizes) > 3:
        raise ValueError(f"kernel: {len(sizes)} dimensions; a grid and a block have at most 3")
    return sizes + [1] * (3 - len(sizes))


class Kernel:
    """A kernel: a function of one cell of a grid, CUDA C for a GPU, or both under one name.

    On the CPU the function is called for each cell, f(cell, *inputs, *results, *numbers), with
    NumPy arrays, of which it writes its part of the results: one cell after another, which is
    slow, and good to learn with. The address of a C function (an int, a ctypes function, numba's
    cfunc), an mt_cell_function, runs blocks in parallel. On a GPU the text's parameters are
    pointers to the inputs, to the results, and the numbers.

    >>> import mtorch as mt
    >>> @mt.Kernel
    ... def double(cell, x, out):
    ...     i = cell.index[0]
    ...     if i < len(out):
    ...         out[i] = 2 * x[i]
    >>> x = mt.tensor([1.0, 2.0, 3.0])
    >>> double(x, grid=2, block=2, results=(3, mt.float32))
    tensor([2., 4., 6.])
    """

    def __init__(self, function: Any = None, *, cuda: str | None = None,
                 name: str | None = None) -> None:
        found = name if name else str(getattr(function, "__name__", "kernel"))
        self.name: str = found if found.isidentifier() else "kernel"
        self.cuda = cuda
        self.function = function
        address = _address(function) if function is not None else 0
        self._python = function is not None and not address
        self._handle: Any = None
        if cuda is not None or not self._python:
            self._handle = native.kernel_of_address(self.name, cuda, address)

    def __call__(self, *inputs: Tensor, grid: int | Sequence[int], block: int | Sequence[int] = 1,
                 results: Any, numbers: Sequence[float] = (), shared_bytes: int = 0,
                 device: str | None = None) -> Any:
        """Runs it: a new tensor of the form `results`, (shape, dtype), or for a list of forms a
        tuple of tensors. The kernel runs where the inputs lie. It has no gradient; call it within
        a Function to give it one."""
        single = not isinstance(results, list)
        forms = [((shape,) if isinstance(shape, int) else tuple(shape), as_dtype(dtype))
                 for shape, dtype in ([results] if single else results)]
        handle = self._handle
        where = device or (native.device_of(inputs[0]) if inputs else native.default_device())
        if self._python and (handle is None or where.startswith("cpu")):
            given = [(tuple(x.shape), x.dtype) for x in inputs]
            cells = _Cells(self.function, given, forms, numbers)
            handle = native.kernel_of_cells(self.name, cells)
        found = native.kernel_run(
            handle, _three(grid), _three(block), shared_bytes, device, list(inputs),
            [float(number) for number in numbers], [list(shape) for shape, _ in forms],
            [int(dtype) for _, dtype in forms])
        return found[0] if single else tuple(found)

    def __repr__(self) -> str:
        kinds = [kind for kind, there in [("a function", self.function is not None),
                                          ("CUDA C", self.cuda is not None)] if there]
        return f"mtorch.Kernel({self.name}: {' and '.join(kinds)})"
