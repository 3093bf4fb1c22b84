# SPDX-License-Identifier: Apache-2.0
"""The tree of modules, data loading."""
import copy
import pickle
import threading

import numpy as np
import pytest

import mtorch as mt
from mtorch import data, nn, optim


def test_hooks():
    layer, seen = nn.Linear(2, 3), []
    remove = [layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
              layer.register_forward_hook(lambda module, args, y: seen.append(y.shape) or y * 0)]
    assert layer(mt.ones((4, 2))).tolist() == [[0.0] * 3] * 4 and seen == [(4, 3)]
    for undo in remove:
        undo()
    assert mt.any(layer(mt.ones((4, 2))) != 0) and len(seen) == 1


def test_summary():
    network = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout(0.5))
    lines = network.summary(mt.ones((2, 4))).splitlines()
    assert lines[1].split() == ["Sequential", "[2,", "3]", "15"] and len(lines) == 5
    assert network.training and network[2].training
    assert "15" in network.summary()


def test_attributes_of_layers_are_their_parameters():
    layer = nn.Linear(2, 1)
    optimizer = mt.optim.SGD(layer.parameters(), lr=1.0)
    layer.weight = mt.asarray([[2.0, 3.0]])
    layer.bias = [1.0]
    assert layer(mt.ones(2)).tolist() == [6.0] and layer.weight.requires_grad
    mt.sum(layer(mt.ones(2))).backward()
    optimizer.step()
    assert layer.weight.tolist() == [[1.0, 2.0]]
    with pytest.raises(AttributeError, match="wheight"):
        layer.wheight
    with pytest.raises(ValueError):
        layer.weight = mt.ones(3)


def test_freezing():
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(2), nn.Linear(2, 2))
    network.scale = nn.Parameter(mt.ones(2))
    network.requires_grad_(False)
    network[2].requires_grad_()
    before = {name: value.tolist() for name, value in network.state_dict().items()}
    assert len(network.parameters()) == 7 and len(network.buffers()) == 2
    optimizer = mt.optim.SGD(network.parameters(), lr=1.0)
    mt.sum(mt.square(network(mt.asarray([[1.0, 2.0], [3.0, 5.0]])) + 1)).backward()
    optimizer.step()
    changed = {name for name, value in network.state_dict().items()
               if value.tolist() != before[name]}
    assert changed == {"2.weight", "2.bias", "1.running_mean", "1.running_var"}
    network.requires_grad_()
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert not any(buffer.requires_grad for buffer in network.buffers())


def test_load_state_dict_that_is_not_strict():
    network = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="missing.*bias.*unknown.*more"):
        network.load_state_dict({"weight": np.ones((2, 2)), "more": np.ones(1)})
    network.load_state_dict({"weight": np.ones((2, 2)), "more": np.ones(1)}, strict=False)
    assert network.weight.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ValueError, match="weight is"):
        network.load_state_dict({"weight": np.ones(3)}, strict=False)


def test_module_lists():
    class Deep(nn.Module):
        def __init__(self):
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    deep = Deep()
    assert deep(mt.ones(2)).shape == (2,) and len(deep.layers) == 3
    assert list(deep.state_dict())[:2] == ["layers.0.weight", "layers.0.bias"]
    assert [name for name, _ in deep.named_modules()][:3] == ["", "layers", "layers.0"]


def test_recurrent_gradients():
    cells = {"rnn": 1, "gru": 3, "lstm": 4}
    rng = np.random.default_rng(0)
    for kind, gates in cells.items():
        shapes = [(2, 3, 2), (2, 3), (2, 3), (3 * gates, 2), (3 * gates, 3), (3 * gates,),
                  (3 * gates,)]
        inputs = [mt.asarray(rng.normal(size=shape)).requires_grad_() for shape in shapes]

        def run(x, h, c, *weights):
            y, last, cell = mt.native.recurrent(kind, x, h, c if kind == "lstm" else None, weights)
            more = mt.sum(cell * cell) if cell is not None else mt.sum(c * 0)
            return mt.sum(y * y) + mt.sum(last * 3) + more

        assert mt.gradcheck(run, inputs)


# ----------------------------------------------------------------------------------- Data

class Squares(data.Dataset):
    def __getitem__(self, i):
        return {"x": float(i), "square": mt.asarray([i * i])}

    def __len__(self):
        return 7


