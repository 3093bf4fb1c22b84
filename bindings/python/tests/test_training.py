# SPDX-License-Identifier: Apache-2.0
"""Modules, optimizers, files, random numbers."""
import json
import struct

import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim


class Network(nn.Module):
    def __init__(self):
        self.first = nn.Linear(2, 16)
        self.rest = nn.Sequential(mt.tanh, nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x):
        return self.rest(self.first(x))


@pytest.mark.parametrize("make", [
    lambda p: optim.SGD(p, lr=0.5, momentum=0.9), lambda p: optim.Adam(p, lr=0.03),
    lambda p: optim.AdamW(p, lr=0.03), lambda p: optim.RMSprop(p, lr=0.01),
    lambda p: optim.Adagrad(p, lr=0.1)], ids=["sgd", "adam", "adamw", "rmsprop", "adagrad"])
def test_training_learns(make):
    mt.seed(0)
    network = Network()
    optimizer = make(network.parameters())
    x = mt.random.uniform((200, 2), -1, 1)
    y = (x[:, :1] * x[:, 1:] > 0).astype(mt.float32)
    losses = []
    for _ in range(150):
        loss = nn.bce_with_logits(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0] and optimizer.steps == 150


def test_adam_is_its_formula():
    w = mt.asarray([1.0, -2.0], dtype=mt.float64).requires_grad_()
    optimizer = optim.Adam([w], lr=0.1)
    x, m, v = w.numpy().copy(), 0, 0
    for t in range(1, 5):
        mt.sum(w ** 3).backward()
        optimizer.step()
        optimizer.zero_grad()
        g = 3 * x ** 2
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - 0.1 * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        np.testing.assert_allclose(w.numpy(), x, rtol=1e-12)


def test_module_tree():
    network = Network()
    names = [name for name, _ in network.named_parameters()]
    assert names == ["first.weight", "first.bias", "rest.2.weight", "rest.2.bias"]
    assert network.first.weight.shape == (16, 2) and network.first.weight.requires_grad
    assert "Linear(2, 16" in repr(network) and "(rest): Sequential" in repr(network)
    x = mt.ones((1000, 2))
    assert network.eval()(x).tolist() == network(x).tolist()
    assert network.train()(x).tolist() != network(x).tolist()
    norm = nn.BatchNorm(3)
    assert [name for name, _ in norm.named_buffers()] == ["running_mean", "running_var"]


