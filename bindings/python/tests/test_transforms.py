# SPDX-License-Identifier: Apache-2.0
"""Derivatives as functions, and traced functions of every form."""
import json
import warnings

import numpy as np
import pytest

import mtorch as mt


def doubles(*values):
    return mt.asarray(values, dtype=mt.float64)


def test_vjp():
    (y, z), pull = mt.vjp(lambda a, b: (a * b, mt.sum(a)), doubles(1, 2), doubles(3, 4))
    assert y.tolist() == [3, 8] and z.item() == 3 and not y.requires_grad
    da, db = pull(doubles(1, 10), doubles(5)[0])
    assert da.tolist() == [8, 45] and db.tolist() == [1, 20]
    assert pull(doubles(0, 0), doubles(1)[0])[0].tolist() == [1, 1]


def test_jvp():
    f = lambda x, y: mt.sin(x) * y  # noqa: E731
    x, y, dx, dy = doubles(0.3, 0.7), doubles(2, -1), doubles(1, -2), doubles(0.5, 3)
    value, along = mt.jvp(f, (x, y), (dx, dy))
    np.testing.assert_allclose(value.numpy(), f(x, y).numpy())
    expected = np.cos(x.numpy()) * dx.numpy() * y.numpy() + np.sin(x.numpy()) * dy.numpy()
    np.testing.assert_allclose(along.numpy(), expected)
    assert mt.jvp(lambda x: x * 3, (x,), (dx,))[1].tolist() == [3, -6]
    assert mt.jvp(lambda x: mt.ones(2, dtype=mt.float64), (x,), (dx,))[1].tolist() == [0, 0]


def test_jacobian_and_hessian():
    w = mt.asarray(np.random.default_rng(0).normal(size=(3, 2)))
    x = doubles(0.5, -1)
    np.testing.assert_allclose(mt.jacobian(lambda x: w @ x)(x).numpy(), w.numpy())
    f = lambda x: mt.sum(mt.exp(w @ x))  # noqa: E731
    expected = w.numpy().T @ np.diag(np.exp(w.numpy() @ x.numpy())) @ w.numpy()
    np.testing.assert_allclose(mt.hessian(f)(x).numpy(), expected)
    assert mt.hessian(lambda x: mt.sum(x))(x).tolist() == [[0, 0], [0, 0]]
    assert mt.hessian(lambda a, x: mt.sum(a * x * x), argnum=1)(x, x).shape == (2, 2)


@pytest.mark.parametrize("count", [0, 1, 9, 300, 600])
def test_traces_of_any_number_of_results(count):
    calls = []

    @mt.trace
    def f(x):
        calls.append(1)
        return [x + i for i in range(count)]

    for start in (0, 1, 2):
        found = f(mt.full((2,), float(start)))
        assert [y.tolist()[0] for y in found] == [start + i for i in range(count)]
    assert len(calls) == (1 if count < 512 else 2) and f.count == 1


def test_several_results_of_checkpoints():
    x = mt.ones(3).requires_grad_()
    a, b, c = mt.checkpoint(lambda x: (x * 2, x * 3, x * 4), x)
    mt.sum(a * b * c).backward()
    assert x.grad.tolist() == [72, 72, 72]


def test_static_arguments():
    calls = []

    @mt.trace(static=("mode", 1))
    def f(x, n, mode="up"):
        calls.append((n, mode))
        return x + n if mode == "up" else x - n

    x = mt.ones(2)
    assert f(x, 3).tolist() == [4, 4] and f(x, 3, mode="down").tolist() == [-2, -2]
    assert f(x * 2, 3).tolist() == [5, 5] and f(x, 4).tolist() == [5, 5]
    assert calls == [(3, "up"), (3, "down"), (4, "up")]
    assert f(x, 1.0).dtype == mt.float32 and f(x.astype(mt.int32), 1).dtype == mt.int32
    with pytest.raises(TypeError, match="hashable"):
        f(x, {1})


def test_arrays_are_inputs_of_a_trace():
    f = mt.trace(lambda x: x * 2)
    assert f(np.arange(3.0)).tolist() == [0, 2, 4] and f(np.ones(3)).tolist() == [2, 2, 2]
    assert f.count == 1


