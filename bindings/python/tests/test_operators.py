# SPDX-License-Identifier: Apache-2.0
"""Operators against NumPy's, over element types and shapes."""
import enum
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mtorch as mt

FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


def values(dtype, shape, seed=0):
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return generator.integers(1, 20, shape).astype(dtype)
    return generator.uniform(0.1, 4, shape).astype(dtype)


def same(found, expected, tolerance=1e-6):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype.name == expected.dtype.name
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found.numpy(), expected)


BINARY = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.lt,
          operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_binary(function, dtype):
    a, b = values(dtype, (3, 1, 4), 1), values(dtype, (5, 1), 2)
    same(function(mt.asarray(a), mt.asarray(b)), function(a, b), 1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", [operator.truediv, operator.pow], ids=lambda f: f.__name__)
def test_binary_floats(function, dtype):
    a, b = values(dtype, (3, 4), 1), values(dtype, (4,), 2)
    same(function(mt.asarray(a), mt.asarray(b)), function(a, b), 1e-5)


@pytest.mark.parametrize("number", [3, 2.0, -1.5])
@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.truediv,
                                      operator.pow], ids=lambda f: f.__name__)
def test_numbers_take_the_tensors_type(function, number):
    x = values("float32", (5,))
    same(function(mt.asarray(x), number), function(x, np.float32(number)), 1e-5)
    same(function(abs(number), mt.asarray(x)), function(np.float32(abs(number)), x), 1e-5)


def test_whole_numbers_keep_integers():
    x = mt.asarray([1, 2, 3], dtype=mt.int16)
    assert (x + 1).dtype == mt.int16 and (7 - x).tolist() == [6, 5, 4]
    assert (x + 1.5).dtype == mt.float32
    assert (mt.asarray([True]) & True).tolist() == [True]


def test_numpy_scalars_and_arrays_leave_the_operator_to_the_tensor():
    x = mt.ones((3,))
    for y in (np.float32(2) * x, x * np.float64(2), np.int64(2) * x):
        assert isinstance(y, mt.Tensor) and y.tolist() == [2, 2, 2]
    array = np.arange(3, dtype=np.float32)
    for y in (array + x, x + array, mt.add(x, array), x @ np.eye(3, dtype=np.float32) + array):
        assert isinstance(y, mt.Tensor) and y.dtype == mt.float32 and y.tolist() == [1, 2, 3]
    assert (x + np.ones(3)).dtype == mt.float64
    assert (array < x).tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"\[3\].*\[2\]"):
        x + np.ones(2)
    with pytest.raises(TypeError):
        x + np.ones(3, complex)


def test_strangers_get_their_turn():
    class Other:
        def __radd__(self, x):
            return "radd"

    assert mt.ones(()) + Other() == "radd"
    with pytest.raises(TypeError, match="unsupported operand"):
        mt.ones(()) + "text"
    assert (mt.ones(()) == None) is False  # noqa: E711
    assert (mt.ones(()) != "text") is True


@pytest.mark.parametrize("dtype", ["bool"] + INTEGERS)
@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor],
                         ids=lambda f: f.__name__)
def test_bits(function, dtype):
    a, b = values(dtype, (9,), 1), values(dtype, (9,), 2)
    same(function(mt.asarray(a), mt.asarray(b)), function(a, b))
    same(~mt.asarray(a), ~a)


def test_in_place_rebinds_this_tensor_alone():
    x = mt.ones((3,))
    view, alias = x[:], x
    x += 2
    x *= mt.asarray([1.0, 2.0, 3.0])
    assert alias is x and x.tolist() == [3, 6, 9] and view.tolist() == [1, 1, 1]
    with pytest.raises((ValueError, TypeError)):
        x += mt.ones((2, 3))