def test_batches():
    loader = data.DataLoader(Squares(), batch_size=3)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert batches[1]["x"].tolist() == [3, 4, 5] and batches[2]["square"].tolist() == [[36]]
    assert len(list(data.DataLoader(Squares(), batch_size=3, drop_last=True))) == 2
    with pytest.raises(ValueError):
        data.TensorDataset(mt.ones(3), mt.ones(4))


@pytest.mark.parametrize("prefetch", [0, 2])
def test_shuffling_by_seed(prefetch):
    def epochs(seed):
        loader = data.DataLoader(data.TensorDataset(mt.arange(50)), batch_size=8, shuffle=True,
                                 seed=seed, prefetch=prefetch)
        return [[row for batch in loader for row in batch.tolist()] for _ in range(2)]

    mt.seed(1)
    first = epochs(3)
    mt.seed(2)
    assert epochs(3) == first and epochs(4) != first and first[0] != first[1]
    assert sorted(first[0]) == list(range(50))
    state = mt.random.get_state()
    epochs(3)
    assert mt.random.get_state() == state
    mt.seed(3)  # the order of every language: what a generator of this seed draws first
    assert mt.random.permutation(50).tolist() == first[0]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_two_loops_over_one_loader(prefetch):
    both = data.TensorDataset(mt.arange(6), mt.arange(6) * 10)
    loader = data.DataLoader(both, batch_size=4, prefetch=prefetch, device="cpu")
    for outer in loader:
        inner = [(x.tolist(), y.tolist()) for x, y in loader]
        assert inner == [([0, 1, 2, 3], [0, 10, 20, 30]), ([4, 5], [40, 50])]
    assert outer[1].tolist() == [40, 50]


def test_the_order_of_the_current_generator():
    mt.seed(5)
    expected = mt.random.permutation(7).tolist()
    loader = data.DataLoader(Squares(), batch_size=2, shuffle=True, prefetch=2)
    mt.seed(5)
    assert [x for batch in loader for x in batch["x"].tolist()] == expected


class Varied(Squares):
    def __getitem__(self, i):
        return i, mt.random.uniform((3,)), mt.random.integers(0, 1 << 30).item()


@pytest.mark.parametrize("seed", [None, 4])
def test_what_items_draw(seed):
    def epochs(prefetch, skipped=0, **options):
        mt.seed(6)
        loader = data.DataLoader(Varied(), batch_size=3, seed=seed, prefetch=prefetch, **options)
        if skipped:
            loader.load_state_dict({"epoch": 0, "batch": skipped})
        return [[[part.tolist() for part in batch] for batch in loader] for _ in range(2)]

    first = epochs(0)
    assert epochs(1) == epochs(5) == first
    assert epochs(0, shuffle=True) == epochs(3, shuffle=True)
    drawn = [n for epoch in first for _, rows, numbers in epoch for n in [*numbers, *map(tuple, rows)]]
    assert len(set(drawn)) == len(drawn) == 28
    for prefetch in 0, 2:  # a run that goes on draws what it would have
        begun, following = epochs(prefetch, skipped=2)
        assert begun == first[0][2:] and following == first[1]
    mt.seed(6)
    loaders = [data.DataLoader(Varied(), seed=seed, prefetch=2) for _ in range(2)]
    state = mt.random.get_state()
    one, other = ([numbers.tolist() for _, _, numbers in loader] for loader in loaders)
    assert (one == other) == (seed is not None) and mt.random.get_state() == state


def test_the_background_ends_with_the_loop():
    class Fails(Squares):
        def __getitem__(self, i):
            if i == 5:
                raise KeyError("five")
            return mt.asarray(i)

    with pytest.raises(KeyError, match="five"):
        list(data.DataLoader(Fails(), prefetch=2))
    for batch in data.DataLoader(Squares(), prefetch=1):
        break
    assert not [thread for thread in threading.enumerate() if thread.name == "mtorch.data"]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_modules(again):
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm(8), nn.ReLU(), nn.Dropout(0.5),
                           nn.TransformerBlock(8, 2), nn.Linear(8, 2, bias=False))
    module(mt.random.normal((16, 4)))
    module.eval()
    module[0].requires_grad_(False)
    before = mt.random.get_state()
    twin = again(module)
    assert mt.random.get_state() == before
    assert list(twin.state_dict()) == list(module.state_dict()) and not twin[3].training
    assert [p.requires_grad for p in twin.parameters()] == [
        p.requires_grad for p in module.parameters()]
    x = mt.random.normal((3, 4))
    assert twin(x).tolist() == module(x).tolist()
    with mt.no_grad():
        twin[5].weight *= 2
    twin(x).sum().backward()
    assert twin(x).tolist() != module(x).tolist() and module[5].weight.grad is None


