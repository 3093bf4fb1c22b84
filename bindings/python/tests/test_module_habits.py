# SPDX-License-Identifier: Apache-2.0
"""What users of PyTorch do with modules, optimizers and files without a second thought."""
import copy
import pickle
import warnings

import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim


class Tied(nn.Module):
    def __init__(self):
        self.words = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.words(x))


def test_tied_weights_are_one_parameter():
    mt.seed(1)
    network = Tied().double()
    assert network.head.weight is network.words.weight and len(network.parameters()) == 1
    assert list(network.state_dict()) == ["words.weight", "head.weight"]
    w, x = network.words.weight.numpy(), mt.arange(5)
    optimizer = optim.SGD(network.parameters(), lr=0.1)
    (network(x) ** 2).sum().backward()
    gradient = 4 * w @ w.T @ w
    np.testing.assert_allclose(network.words.weight.grad.numpy(), gradient, rtol=1e-9)
    optimizer.step()
    np.testing.assert_allclose(network.head.weight.numpy(), w - 0.1 * gradient, rtol=1e-9)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_tied_weights_are_tied(again):
    network = Tied()
    other = again(network)
    assert other.head.weight is other.words.weight is not network.words.weight
    assert other.words.weight.tolist() == network.words.weight.tolist()
    with mt.no_grad():
        other.words.weight *= 0
    assert mt.max(mt.abs(other(mt.arange(5)))) == 0 < mt.max(mt.abs(network(mt.arange(5))))


def test_a_parameter_takes_a_value_or_another_parameter():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.weight = np.ones((2, 2))
    assert layer.weight is weight and weight.tolist() == [[1, 1], [1, 1]]
    mine = nn.Parameter(mt.zeros((2, 2)))
    layer.weight = mine
    assert layer.weight is mine and layer(mt.ones(2)).tolist() == layer.bias.tolist()
    with pytest.raises(ValueError, match=r"\[3,3\]"):
        layer.weight = nn.Parameter(mt.zeros((3, 3)))
    assert layer.weight is mine
    frozen = copy.deepcopy(layer.requires_grad_(False))
    assert not frozen.weight.requires_grad and len(frozen.parameters()) == 2


def test_a_parameter_is_another_tensor():
    x = mt.ones(2)
    weight = nn.Parameter(x)
    assert weight is not x and weight.requires_grad and not x.requires_grad
    assert isinstance(weight, nn.Parameter) and isinstance(nn.Linear(2, 2).weight, nn.Parameter)
    for other in x, weight * 2, weight.detach(), nn.Linear(2, 2), 1.0, None:
        assert not isinstance(other, nn.Parameter)
    assert nn.Parameter(weight * 2).tolist() == [2, 2]
    with mt.no_grad():
        weight += 1
    assert x.tolist() == [1, 1] and weight.tolist() == [2, 2]
    with pytest.raises(TypeError):
        nn.Parameter(mt.arange(2))
    module = nn.Module()
    module.register_parameter("weight", weight)
    module.register_parameter("plain", x)
    assert module.weight is weight and module.plain is not x and len(module.parameters()) == 2


def test_a_result_that_is_kept_is_no_parameter():
    class Keeping(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            self.seen = self.layer(x)
            return self.seen

    network = Keeping()
    network(mt.ones((1, 2)))
    assert list(network.state_dict()) == ["layer.weight", "layer.bias"]
    assert len(network.parameters()) == 2


def test_an_argument_of_the_wrong_kind_is_named():
    for call, message in (
            (lambda: nn.Linear("a", 2), "in_features must be an integer, not str"),
            (lambda: nn.Linear(2.5, 2), "in_features must be an integer, not float"),
            (lambda: nn.Linear(2, 2, bias=1), "bias must be True or False, not int"),
            (lambda: optim.Adam([mt.ones(1)], lr="a"), "lr must be a number, not str"),
            (lambda: mt.einsum(mt.ones(1), mt.ones(1)), "equation must be text, not mtorch.Tensor"),
            (lambda: mt.ones(1, device=3), "device must be text, not int"),
            (lambda: mt.seed(None), "seed must be .*not None"),
            (lambda: mt.ones(1).to("gpu"), "'gpu' is neither an element type nor a device"),
            (lambda: mt.set_threads("2"), "set_threads: threads must be an integer, not str")):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(OverflowError):
        nn.Linear(2**70, 2)
    with pytest.raises(OverflowError, match="set_threads: threads is out of range: 1099511627776"):
        mt.set_threads(2**40)
    with pytest.raises(OverflowError, match="seed: seed is out of range: -1"):
        mt.seed(-1)
    assert nn.Linear(np.int64(3), mt.asarray(2), bias=np.bool_(False)).weight.shape == (2, 3)
    assert optim.SGD([mt.ones(1).requires_grad_()], lr=np.float32(0.5)).lr == 0.5


def test_habits_with_optimizers():
    w = mt.ones(2).requires_grad_()
    optimizer = optim.Adam([w], lr=0.5)
    for group in optimizer.param_groups:
        group["lr"] /= 2
    assert optimizer.lr == optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.param_groups[0]["params"] == [w]
    with pytest.raises(KeyError, match="betas"):
        optimizer.param_groups[0]["betas"] = 1
    w.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0]
    optimizer.zero_grad(set_to_none=True)
    assert w.grad is None
    assert repr(optimizer) == "Adam(lr=0.25, 2 parameters, 0 steps)"
    for copying in copy.deepcopy, pickle.dumps:
        with pytest.raises(TypeError, match="state_dict"):
            copying(optimizer)


