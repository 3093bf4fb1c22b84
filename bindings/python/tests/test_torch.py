# SPDX-License-Identifier: Apache-2.0
"""Modules, losses and optimizers give PyTorch's numbers for the same weights."""
import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim

torch = pytest.importorskip("torch")
try:
    torch.zeros(1).numpy()
except RuntimeError:
    pytest.skip("a PyTorch for another NumPy", allow_module_level=True)

rng = np.random.default_rng(0)
torch.manual_seed(0)


def numbers(*shape):
    return rng.normal(size=shape).astype(np.float32)


def close(found, expected, tolerance=2e-5):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=tolerance,
                               atol=tolerance)


# Ours, theirs, and the shape of an input.
MODULES = {
    "linear": (lambda: nn.Linear(4, 3), lambda: torch.nn.Linear(4, 3), (5, 4)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
               lambda: torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, (3, 2), dilation=2, bias=False),
               lambda: torch.nn.Conv2d(3, 4, (3, 2), dilation=2, bias=False), (2, 3, 8, 7)),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(3, 2, 4, stride=2, output_padding=1),
                         lambda: torch.nn.ConvTranspose1d(3, 2, 4, stride=2, output_padding=1),
                         (2, 3, 5)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1),
                         lambda: torch.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1),
                         (1, 2, 4, 5)),
    "batch_norm": (lambda: nn.BatchNorm(3), lambda: torch.nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "group_norm": (lambda: nn.GroupNorm(2, 6), lambda: torch.nn.GroupNorm(2, 6), (3, 6, 4)),
    "layer_norm": (lambda: nn.LayerNorm((3, 4)), lambda: torch.nn.LayerNorm((3, 4)), (2, 3, 4)),
    "conv1d_same": (lambda: nn.Conv1d(4, 6, 4, padding="same", dilation=3),
                    lambda: torch.nn.Conv1d(4, 6, 4, padding="same", dilation=3), (2, 4, 5)),
    "conv2d_same": (lambda: nn.Conv2d(3, 4, (3, 4), padding="same"),
                    lambda: torch.nn.Conv2d(3, 4, (3, 4), padding="same"), (2, 3, 8, 7)),
    "max_pool2d": (lambda: nn.MaxPool2d(2, stride=1), lambda: torch.nn.MaxPool2d(2, stride=1),
                   (2, 3, 5, 4)),
    "avg_pool1d": (lambda: nn.AvgPool1d(3, padding=1), lambda: torch.nn.AvgPool1d(3, padding=1),
                   (2, 3, 7)),
    "activations": (lambda: nn.Sequential(nn.GELU(), nn.SiLU(), nn.ELU(), nn.LeakyReLU(), nn.Tanh(),
                                          nn.Softplus(), nn.LogSigmoid(), nn.Softmax()),
                    lambda: torch.nn.Sequential(
                        torch.nn.GELU(), torch.nn.SiLU(), torch.nn.ELU(), torch.nn.LeakyReLU(),
                        torch.nn.Tanh(), torch.nn.Softplus(), torch.nn.LogSigmoid(),
                        torch.nn.Softmax(-1)), (4, 5)),
    "transformer": (lambda: nn.TransformerBlock(8, 2, 12), lambda: torch.nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0, norm_first=True, batch_first=True), (2, 5, 8)),
    "transformer, norm last": (
        lambda: nn.TransformerBlock(8, 4, 12, activation=mt.gelu, norm_first=False),
        lambda: torch.nn.TransformerEncoderLayer(8, 4, 12, dropout=0, activation="gelu",
                                                 batch_first=True), (2, 5, 8)),
    "rnn": (lambda: nn.RNN(3, 4, 2), lambda: torch.nn.RNN(3, 4, 2, batch_first=True), (2, 5, 3)),
    "gru": (lambda: nn.GRU(3, 4, 2), lambda: torch.nn.GRU(3, 4, 2, batch_first=True), (2, 5, 3)),
    "lstm": (lambda: nn.LSTM(3, 4, bias=False),
             lambda: torch.nn.LSTM(3, 4, bias=False, batch_first=True), (2, 5, 3)),
}


def flat(result):
    """The tensors of a result, whatever its form."""
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in flat(part)]
    return [result]


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    make, make_theirs, shape = MODULES[name]
    ours, theirs = make(), make_theirs()
    ours.load_state_dict(theirs.state_dict())
    x = numbers(*shape)
    for training in (True, False):
        ours.train(training)
        theirs.train(training)
        a, b = mt.asarray(x).requires_grad_(), torch.tensor(x, requires_grad=True)
        found, expected = flat(ours(a)), flat(theirs(b))
        assert len(found) == len(expected)
        for y, z in zip(found, expected):
            close(y, z)
        if not training:
            continue  # their fused path has no gradient
        mt.sum(mt.square(found[0])).backward()
        expected[0].square().sum().backward()
        close(a.grad, b.grad, 1e-4)
        own = dict(theirs.named_parameters())
        for key, parameter in ours.named_parameters():
            close(parameter.grad, own[key].grad, 1e-4)
    buffers = dict(theirs.named_buffers())
    for key, buffer in ours.named_buffers():
        close(buffer, buffers[key])


