# SPDX-License-Identifier: Apache-2.0
"""Where a run goes on: checkpoints within checkpoints, and the place of a loader."""
import numpy as np
import pytest

import mtorch as mt
from mtorch import nn, optim


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_checkpoints_nest(tmp_path, ending):
    net = nn.Linear(2, 1)
    optimizer = optim.AdamW(net.parameters(), lr=0.1)
    net(mt.ones((1, 2))).sum().backward()
    optimizer.step()
    path = tmp_path / f"checkpoint.{ending}"
    saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7,
             "more": {"inner": {"a/b": 1.5}, "none": {}}, "a/name": mt.ones(2)}
    mt.save(saved, path)
    loaded = mt.load(path)
    assert loaded.keys() == saved.keys() and loaded["epoch"].item() == 7
    assert loaded["more"]["inner"]["a/b"].item() == 1.5 and loaded["more"]["none"] == {}
    again = nn.Linear(2, 1)
    other = optim.AdamW(again.parameters(), lr=1.0)
    again.load_state_dict(loaded["net"])
    other.load_state_dict(loaded["optimizer"])
    for model, rule in (net, optimizer), (again, other):
        model.zero_grad()
        (model(mt.ones((1, 2))) ** 2).sum().backward()
        rule.step()
    assert again.weight.tolist() == net.weight.tolist() and other.lr == 0.1


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
@pytest.mark.parametrize("names, said", [
    ({"a/": 1.0}, "'a/': the name of a tensor has no /"),
    ({"a": {"": 1.0}}, "'a/': the name of a tensor has no /"),
    ({"a": {"b": 1.0}, "a/b": 2.0}, "'a/b' is a name within 'a', which is a dictionary"),
    ({"a/b": 2.0, "a": {"b": 1.0}}, "'a/b' is a name within 'a'"),
    ({"a": {}, "a/c": 2.0}, "'a/c' is a name within 'a'"),
    ({"a": {"b": {}}, "a/b": {"c": 1.0}}, "'a/b/.*' is a name within 'a'")])
def test_a_name_that_would_be_read_elsewhere_is_refused(tmp_path, ending, names, said):
    path = tmp_path / f"names.{ending}"
    with pytest.raises(ValueError, match=said):
        mt.save(names, path)
    assert not path.exists()


def test_what_ends_in_a_slash_is_read(tmp_path):
    np.savez(tmp_path / "x.npz", **{"a/": np.ones(2)})
    assert mt.load(tmp_path / "x.npz")["a/"].tolist() == [1, 1]
    names = {"a/b": 1.0, "a/c": {"d/e": 2.0, "": {"f": 3.0}}, "/g": 4.0}
    mt.save(names, tmp_path / "y.npz")
    loaded = mt.load(tmp_path / "y.npz")
    assert loaded["a/c"].keys() == names["a/c"].keys() and loaded.keys() == names.keys()
    assert loaded["a/c"]["d/e"].item() == 2 and loaded["a/c"][""]["f"].item() == 3


def shuffled(count, whole, prefetch):
    """Makes loaders of a dataset, as tensors or as a list of its items."""
    data = mt.data.TensorDataset(mt.arange(count))
    data = data if whole else [data[i] for i in range(count)]
    return lambda: mt.data.DataLoader(data, 2, shuffle=True, seed=3, prefetch=prefetch)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_loader_goes_on_where_it_was(whole, prefetch):
    loader = shuffled(11, whole, prefetch)
    one = loader()
    epochs = [[batch.tolist() for batch in one] for _ in range(3)]
    assert one.state_dict() == {"epoch": 3, "batch": 0} and epochs[0] != epochs[1]
    other = loader()
    list(other)
    for _, batch in zip(range(4), other):
        last, state = batch.tolist(), other.state_dict()
    assert last == epochs[1][3] and state == {"epoch": 1, "batch": 4}
    again = loader()
    again.load_state_dict({name: mt.tensor(n) for name, n in state.items()})
    assert [batch.tolist() for batch in again] == epochs[1][4:]
    assert [batch.tolist() for batch in again] == epochs[2]
    assert [batch.tolist() for batch in other] == epochs[2]  # what is broken off is over
    for wrong in {"epoch": 0}, {"epoch": -1, "batch": 0}, {"epoch": 0, "batch": 6}:
        with pytest.raises(ValueError, match="load_state_dict"):
            again.load_state_dict(wrong)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_the_place_of_a_loader_is_what_it_goes_on_with(whole, prefetch):
    loader = shuffled(6, whole, prefetch)
    one, other = loader(), loader()
    for _ in one:
        break
    assert one.state_dict() == {"epoch": 1, "batch": 0}
    other.load_state_dict(one.state_dict())
    assert [batch.tolist() for batch in one] == [batch.tolist() for batch in other]
    older, newer = iter(one), iter(one)
    next(older), next(newer)
    older.close()  # after which the newer one goes on
    assert one.state_dict() == {"epoch": 3, "batch": 1} and len(list(newer)) == 2
    newer = iter(one)
    next(newer)
    one.load_state_dict({"epoch": 1, "batch": 1})
    newer.close()
    assert one.state_dict() == {"epoch": 1, "batch": 1} and len(list(one)) == 2


def test_an_order_without_a_seed_has_no_place():
    data = mt.data.TensorDataset(mt.arange(6))
    loader = mt.data.DataLoader(data, 2, shuffle=True)
    for call in loader.state_dict, lambda: loader.load_state_dict({"epoch": 0, "batch": 1}):
        with pytest.raises(ValueError, match="state_dict: without a seed"):
            call()
    assert len(list(loader)) == 3
    loader = mt.data.DataLoader(data, 2)
    loader.load_state_dict({"epoch": 0, "batch": 1})
    assert loader.state_dict() == {"epoch": 0, "batch": 1} and len(list(loader)) == 2
