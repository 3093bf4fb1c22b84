# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries look for: memory, generators, parts of data, a few functions."""
import os
import threading

import numpy as np
import pytest

import mtorch as mt
from mtorch import data, nn


def test_memory_of_a_device():
    mt.reset_peak_memory("cpu")
    before = mt.memory("cpu")
    x = mt.ones((1000, 1000)) + 1
    mt.eval(x)
    held = mt.memory()
    assert held.used - before.used >= 4_000_000 and held.peak >= held.used and held.limit == 0
    del x
    assert mt.memory().used < held.used and mt.memory().peak == held.peak
    assert mt.memory().cached > 0 or "ASAN_OPTIONS" in os.environ  # the address sanitizer's build keeps none
    mt.release_cached_memory("cpu")
    assert mt.memory("cpu").cached == 0
    with pytest.raises(mt.Error, match="nowhere"):
        mt.memory("nowhere")


def test_a_limit_of_memory():
    mt.set_memory_limit(mt.memory("cpu").used + 1000)
    try:
        assert mt.memory().limit > 0
        with pytest.raises(MemoryError):
            mt.eval(mt.ones(1000) + 1)
    finally:
        mt.set_memory_limit(0, "cpu")


def test_generators():
    mt.seed(1)
    own = mt.random.get_state()
    generator = mt.random.Generator(7)
    with generator:
        first = mt.random.normal((4,)).tolist()
        with mt.random.Generator(8):
            assert mt.random.normal((4,)).tolist() != first
        assert generator.get_state() == mt.random.get_state() != (7, 0)
    assert mt.random.get_state() == own
    generator.set_state((7, 0))
    seen = []

    def elsewhere():
        with generator:
            seen.append(mt.random.normal((4,)).tolist())
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [first] and mt.random.get_state() == own


def test_moments_by_place():
    with mt.random.Generator(1):
        x = mt.random.normal((3,), 5.0, 0.5)
    with mt.random.Generator(1):
        assert x.tolist() == mt.random.normal((3,), mean=5.0, deviation=0.5).tolist()


def test_shuffling_follows_the_seed():
    def epochs(**options):
        mt.seed(3)
        loader = data.DataLoader(data.TensorDataset(mt.arange(20)), batch_size=20, shuffle=True, **options)
        return [batch.tolist() for _ in range(2) for batch in loader]

    first, given = epochs(), epochs(seed=4)
    assert epochs() == first and first[0] != first[1] and given != first
    mt.seed(3)
    assert mt.random.permutation(20).tolist() == first[0]


@pytest.mark.parametrize("whole", [data.TensorDataset(mt.arange(10), mt.arange(10) * 2), list(range(10))])
def test_random_parts(whole):
    parts = data.random_split(whole, [0.5, 0.25, 0.25], seed=1)
    assert [len(part) for part in parts] == [5, 3, 2]
    items = [int(item[0] if isinstance(item, tuple) else item)
             for part in parts for item in map(part.__getitem__, range(len(part)))]
    assert sorted(items) == list(range(10)) != items
    again = data.random_split(whole, [5, 3, 2], seed=1)
    assert [int(np.sum(part[0])) for part in again] == [int(np.sum(part[0])) for part in parts]
    for wrong in [5, 4], [0.5, 0.4], [11, -1]:
        with pytest.raises(ValueError, match="random_split"):
            data.random_split(whole, wrong)


def test_pieces():
    x = mt.arange(14).reshape(2, 7)
    assert [piece.shape for piece in x.chunk(3, axis=-1)] == [(2, 3), (2, 3), (2, 1)]
    assert len(mt.chunk(x, 5)) == 2 and len(mt.chunk(mt.zeros(0), 2)) <= 1
    with pytest.raises(ValueError, match="chunk: 0 pieces"):
        mt.chunk(x, 0)
    with pytest.raises(TypeError, match="it is called 'axis' here"):
        x.chunk(2, dim=1)


def test_numbers_for_what_is_none():
    for dtype in np.float32, np.float64, np.float16:
        x = np.array([1, np.nan, np.inf, -np.inf, -3], dtype)
        np.testing.assert_array_equal(mt.nan_to_num(mt.asarray(x)), np.nan_to_num(x))
        np.testing.assert_array_equal(mt.nan_to_num(mt.asarray(x), 2.0, 7.0, -7.0), np.nan_to_num(x, nan=2, posinf=7, neginf=-7))
    assert mt.nan_to_num(mt.arange(2)).tolist() == [0, 1]


def test_rounding():
    assert round(mt.tensor([1.25, -2.75])).tolist() == [1, -3] and round(mt.tensor(1.234), 2).item() == pytest.approx(1.23)


@pytest.mark.parametrize("module, name, said", [
    (mt, "cross", "called linalg.cross here"), (mt, "mul", "called multiply here"),
    (mt, "kl_div", "is that of rows"), (mt, "set_printoptions", "follows numpy"), (mt.ones(1), "multiply", "called mul here"),
    (nn, "nll_loss", "called cross_entropy"), (nn, "binary_cross_entropy", "called bce_with_logits"),
    (mt.random, "randn", r"called normal\(shape\) here"), (mt.random, "choice", "none twice"),
    (mt.random, "shuffle", "in random order"), (mt.random, "nonsense", "no attribute 'nonsense'$")])
def test_names_that_are_looked_for(module, name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(module, name)
