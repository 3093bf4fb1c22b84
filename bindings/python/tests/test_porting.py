# SPDX-License-Identifier: Apache-2.0
"""What programs written for other libraries ask for: it is there, or an error says what is."""
import _thread
import copy
import functools
import importlib
import inspect
import re
import sys
import time

import numpy as np
import pytest

import mtorch as mt
from mtorch import _names, nn, optim, porting

# ----------------------------------------------------------------------------------- Names


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
    for module, names in ((mt, _names.FUNCTIONS), (nn, _names.MODULES), (optim, _names.OPTIMIZERS),
                          (mt.random, _names.RANDOM), (nn, _names.FUNCTIONAL), (nn.init, _names.INITIALISERS),
                          (mt.Tensor, _names.METHODS)):
        for name, here in names.items():
            assert module is mt.Tensor or name not in vars(module), name
            if isinstance(here, _names._Note):
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


def test_every_explained_option_exists():
    known = set()
    for module in map(importlib.import_module, ("mtorch", "mtorch.nn", "mtorch.nn.init", "mtorch.optim")):
        for value in vars(module).values():
            if callable(value) and inspect.isroutine(value) or isinstance(value, type):
                try:
                    known |= set(inspect.signature(value).parameters)
                except ValueError:  # a class without
                    pass
    for name, here in _names.OPTIONS.items():
        assert isinstance(here, _names._Note) or set(here.split()) <= known, name


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


# ----------------------------------------------------------------------------------- Numbers

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


# ----------------------------------------------------------------------------------- Modules

def test_parameters_are_a_list_and_an_iterator():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2))
    parameters = net.parameters()
    assert len(parameters) == 4 and parameters[-1].shape == (2,) and parameters == list(parameters)
    assert next(parameters) is net[0].weight and next(parameters) is net[0].bias
    assert next(net.parameters()).device == "cpu" and next(net.buffers()) is net[1].running_mean
    assert next(net.named_parameters())[0] == "0.weight" and next(net.children()) is net[0]
    assert len(list(parameters)) == 4 and next(nn.ReLU().parameters(), None) is None
    assert optim.SGD(net.parameters(), lr=1).parameters == parameters


class Remembering(nn.Module):
    def __init__(self):
        self.first = nn.Linear(2, 2)
        self.seen, self.last = mt.zeros(()), None

    def forward(self, x):
        self.seen = self.seen + 1
        self.last = y = self.first(x)
        self.helper(y)
        return y

    def helper(self, y):
        self.shifted = y + 1
        if "late" not in vars(self):
            self.late = nn.Parameter(mt.ones(2))


def test_what_forward_keeps_is_not_saved():
    net, x = Remembering(), mt.ones((1, 2))
    names = ["seen", "late", "first.weight", "first.bias"]
    with mt.no_grad():
        net(x)
    assert sorted(net.state_dict()) == sorted(names) and net.shifted.shape == (1, 2)
    net(x)
    net.eval()
    with mt.no_grad():
        net(x)
    assert sorted(net.state_dict()) == sorted(names) and net.seen.item() == 3
    assert sorted(copy.deepcopy(net).state_dict()) == sorted(names)
    net.register_buffer("last", mt.zeros(2))
    assert "last" in net.state_dict()


def test_what_is_set_outside_of_forward_is_part_of_the_module():
    net, x = Remembering(), mt.ones((1, 2))
    net(x)
    assert "last" not in net.state_dict()
    net.last = nn.Parameter(mt.ones(2))
    net.shifted = mt.zeros(2)
    assert "last" in dict(net.named_parameters()) and "shifted" in dict(net.named_buffers())
    net.forward = lambda x: setattr(net, "shifted", nn.Parameter(x))
    net(mt.ones(3))
    assert {"last", "shifted"} <= dict(net.named_parameters()).keys()


def test_containers_take_modules_and_functions():
    assert nn.ModuleList([mt.relu]).append(mt.tanh)[1](mt.zeros(1)).tolist() == [0]
    assert list(nn.ModuleDict({"a": mt.relu})) == ["a"]
    for wrong, message in ((mt.ones(1), "not Tensor"), (nn.ReLU, r"ReLU\(\) is a module")):
        for make in (lambda: nn.Sequential(wrong), lambda: nn.ModuleList([wrong]),
                     lambda: nn.ModuleDict({"a": wrong})):
            with pytest.raises(TypeError, match=message):
                make()
    with pytest.raises(TypeError, match="modules by name, not Tensor"):
        nn.ModuleDict(mt.ones(2))
    with pytest.raises(TypeError, match="list has no __dlpack__"):
        mt.from_dlpack([1.0])


def test_a_lost_assignment_to_a_gradient_is_explained():
    x = mt.ones(2).requires_grad_()
    (x * x).sum().backward()
    with pytest.warns(RuntimeWarning, match="g = x.grad"):
        x.grad[0] = 5
    assert x.grad.tolist() == [2, 2]


# ----------------------------------------------------------------------- Functions, as NumPy's

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
        with pytest.raises(mt.Error, match="no gradient|does not depend"):
            found.sum().backward()
    for decimals in -40, -300, -400:
        found = mt.round(x, decimals).detach().double().numpy()
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


# --------------------------------------------------------------------------------- Trees and runs

def test_sequences_of_modules():
    net = nn.Sequential({"first": nn.Linear(2, 3), "then": mt.relu}).append(nn.Linear(3, 1))
    assert list(net.state_dict()) == ["first.weight", "first.bias", "2.weight", "2.bias"]
    x = mt.ones((1, 2))
    assert isinstance(net[:2], nn.Sequential) and net[:2][0] is net.first
    assert net[2](net[:2](x)).tolist() == net(x).tolist() and len(net[1:]) == 2
    layers = nn.ModuleList([nn.ReLU()]).extend([nn.Tanh(), mt.exp])
    assert isinstance(layers[1:], nn.ModuleList) and layers[1:][0] is layers[1] and len(layers) == 3
    net.add_module("last", nn.Identity())
    net.register_parameter("scale", mt.ones(2))
    net.register_parameter("none", None)
    assert net[-1] is net.last and len(net.parameters()) == 5 and net.none is None
    holder = nn.Module()
    holder.heads, holder.list = {"a": nn.Linear(1, 1)}, [nn.Linear(1, 1, bias=False)]
    assert list(holder.state_dict()) == ["heads.a.weight", "heads.a.bias", "list.0.weight"]
    with pytest.raises(KeyError, match="name of a method"):
        net.add_module("forward", nn.ReLU())
    with pytest.raises(TypeError, match=r"normal: a shape is one tuple, as \(2, 3\); a mean of 3 is written 3.0"):
        mt.random.normal(2, 3)  # which is another library's shape


def test_axes_as_one():
    x = mt.arange(24).reshape(2, 3, 4)
    assert x.flatten(0, 1).shape == (6, 4) and x.flatten(-2).shape == (2, 12)
    assert x.flatten(1, 1).shape == x.shape and mt.tensor(1.0).flatten().shape == (1,)
    assert mt.zeros((0, 3)).flatten().shape == (0,) and nn.Flatten(0)(x).shape == (24,)
    with pytest.raises(IndexError, match="axis 3 of 3"):
        x.flatten(3)
    with pytest.raises(ValueError, match="comes after"):
        x.flatten(2, 1)