def test_recurrent_states_go_on():
    ours, theirs = nn.LSTM(3, 4, 2), torch.nn.LSTM(3, 4, 2, batch_first=True)
    ours.load_state_dict(theirs.state_dict())
    x, h, c = numbers(2, 5, 3), numbers(2, 2, 4), numbers(2, 2, 4)
    found = flat(ours(mt.asarray(x), (mt.asarray(h), mt.asarray(c))))
    for y, z in zip(found, flat(theirs(torch.tensor(x), (torch.tensor(h), torch.tensor(c))))):
        close(y, z)
    y, states = ours(mt.asarray(x[:, :2]))
    z, _ = ours(mt.asarray(x[:, 2:]), states)
    close(mt.concat([y, z], axis=1), theirs(torch.tensor(x))[0])
    with pytest.raises(ValueError, match="lstm"):
        ours(mt.ones((2, 5, 4)))


def test_attention_between_sequences():
    ours = nn.MultiheadAttention(8, 2)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    ours.load_state_dict(theirs.state_dict())
    q, kv, mask = numbers(2, 3, 8), numbers(2, 5, 8), rng.integers(0, 2, (3, 5)).astype(bool)
    mask[:, 0] = True
    t = torch.tensor
    close(ours(mt.asarray(q), mt.asarray(kv)), theirs(t(q), t(kv), t(kv))[0])
    close(ours(mt.asarray(q), mt.asarray(kv), mask=mt.asarray(mask)),
          theirs(t(q), t(kv), t(kv), attn_mask=t(~mask))[0])
    close(ours(mt.asarray(q), mt.asarray(q)), theirs(t(q), t(q), t(q))[0])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    x, y = numbers(4, 3), numbers(4, 3)
    a, b = mt.asarray(x), mt.asarray(y)
    p, q = torch.tensor(x), torch.tensor(y)
    how = {"reduction": reduction}
    close(nn.MSELoss(**how)(a, b), torch.nn.MSELoss(**how)(p, q))
    close(nn.L1Loss(**how)(a, b), torch.nn.L1Loss(**how)(p, q))
    close(nn.HuberLoss(delta=0.7, **how)(a, b), torch.nn.HuberLoss(delta=0.7, **how)(p, q))
    close(nn.BCEWithLogitsLoss(**how)(a, mt.sigmoid(b)),
          torch.nn.BCEWithLogitsLoss(**how)(p, torch.sigmoid(q)))
    weight = np.array([0.5, 2, 7], np.float32)
    close(nn.BCEWithLogitsLoss(**how, pos_weight=mt.asarray(weight))(a, mt.sigmoid(b)),
          torch.nn.BCEWithLogitsLoss(**how, pos_weight=torch.tensor(weight))(p, torch.sigmoid(q)))
    close(nn.CrossEntropyLoss(**how)(a, mt.asarray([0, 2, 1, 1])),
          torch.nn.CrossEntropyLoss(**how)(p, torch.tensor([0, 2, 1, 1])))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["classes", "ignored", "probabilities"])
def test_cross_entropy(kind, weighted, smoothing, reduction):
    x, w = numbers(4, 3, 2), np.float32([0.5, 2, 1])
    y = np.array([[0, 2], [1, 1], [2, 1], [0, 0]])
    if kind == "ignored":
        y[1, 0] = y[3, 1] = -100
    if kind == "probabilities":
        y = np.exp(x[::-1]) / np.exp(x[::-1]).sum(1, keepdims=True)
    how = {"reduction": reduction, "label_smoothing": smoothing}
    ours = nn.CrossEntropyLoss(mt.asarray(w) if weighted else None, axis=1, **how,
                               ignore_index=-100 if kind == "ignored" else None)
    theirs = torch.nn.CrossEntropyLoss(torch.tensor(w) if weighted else None, **how)
    a, b = mt.asarray(x).requires_grad_(), torch.tensor(x, requires_grad=True)
    found, expected = ours(a, mt.asarray(y)), theirs(b, torch.tensor(y.copy()))
    close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    close(a.grad, b.grad, 1e-4)
    assert list(ours.state_dict()) == list(theirs.state_dict())


def test_cross_entropy_says_what_is_wrong():
    with pytest.raises(TypeError, match="no tensor can be made of str"):
        nn.CrossEntropyLoss("sum")  # which is a reduction
    loss = mt.trace(lambda x, t: nn.cross_entropy(x, t, ignore_index=-1))
    assert loss(mt.ones((2, 3)), mt.tensor([0, -1])).item() == pytest.approx(np.log(3))
    with pytest.raises(IndexError, match="index 3"):
        loss(mt.ones((2, 3)), mt.tensor([0, 3]))


