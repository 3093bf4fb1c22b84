# SPDX-License-Identifier: Apache-2.0
"""Indexing and index assignment against NumPy's."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mtorch as mt


@st.composite
def indexed(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=5))
    return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


@given(indexed())
@settings(max_examples=150, deadline=None)
def test_basic(case):
    shape, key = case
    x = np.arange(np.prod(shape)).reshape(shape)
    found, expected = mt.asarray(x)[key], x[key]
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.numpy(), expected)


@given(indexed())
@settings(max_examples=100, deadline=None)
def test_basic_assignment(case):
    shape, key = case
    x = np.arange(np.prod(shape)).reshape(shape)
    t = mt.asarray(x)
    before = t[...]
    y = x.copy()
    y[key] = -1
    t[key] = -1
    np.testing.assert_array_equal(t.numpy(), y)
    np.testing.assert_array_equal(before.numpy(), x)


KEYS = [np.array([0, 2, -1]), [1, 1], (slice(None), np.array([0, 3])), (np.array([0, 1]), 2),
        (np.array([[0], [2]]), np.array([1, 3])), (Ellipsis, np.array([4, 0])),
        (np.array([0, 2]), slice(1, 3), np.array([1, 1])), np.arange(60).reshape(3, 4, 5) % 3 == 0,
        np.array([True, False, True]), (slice(None), np.array([True, False, True, True])),
        (None, np.array([1, 0])), np.int64(1), (np.uint8(2), np.int32(-1)), []]


@pytest.mark.parametrize("key", KEYS, ids=[str(i) for i in range(len(KEYS))])
def test_arrays(key):
    x = np.arange(60.0).reshape(3, 4, 5)
    t = mt.asarray(x)
    np.testing.assert_array_equal(t[key].numpy(), x[key])
    as_tensors = tuple(mt.asarray(k) if isinstance(k, np.ndarray) else k
                       for k in (key if isinstance(key, tuple) else (key,)))
    np.testing.assert_array_equal(t[as_tensors].numpy(), x[key])
    value = np.random.default_rng(0).normal(size=x[key].shape)
    x[key] = value
    t[key] = value
    np.testing.assert_array_equal(t.numpy(), x)


def test_errors():
    x = mt.zeros((2, 3))
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError):
        x[0, 0, 0]
    with pytest.raises((IndexError, TypeError)):
        x["a"]
    with pytest.raises(TypeError, match="slice"):
        x[1.5:]
    with pytest.raises(ValueError):
        x[:, 0] = [1.0, 2.0, 3.0]
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_iteration_and_length():
    x = mt.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    assert 3 in x and 5 not in x
    with pytest.raises(TypeError):
        len(mt.ones(()))
    with pytest.raises(TypeError):
        list(mt.ones(()))


def test_a_tensor_is_an_index_of_lists():
    assert ["a", "b", "c"][mt.asarray(2)] == "c"
    with pytest.raises(TypeError):
        range(3)[mt.asarray(1.0)]


def draw_key(random, shape):
    key, axis = [], 0
    while axis < len(shape):
        kind = random.integers(7)
        if kind == 0:
            key.append(int(random.integers(-shape[axis], shape[axis])))
        elif kind == 1:
            key.append(slice(None, None, [None, 2, -1][random.integers(3)]))
        elif kind == 2:
            key.append(None)
            continue
        elif kind == 3:
            key.append(random.integers(-shape[axis], shape[axis], size=3))
        elif kind == 4:
            key.append((random.random(shape[axis]) < 0.5).tolist())
        elif kind == 5 and axis + 2 <= len(shape):
            key.append(random.random(shape[axis:axis + 2]) < 0.5)
            axis += 1
        else:
            break
        axis += 1
    return tuple(key)


def test_mixed_items_of_values_and_of_what_is_pending_with_gradients():
    random = np.random.default_rng(3)
    for case in range(400):
        shape = tuple(random.integers(1, 5, size=random.integers(1, 5)))
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape).T
        key = draw_key(random, x.shape)
        try:
            expected = x[key]
        except IndexError:  # index arrays that do not broadcast
            continue
        t = mt.asarray(x.T).permute(*range(len(shape))[::-1])
        t = t + 0 if case % 3 == 0 else t
        np.testing.assert_array_equal(t[key].numpy(), expected)
        leaf, weights = t.detach().requires_grad_(), random.random(expected.shape, np.float32)
        (leaf[key] * mt.asarray(weights)).sum().backward()
        slopes = np.zeros_like(x)
        np.add.at(slopes, key, weights)
        np.testing.assert_allclose(leaf.grad.numpy(), slopes, rtol=1e-5)


def test_numbers_beside_a_tensor_lie_where_it_does():
    elsewhere = "cpu:reference"
    x = mt.arange(6.0).to(elsewhere)
    for key in [0, 1], np.array([0, 1]), [], [True, False] * 3:
        assert x[key].device == elsewhere
    assert x[[0, 1]].tolist() == [0, 1] and x[[-1]].tolist() == [5]
    x[[0, 1]] = 7
    x[1:3] = [1, 2]
    x[np.array([5])] = np.float32(9)
    x[mt.tensor([4]).to(elsewhere)] = True
    assert x.device == elsewhere and x.tolist() == [7, 1, 2, 3, 1, 9]
    for y in x + np.ones(6), np.ones(6) + x, x * np.float64(2), x == True, x < 2**63, 2.0 * x:  # noqa: E712
        assert y.device == elsewhere
    assert (x + np.ones(6, np.float32)).tolist() == [8, 2, 3, 4, 2, 10]
    x += np.ones(6, np.float32)
    assert x.device == elsewhere
