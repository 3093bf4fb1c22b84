# SPDX-License-Identifier: Apache-2.0
"""What programs written for other libraries ask for: it is there, or an error says what is."""
import _thread
import functools
import importlib
import inspect
import re
import sys
import time

import pytest

import mtorch as mt
from mtorch import _porting_names, nn, optim, porting


@pytest.mark.parametrize("module, name, here", [
    (mt, "cat", "concat"), (mt, "manual_seed", "seed"), (nn, "BatchNorm2d", "BatchNorm"),
    (optim, "StepLR", "StepSchedule")])
def test_names_of_others_are_explained(module, name, here):
    with pytest.raises(AttributeError, match=f"{name}.* {here} here"):
        getattr(module, name)
    with pytest.raises(ImportError, match=f"{name}.* {here} here"):
        exec(f"from {module.__name__} import {name}", {})
    with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
        module.nonsense
    with pytest.raises(ImportError, match="nonsense"):
        exec(f"from {module.__name__} import nonsense", {})
    assert not hasattr(module, name) and getattr(module, name, 1) == 1


def test_methods_of_others_are_explained():
    x = mt.ones(2)
    for name, said in ("clamp", "called clip here"), ("retain_grad", r"mtorch.grad\(loss, x\) gives"):
        with pytest.raises(AttributeError, match=f"'{name}': .*{said}"):
            getattr(x, name)
        assert not hasattr(x, name) and name not in dir(x) and name not in dir(mt.ones(()))
    assert {"clip", "shape", "__add__"} < set(dir(x))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
        x.nonsense


def test_every_explained_name_exists():
    for module, names in ((mt, _porting_names.FUNCTIONS), (nn, _porting_names.MODULES),
                          (optim, _porting_names.OPTIMIZERS), (mt.random, _porting_names.RANDOM),
                          (nn, _porting_names.FUNCTIONAL), (nn.init, _porting_names.INITIALISERS),
                          (mt.Tensor, _porting_names.METHODS)):
        for name, here in names.items():
            assert module is mt.Tensor or name not in vars(module), name
            if isinstance(here, _porting_names._Note):
                continue
            for one in re.sub(r" ?\([^)]*\)", "", here).replace(" or ", ", ").split(", "):
                one = one.removeprefix("mtorch.")
                found = module if hasattr(module, one) else mt
                for part in one.split("."):
                    found = getattr(found, part)


