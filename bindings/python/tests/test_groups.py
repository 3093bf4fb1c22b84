# SPDX-License-Identifier: Apache-2.0
"""Groups of parameters with options of their own."""
import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim
from steps import step_of

GROUPS = {
    "sgd": (lambda g: optim.SGD(g, lr=0.1, momentum=0.9),
            {"momentum": 0.5, "nesterov": True, "weight_decay": 0.1}),
    "adam": (lambda g: optim.Adam(g, lr=0.05, weight_decay=0.1),
             {"betas": (0.8, 0.99), "weight_decay": 0.0}),
    "adamw": (lambda g: optim.AdamW(g, lr=0.05), {"weight_decay": 0.0}),
    "rmsprop": (lambda g: optim.RMSprop(g, lr=0.01), {"momentum": 0.9, "smoothing": 0.9}),
    "adagrad": (lambda g: optim.Adagrad(g, lr=0.05), {"initial": 0.1}),
}


def make(rule):
    """A network whose biases and last layer have options of their own."""
    mt.seed(7)
    network = nn.Sequential(nn.Linear(3, 6), mt.tanh, nn.Linear(6, 3))
    first, last = network[0], network[2]
    make_optimizer, options = GROUPS[rule]
    optimizer = make_optimizer([{"params": [first.weight]}, {"params": first.bias, **options},
                                {"params": last.parameters(), "lr": 0.025}])
    return network, optimizer


def train(network, optimizer, steps, traced=False):
    step = step_of(network, optimizer, traced)
    for i in steps:
        step(mt.full((4, 3), 0.1 * i))


def lasting(network, optimizer):
    state = {**network.state_dict(), **optimizer.state_dict()}
    return {name: bytes(memoryview(mt.asarray(value))) for name, value in state.items()}


@pytest.mark.parametrize("rule", GROUPS)
def test_called_and_traced_are_the_same_and_go_on(rule, tmp_path):
    called, traced = make(rule), make(rule)
    train(*called, range(6))
    train(*traced, range(6), traced=True)
    assert lasting(*called) == lasting(*traced)
    half, other = make(rule), make(rule)
    train(*half, range(3))
    train(*other, range(1))
    mt.save(half[1].state_dict(), tmp_path / "state.npz")
    other[0].load_state_dict(half[0].state_dict())
    other[1].load_state_dict(mt.load(tmp_path / "state.npz"))
    train(*other, range(3, 6), traced=True)
    assert lasting(*other) == lasting(*called)


def test_groups_are_read_and_their_rates_set():
    a, b = mt.ones(2).requires_grad_(), mt.ones(3).requires_grad_()
    optimizer = optim.AdamW([{"params": a}, {"params": [b, b], "lr": 0.25, "weight_decay": 0}], lr=0.5)
    assert repr(optimizer) == "AdamW(lr=0.5, 2 groups, 5 parameters, 0 steps)"
    first, second = optimizer.param_groups
    assert second["params"] == [b] and second["weight_decay"] == 0 and first["weight_decay"] == 0.01
    assert {key: value for key, value in second.items() if key != "params"} == {
        "lr": 0.25, "betas": (0.9, 0.999), "epsilon": 1e-8, "weight_decay": 0}
    optimizer.lr = 0.1
    assert first["lr"] == 0.1 and second["lr"] == pytest.approx(0.05)
    second["lr"] = 0.7
    assert (optimizer.lr, second["lr"]) == (0.1, 0.7)
    optimizer.param_groups[0] |= {"lr": 0.3}
    assert optimizer.lr == first["lr"] == 0.3 and second["lr"] == 0.7
    for change in lambda: second.update(betas=(0, 0)), lambda: second.pop("lr"), \
            lambda: second.setdefault("other", 1):
        with pytest.raises(KeyError):
            change()
    with pytest.raises(TypeError, match="'eps': it is called 'epsilon' here"):
        optim.Adam([{"params": a, "eps": 1e-6}])
    a.sum().backward()
    b.sum().backward()
    assert optimizer.clip_grad_norm(1.0).item() == pytest.approx(5 ** 0.5)
    optimizer.zero_grad()
    assert a.grad is None and b.grad is None


def test_schedules_keep_proportions():
    a, b = mt.ones(1).requires_grad_(), mt.ones(1).requires_grad_()
    optimizer = optim.SGD([{"params": a}, {"params": b, "lr": 0.25}], lr=1.0)
    schedule = optim.CosineSchedule(optimizer, steps=4)
    for _ in range(4):
        schedule.step()
        assert optimizer.param_groups[1]["lr"] == optimizer.lr / 4
    assert optimizer.lr == 0


