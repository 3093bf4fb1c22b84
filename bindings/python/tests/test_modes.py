# SPDX-License-Identifier: Apache-2.0
"""Training and evaluation of modules, also of those that a trace calls."""
import dataclasses
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
    assert traced.count == 2  # no other module's mode matters


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


def test_setting_a_mode_does_not_hide_those_of_others():
    layer, other = Doubling(), Doubling()
    f = mt.trace(lambda x: (layer(x), other.train(), other(x))[::2])
    for mode in True, False, True:
        layer.train(mode)
        other.eval()
        assert [y.tolist() for y in f(mt.ones(1))] == [[2 if mode else 1], [2]]
    assert f.count == 2


def test_modes_that_other_methods_read():
    class Coder(Doubling):
        training = False

        def encode(self, x):
            return self.forward(x) + 1

    coder = Coder()
    f = mt.trace(lambda x: coder.encode(x))
    assert f(mt.ones(1)).tolist() == [2] and not Coder.training
    coder.train()
    assert f(mt.ones(1)).tolist() == [3]
    coder.eval()
    assert f(mt.ones(1)).tolist() == [2] and f.count == 2


def test_modules_without_a_hash_are_traced():
    @dataclasses.dataclass
    class Scaled(nn.Module):
        factor: float
        training: bool = True

        def forward(self, x):
            return x * self.factor if self.training else x

    layer = Scaled(3.0)
    f = mt.trace(lambda x: layer(x))
    assert layer == Scaled(3.0) and layer.__hash__ is None
    assert f(mt.ones(1)).tolist() == [3]
    layer.eval()
    assert f(mt.ones(1)).tolist() == [1] and "Scaled" in layer.summary(mt.ones(1))


@pytest.mark.parametrize("options", [{}, {"unsafe_hash": True}, {"eq": False}])
def test_modules_that_are_equal_have_recordings_of_their_own(options):
    @dataclasses.dataclass(**options)
    class Scaled(nn.Module):
        count: int

        def __post_init__(self):
            self.factor = nn.Parameter(mt.random.normal((self.count,)))

        @mt.trace
        def forward(self, x):
            return x * self.factor

    def apply(layer, x):
        return layer(x)

    layers = Scaled(2), Scaled(2)
    for traced in Scaled.forward, mt.trace(apply), mt.trace(apply, static="layer"):
        for layer in layers:
            arguments = {"layer": layer} if traced._static else {}
            y = traced(x=mt.ones(2), **arguments) if arguments else traced(layer, mt.ones(2))
            assert y.tolist() == layer.factor.tolist()