def selects_nothing(y):
    y[5:] = 0.0


def masks_nothing(y):
    y[mt.zeros(y.shape, dtype="bool")] = 1.0


def is_itself(y):
    y[...] = y


def goes_and_returns(y):
    before = y.detach()
    y._assign(y * 3)
    y._assign(before)


@pytest.mark.parametrize("change", [selects_nothing, masks_nothing, is_itself, goes_and_returns])
@pytest.mark.parametrize("leaf", [False, True])
def test_a_traced_function_may_bind_a_tensor_to_what_it_is(change, leaf):
    kept = mt.tensor([5.0, 7.0])

    def f(x):
        y = x * 2
        z = y.detach().requires_grad_() if leaf else y
        with mt.no_grad():
            for tensor in y, z, kept:
                change(tensor)
        return y + z, kept + x
    traced = mt.trace(f)
    for i in range(3):
        x = mt.arange(2.0) + i
        assert [y.tolist() for y in traced(x)] == [y.tolist() for y in f(x)]
    assert kept.tolist() == [5, 7]


def makes_an_optimizer(x):
    w = x.detach().requires_grad_()
    optimizer = mt.optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    return w * 1


def makes_a_generator(x):
    with mt.random.Generator(3):
        return x * mt.random.uniform(2)


def seeds(x):
    mt.seed(3)
    return x * mt.random.uniform(2)


def goes_back(x):
    state = mt.random.get_state()
    y = mt.random.uniform(2)
    mt.random.set_state(state)
    return x * (y - mt.random.uniform(2))


@pytest.mark.parametrize("function", [makes_an_optimizer, makes_a_generator, seeds, goes_back])
def test_what_a_replay_could_not_repeat_is_an_error(function):
    with pytest.raises(mt.Error, match="inside a trace"):
        mt.trace(function)(mt.ones(2))
    assert function(mt.ones(2)).shape == (2,)


def test_a_traced_function_may_use_a_generator():
    def f(x):
        with generator:
            x = x * mt.random.uniform(2)
        return x + mt.random.uniform(2)

    found = []
    for g in f, mt.trace(f):
        mt.seed(1)
        generator = mt.random.Generator(2)
        found.append([g(mt.ones(2)).tolist() for _ in range(3)])
        found[-1] += [mt.random.get_state(), generator.get_state()]
    assert found[0] == found[1] and found[0][-2:] == [(1, 3), (2, 3)]


def test_too_many_constants_give_a_warning():
    f = mt.trace(lambda x, rate: x * rate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(70):
            f(mt.ones(1), i / 7)
    assert len(caught) == 1 and "tensors" in str(caught[0].message)


def test_control_flow_on_a_traced_value_is_a_clear_error():
    f = mt.trace(lambda x: x if mt.sum(x) > 0 else -x)
    with pytest.raises(mt.Error, match="where"):
        f(mt.ones(3))


def test_explanations_draw_themselves():
    found = mt.explain(mt.exp(mt.ones(10) * 2))
    assert "exp" in found and repr(found) == str(found) and found.dot.startswith("digraph")
    drawing = found._repr_svg_()
    assert drawing is None or "<svg" in drawing
    with mt.Tape() as tape:
        mt.exp(mt.ones(2))
    drawing = tape._repr_svg_()
    assert drawing is None or "<svg" in drawing


def test_profile(tmp_path):
    x = mt.random.normal((32, 32))
    with mt.Profile() as profile:
        with pytest.raises(ValueError, match="another profile"), mt.Profile():
            pass
        for _ in range(3):
            (x @ x + 1).tolist()
    line = next(l for l in str(profile).splitlines() if "contraction 32 x 32 x 32, then add" in l)
    assert line.split()[3] == "3"
    profile.save(tmp_path / "profile.json")
    events = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    assert sum("contraction" in event["name"] for event in events) == 3
    with pytest.raises(ValueError, match="not begun"):
        mt.Profile().save(tmp_path / "none.json")