def test_layers_agree_with_their_definitions():
    x = mt.random.normal((5, 6))
    linear = nn.Linear(6, 4)
    np.testing.assert_allclose(linear(x).numpy(), x.numpy() @ linear.weight.numpy().T
                               + linear.bias.numpy(), rtol=1e-5, atol=1e-6)
    norm = nn.LayerNorm(6)
    a = x.numpy()
    np.testing.assert_allclose(norm(x).numpy(), (a - a.mean(1, keepdims=True)) / np.sqrt(
        a.var(1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-5)
    table = nn.Embedding(10, 3)
    np.testing.assert_array_equal(table(mt.asarray([1, 4, 1])).numpy(),
                                  table.weight.numpy()[[1, 4, 1]])
    conv = nn.Conv2d(2, 3, 3, padding=1, bias=False)
    image = mt.random.normal((1, 2, 5, 5))
    padded = np.pad(image.numpy(), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    np.testing.assert_allclose(conv(image).numpy(), np.einsum(
        "bchwij,ocij->bohw", windows, conv.weight.numpy()), rtol=1e-4, atol=1e-5)
    attention = nn.MultiheadAttention(8, 2, causal=True)
    y = mt.random.normal((3, 5, 8))
    first = attention(y[:, :2]).numpy()
    np.testing.assert_allclose(attention(y).numpy()[:, :2], first, rtol=1e-5, atol=1e-6)


def test_losses():
    z, t = mt.random.normal((4, 3)), mt.asarray([0, 2, 1, 1])
    a = z.numpy().astype(np.float64)
    nats = np.log(np.exp(a).sum(1)) - a[np.arange(4), [0, 2, 1, 1]]
    np.testing.assert_allclose(nn.cross_entropy(z, t, reduction="none").numpy(), nats, rtol=1e-5)
    np.testing.assert_allclose(nn.cross_entropy(z, t).item(), nats.mean(), rtol=1e-5)
    with pytest.raises(ValueError, match="reduction"):
        nn.cross_entropy(z, t, reduction="median")


def test_clipping_and_rate():
    w = mt.asarray([3.0, 4.0]).requires_grad_()
    optimizer = optim.SGD([w], lr=1.0)
    mt.sum(w * w).backward()
    assert abs(optimizer.clip_grad_norm(1.0).item() - 10) < 1e-5
    assert abs(mt.norm(w.grad).item() - 1) < 1e-5
    optimizer.lr = 0.25
    assert optimizer.lr == 0.25
    with pytest.raises(ValueError):
        optimizer.lr = -1
    with pytest.raises(ValueError):
        optim.SGD([], lr=1.0)


def test_weights_are_saved_and_loaded(tmp_path):
    mt.seed(1)
    a, b = Network().eval(), Network().eval()
    x = mt.random.normal((4, 2))
    assert a(x).tolist() != b(x).tolist()
    a.save(tmp_path / "weights.safetensors")
    b.load(tmp_path / "weights.safetensors")
    assert a(x).tolist() == b(x).tolist() and b.first.weight.requires_grad
    c = Network().eval()
    c.load_state_dict(a.state_dict())
    assert a(x).tolist() == c(x).tolist()
    with pytest.raises(ValueError, match="missing"):
        c.load_state_dict({})
    with pytest.raises((mt.Error, ValueError)):
        nn.Linear(2, 2).load(tmp_path / "weights.safetensors")


def test_modules_and_dictionaries_share_their_files(tmp_path):
    layer, other = nn.Linear(2, 3), nn.Linear(2, 3)
    for ending in "npz", "safetensors":
        path = tmp_path / f"w.{ending}"
        layer.save(path)
        assert mt.load(path).keys() == layer.state_dict().keys()
        mt.save(other.state_dict(), path)
        layer.load(path)
        assert layer.weight.tolist() == other.weight.tolist()
        elsewhere = nn.Linear(2, 3).to("cpu:reference")
        elsewhere.load(path)
        assert elsewhere.weight.device == "cpu:reference" and elsewhere.weight.requires_grad
        assert elsewhere.weight.tolist() == other.weight.tolist()
        mt.save({"weight": mt.ones(1)}, path)
        with pytest.raises(ValueError):
            layer.load(path)
    with pytest.raises(ValueError, match="files end in"):
        layer.save(tmp_path / "w.pt")
    layer.save(tmp_path / "w.safetensors")
    (tmp_path / "w.safetensors").rename(tmp_path / "v.npz")
    for load in mt.load, layer.load:
        with pytest.raises(mt.Error, match="v.npz: is a safetensors file"):
            load(tmp_path / "v.npz")


def test_safetensors_layout(tmp_path):
    path = tmp_path / "two.safetensors"
    mt.save({"a": mt.asarray([[1.0, 2.0]]), "b": mt.asarray([3], dtype=mt.int64)}, path)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert header["a"]["dtype"] == "F32" and header["a"]["shape"] == [1, 2]
    for name, dtype, expected in ("a", np.float32, [1, 2]), ("b", np.int64, [3]):
        begin, end = header[name]["data_offsets"]
        found = np.frombuffer(data[8 + length + begin:8 + length + end], dtype)
        np.testing.assert_array_equal(found, expected)
    assert {name: x.tolist() for name, x in mt.load(path).items()} == {"a": [[1, 2]], "b": [3]}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64"])
def test_numpy_files(tmp_path, dtype):
    x = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    mt.save(mt.asarray(x), tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    np.save(tmp_path / "y.npy", np.asfortranarray(x))
    np.testing.assert_array_equal(mt.load(tmp_path / "y.npy").numpy(), x)
    mt.save({"x": mt.asarray(x), "y": mt.asarray(x + x)}, tmp_path / "z.npz", compress=True)
    with np.load(tmp_path / "z.npz") as found:
        np.testing.assert_array_equal(found["x"], x)
    np.savez(tmp_path / "w.npz", x=x)
    np.testing.assert_array_equal(mt.load(tmp_path / "w.npz")["x"].numpy(), x)


def test_idx_files(tmp_path):
    (tmp_path / "labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    assert mt.load(tmp_path / "labels-idx1-ubyte").tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match="files end"):
        mt.save({}, tmp_path / "x.txt")


def test_random_numbers():
    mt.seed(5)
    state = mt.random.get_state()
    first = mt.random.normal((10,)).tolist()
    mt.random.set_state(state)
    assert mt.random.normal((10,)).tolist() == first
    mt.seed(5)
    assert mt.random.normal((10,)).tolist() == first
    assert sorted(mt.random.permutation(9).tolist()) == list(range(9))
    x = mt.random.integers(3, 6, (100,))
    assert set(x.tolist()) == {3, 4, 5}