def converted():
    mt.seed(2)
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4), nn.Linear(4, 1))
    network.register_buffer("count", mt.asarray([1, 2]))
    return network


def test_a_module_is_converted_in_place():
    network = converted()
    first, weights = network.parameters()[0], network.parameters()[0].tolist()
    assert network.to(mt.float64) is network and network.parameters()[0] is first
    assert {x.dtype for x in network.parameters()} == {mt.float64} and first.requires_grad
    assert network.count.dtype == mt.int64 and first.tolist() == weights
    network(mt.ones((2, 3), dtype=mt.float64)).sum().backward()
    assert first.grad.dtype == mt.float64
    assert network.half().parameters()[0].dtype == mt.float16 and first.grad.dtype == mt.float16
    assert network.bfloat16().double().float()[1].running_mean.dtype == mt.float32
    network.to("cpu:reference")
    assert {x.device for x in network.state_dict().values()} == {"cpu:reference"}
    network.to("cpu", mt.bfloat16)
    assert first.device == first.grad.device == "cpu" and first.dtype == mt.bfloat16
    assert network.to(mt.ones(1)).cpu().parameters()[0].dtype == mt.float32
    with pytest.raises(TypeError, match="int32"):
        network.to(mt.int32)
    with pytest.raises(TypeError, match="element type"):
        network.to("nowhere")
    with pytest.raises(mt.Error, match="cpu:9"):
        network.to("cpu:9")
    assert first.dtype == mt.float32


def test_an_optimizer_made_before_trains_what_is_converted():
    results = []
    for types in ([mt.float64] * 3, [mt.float32, mt.float64, mt.bfloat16]):
        network = converted().double()
        optimizer = optim.Adam(network.parameters(), lr=0.1)
        for dtype in types:
            network.to(dtype)
            for _ in range(2):
                optimizer.zero_grad()
                (network(mt.ones((2, 3), dtype=dtype)) ** 2).mean().backward()
                optimizer.step()
        assert optimizer.steps == 6 and network.parameters()[0].dtype == types[-1]
        assert {x.dtype for name, x in optimizer.state_dict().items() if "." in name} == {
            mt.float64 if types[-1] == mt.float64 else mt.float32}
        results.append(network.double().parameters()[0].numpy())
    np.testing.assert_allclose(*results, atol=0.02)


def test_a_converted_module_is_copied_as_it_is():
    network = converted().to(mt.float64).to("cpu:reference")
    for other in copy.deepcopy(network), pickle.loads(pickle.dumps(network.cpu())):
        assert {x.dtype for x in other.parameters()} == {mt.float64}
        assert network.parameters()[0].tolist() == other.parameters()[0].tolist()
    assert copy.deepcopy(network.to("cpu:reference")).parameters()[0].device == "cpu:reference"


def test_to_takes_a_tensor():
    x = mt.ones(2).to(mt.ones(1, dtype=mt.float64).to("cpu:reference"))
    assert x.dtype == mt.float64 and x.device == "cpu:reference"


def test_attention_goes_on_from_what_it_kept():
    block = nn.TransformerBlock(8, 2, causal=True)
    attention = nn.MultiheadAttention(8, 2, causal=True)
    x = mt.random.normal((3, 6, 8))
    with mt.no_grad():
        for layer in block, attention:
            kept = layer.kept_zeros(3, context=6)
            step = mt.trace(lambda x, places: layer(x, kept=kept, places=places))
            parts = [step(x[:, i:j], mt.arange(i, j)) for i, j in ((0, 4), (4, 5), (5, 6))]
            np.testing.assert_allclose(mt.concat(parts, axis=1), layer(x), atol=1e-5)
            with pytest.raises(IndexError, match="index 6"):
                step(x[:, :1], mt.asarray([6]))
            with pytest.raises(ValueError, match="mask"):
                layer(x, mask=mt.ones((6, 6)), kept=kept, places=mt.arange(6))
    with pytest.raises(ValueError, match="causal"):
        nn.MultiheadAttention(8, 2).kept_zeros(3, context=6)
