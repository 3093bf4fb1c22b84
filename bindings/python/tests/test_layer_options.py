# SPDX-License-Identifier: Apache-2.0
"""What layers are made with: unknown options are refused, the others are shown."""
import copy
import pickle

import pytest

import mtorch as mt
from mtorch import nn


@pytest.mark.parametrize("call, said", [
    (lambda: nn.MultiheadAttention(4, 2, caussal=True), "unexpected keyword argument 'caussal'$"),
    (lambda: nn.MultiheadAttention(4, 2, is_causal=True), "'is_causal': it is called 'causal' here"),
    (lambda: nn.MultiheadAttention(4, 2, batch_first=True), "'batch_first': the batch always comes first"),
    (lambda: nn.TransformerBlock(4, 2, caussal=True), "unexpected keyword argument 'caussal'$")])
def test_unknown_options_are_refused(call, said):
    with pytest.raises(TypeError, match=said):
        call()


def test_structs_of_options_refuse_what_they_lack():
    for name in dir(mt.native):
        if name.endswith("_options"):
            with pytest.raises(AttributeError):
                getattr(mt.native, name)().nonsense = 1


def test_options_of_attention():
    attention = nn.MultiheadAttention(4, 2, causal=True, bias=False, dtype=mt.float64)
    assert list(attention.state_dict()) == ["in_proj_weight", "out_proj.weight"]
    x = mt.random.normal((5, 4), dtype=mt.float64)
    assert bool(mt.allclose(attention(x)[:3], attention(x[:3])))


# ----------------------------------------------------------------------------- What layers show

def test_layers_show_what_they_were_made_with():
    conv = nn.Conv2d(3, 8, 5, padding=2)
    assert (conv.in_channels, conv.kernel, conv.stride, conv.padding) == (3, 5, 1, 2)
    assert conv.bias.shape == (8,) and nn.Linear(2, 3).in_features == 2
    for layer in (nn.Linear(2, 2, bias=False), nn.Conv1d(1, 1, 1, bias=False), nn.ConvTranspose2d(1, 1, 1, bias=False)):
        assert layer.bias is None
    assert nn.LSTM(2, 3).hidden == 3 and nn.LSTM(2, 3, bias=False).bias is False
    assert nn.LayerNorm((2, 3)).shape == (2, 3) and nn.BatchNorm(4).momentum == 0.1
    block = nn.TransformerBlock(8, heads=2, causal=True)
    assert (block.width, block.heads, block.causal, block.norm_first) == (8, 2, True, True)
    again = pickle.loads(pickle.dumps(copy.deepcopy(nn.Dropout(0.25))))
    assert again.probability == 0.25 and not hasattr(again, "nonsense")


class Tagged(nn.Linear):
    def __init__(self):
        super().__init__(2, 3)
        self.tag = "mine"


def test_a_class_derived_from_a_layer_has_attributes_of_its_own():
    layer = pickle.loads(pickle.dumps(Tagged()))
    layer.other = 1
    assert (layer.in_features, layer.out_features, layer.tag, layer.other) == (2, 3, "mine", 1)


@pytest.mark.parametrize("layer, name, said", [
    (nn.Dropout(0.5), "p", "Dropout has no attribute 'p': it is called 'probability' here"),
    (nn.Conv2d(1, 1, 3), "kernel_size", "'kernel_size': it is called 'kernel' here"),
    (nn.BatchNorm(2), "eps", "'eps': it is called 'epsilon' here"),
    (nn.Linear(2, 2), "nonsense", "Linear has no attribute 'nonsense'")])
def test_names_of_attributes_that_layers_lack(layer, name, said):
    with pytest.raises(AttributeError, match=said + "$"):
        getattr(layer, name)
    with pytest.raises(AttributeError, match=said + "; a class derived"):
        setattr(layer, name, 0.0)


def test_what_a_layer_was_made_with_stays():
    layer = nn.Dropout(0.5)
    with pytest.raises(AttributeError, match="Dropout.probability is what the layer was made with, and stays"):
        layer.probability = 0.0
    with pytest.raises(AttributeError, match="bias is what"):
        nn.Linear(2, 2, bias=False).bias = mt.ones(2)
    linear = nn.Linear(2, 2)
    with pytest.raises(TypeError, match="Linear.bias takes a tensor or an array, not None; bias=False makes"):
        linear.bias = None
    linear.mask = mt.ones(2)  # a buffer, and a module, may be added
    linear.after = nn.ReLU()
    assert list(linear.state_dict()) == ["weight", "bias", "mask"]


def test_options_of_losses_and_pools_can_be_set():
    loss, pool = nn.HuberLoss(reduction="sum", delta=2.0), nn.MaxPool1d(2, stride=1)
    assert (loss.reduction, loss.delta, pool.size, pool.stride) == ("sum", 2.0, 2, 1)
    loss.reduction = "none"
    assert loss(mt.ones(2), mt.zeros(2)).shape == (2,)
    pool.stride = 2
    assert pool(mt.ones((1, 1, 4))).shape == (1, 1, 2)


@pytest.mark.parametrize("wrong", [{"stride": 0}, {"stride": (1, 0)}, {"dilation": [0, 1]},
                                   {"groups": 0}])
def test_zeros_are_not_taken_for_the_defaults(wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=f"{name} .*: must be at least 1"):
        nn.Conv2d(4, 4, 3, **wrong)
    with pytest.raises(ValueError, match=name):
        nn.conv2d(mt.ones((1, 4, 8, 8)), mt.ones((4, 4, 3, 3)), **wrong)
    if name != "groups":
        with pytest.raises(ValueError, match=name):
            nn.MaxPool2d(2, **wrong)(mt.ones((1, 4, 8, 8)))