def test_what_is_no_file_of_tensors_is_said(tmp_path):
    network = nn.Linear(1, 1)
    optimizer = mt.optim.SGD(network.parameters(), lr=0.1)
    for load in mt.load, network.load, optimizer.load:
        with pytest.raises(FileNotFoundError, match="missing.npz"):
            load(tmp_path / "missing.npz")
    for save in network.save, optimizer.save:
        with pytest.raises(TypeError, match="NoneType"):
            save(None)
    for wrong, message in (([mt.ones(1)], "list"), (nn.Linear(1, 1), "state_dict"),
                           ({"network": {"w": "text"}}, "'network/w' is a str"),
                           ({1: mt.ones(1)}, "names in a file are text, not int"),
                           ({"name": "text"}, "'name' is a str")):
        with pytest.raises(TypeError, match=message):
            mt.save(wrong, tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []
    mt.save({"a": np.arange(3), "b": [1.5]}, tmp_path / "x.npz")
    assert mt.load(tmp_path / "x.npz")["a"].tolist() == [0, 1, 2]


def test_batches_of_texts_are_lists():
    items = [{"x": mt.ones(2) * i, "name": f"n{i}", "y": i} for i in range(3)]
    batch = next(iter(mt.data.DataLoader(items, batch_size=2)))
    assert batch["name"] == ["n0", "n1"] and batch["y"].tolist() == [0, 1]
    assert batch["x"].shape == (2, 2)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(mt.ones(2))
        self.register_buffer("mask", mt.zeros(2), persistent=False)
        self.register_buffer("mean", mt.zeros(2))

    def forward(self, x):
        return x * self.factor + self.mask


def test_a_frozen_parameter_stays_one():
    network = nn.Sequential(Scale(), nn.Linear(2, 1))
    names = [name for name, _ in network.named_parameters()]
    for parameter in network.parameters():
        parameter.requires_grad = False
    assert [name for name, _ in network.named_parameters()] == names == [
        "0.factor", "1.weight", "1.bias"]
    again = copy.deepcopy(network)
    assert not again[0].factor.requires_grad and len(again.requires_grad_().parameters()) == 3
    assert again[0].factor.requires_grad and again[1].bias.requires_grad
    again[0].factor = mt.zeros(2)  # a buffer from now on
    assert [name for name, _ in again.named_parameters()] == names[1:]


def test_a_frozen_parameter_that_is_scaled_stays_one():
    net = nn.Module()
    net.w = nn.Parameter(mt.ones(2))
    net.w.requires_grad_(False)
    net.w *= 0.5
    assert "w" in dict(net.named_parameters()) and net.w.tolist() == [0.5, 0.5]
    net.w = mt.zeros(2)
    assert "w" in dict(net.named_buffers())


def test_a_buffer_need_not_be_saved():
    network = Scale()
    assert list(network.state_dict()) == ["factor", "mean"]
    assert network.double().mask.dtype == mt.float64 and len(network.buffers()) == 2
    network.load_state_dict(network.state_dict())


def test_hooks_have_remove():
    network, seen = Scale(), []
    hook = network.register_forward_hook(lambda module, args, y: seen.append(y.shape))
    network(mt.ones(2))
    hook.remove()
    hook.remove()
    network(mt.ones(2))
    assert seen == [(2,)]


@pytest.mark.parametrize("loss", [nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.bce_with_logits])
def test_a_loss_of_unlike_shapes_warns(loss):
    with pytest.warns(UserWarning, match=r"\(3, 1\).*\(3,\)"):
        loss(mt.ones((3, 1)), mt.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loss(mt.ones((3, 1)), mt.ones((3, 1))).shape == loss(mt.ones(3), 0.5).shape == ()


@pytest.mark.parametrize("loss", [nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.bce_with_logits])
@pytest.mark.parametrize("dtype", [mt.float16, mt.bfloat16, mt.float64])
def test_a_loss_against_a_number_keeps_its_type(loss, dtype):
    x = mt.ones(3, dtype=dtype)
    assert loss(x, 0.5).dtype == loss(0.5, x).dtype == loss(x, 1).dtype == dtype
    assert loss(x, 0.5) == loss(x, mt.full(3, 0.5, dtype=dtype))


@pytest.mark.filterwarnings("error")
def test_a_loss_of_shapes_that_do_not_fit_fails_alone():
    with pytest.raises(ValueError, match=r"mse_loss: shapes \[3\] and \[4\] do not broadcast"):
        nn.mse_loss(mt.ones(3), mt.ones(4))


def test_a_linear_function_needs_no_bias():
    x, weight = mt.ones((2, 3)), mt.ones((4, 3))
    assert nn.linear(x, weight).tolist() == nn.linear(x, weight, mt.zeros(4)).tolist() == [[3.0] * 4] * 2


def test_kept_keys_go_with_places():
    with pytest.raises(TypeError, match="^kept and places go together"):
        nn.TransformerBlock(8, 2, causal=True)(mt.ones((2, 8)), kept=mt.ones(1))


def test_an_activation_goes_by_its_name():
    results = []
    for activation in "gelu", mt.gelu, "gelu(a)", "relu":
        mt.seed(0)
        results.append(nn.TransformerBlock(8, 2, activation=activation)(mt.ones((2, 8))).tolist())
    assert results[0] == results[1] == results[2] != results[3]


def test_functions_without_gradients():
    x = mt.ones(2).requires_grad_()

    @mt.no_grad
    def double(y):
        return y * 2

    @mt.no_grad()
    def triple(y):
        return y * 3

    assert not double(x).requires_grad and not triple(x).requires_grad and (x * 2).requires_grad


def test_convolutions_and_pools_take_their_options_by_place():
    x = mt.ones((1, 2, 8, 8))
    assert nn.Conv2d(2, 4, 3, 2, 1)(x).shape == (1, 4, 4, 4)
    assert nn.ConvTranspose2d(2, 4, 3, 2, 1, 1)(x).shape == (1, 4, 16, 16)
    assert nn.MaxPool2d(3, 2, 1)(x).shape == nn.max_pool2d(x, 3, 2, 1).shape == (1, 2, 4, 4)
    assert nn.AvgPool2d(2, 1)(x).shape == nn.conv2d(x, mt.ones((3, 2, 2, 2)))[:, :2].shape


class Scaled(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
        self.scale = nn.Parameter(mt.ones(2))
        self.register_buffer("mean", mt.zeros(2))

    def forward(self, x):
        y = super().forward(x) * self.scale
        self.mean = 0.9 * self.mean + y.mean(axis=0)
        return y


def test_what_subclasses_and_buffers_hold_is_saved():
    net = Scaled()
    assert [name for name, _ in net.named_parameters()] == ["weight", "bias", "scale"]
    net(mt.ones((3, 2)))
    state = net.state_dict()
    assert list(state) == ["weight", "bias", "scale", "mean"]
    again = Scaled()
    again.load_state_dict(state)
    for copied in again, copy.deepcopy(net), pickle.loads(pickle.dumps(net)):
        assert copied.mean.tolist() == net.mean.tolist() and len(copied.parameters()) == 3


def test_hooks_groups_and_out():
    net, seen = nn.Identity(), []
    handles = [net.register_forward_hook(seen_hook) for seen_hook in [lambda *a: seen.append(1)] * 2]
    handles[0].remove()
    handles[0].remove()
    net(mt.ones(1))
    assert seen == [1]
    optimizer = optim.SGD([mt.ones(1).requires_grad_()], lr=0.1)
    optimizer.param_groups[0].update(lr=0.5)
    assert optimizer.lr == 0.5
    pair = mt.zeros(2), mt.zeros(2)
    np.divmod(np.ones(2), 0.75, out=pair)
    assert pair[0].tolist() == [1, 1] and pair[1].tolist() == [0.25, 0.25]
    out = mt.zeros(3)
    assert np.add.reduce(np.ones((2, 3)), out=out) is out and out.tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        nn.MultiheadAttention(4, 2, causal=True)(mt.ones((1, 4)), places=mt.arange(1))
    with pytest.raises(BufferError):
        import ctypes
        ctypes.pythonapi.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
        ctypes.pythonapi.PyObject_GetBuffer(mt.zeros((2, 3)), ctypes.create_string_buffer(200), 0x58)


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
