# SPDX-License-Identifier: Apache-2.0
"""Training and evaluation of modules, also of those that a trace calls."""
import gc

import numpy as np
import pytest

import mtorch as mt
from mtorch import nn


class Doubling(nn.Module):
    """Twice its input in training."""

    def forward(self, x):
        return x * 2 if self.training else x


@pytest.mark.parametrize("layer", [nn.Dropout(1.0), Doubling(), nn.BatchNorm(4)])
def test_a_trace_follows_the_modes_of_modules(layer):
    network = nn.Sequential(nn.Linear(4, 4), nn.Sequential(layer), nn.Tanh())
    traced, x = mt.trace(lambda x: network(x)), mt.random.normal((8, 4))
    for i in range(3):
        for mode in True, False:
            network.train(mode)
            np.testing.assert_array_equal(traced(x), network(x))
    assert traced.count == 2
    layer.training = True  # as PyTorch's programs do
    np.testing.assert_array_equal(traced(x), network(x))
    assert traced.count == 3


def test_modes_within_traces_within_traces():
    layer = Doubling()
    inner = mt.trace(lambda x: layer(x) + 1)
    outer = mt.trace(lambda x: inner(x) * 10)
    assert outer(mt.ones(1)).tolist() == [30] and inner(mt.ones(1)).tolist() == [3]
    layer.eval()
    assert outer(mt.ones(1)).tolist() == [20] and inner(mt.ones(1)).tolist() == [2]


def test_modes_of_modules_that_are_gone_or_not_called_do_not_matter():
    other = Doubling()

    @mt.trace
    def f(x):
        return Doubling()(x)

    f(mt.ones(1))
    gc.collect()
    other.eval()
    assert f(mt.ones(1)).tolist() == [2] and f.count == 1


def test_a_traced_function_may_set_modes_itself():
    layer = Doubling()

    @mt.trace
    def f(x):
        layer.eval()
        y = layer(x)
        layer.train()
        return y

    assert [f(mt.ones(1)).tolist() for _ in range(3)] == [[1]] * 3 and f.count == 1
