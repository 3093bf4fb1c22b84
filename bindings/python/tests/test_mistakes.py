# SPDX-License-Identifier: Apache-2.0
"""Mistakes that users make, and what they are told; what they may expect to work, and does."""
import inspect
import re

import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim


@pytest.mark.parametrize("call, said", [
    (lambda x: nn.LSTM(3, 4)(mt.ones((1, 2, 3)), mt.ones((1, 1, 4))), "LSTM: the state is a pair"),
    (lambda x: nn.TransformerBlock(8, 2, activation=nn.GELU()), "the activation is GELU(): needs a function"),
    (lambda x: x.view(mt.int32), "view: needs sizes; astype"),
    (lambda x: x.sum(0, 1), "1 is no element type; several axes are one tuple, as axis=(0, 1)"),
    (lambda x: x.sum(0, True), "True is no element type; several axes"),
    (lambda x: x.mean(0, 1), "mean: keepdims is True or False, not 1; several axes are one tuple"),
    (lambda x: x.zero_(), "x[...] = 0 sets all elements; x.grad = None"),
    (lambda x: x.fill_(1), "x[...] = value sets all elements"),
    (lambda x: mt.pad(x, (1, 2, 3)), "pad: widths (1, 2, 3) are neither a number, nor (before, after), nor"),
    (lambda x: mt.pad(x, [(1, 2), (3,)]), "pad: widths [(1, 2), (3,)] are neither"),
    (lambda x: mt.pad(x, 1.5), "pad: widths 1.5 are neither"),
    (lambda x: mt.pad(x, (1.5, 2)), "pad: widths (1.5, 2) are neither"),
    (lambda x: mt.pad([1, 2], 1), "pad: needs a tensor, not list"),
    (lambda x: nn.layer_norm(x, axes=-1), "layer_norm: axes is -1, which is no number of the last ones"),
    (lambda x: nn.rms_norm(x, axes=2**70), "rms_norm: axes is 1180591620717411303424, which is no"),
    (lambda x: nn.rms_norm(x, axes=(1,)), "rms_norm: axes is how many of the last ones, not tuple"),
    (lambda x: mt.pad(x, 1, mode="replicate"), 'pad: mode \'replicate\' is none of constant, reflect, edge, wrap: '
                                               'PyTorch\'s "replicate" is "edge"'),
    (lambda x: mt.pad(x, 1, 2.0, "wrap"), "pad: value 2.0 in mode 'wrap', which adds none"),
    (lambda x: mt.tensordot(x, x, -1), "tensordot: axes is -1, neither a number from 0 to 16 nor"),
    (lambda x: mt.tensordot(x, x, 10**15), "tensordot: axes is 1000000000000000, neither"),
    (lambda x: optim.Adam([x], betas=0.9), "Adam: betas are two numbers, as (0.9, 0.999), not 0.9"),
    (lambda x: optim.AdamW([{"params": x, "betas": (0.9,)}]), "AdamW: betas are two numbers"),
    (lambda x: optim.SGD(nn.Linear(2, 2), 0.1), "SGD: needs a sequence of parameters, not Linear (its parameters() are"),
    (lambda x: optim.SGD(nn.Sequential(nn.Linear(2, 2)), 0.1), "not Sequential (its parameters() are"),
    (lambda x: optim.SGD(nn.ModuleList([nn.ReLU()]), 0.1), "SGD: needs parameters, not modules"),
    (lambda x: optim.SGD(3, 0.1), "SGD: needs a sequence of parameters, not int"),
    (lambda x: mt.max(x, x), "max: the axis is a number or several, not a tensor; of two tensors it is maximum()"),
    (lambda x: x.min(x), "min: the axis is a number or several, not a tensor; of two tensors it is minimum()"),
    (lambda x: mt.split(x, 0), "split: pieces of size 0"), (lambda x: x.split(-1), "split: pieces of size -1"),
    (lambda x: optim.NAdam, "'NAdam': there is no such rule; the nearest is Adam, whose steps differ"),
    (lambda x: nn.Dropout2d, "drops whole channels so, where Dropout and dropout() drop elements"),
    (lambda x: mt.erfc, "it loses digits as x grows"),
    (lambda x: mt.data.DataLoader(mt.data.TensorDataset(x), collate_fn=list), "'collate_fn': it is called 'collate'"),
    (lambda x: nn.embedding(mt.tensor([0, -1]), x), "embedding: index -1 is outside axis 0 of [2,3], which has size 2"),
    (lambda x: mt.trace(nn.embedding)(mt.tensor([-1]), x), "embedding: index -1 is outside axis 0 of [2,3]")])
def test_what_is_wrong_is_said(call, said):
    with pytest.raises((TypeError, ValueError, AttributeError, IndexError), match=re.escape(said)):
        call(mt.ones((2, 3)).requires_grad_())


