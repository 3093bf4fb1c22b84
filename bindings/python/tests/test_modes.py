# SPDX-License-Identifier: Apache-2.0
"""Training and evaluation of modules, also of those that a trace calls."""
import dataclasses
import gc
import weakref

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


class Pair(nn.Module):
    def __init__(self):
        self.body, self.head = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), mt.tanh)
        self.factor, self.extra = mt.ones(3), None

    def forward(self, x):
        x = self.encode(x) * self.factor
        return x if self.extra is None else x + self.extra

    def encode(self, x):
        return self.head(self.body(x))


def _weight():
    return nn.Parameter(mt.random.normal((3, 3)))


@pytest.mark.parametrize("change", [
    lambda net: setattr(net, "body", nn.Linear(3, 3)),
    lambda net: setattr(net, "head", nn.Linear(3, 3)),
    lambda net: setattr(net.head, "0", nn.Linear(3, 3)),
    lambda net: net.head.append(mt.abs),
    lambda net: delattr(net.head, "1"),
    lambda net: setattr(net.body, "weight", _weight()),
    lambda net: setattr(net, "factor", mt.full((3,), 2.0)),
    lambda net: setattr(net, "extra", mt.ones(3)),
])
def test_a_trace_follows_what_is_replaced(change):
    net, x = Pair(), mt.random.normal((2, 3))
    outer, inner = mt.trace(lambda x: inner(x) * 2), mt.trace(lambda x: net(x))
    encode = mt.trace(lambda x: net.encode(x))
    before = outer(x), inner(x), encode(x)
    for _ in range(2):
        change(net)
        for _ in range(2):
            np.testing.assert_array_equal(inner(x), net(x))
            np.testing.assert_array_equal(outer(x), net(x) * 2)
            np.testing.assert_array_equal(encode(x), net.encode(x))
        assert inner.count == 1 and outer.count == 1  # what was there is forgotten
        if not hasattr(net.head, "1"):
            break
    assert not (inner(x) == before[1]).all()


def test_other_changes_record_nothing_anew():
    class Keeps(Pair):
        calls = 0

        def forward(self, x):
            self.calls += 1
            self.last = super().forward(x)
            return self.last

    net, other, x = Keeps(), Keeps(), mt.ones((1, 3))
    f = mt.trace(lambda x: net(x))
    f(x)
    for change in (lambda: setattr(other, "body", nn.Linear(3, 3)), lambda: net(x), lambda: other(x),
                   lambda: setattr(net.body, "weight", mt.ones((3, 3))),
                   lambda: (net.eval(), net.train()), lambda: setattr(net, "body", net.body)):
        change()
        calls = net.calls
        y = f(x)
        assert net.calls == calls
        np.testing.assert_array_equal(y, net(x))


def test_a_traced_function_may_replace_layers_itself():
    net, x = Pair(), mt.ones((1, 3))
    calls = []

    @mt.trace
    def f(x):
        calls.append(1)
        kept, net.body = net.body, nn.Identity()
        y = net(x)
        net.body = kept
        return y + net(x)

    assert len({str(f(x).tolist()) for _ in range(3)}) == 1 and len(calls) == 1


def test_replaced_layers_are_not_kept():
    net = Pair()
    f = mt.trace(lambda x: net(x))
    f(mt.ones((1, 3)))
    gone = weakref.ref(net.head)
    net.head = nn.Linear(3, 3)
    f(mt.ones((1, 3)))
    gc.collect()
    assert gone() is None


def test_a_schedule_does_not_step_inside_a_trace():
    weight = mt.ones(1).requires_grad_()
    optimizer = mt.optim.SGD([weight], lr=1.0)
    schedule = mt.optim.StepSchedule(optimizer, every=1, factor=0.5)

    def step():
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    traced, wrong = mt.trace(step), mt.trace(lambda: (step(), schedule.step()))
    with pytest.raises(mt.Error, match="step: a schedule inside a trace"):
        wrong()
    assert schedule.steps == 0 and optimizer.lr == 1
    for _ in range(3):
        traced()
        schedule.step()
    assert weight.item() == 1 - 1 - 0.5 - 0.25
