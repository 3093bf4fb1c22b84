# SPDX-License-Identifier: Apache-2.0
"""What users of NumPy and PyTorch do with arrays without a second thought."""
import copy
import warnings

import numpy as np
import pytest

import mtorch as mt
from mtorch import nn


def test_an_assignment_that_is_lost_is_said():
    x, rows = mt.zeros((2, 2)), [mt.zeros(2)]
    with pytest.warns(RuntimeWarning, match="lost"):
        x[0][1] = 5
    with pytest.warns(RuntimeWarning, match="lost"):
        x.T[0] = 5
    with pytest.warns(RuntimeWarning, match="lost"):
        x[0][1] += 5
    assert x.tolist() == [[0, 0], [0, 0]]
    leaf = mt.ones(2).requires_grad_()
    leaf.sum().backward()
    with pytest.warns(RuntimeWarning, match="lost"):
        leaf.grad[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x[0, 1] = 5
        row = x[1]
        row[0] = 7
        rows[0][1] = 3
        layer = nn.Linear(2, 2)
        with mt.no_grad():
            layer.bias[...] = mt.zeros(2).copy_(mt.ones(2))
        assert layer.bias.tolist() == [1, 1]
    assert x.tolist() == [[0, 5], [0, 0]] and row.tolist() == [7, 0] and rows[0].tolist() == [0, 3]


def test_numpy_makes_arrays_of_lists_of_tensors():
    x = mt.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert np.array([x, x + 1]).tolist() == [x.tolist(), (x + 1).tolist()]
    assert np.array([x[0, 0], x[1, 1]]).tolist() == [1.0, 4.0]
    assert np.stack(list(x)).tolist() == np.vstack([x[0], x[1]]).tolist() == x.tolist()
    assert [row.tolist() for row in reversed(x)] == [[3, 4], [1, 2]]


def test_what_is_a_sequence_becomes_a_tensor():
    assert mt.tensor(range(3)).tolist() == mt.asarray(range(3)).tolist() == [0, 1, 2]
    for wrong in ({1, 2}, "text", None, (i for i in range(2))):
        with pytest.raises(TypeError, match="no tensor can be made of"):
            mt.tensor(wrong)
    with pytest.raises(TypeError, match="complex128"):
        mt.asarray(np.ones(2, complex))
    with pytest.raises(TypeError, match="datetime64"):
        mt.asarray(np.zeros(2, "datetime64[s]"))


def test_many_elements_are_neither_true_nor_false():
    with pytest.raises(ValueError, match="any"):
        if mt.ones(3) > 0:
            pass
    with pytest.raises(ValueError, match="any"):
        bool(mt.ones(0))
    assert mt.ones((1, 1)) and not mt.zeros(())


def test_types_have_methods():
    x = mt.asarray([0.0, 1.5])
    for name, dtype in (("double", mt.float64), ("half", mt.float16), ("bfloat16", mt.bfloat16),
                        ("int", mt.int32), ("long", mt.int64), ("bool", mt.bool_)):
        y = getattr(x, name)()
        assert y.dtype == dtype and y.tolist() == x.astype(dtype).tolist()


def test_closeness_is_numpys():
    values = np.array([0, 1, 1 + 1e-6, 1.1, np.inf, -np.inf, np.nan, 1e-9])
    a, b = np.meshgrid(values, values)
    for equal_nan in False, True:
        found = mt.isclose(mt.asarray(a), mt.asarray(b), equal_nan=equal_nan)
        np.testing.assert_array_equal(found, np.isclose(a, b, equal_nan=equal_nan))
    assert mt.allclose(mt.ones(3), 1) is True and mt.allclose(mt.ones(3), 2) is False


def test_truths_of_numpy_are_truths():
    x = mt.asarray([True, False])
    for found in (x & np.bool_(True), np.bool_(True) & x, x | np.bool_(False)):
        assert found.dtype == mt.bool_ and found.tolist() == [True, False]


def test_names_of_shapes():
    x = mt.arange(6).reshape(2, 3)
    assert x.view(3, -1).tolist() == x.reshape(3, 2).tolist() and x.numel() == 6 and x.dim() == 2
    assert x.clone().tolist() == x.tolist() and mt.tensordot(x, x.T, 1).shape == (2, 2)
    assert mt.pad(x, 1).tolist() == np.pad(x.numpy(), 1).tolist()


def test_axes_by_place():
    x = mt.arange(6).reshape(2, 3)
    a = x.numpy()
    assert mt.concat([x, x], 1).tolist() == np.concatenate([a, a], 1).tolist()
    assert mt.stack([x, x], 1).tolist() == np.stack([a, a], 1).tolist()
    assert mt.flip(x, 1).tolist() == np.flip(a, 1).tolist()
    assert mt.repeat(x, 2, 1).tolist() == np.repeat(a, 2, 1).tolist()
    assert mt.take(x, [0, 2], 1).tolist() == np.take(a, [0, 2], 1).tolist()
    assert mt.tril(x, 1).tolist() == np.tril(a, 1).tolist()
    assert mt.sort(x, 0).tolist() == np.sort(a, 0).tolist()


@pytest.mark.parametrize("call", [
    lambda: mt.broadcast_arrays(mt.ones(2), [1]), lambda: mt.full_like([1], 2),
    lambda: mt.take([1, 2], 0), lambda: mt.cumulative_sum([1, 2]), lambda: mt.moveaxis([1], 0, 0),
    lambda: mt.roll([1, 2], 1)])
def test_what_is_no_tensor_is_named(call):
    with pytest.raises(TypeError, match="needs a tensor, not list"):
        call()


def test_moveaxis_wants_axes_that_are_there():
    x = mt.zeros((2, 3, 4))
    assert mt.moveaxis(x, (0, -1), (-1, 0)).shape == (4, 3, 2)
    for axes in (3, 0), (0, -4), ((0, 5), (0, 1)):
        with pytest.raises(IndexError, match="of 3 dimensions"):
            mt.moveaxis(x, *axes)
    with pytest.raises(IndexError, match="of 0 dimensions"):
        mt.moveaxis(mt.tensor(1.0), 0, 0)
    with pytest.raises(ValueError, match="as many places"):
        mt.moveaxis(x, (0, 1), 0)


def test_isclose_of_integers_does_not_wrap():
    a, b = mt.tensor([0, 1], dtype=mt.uint8), mt.tensor([255, 2], dtype=mt.uint8)
    assert mt.isclose(a, b, atol=1).tolist() == [False, True]
    assert mt.isclose(mt.tensor([True]), mt.tensor([True])).tolist() == [True]


def test_numbers_beyond_the_type():
    x = mt.tensor([100, 200], dtype=mt.uint8)
    a = x.numpy()
    assert (x < 300).tolist() == (x > -1).tolist() == [True, True] and not (x == -56).any()
    for call in (lambda: x + 300, lambda: 300 - x, lambda: mt.clip(x, -1, 300),
                 lambda: mt.where(x > 1, x, 256), lambda: x.copy_(-1),
                 lambda: mt.tensor([1, 300], dtype=mt.uint8), lambda: mt.full(2, -1, dtype="uint16"),
                 lambda: mt.tensor(128, dtype=mt.int8)):
        with pytest.raises(ValueError, match="does not fit into u?int"):
            call()
    with pytest.raises(ValueError, match="index_put|assign"):
        x[0] = 300
    assert x.tolist() == a.tolist() and (x + 55).tolist() == [155, 255]
    assert (mt.tensor([1], dtype=mt.uint64) + 2**63).tolist() == [2**63 + 1]
    assert (mt.ones(1) - 10**30).tolist() == [np.float32(-1e30)]
    assert (mt.tensor([5]) < 2**70).tolist() == [True]


def test_powers_of_integers():
    x = mt.tensor([1, 2, 4])
    for call in (lambda: x ** -1, lambda: mt.pow(x, -2), lambda: x.pow(np.int64(-1))):
        with pytest.raises(ValueError, match="int64 to the power of -[12] gives fractions"):
            call()
    assert (x ** -1.0).tolist() == [1, 0.5, 0.25] and (x ** 2).tolist() == [1, 4, 16]
    assert (x.double() ** -1).tolist() == [1, 0.5, 0.25]


def test_element_types_of_numpy():
    for name, dtype in mt.dtypes.by_name.items():
        assert dtype == name and hash(dtype) == hash(int(dtype)) and copy.copy(dtype) is not None
        if name != "bfloat16":
            assert dtype == np.dtype(name) and np.dtype(name) == dtype and not dtype != np.dtype(name)
            assert np.zeros(2, dtype=dtype).dtype == name and dtype == np.dtype(name).type
    for python in bool, int, float:  # NumPy's float is float64
        assert not any(dtype == python or python == dtype for dtype in mt.dtypes.by_name.values())
    assert not hasattr(mt.bfloat16, "dtype") and hasattr(mt.float32, "dtype")
    with pytest.raises(TypeError):
        np.zeros(2, dtype=mt.bfloat16)
    assert mt.float32 != np.float64 and mt.float32 != "nonsense" and mt.float32 != None  # noqa: E711
    assert np.float64 != mt.float32 and mt.ones(1).dtype == np.float32
    assert mt.arange(2).__numpy_dtype__ == mt.int64.__numpy_dtype__ == np.dtype("int64")
    assert {mt.float32: 1}[mt.ones(1).dtype] == 1 and mt.int64 in (mt.float32, mt.int64)


def test_a_lost_assignment_to_a_gradient_is_explained():
    x = mt.ones(2).requires_grad_()
    (x * x).sum().backward()
    with pytest.warns(RuntimeWarning, match="g = x.grad"):
        x.grad[0] = 5
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_round_takes_decimals(dtype):
    a = (np.random.default_rng(0).standard_normal(50) * 300).astype(dtype)
    x = mt.asarray(a)
    for decimals in 0, 1, 2, -1, -2:
        np.testing.assert_array_equal(mt.round(x, decimals), np.round(a, decimals))
        np.testing.assert_array_equal(x.round(decimals), a.round(decimals))
    assert x.round(2).dtype == dtype and mt.round(mt.tensor(2.5)).item() == 2


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_round_beyond_the_range_of_the_type(name):
    largest = mt.finfo(name).max
    numbers = [0.0, -0.0, 1.234, -2.5, 1e-6, largest, -largest, float("inf"), -float("inf"), float("nan")]
    x = mt.tensor(numbers, dtype=name, requires_grad=True)
    a = x.detach().double().numpy()
    for decimals in 5, 40, 300, 400, 10 ** 6:
        exact = [round(float(n), min(decimals, 400)) if np.isfinite(n) else n for n in a]
        found = mt.round(x, decimals)
        tolerance = {"atol": 0, "rtol": 3 * mt.finfo(name).eps}
        np.testing.assert_allclose(found.detach().double().numpy(), exact, **tolerance)
        assert found.dtype == name
        assert (mt.grad(found.sum(), x) == 0).all()
    for decimals in -40, -300, -400:
        found = mt.round(x, decimals)
        assert (mt.grad(found.sum(), x) == 0).all()
        found = found.detach().double().numpy()
        small = np.abs(a) < 10.0 ** 39 if decimals == -40 else np.isfinite(a) & (name != "float64")
        assert (found[small] == 0).all() and np.signbit(found[1])
        assert found[7] == np.inf and found[8] == -np.inf and np.isnan(found[9])
    assert (mt.round(x, -400)[:7] == 0).all()


def test_round_takes_numbers():
    assert mt.round(2.567, 2).item() == pytest.approx(2.57) and mt.round(2.5).item() == 2
    assert mt.round(1250, np.int64(-2)).item() == 1200 and mt.round(255, -400).item() == 0
    with pytest.raises(TypeError):
        mt.round(2.5, 1.5)


def test_whole_numbers_of_numpy_are_numbers():
    one, x = np.int64(1), mt.arange(6).reshape(2, 3)
    a = x.numpy()
    for found, expected in (
            (mt.linalg.norm(x.double(), 1, axis=one), np.linalg.norm(a, 1, axis=1)),
            (mt.moveaxis(x, one, 0), a.T), (mt.roll(x, one, axis=(0, 1)), np.roll(a, 1, (0, 1))),
            (mt.pad(x, one), np.pad(a, 1)), (mt.split(x, one)[1], a[1:]),
            (mt.sum(x, axis=one), a.sum(1)), (x.max(axis=np.int32(0), keepdims=np.True_), a.max(0, keepdims=True)),
            (mt.flip(x, axis=one), np.flip(a, 1)), (mt.flip(x, axis=[]), a), (mt.sum(x, axis=[]), a),
            (mt.squeeze(x[:, :1], axis=one), a[:, 0]),
            (mt.tensordot(x, x.T, one), a @ a.T), (mt.full(2, np.int64(2**62 + 1)), [2**62 + 1] * 2)):
        np.testing.assert_array_equal(found, expected)
    for number in 300, np.int64(300), np.uint16(300), mt.tensor(300):
        with pytest.raises(ValueError, match="full: 300 does not fit into uint8"):
            mt.full(2, number, dtype=mt.uint8)
    assert mt.full(2, True).dtype == mt.bool_ and mt.full(2, np.float64(1.5), dtype="uint8").tolist() == [1, 1]


def test_divmod():
    x = mt.tensor([7, -7, 3])
    assert [y.tolist() for y in divmod(x, 3)] == [[2, -3, 1], [1, 2, 0]]
    assert [y.tolist() for y in divmod(20, x)] == [[2, -3, 6], [6, -1, 2]]


def test_norms_are_numpys():
    a = np.random.default_rng(0).standard_normal((3, 4, 5))
    for order in None, 1, 2, np.inf, -np.inf:
        np.testing.assert_allclose(mt.linalg.norm(mt.asarray(a[0]), order),
                                   np.linalg.norm(a[0], order))
        for axis in 0, -1, (0, 2), (2, 1):
            for keep in False, True:
                np.testing.assert_allclose(mt.linalg.norm(mt.asarray(a), order, axis, keep),
                                           np.linalg.norm(a, order, axis, keep))
    np.testing.assert_allclose(mt.linalg.norm(mt.asarray(a)), np.linalg.norm(a))
    np.testing.assert_allclose(mt.linalg.norm(mt.asarray(a[0]), "fro"), np.linalg.norm(a[0], "fro"))
    np.testing.assert_allclose(mt.asarray(a).norm(1, axis=2), np.abs(a).sum(2))
    with pytest.raises(ValueError, match="one or two axes, not 3"):
        mt.linalg.norm(mt.asarray(a), 1)


def test_axes_as_one():
    x = mt.arange(24).reshape(2, 3, 4)
    assert x.flatten(0, 1).shape == (6, 4) and x.flatten(-2).shape == (2, 12)
    assert x.flatten(1, 1).shape == x.shape and mt.tensor(1.0).flatten().shape == (1,)
    assert mt.zeros((0, 3)).flatten().shape == (0,) and nn.Flatten(0)(x).shape == (24,)
    with pytest.raises(IndexError, match="axis 3 of 3"):
        x.flatten(3)
    with pytest.raises(ValueError, match="comes after"):
        x.flatten(2, 1)
