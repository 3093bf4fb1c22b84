# SPDX-License-Identifier: Apache-2.0
"""Tensors of nested lists and tuples."""
import collections

import numpy as np
import pytest

import mtorch as mt

Pair = collections.namedtuple("Pair", "a b")


class Rows(list):
    pass


@pytest.mark.parametrize("numbers, dtype", [
    ([True, False], mt.bool_), ([True, 2], mt.int64), ([True, 2.5], mt.float32),
    ([-2**63, 2**63 - 1], mt.int64), ([2**63, True], mt.uint64), ([1.5, 2**63], mt.float32),
    ([np.float64(1), 2.0], mt.float64), ([np.int8(1), np.int8(2)], mt.int8), ([], mt.float32)])
def test_the_type_suits_the_numbers(numbers, dtype):
    x = mt.tensor(numbers)
    assert x.dtype == dtype and x.tolist() == numbers
    nested = mt.tensor(((numbers, numbers), (numbers, numbers)))
    assert nested.dtype == dtype and nested.shape == (2, 2, len(numbers))
    assert nested.tolist() == [[numbers] * 2] * 2


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_numbers_and_arrays_of_numpy_are_one_array(name, monkeypatch):
    rows = np.arange(12).reshape(2, 3, 2).astype(name)
    for nested in (list(map(list, rows)), list(rows), [list(map(list, row)) for row in rows], tuple(rows.ravel())):
        expected = np.array(nested)
        with monkeypatch.context() as patch:
            patch.setattr(mt.native, "stack", None)  # which takes 100 times as long
            x = mt.tensor(nested)
        assert x.dtype.name == name and x.shape == expected.shape and x.tolist() == expected.tolist()
        assert mt.tensor(nested, dtype=mt.float64).tolist() == expected.tolist()


def test_arrays_that_differ_are_put_together_one_by_one():
    assert mt.tensor([np.float32(1), np.float64(2)]).dtype == mt.float64
    assert mt.tensor([np.ones(2, np.int8), np.ones(2)]).tolist() == [[1, 1], [1, 1]]
    assert mt.tensor([np.array(1), np.array(2.5)]).tolist() == [1, 2.5]
    assert mt.tensor([np.ones((0, 2)), np.ones((0, 2))]).shape == (2, 0, 2)
    with pytest.raises(ValueError):
        mt.tensor([np.ones(2), np.ones(3)])
    with pytest.raises(ValueError, match="asarray: 300 does not fit into int8"):
        mt.tensor([np.int64(300), np.int64(1)], dtype=mt.int8)
    with pytest.raises(TypeError, match="complex128"):
        mt.tensor([np.complex128(1), np.complex128(2)])


def test_all_sequences_of_python_are_rows():
    x = mt.tensor(Rows([Pair(1, 2), [3, 4], Rows((5, 6))]))
    assert x.dtype == mt.int64 and x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert mt.tensor([[[]], [[]]]).shape == (2, 1, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "bool"])
def test_numbers_are_converted_as_numpy_does(dtype):
    # Those in the middle round once or twice, depending on what is between.
    numbers = [[0.1, 1 + 2**-24 + 2**-53, 3.4028235677973366e38], [1e-40, -0.0, 2**53 + 1]]
    if dtype == "int32":
        numbers = [[0.1, -7.9], [2**31 - 1, True]]
    with np.errstate(over="ignore"):
        there = np.array(numbers, np.float64)
        there = there.astype("float32" if dtype == "bfloat16" else dtype)
    here = mt.tensor(numbers, dtype=dtype)
    assert here.dtype.name == dtype
    if dtype == "bfloat16":
        there = mt.asarray(there).astype("bfloat16").astype("float32").numpy()
        here = here.astype("float32")
    assert here.numpy().tobytes() == there.tobytes()


@pytest.mark.parametrize("rows, dimension", [
    ([[1, 2], [3]], 1), ([[1], 2], 1), ([1, [2]], 1), ([[], [1]], 1), ([[1, 2]] * 20 + [[1]], 1),
    ([[[1], [2, 3]], [4]], 1), ([[[1, 2]], [[3]]], 2), ([[[1], [2]], [[3], 4]], 2),
    ([[mt.ones(2), [1, 2]]], 2)])
def test_rows_that_differ_are_named_by_the_outermost_dimension(rows, dimension):
    with pytest.raises(ValueError, match=f"rows of different lengths at dimension {dimension}$"):
        mt.tensor(rows)


def test_depth_ends():
    rows = 1.5
    for _ in range(16):
        rows = [rows]
    assert mt.tensor(rows).shape == (1,) * 16
    endless = []
    endless.append(endless)
    for nested in [rows], endless:
        with pytest.raises(ValueError, match="more than 16 dimensions"):
            mt.tensor(nested)


def test_items_may_change_the_rows():
    rows = []

    class Sly:
        def __dlpack__(self, **options):
            rows.clear()
            return mt.tensor(2.5).__dlpack__(**options)

    rows += [[Sly(), Sly(), 3.0] for _ in range(20)]
    assert mt.tensor(rows).tolist() == [[2.5, 2.5, 3.0]] * 20
    assert rows == []


def test_what_is_no_number_is_named():
    for rows, kind in ([1.0, None], "NoneType"), ([[1], [1j]], "complex"), (["a"], "str"):
        with pytest.raises(TypeError, match=f"no tensor can be made of {kind}"):
            mt.tensor(rows)
    with pytest.raises(OverflowError, match="too large"):
        mt.tensor([2**2000, 0.5])
