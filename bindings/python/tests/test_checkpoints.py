# SPDX-License-Identifier: Apache-2.0
"""Training that stops, is written to files, and goes on elsewhere."""
import pickle
import subprocess
import sys

import pytest

import mtorch as mt
from mtorch import nn, optim
from steps import step_of

OPTIMIZERS = {
    "sgd": lambda p, lr: optim.SGD(p, lr),
    "momentum": lambda p, lr: optim.SGD(p, lr, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "nesterov": lambda p, lr: optim.SGD(p, lr, momentum=0.9, nesterov=True),
    "adam": lambda p, lr: optim.Adam(p, lr),
    "adamw": lambda p, lr: optim.AdamW(p, lr),
    "rmsprop": lambda p, lr: optim.RMSprop(p, lr),
    "rmsprop with momentum": lambda p, lr: optim.RMSprop(p, lr, momentum=0.5),
    "adagrad": lambda p, lr: optim.Adagrad(p, lr, initial=0.1),
}
SCHEDULES = {
    "step": lambda o: optim.StepSchedule(o, every=2, factor=0.7),
    "cosine": lambda o: optim.CosineSchedule(o, steps=10, lowest=0.001, warmup=2),
    "cycle": lambda o: optim.OneCycleSchedule(o, steps=9),
    "own": lambda o: optim.Schedule(o, lambda step: 0.1 / (1 + step)),
}


def train(network, optimizer, schedule, steps, traced=False):
    step = step_of(network, optimizer, traced)
    for _ in range(steps):
        step(mt.full((4, 3), 0.1 * schedule.steps))
        schedule.step()


def make(rule, schedule, lr=0.05):
    mt.seed(4)
    network = nn.Sequential(nn.Linear(3, 6), mt.tanh, nn.Linear(6, 3))
    optimizer = OPTIMIZERS[rule](network.parameters(), lr)
    return network, optimizer, SCHEDULES[schedule](optimizer)


def save(path, network, optimizer, schedule):
    for name, part in ("network", network), ("optimizer", optimizer), ("schedule", schedule):
        mt.save(part.state_dict(), f"{path}/{name}.npz")


def load(path, network, optimizer, schedule):
    for name, part in ("network", network), ("optimizer", optimizer), ("schedule", schedule):
        part.load_state_dict(mt.load(f"{path}/{name}.npz"))


def lasting(network, optimizer, schedule):
    state = {**network.state_dict(), **optimizer.state_dict(), **schedule.state_dict()}
    return {name: bytes(memoryview(mt.asarray(value))) for name, value in state.items()}


@pytest.mark.parametrize("traced", [False, True], ids=["called", "traced"])
@pytest.mark.parametrize("rule", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_training_goes_on_bit_for_bit(rule, schedule, traced, tmp_path):
    whole, first, second = make(rule, schedule), make(rule, schedule), make(rule, schedule, lr=0.9)
    train(*whole, 8, traced)
    train(*first, 4, traced)
    save(tmp_path, *first)
    train(*second, 1, traced)  # and so has state of its own, which goes
    load(tmp_path, *second)
    assert second[1].steps == second[2].steps == 4
    train(*second, 4, traced)
    assert lasting(*second) == lasting(*whole)


@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_training_goes_on_in_another_process(rule, tmp_path):
    whole = make(rule, "cosine")
    train(*whole, 8)
    program = f"""
import sys
sys.path.insert(0, {__file__.rpartition("/")[0]!r})
from test_checkpoints import load, make, save, train
all = make({rule!r}, "cosine")
if sys.argv[1] == "second":
    load({str(tmp_path)!r}, *all)
train(*all, 4)
save({str(tmp_path)!r}, *all)
"""
    for part in "first", "second":
        subprocess.run([sys.executable, "-c", program, part], check=True)
    found = make(rule, "cosine", lr=0.7)
    load(tmp_path, *found)
    assert lasting(*found) == lasting(*whole)


def test_what_was_read_stays():
    training = make("adam", "step")
    train(*training, 2)
    state = training[1].state_dict()
    before = {name: x.tolist() for name, x in state.items()}
    train(*training, 2)
    assert {name: x.tolist() for name, x in state.items()} == before
    assert training[1].state_dict()["step"].item() == 4
    again = pickle.loads(pickle.dumps(state))
    training[1].load_state_dict(again)
    assert training[1].steps == 2


def test_what_does_not_fit_changes_nothing():
    training = make("adam", "step")
    train(*training, 3)
    optimizer, schedule = training[1:]
    before = lasting(*training)
    state = optimizer.state_dict()
    for wrong, error, message in [
            ({}, ValueError, "step"),
            ({**state, "mean.9": mt.ones(2)}, ValueError, "mean.9"),
            ({name: x for name, x in state.items() if name != "square.1"}, ValueError, "square.1"),
            ({**state, "mean.0": mt.ones((3, 6))}, ValueError, r"\[3,6\]"),
            ({**state, "mean.0": state["mean.0"].to(mt.float64)}, TypeError, "float64"),
            ({**state, "step": -1.0}, ValueError, "steps"),
            ({**state, "learning_rate": float("nan")}, ValueError, "learning rate"),
            ({**state, "mean.0": "text"}, TypeError, "str"),
            (OPTIMIZERS["momentum"](training[0].parameters(), 0.1).state_dict(), ValueError,
             "velocity|mean")]:
        with pytest.raises(error, match=message):
            optimizer.load_state_dict(wrong)
        assert lasting(*training) == before
    for wrong in {}, {"steps": 3}, {"steps": -1, "base_lr": 0.1}, {"steps": 1, "base_lr": -1.0}, \
            {"steps": 1.5, "base_lr": 0.1}:
        with pytest.raises(ValueError):
            schedule.load_state_dict(wrong)
        assert lasting(*training) == before


def test_numbers_are_saved_with_all_their_digits(tmp_path):
    mt.save({"epoch": 3, "lr": 0.1, "best": True}, tmp_path / "numbers.npz")
    found = mt.load(tmp_path / "numbers.npz")
    assert found["lr"].item() == 0.1 and found["epoch"].item() == 3 and found["best"].item() is True
    assert found["epoch"].dtype == mt.int64


def test_the_path_of_a_file_comes_second(tmp_path):
    for wrong in str(tmp_path / "x.npz"), tmp_path / "x.npz":
        with pytest.raises(TypeError, match="^save: the tensors come first, then the path$"):
            mt.save(wrong, {"x": mt.ones(2)})


def test_an_optimizer_without_a_rule_is_said():
    class Mine(optim.Optimizer):
        pass

    for kind in Mine, optim.Optimizer:
        with pytest.raises(TypeError, match=f"{kind.__name__}: it has no rule .* derive it from SGD"):
            kind([mt.ones(1).requires_grad_()], lr=0.1)


def test_what_nothing_can_train_is_refused():
    for given in [mt.zeros(3)], [mt.zeros(3), mt.ones(2)], [{"params": [mt.zeros(3)]}]:
        with pytest.raises(ValueError, match=r"SGD: parameter 0 does not require a gradient"):
            optim.SGD(given, lr=0.1)
    w = mt.zeros(3).requires_grad_()
    with pytest.raises(ValueError, match="AdamW: parameter 1 is computed from other tensors"):
        optim.AdamW([w, w * 2], lr=0.1)
    optim.SGD([mt.zeros(3), w], lr=0.1)  # frozen for now


def test_a_parameter_given_twice_is_updated_once():
    w = mt.ones(1).requires_grad_()
    optimizer = optim.SGD([w, w], lr=0.25)
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [0.75]


@pytest.mark.parametrize("wrong", [
    lambda w: w, lambda w: [{"params": [w]}, w], lambda w: [{"lr": 0.1}], lambda w: [("name", w)],
    lambda w: [{"params": [w], "weight_deacy": 0}], lambda w: [None]])
def test_what_are_no_parameters_is_said(wrong):
    with pytest.raises(TypeError, match="SGD"):
        optim.SGD(wrong(mt.ones(2).requires_grad_()), lr=0.1)