UNARY = ["abs", "exp", "log", "sqrt", "sin", "cos", "tanh", "floor", "ceil", "sign", "square",
         "log1p", "expm1", "arctan"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    x = values(dtype, (2, 3))
    same(getattr(mt, name.replace("arc", "a"))(mt.asarray(x)), getattr(np, name)(x), 1e-5)


def test_methods_are_the_functions():
    x = mt.asarray([0.5, -1.0])
    assert x.relu().tolist() == [0.5, 0] and x.abs().sum().item() == 1.5
    assert x.max(axis=0, keepdims=True).shape == (1,)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "any", "all", "var", "std"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axis, keepdims):
    x = values("float64", (2, 3, 4))
    same(getattr(mt, name)(mt.asarray(x), axis=axis, keepdims=keepdims),
         getattr(np, name)(x, axis=axis, keepdims=keepdims), 1e-9)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_argmax(axis):
    x = values("float32", (4, 5))
    same(mt.argmax(mt.asarray(x), axis=axis), np.argmax(x, axis=axis))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_broadcasting(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3,
                                                         min_side=0))
    a, b = (values("float64", shape, i) for i, shape in enumerate(shapes.input_shapes))
    same(mt.asarray(a) * mt.asarray(b), a * b)


def test_matmul_and_einsum():
    a, b = values("float32", (2, 3, 4)), values("float32", (4, 5), 1)
    same(mt.asarray(a) @ mt.asarray(b), a @ b, 1e-5)
    same(mt.einsum("bij,jk->bk", mt.asarray(a), mt.asarray(b)), np.einsum("bij,jk->bk", a, b), 1e-5)
    same(mt.tensordot(mt.asarray(a), mt.asarray(b), axes=1), np.tensordot(a, b, axes=1), 1e-5)
    same(mt.tensordot(mt.asarray(a), mt.asarray(b), axes=((2,), (0,))), a @ b, 1e-5)


def test_manipulation():
    x = np.arange(24.0).reshape(2, 3, 4)
    t = mt.asarray(x)
    same(mt.permute_dims(t, (2, 0, 1)), x.transpose(2, 0, 1))
    same(mt.moveaxis(t, 0, -1), np.moveaxis(x, 0, -1))
    same(mt.roll(t, 5, axis=1), np.roll(x, 5, axis=1))
    same(mt.roll(t, -3), np.roll(x, -3))
    same(mt.concat([t, t], axis=1), np.concatenate([x, x], axis=1))
    same(mt.stack([t, t], axis=-1), np.stack([x, x], axis=-1))
    same(mt.flip(t, axis=0), np.flip(x, 0))
    same(mt.pad(t, [(1, 0), (0, 2), (0, 0)]), np.pad(x, [(1, 0), (0, 2), (0, 0)]))
    for mode in ("reflect", "edge", "wrap"):
        same(mt.pad(t, [(1, 0), (0, 2), (3, 1)], mode=mode), np.pad(x, [(1, 0), (0, 2), (3, 1)], mode))
    same(t.T, x.T)
    same(mt.tril(t, k=-1), np.tril(x, -1))
    for found, expected in zip(mt.split(t, [1, 2], axis=1), np.split(x, [1], axis=1)):
        same(found, expected)
    for found, expected in zip(mt.meshgrid(t[0, 0], t[1, 0, :2]), np.meshgrid(x[0, 0], x[1, 0, :2])):
        same(found, expected)
    same(mt.cumulative_sum(t, axis=2), np.cumsum(x, 2))
    assert mt.cumulative_sum(t[0, 0], include_initial=True).tolist() == [0, 0, 1, 3, 6]


def test_sorting_and_searching():
    x = np.array([3, 1, 2, 1, 3], np.int32)
    t = mt.asarray(x)
    same(mt.sort(t), np.sort(x))
    same(mt.argsort(t), np.argsort(x, kind="stable"))
    assert mt.topk(t, 2).values.tolist() == [3, 3] and mt.topk(t, 2).indices.tolist() == [0, 4]
    all_ = mt.unique_all(t)
    values_, first, inverse, counts = np.unique(x, True, True, True)
    for found, expected in zip(all_, (values_, first, inverse, counts)):
        same(found, expected)
    for found, expected in zip(mt.nonzero(mt.asarray(np.eye(3))), np.nonzero(np.eye(3))):
        same(found, expected)