def test_a_script_is_read_as_a_whole(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.write_text("""
import torch, os
import torch.nn.functional as F
from torch import nn, optim as o
from torch.utils.data import DataLoader, ConcatDataset
from torch.optim.lr_scheduler import StepLR

x = torch.cat([torch.ones(2)], dim=0).masked_fill(mask, 0)
norm, sizes = nn.BatchNorm2d(3, eps=0.1), os.path.cat(x, dim=1)
rnn = nn.GRU(3, 4, batch_first=True)
F.relu(x, inplace=True)
schedule = o.lr_scheduler.CosineAnnealingLR(o.SGD(p), T_max=3)
torch.backends.cudnn.benchmark = True
""")
    assert porting._main([str(script)]) == 0
    said = [line.removeprefix(f"{script}:") for line in capsys.readouterr().out.splitlines()]
    assert said == [
        "5: ConcatDataset: it is not here", "6: StepLR: it is called StepSchedule here",
        "8: cat: it is called concat here", "8: dim: it is called 'axis' here",
        "8: masked_fill: it is called where here",
        "9: BatchNorm2d: it is called BatchNorm here", "9: dim: it is called 'axis' here",
        "9: eps: it is called 'epsilon' here", "10: batch_first: the batch always comes first",
        "11: inplace: values never change in place",
        "12: CosineAnnealingLR: it is called CosineSchedule here", "12: T_max: it is called 'steps' here",
        "13: backends: it is not here"]
    assert porting._main([]) == 2
    same = "import torch as t\nfrom torch import nn\nt.no_grad(); nn.Linear(2, bias=False); t.sum(x).item()"
    assert porting.notes(same) == []


def test_what_means_something_else_is_said_of_a_script():
    said = porting.notes("""import torch
from torch import nn
m = torch.compile(m)
v, i = x.sort(dim=1)
a.sort(key=f), a.std(), x.size(0), torch.max(x), torch.max(x, y), y.max(1)
nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=m, key_padding_mask=p)
nn.TransformerEncoderLayer(8, 2)(x, src_mask=m)
""")
    assert [(line, text.partition(":")[0]) for line, text in said] == [
        (3, "compile"), (4, "dim"), (4, "sort"), (5, "max"), (5, "size"), (5, "std"), (6, "attn_mask"),
        (6, "key_padding_mask"), (7, "TransformerEncoderLayer"), (7, "src_mask")]
    assert said[0][1].startswith("compile: trace(step) is that, of a function that does the whole step")
    assert said[-1][1] == "src_mask: it is called mask here, and True shows: ~mask"


def test_advice_gives_what_pytorch_does():
    p, q = mt.tensor([[0.0, 1.0], [0.5, 0.5]]), mt.tensor([[0.5, 0.5], [0.25, 0.75]])
    names = {"p": p, "log_q": mt.log(q), "a": p, "b": mt.zeros((2, 2)), "where": mt.where, "log": mt.log,
             "sqrt": mt.sqrt, "norm": mt.linalg.norm, "maximum": mt.maximum, "a2": (p * p).sum(axis=1), "b2": 0.0}

    def advised(note):
        return eval(note.split(" is that")[0], {}, names)
    kept = 0.5 * (float(mt.log(mt.tensor(2.0))) + 0.5 * float(mt.log(mt.tensor(4.0 / 3.0))))
    assert abs(float(advised(_porting_names.FUNCTIONAL["kl_div"])) - kept) < 1e-6
    assert advised(_porting_names.FUNCTIONAL["cosine_similarity"]).tolist() == [0.0, 0.0]
    names["b"] = q
    names["b2"] = (q * q).sum(axis=1)
    short, long = _porting_names.FUNCTIONS["cdist"].split(" is that of rows; of long ones ")
    distances = eval(short, {}, names), eval(long.split(" is faster")[0], {}, names)
    assert mt.allclose(*distances, atol=1e-6)
    whole = eval(_porting_names.FUNCTIONAL["dropout2d"].split(" drops")[0], {},
                 {"x": mt.ones((3, 4, 5, 5)), "dropout": nn.dropout, "mtorch": mt})
    assert whole.shape == (3, 4, 5, 5) and (whole == whole[:, :, :1, :1]).all()
    assert _porting_names.FUNCTIONS["bernoulli"].startswith("random.uniform(p.shape) < p draws")
    assert (mt.random.uniform(p.shape) < p).tolist()[0] == [False, True]


def test_every_explained_option_exists():
    known = set()
    for module in map(importlib.import_module, ("mtorch", "mtorch.data", "mtorch.nn", "mtorch.nn.init",
                                                "mtorch.optim")):
        for value in vars(module).values():
            if callable(value) and inspect.isroutine(value) or isinstance(value, type):
                try:
                    known |= set(inspect.signature(value).parameters)
                except ValueError:  # a class without
                    pass
    for name, here in _porting_names.OPTIONS.items():
        assert isinstance(here, _porting_names._Note) or set(here.split()) <= known, name


@pytest.mark.parametrize("call, said", [
    (lambda x: x.sum(dim=1), "sum.. got an unexpected keyword argument 'dim': it is called 'axis' here"),
    (lambda x: mt.mean(x, axis=0, keepdim=True), "'keepdim': it is called 'keepdims'"),
    (lambda x: x.max(dim=0), "max.. got .* 'dim': it is called 'axis'"),
    (lambda x: mt.concat([x, x], dim=1), "concat.. got .* 'dim': it is called 'axis'"),
    (lambda x: nn.softmax(x, dim=-1), "softmax.. got .* 'dim': it is called 'axis'"),
    (lambda x: nn.Dropout(p=0.5), "Dropout.* 'p': it is called 'probability'"),
    (lambda x: nn.LayerNorm(3, eps=0.1), " 'eps': it is called 'epsilon'"),
    (lambda x: nn.Conv2d(1, 1, kernel_size=1), "Conv.* 'kernel_size': it is called 'kernel' here"),
    (lambda x: nn.MaxPool2d(kernel_size=2), "Pool.* missing .* 'size': so 'kernel_size' is called here"),
    (lambda x: nn.LSTM(3, 4, batch_first=True), "LSTM.. got .* 'batch_first': the batch always comes first"),
    (lambda x: nn.GRU(3, 4, bidirectional=True), "GRU.. got .* 'bidirectional': concat.. of "),
    (lambda x: nn.Embedding(3, 4, padding_idx=0), "Embedding.. got .* 'padding_idx': where.. of "),
    (lambda x: nn.LSTM(3, 4, dropout=0.1), "LSTM.. got .* 'dropout': layers of their own"),
    (lambda x: nn.MaxPool2d(2, ceil_mode=True), "MaxPool2d.. got .* 'ceil_mode': what fills no window"),
    (lambda x: nn.Parameter(x, requires_grad=False), "Parameter.* got .* 'requires_grad': a tensor of which"),
    (lambda x: mt.grad(x, x, retain_graph=True), "grad.. got .* 'retain_graph': grad.. forgets no"),
    (lambda x: nn.MultiheadAttention(2, 1)(x, attn_mask=x), "forward.. got .* 'attn_mask': .* shows here: ~mask"),
    (lambda x: nn.TransformerBlock(2, 1)(x, src_key_padding_mask=x), "forward.. got .*: mask=~padding"),
    (lambda x: nn.Linear(3, 4, nonsense=1), "Linear.. got an unexpected keyword argument 'nonsense'$"),
    (lambda x: nn.ReLU(inplace=True), " 'inplace': values never change in place"),
    (lambda x: nn.ReLU(True), " takes 1 .* given: .* values never change in place"),
    (lambda x: nn.MSELoss(weight=x), "MSELoss.. got an unexpected keyword argument 'weight'"),
    (lambda x: x.repeat(2, 1), r"repeat.. takes 2 .* given: an axis .* tile.. here"),
    (lambda x: nn.resize_linear(x, scale_factor=2), " 'scale_factor': it is called 'sizes' here"),
    (lambda x: mt.triu(x, diagonal=1), "'diagonal': it is called 'k' here"),
    (lambda x: mt.sum(x, nonsense=1), "sum.. got an unexpected keyword argument 'nonsense'")])
def test_options_of_others_are_explained(call, said):
    with pytest.raises(TypeError, match=said):
        call(mt.ones((2, 3)))


class Net(nn.Module):
    def __init__(self, width, **options):
        if options.get("dim") == "deep":
            raise TypeError("another argument is wrong")
        self.helper(**options)

    def helper(self, axis=0):
        return mt.sum(mt.ones(2), axis=axis)


def test_errors_of_other_calls_are_left_alone():
    for options, said in (({"dim": "deep"}, "another argument is wrong$"),
                          ({"dim": 1}, "helper.. got an unexpected keyword argument 'dim'$"),
                          ({"p": 1, "axis": "x"}, "unexpected keyword argument 'p'$")):
        with pytest.raises(TypeError, match=said):
            Net(1, **options)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'$"):
        mt.sum(mt.ones(2), nonsense=1, dim=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim': it is called 'axis' here$"):
        mt.sum(mt.ones(2), dim=0, nonsense=1)
    with pytest.raises(TypeError, match="Net.* missing .* 'width': so 'd_model' is called here$"):
        Net(d_model=3)


def test_names_are_asked_for_without_python_code(monkeypatch):
    found, failed = [], []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    names = ["cat", "nonsense", "sum"]  # at the bottom of the thread is nothing but C
    _thread.start_new_thread(list.extend, (found, map(functools.partial(hasattr, mt), names)))
    for _ in range(1000):
        if failed or len(found) == 3:
            break
        time.sleep(0.01)
    assert not failed and found == [False, False, True]


def test_what_a_module_shows_is_for_its_users():
    for module in mt, nn, optim:
        names = {name for name in dir(module) if not name.startswith("__")}
        assert not names & {"Any", "Operand", "TYPE_CHECKING", "annotations", "native", "create"}
        assert all(hasattr(module, name) for name in names)
    assert {"float32", "pi", "Tensor", "add", "nn", "linalg", "devices"} <= set(dir(mt))
    assert {"Linear", "linear", "functional", "Module"} <= set(dir(nn)) and "AdamW" in dir(optim)
    assert str(inspect.signature(nn.Linear)).startswith("(in_features: 'int', out_features")


def test_activations_are_functional_too():
    x = mt.tensor([-1.0, 2.0])
    for name in "elu gelu leaky_relu log_sigmoid relu sigmoid silu softplus tanh".split():
        assert getattr(nn.functional, name)(x).tolist() == getattr(mt, name)(x).tolist()
    with pytest.raises(AttributeError, match="called cross_entropy"):
        nn.functional.nll_loss


def test_loaders_and_schedules_explain_their_options():
    data = mt.data.TensorDataset(mt.arange(4))
    optimizer = optim.SGD([mt.ones(1).requires_grad_()], lr=0.1)
    for call, said in ((lambda: mt.data.DataLoader(data, num_workers=2), "`prefetch` a thread"),
                       (lambda: optim.CosineSchedule(optimizer, T_max=2), "called 'steps' here"),
                       (lambda: optim.AdamW(optimizer.parameters, eps=1), "AdamW.* 'eps': .* 'epsilon' here")):
        with pytest.raises(TypeError, match=said):
            call()
    with pytest.raises(TypeError, match="positional"):
        nn.BatchNorm(2, 1e-5)  # which of the two it is differs between libraries