OPTIMIZERS = {
    "sgd": (optim.SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True,
                                         "weight_decay": 0.01}),
    "adam": (optim.Adam, torch.optim.Adam, {"lr": 0.05, "betas": (0.8, 0.99)}),
    "adamw": (optim.AdamW, torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1}),
    "adagrad": (optim.Adagrad, torch.optim.Adagrad, {"lr": 0.1}),
    "rmsprop": (optim.RMSprop, torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.5}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    make, make_theirs, options = OPTIMIZERS[name]
    start, target = numbers(6), numbers(6)
    w, v = mt.asarray(start).requires_grad_(), torch.tensor(start, requires_grad=True)
    ours, theirs = make([w], **options), make_theirs([v], **options)
    for _ in range(20):
        mt.sum(mt.square(w - target)).backward()
        (v - torch.tensor(target)).square().sum().backward()
        for optimizer in (ours, theirs):
            optimizer.step()
            optimizer.zero_grad()
    close(w, v, 1e-4)


GROUPS = {
    "sgd": {"momentum": 0.5, "weight_decay": 0.1, "nesterov": False},
    "adam": {"betas": (0.7, 0.9), "weight_decay": 0.1},
    "adamw": {"weight_decay": 0.0},
    "adagrad": {"weight_decay": 0.1},
    "rmsprop": {"momentum": 0.0, "weight_decay": 0.1},
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name):
    make, make_theirs, options = OPTIMIZERS[name]
    start, target = [numbers(6) for _ in range(3)], numbers(6)
    w = [mt.asarray(x).requires_grad_() for x in start]
    v = [torch.tensor(x, requires_grad=True) for x in start]

    def groups(of):
        return [{"params": of[0]}, {"params": [of[1]], **GROUPS[name]},
                {"params": iter(of[2:]), "lr": options["lr"] / 3}]

    ours, theirs = make(groups(w), **options), make_theirs(groups(v), **options)
    for step in range(20):
        for optimizer in (ours, theirs):
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] *= 0.95
        sum(mt.sum(mt.square(x - target)) for x in w).backward()
        sum((x - torch.tensor(target)).square().sum() for x in v).backward()
        ours.step()
        theirs.step()
    for x, y in zip(w, v):
        close(x, y, 1e-4)


def test_schedules():
    def rates(schedule, ours, steps):
        found = [ours.lr]
        for _ in range(steps):
            schedule.step()
            found.append(ours.lr)
        return found

    def pair():
        return (optim.SGD([mt.ones(1).requires_grad_()], lr=0.4),
                torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.4))

    for make, make_theirs in (
            (lambda o: optim.StepSchedule(o, 3, 0.5),
             lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
            (lambda o: optim.CosineSchedule(o, 10, 0.01),
             lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10, 0.01))):
        ours, theirs = pair()
        found = rates(make(ours), ours, 10)
        schedule = make_theirs(theirs)
        theirs.step()
        expected = [0.4]
        for _ in range(10):
            schedule.step()
            expected.append(theirs.param_groups[0]["lr"])
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    ours, _ = pair()
    found = rates(optim.CosineSchedule(ours, 10, warmup=4), ours, 10)
    np.testing.assert_allclose(found[:4], [0.1, 0.2, 0.3, 0.4], rtol=1e-6)
    assert found[4] == pytest.approx(0.4) and found[-1] == pytest.approx(0)


def test_its_tensors_are_arrays():
    x, theirs = mt.arange(6).reshape(2, 3), torch.arange(6).reshape(2, 3)
    for key in ([1],), ([[0, 1], [1, 0]],), ([0, 1], [2, 0]), ([-1],), (1,), ([True, False],):
        indices = tuple(torch.tensor(part) for part in key)
        found = x[indices if len(indices) > 1 else indices[0]]
        assert found.tolist() == theirs[indices].tolist() and found.shape == tuple(theirs[indices].shape)
    assert (x == theirs).all() and (x + theirs).tolist() == (theirs + theirs).tolist()
    assert mt.where(theirs > 2, x, -1).tolist() == torch.where(theirs > 2, theirs, -1).tolist()
    linear = nn.Linear(3, 2)
    ones = torch.ones(4, 3)
    assert linear(ones).tolist() == linear(mt.ones((4, 3))).tolist()
    assert mt.asarray(torch.tensor([True, False])).dtype == mt.bool_
    assert mt.zeros(2, dtype=torch.float64).dtype == torch.float64 == mt.float64 != torch.float32
    assert mt.bfloat16 == torch.bfloat16 and mt.bool_ == torch.bool
    with pytest.raises((RuntimeError, TypeError), match="detach"):
        mt.asarray(torch.ones(2, requires_grad=True))