@pytest.mark.parametrize("call", [
    lambda folder: mt.save({"a\0b": mt.ones(1)}, folder + "/x.safetensors"),
    lambda folder: mt.save({"a\0b": mt.ones(1)}, folder + "/x.npz"),
    lambda folder: mt.save({"a": {"b\0": mt.ones(1)}}, folder + "/x.npz"),
    lambda folder: mt.save(mt.ones(1), folder + "/x\0.npy"),
    lambda folder: mt.load(folder + "/x\0.npy"),
    lambda folder: mt.ones(1, device="cpu\0")])
def test_text_with_a_nul_is_refused(call, tmp_path):
    with pytest.raises(ValueError, match="NUL|null"):  # Python's own says null
        call(str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", [
    lambda xp, shape: xp.zeros(shape), lambda xp, shape: xp.zeros((0,)).reshape(shape),
    lambda xp, shape: xp.broadcast_to(xp.zeros((0, 1, 1)), shape)])
def test_shapes_beyond_all_addresses_are_refused_though_empty(call):
    for xp in mt, np:
        with pytest.raises(ValueError):
            call(xp, (0, 2**62, 2**62))


def test_wrong_numbers_of_arguments_are_refused_by_all_that_c_defines():
    x = mt.ones(3)
    for name, function in vars(mt.native).items():
        if inspect.isbuiltin(function):
            for _ in range(3):  # what one call leaves on the stack, the next must not take for its own
                with pytest.raises(TypeError):
                    function(*[x] * 30)
                if not name.endswith("_swigregister"):
                    with pytest.raises(TypeError):
                        function(x, no_such_argument=x)


def test_widths_are_numpys():
    x = mt.arange(6).reshape(2, 3)
    for widths in 1, (1, 2), ((1, 2),), [(0, 1), (2, 0)], np.array([1, 2]):
        np.testing.assert_array_equal(mt.pad(x, widths), np.pad(x.numpy(), widths))


# ------------------------------------------------------------------------------------- Generators

def test_steps_of_generators_are_within_the_region():
    seen = []

    @mt.no_grad()
    def counting(x):
        for i in range(3):
            seen.append(mt.is_grad_enabled())
            try:
                got = yield x * i
                seen.append(got)
            except KeyError:
                seen.append("thrown")
        return "end"

    generator = counting(mt.ones(1).requires_grad_())
    assert not next(generator).requires_grad and mt.is_grad_enabled()
    assert generator.send("sent").tolist() == [1] and generator.throw(KeyError).tolist() == [2]
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "end" and seen == [False, "sent", False, "thrown", False, None]
    assert mt.is_grad_enabled() and counting.__name__ == "counting"


def test_generators_are_closed_within_the_region():
    seen = []

    @mt.no_grad
    def endless():
        try:
            while True:
                yield 1
        finally:
            seen.append(mt.is_grad_enabled())

    generator = endless()
    next(generator)
    generator.close()
    assert seen == [False] and mt.is_grad_enabled()


def test_asynchronous_functions_are_refused():
    async def waits():
        pass

    with pytest.raises(TypeError, match="waits is asynchronous"):
        mt.no_grad()(waits)


# ---------------------------------------------------------------------------------- Circular modules

class Child(nn.Module):
    def __init__(self, parent):
        self.weight = nn.Parameter(mt.ones(2))
        self.parent = parent


class Parent(nn.Module):
    def __init__(self):
        self.bias = nn.Parameter(mt.ones(2))
        self.children_ = [Child(self), Child(self)]
        self.me = self


def test_modules_that_refer_to_those_above():
    parent = Parent()
    names = ["bias", "children_.0.weight", "children_.1.weight"]
    assert [name for name, _ in parent.named_parameters()] == list(parent.state_dict()) == names
    assert len(parent.modules()) == 3
    parent.eval()
    assert not any(module.training for module in parent.modules())
    parent.children_[0].train()
    assert all(module.training for module in parent.modules())
    assert repr(parent).count("Child") == 2 and "(me): ..." in repr(parent) and "Parent" in parent.summary()
    assert [name for name, _ in parent.children_[0].named_parameters()][:2] == ["weight", "parent.bias"]
    parent.zero_grad()
    parent.to(mt.float64)
    assert parent.children_[1].weight.dtype == mt.float64


def test_a_module_that_is_there_twice_is_called_by_both_names():
    layer = nn.Linear(1, 1, bias=False)
    network = nn.Sequential(layer, layer)
    assert list(network.state_dict()) == ["0.weight", "1.weight"] and len(network.parameters()) == 1
    assert [name for name, _ in network.named_modules()] == ["", "0"]