def rates(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


def pair(first, second, lr):
    return optim.SGD([{"params": mt.ones(1).requires_grad_(), **first},
                      {"params": mt.ones(1).requires_grad_(), **second}], lr=lr)


def test_a_frozen_group_may_come_first():
    optimizer = pair({"lr": 0.0}, {}, 0.5)
    assert rates(optimizer) == [0.0, 0.5]
    with pytest.raises(ValueError, match="CosineSchedule: the first group's rate is 0"):
        optim.CosineSchedule(optimizer, steps=4)
    optimizer.lr = 0.25
    assert rates(optimizer) == [0.25, 0.5]
    optimizer.lr = 0.125
    assert rates(optimizer) == [0.125, 0.25]
    last = pair({}, {"lr": 0.0}, 0.5)
    schedule = optim.CosineSchedule(last, steps=4)
    schedule.step()
    assert last.lr == schedule.optimizer.lr > 0 and rates(last)[1] == 0


def test_a_group_is_added_during_a_warm_up():
    optimizer = optim.SGD([mt.ones(1).requires_grad_()], lr=0.5)
    optimizer.lr = 0.0
    optimizer.add_param_group({"params": mt.ones(1).requires_grad_(), "lr": 0.125})
    assert rates(optimizer) == [0.0, 0.125]
    optimizer.lr = 0.25
    assert rates(optimizer) == [0.25, 0.0625]


def test_a_rate_that_is_set_or_loaded_is_followed_from_there():
    optimizer = pair({}, {"lr": 0.5}, 1.0)
    schedule = optim.StepSchedule(optimizer, every=1, factor=0.5)
    optimizer.param_groups[1]["lr"] = 0.25
    schedule.step()
    assert rates(optimizer) == [0.5, 0.125]
    optimizer.param_groups[0]["lr"] = 0.0  # as PyTorch's programs freeze it
    assert rates(optimizer) == [0.0, 0.125]
    schedule.step()
    assert rates(optimizer) == [0.25, 0.0625]
    other = pair({}, {"lr": 0.1}, 0.3)
    other.load_state_dict(optimizer.state_dict())
    assert rates(other) == rates(optimizer)
    other.lr = optimizer.lr = 0.7
    assert rates(other) == rates(optimizer) == [0.7, 0.7 / 4]
    for factor in 0.0, 0.5, 0.0, 1.0:  # a warm-up as PyTorch's schedules set it
        for group, base in zip(optimizer.param_groups, [0.5, 0.125]):
            group["lr"] = base * factor
    assert rates(optimizer) == [0.5, 0.125]
    optimizer.lr = 1.0
    assert rates(optimizer) == [1.0, 0.25]


def test_what_is_unfrozen_later_begins_then():
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    base, head = network[0], network[1]
    base.requires_grad_(False)
    optimizer = optim.Adam(head.parameters(), lr=0.1)
    before = base.weight.tolist()

    def step():
        optimizer.zero_grad()
        network(mt.ones((1, 2))).sum().backward()
        optimizer.step()

    step()
    assert base.weight.tolist() == before
    base.requires_grad_(True)
    optimizer.add_param_group({"params": base.parameters(), "lr": 0.01})
    step()
    # Adam's first step is as long as its rate, for whatever gradient.
    np.testing.assert_allclose(np.abs(base.weight.numpy() - np.array(before)), 0.01, rtol=1e-3)
    assert optimizer.state_dict()["step"].item() == 2
    assert optimizer.state_dict()["step.1"].item() == 1


@pytest.mark.parametrize("group, error, message", [
    (lambda w: {"params": w}, ValueError, "two groups"),
    (lambda w: {"params": mt.ones(1), "decay": 0}, TypeError, "'decay': it has 'params', 'lr'"),
    (lambda w: {"params": mt.ones(1), "lr": -1}, ValueError, "learning rate"),
    (lambda w: {"params": mt.ones(1), "momentum": -1}, ValueError, "momentum"),
    (lambda w: mt.ones(1), TypeError, "dict with \"params\""),
    (lambda w: {"params": [1]}, TypeError, "int")])
def test_what_cannot_be_a_group_changes_nothing(group, error, message):
    w = mt.ones(1).requires_grad_()
    optimizer = optim.SGD([w], lr=0.1)
    with pytest.raises(error, match=message):
        optimizer.add_param_group(group(w))
    assert len(optimizer.param_groups) == 1 and optimizer.parameters == [w]
    assert list(optimizer.state_dict()) == ["step", "learning_rate"]


def test_two_devices():
    a = mt.ones(2).requires_grad_()
    b = mt.ones(2, device="cpu:reference").requires_grad_()
    optimizer = optim.SGD([a, b], lr=0.5)
    a.sum().backward()
    b.sum().backward()
    with pytest.raises(mt.Error, match="each device needs a group"):
        optimizer.step()
    optimizer = optim.SGD([{"params": a}, {"params": b}], lr=0.5)
    optimizer.step()
    assert a.tolist() == b.tolist() == [0.5, 0.5]