def test_creation():
    same(mt.arange(10), np.arange(10))
    same(mt.arange(0, 1, 0.25), np.arange(0, 1, 0.25, np.float32))
    same(mt.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32))
    same(mt.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, False, dtype=np.float32))
    same(mt.eye(2, 3, k=1), np.eye(2, 3, 1, np.float32))
    same(mt.full((2,), 7), np.full((2,), 7))
    same(mt.full((2,), 2**63 - 1), np.full((2,), 2**63 - 1))
    same(mt.full((), True), np.full((), True))
    same(mt.asarray([[1, 2], [3, 4.5]]), np.array([[1, 2], [3, 4.5]], np.float32))
    same(mt.asarray([2**63]), np.array([2**63], np.uint64))
    assert mt.asarray([[], []]).shape == (2, 0)
    for made in mt.zeros(2, 3), mt.ones(2, 3), mt.empty((2, 3)), mt.zeros(shape=[2, 3]):
        assert made.shape == (2, 3)
    for sizes in (2, mt.float64), ((2, 3), 4), (2, 1.5), (2, None):
        with pytest.raises(TypeError, match="zeros: takes a shape or its sizes"):
            mt.zeros(*sizes)
    assert mt.asarray([mt.ones((2,)), np.zeros(2, np.float32)]).tolist() == [[1, 1], [0, 0]]
    with pytest.raises(ValueError, match="lengths"):
        mt.asarray([[1, 2], [3]])


def test_conversions_copy_and_move():
    x = mt.tensor([1.5, 2.5])
    assert mt.astype(x, "float32", copy=False) is x
    for dtype in mt.float32, mt.int32:
        for copy in True, False:
            y = mt.astype(x, dtype, copy=copy, device="cpu:reference")
            assert y.device == "cpu:reference" and y.dtype == dtype
    y = x.astype(mt.float32)
    y += 1
    assert x.tolist() == [1.5, 2.5] and y.tolist() == [2.5, 3.5]
    array = np.ones(2, np.float32)
    assert isinstance(mt.astype(array, mt.float32), mt.Tensor)
    assert mt.astype(7, mt.int32).dtype == mt.int32


def test_ranges_are_whole_if_all_numbers_are():
    for numbers in (3,), (0, 3), (np.int64(0), 3, True):
        assert mt.arange(*numbers).dtype == mt.int64
        assert mt.arange(*numbers, dtype="float64").dtype == mt.float64
    for numbers in (3.0,), (0, 3.0), (0, 3, 1.0), (np.float32(0), 3):
        assert mt.arange(*numbers).dtype == mt.float32 and mt.arange(*numbers).tolist() == [0, 1, 2]


class Level(enum.IntEnum):
    HIGH = 300


@pytest.mark.parametrize("number", [300, 2.5, True, Level.HIGH], ids=str)
def test_numbers_need_a_copy(number):
    with pytest.raises(ValueError, match="without a copy"):
        mt.asarray(number, copy=False)


def test_whole_numbers_fit_whoever_made_them():
    for number in 300, np.int64(300), np.uint16(300), Level.HIGH:
        for data in number, [number], [[1, number]], (True, number), [number, 2.5]:
            with pytest.raises(ValueError, match="300 does not fit into uint8"):
                mt.tensor(data, dtype=mt.uint8)
        assert mt.tensor([number]).tolist() == [300] and mt.tensor(number).item() == 300
    assert mt.tensor(np.array([300]), dtype=mt.uint8).tolist() == [44]  # which is a conversion
    assert mt.tensor([2**64 - 1]).dtype == mt.uint64
    assert mt.tensor([10**30, -1], dtype=mt.float64).tolist() == [1e30, -1]
    for numbers in [10**30], [-1, 2**63], [-2**63 - 1]:
        with pytest.raises(ValueError, match="beyond every integer type"):
            mt.tensor(numbers)
