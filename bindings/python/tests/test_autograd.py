# SPDX-License-Identifier: Apache-2.0
"""Gradients, operators of one's own, checkpoints, traces, the tape."""
import gc
import weakref

import numpy as np
import pytest

import mtorch as mt


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(0.5, 2, shape)
    return mt.asarray(values).requires_grad_()


FUNCTIONS = {
    "chain": lambda x, y: mt.sum(mt.tanh(x * y) / (1 + mt.exp(-x))),
    "matmul": lambda x, y: mt.sum(mt.square(x @ y.mT)),
    "softmax": lambda x, y: mt.sum(mt.nn.softmax(x) * y),
    "index": lambda x, y: mt.sum(x[[0, 1, 0]] * y[:, 1:2]),
    "norm": lambda x, y: mt.sum(mt.nn.layer_norm(x) * y),
    "where": lambda x, y: mt.sum(mt.where(x > y, x * 2, y ** 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_finite_differences(name):
    assert mt.gradcheck(FUNCTIONS[name], [leaf(3, 4), leaf(3, 4, seed=1)])


def test_gradcheck_finds_a_wrong_gradient():
    class Wrong(mt.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(ValueError):
        mt.gradcheck(lambda x: mt.sum(Wrong.apply(x)), [leaf(3)])


def test_backward_adds_up():
    x = leaf(3)
    assert x.grad is None
    for times in (1, 2):
        mt.sum(x * x).backward()
        np.testing.assert_allclose(x.grad.numpy(), times * 2 * x.numpy())
    x.grad = None
    assert x.grad is None
    x.grad = mt.ones((3,), dtype=mt.float64)
    assert x.grad.tolist() == [1, 1, 1]
    with pytest.raises(ValueError):
        x.grad = mt.ones((4,), dtype=mt.float64)


def test_backward_with_a_gradient():
    x = leaf(2, 2)
    y = x * 3
    y.backward(mt.asarray([[1.0, 2], [3, 4]], dtype=mt.float64), retain_graph=True)
    assert x.grad.tolist() == [[3, 6], [9, 12]]
    with pytest.raises(ValueError, match="gradient"):
        y.backward(retain_graph=True)
    with pytest.raises(ValueError):
        y.backward()


def test_grad_of_grad():
    x = leaf(4)
    (dx,) = mt.grad(mt.sum(x ** 3), [x], create_graph=True)
    ddx = mt.grad(mt.sum(dx), x)
    np.testing.assert_allclose(ddx.numpy(), 6 * x.numpy())
    assert x.grad is None and not ddx.requires_grad


def test_functional_grad():
    f = lambda x: mt.sum(mt.sin(x) * x)  # noqa: E731
    x = mt.asarray([0.3, 0.7], dtype=mt.float64)
    value, slope = mt.value_and_grad(f)(x)
    np.testing.assert_allclose(slope.numpy(), np.cos(x.numpy()) * x.numpy() + np.sin(x.numpy()))
    assert value.item() == f(x).item() and not x.requires_grad
    second = mt.grad(lambda x: mt.sum(mt.grad(f)(x)))(x)
    np.testing.assert_allclose(second.numpy(), 2 * np.cos(x.numpy()) - x.numpy() * np.sin(x.numpy()))


def test_functional_grad_reaches_weights_from_elsewhere():
    w, x = leaf(3), mt.asarray([0.3, 0.7, -0.2], dtype=mt.float64)
    f = lambda x: mt.sum(w * x ** 3)  # noqa: E731
    assert not mt.grad(f)(x).requires_grad
    cases = [(mt.grad(f, create_graph=True), 3 * x ** 2),
             (lambda x: mt.value_and_grad(f, create_graph=True)(x)[1], 3 * x ** 2),
             (lambda x: mt.value_and_grad(f, create_graph=True)(x)[0], x ** 3),
             (mt.jacobian(lambda x: w * x ** 3, create_graph=True), 3 * x ** 2),
             (mt.hessian(f, create_graph=True), 6 * x)]
    for derivative, slope in cases:
        np.testing.assert_allclose(mt.grad(derivative(x).sum(), w).numpy(), slope.numpy())
    with mt.no_grad():
        assert not mt.grad(f, create_graph=True)(x).requires_grad


def test_no_grad():
    x = leaf(2)
    with mt.no_grad():
        assert not mt.is_grad_enabled()
        assert not (x * 2).requires_grad
        with mt.enable_grad():
            assert (x * 2).requires_grad
        x -= 0.5
    assert mt.is_grad_enabled() and x.is_leaf and x.requires_grad
    with pytest.raises(ValueError):
        x -= 0.5
    assert not mt.no_grad()(lambda: x * 2)().requires_grad
    assert not x.detach().requires_grad
    with pytest.raises(mt.Error):
        mt.sum(x.detach()).backward()


class Cube(mt.Function):
    @staticmethod
    def forward(ctx, x, power):
        y = x ** power
        ctx.save_for_backward(x, y)
        ctx.power = power
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        return dy * ctx.power * y / x, None


def test_custom_operator():
    x = leaf(3)
    y = Cube.apply(x, 3)
    np.testing.assert_allclose(y.numpy(), x.numpy() ** 3)
    mt.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2)
    assert mt.gradcheck(lambda x: mt.sum(Cube.apply(x, 3)), [leaf(2)])


def test_custom_operator_of_several_results():
    class Both(mt.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, da, db):
            return da * 2 + db * 3

    x = leaf(2)
    a, b = Both.apply(x)
    mt.sum(a + b).backward()
    assert x.grad.tolist() == [5, 5]


def test_an_exception_comes_back_as_itself():
    class Odd(Exception):
        pass

    class Fails(mt.Function):
        @staticmethod
        def forward(ctx, x, when):
            if when == "forward":
                raise Odd("forward")
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            raise Odd("backward")

    x = leaf(2)
    with pytest.raises(Odd, match="forward"):
        Fails.apply(x, "forward")
    y = mt.sum(Fails.apply(x, ""))
    with pytest.raises(Odd, match="backward"):
        y.backward()
    with pytest.raises(Odd):
        mt.trace(lambda x: (_ for _ in ()).throw(Odd("traced")))(x)
    with pytest.raises(ValueError, match="matmul"):
        mt.checkpoint(lambda x: x @ mt.ones((7, 7), dtype=mt.float64), x)
    assert (x + 1).shape == (2,)


def tanh_cubed(kept):
    """An operator that keeps an input, a result, or a value that is neither."""
    class TanhCubed(mt.Function):
        @staticmethod
        def forward(ctx, x):
            y = mt.tanh(x)
            ctx.save_for_backward(x if kept == "input" else y)
            return (y * y * y, y) if kept == "result" else y * y * y

        @staticmethod
        def backward(ctx, dz, *dy):
            (y,) = ctx.saved_tensors
            y = mt.tanh(y) if kept == "input" else y
            return (dz * 3 * y * y + sum(dy)) * (1 - y * y)

    return lambda x: mt.sum(TanhCubed.apply(x)[0] if kept == "result" else TanhCubed.apply(x))


def test_second_derivatives_of_a_custom_operator_pass_through_inputs_and_results_alone():
    for kept in "input", "result":
        assert mt.gradcheck(tanh_cubed(kept), [leaf(2)], order=2)
    assert mt.gradcheck(tanh_cubed("value"), [leaf(2)])
    assert mt.hessian(tanh_cubed("value"))(leaf(2)).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="gradient"):
        mt.gradcheck(tanh_cubed("value"), [leaf(2)], order=2)


def test_custom_operators_are_freed():
    class Keeps(mt.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            contexts.append(weakref.ref(ctx))
            return y

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    contexts = []
    mt.sum(Keeps.apply(leaf(2))).backward()
    Keeps.apply(leaf(2))
    gc.collect()
    assert [reference() for reference in contexts] == [None, None]


def test_checkpoint():
    calls = []

    def f(x):
        calls.append(1)
        return mt.tanh(x) * x

    x, y = leaf(3), leaf(3)
    mt.sum(mt.checkpoint(f, x)).backward()
    mt.sum(f(y)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())
    assert len(calls) >= 2


def test_trace_replays():
    calls = []

    @mt.trace
    def f(x, pair, scale=2):
        calls.append(1)
        return {"sum": x + pair[0] * scale, "both": (x, pair[1])}

    for shape in ((3,), (3,), (2, 2), (2, 2), (3,)):
        x = mt.ones(shape)
        found = f(x, [x * 2, x * 3])
        assert found["sum"].tolist() == (x * 5).tolist()
        assert found["both"][1].tolist() == (x * 3).tolist()
    assert f.count == 2 and len(calls) == 2
    f(x, [x, x], scale=3)
    assert len(calls) == 3
    assert "group 0" in f.explain() and f.explain(dot=True).startswith("digraph")


def test_a_trace_rebinds_its_arguments_for_itself_alone():
    @mt.trace
    def f(x):
        x += 1
        return x * 10

    x = mt.ones(2)
    for _ in range(3):
        assert f(x).tolist() == [20, 20] and x.tolist() == [1, 1]
    assert f.count == 1


def test_trace_of_a_training_step_has_the_same_bits():
    def fit(traced):
        mt.seed(3)
        w = mt.zeros((4, 1)).requires_grad_()
        optimizer = mt.optim.Adam([w], lr=0.1)

        def step(x, y):
            loss = mt.mean((x @ w - y) ** 2)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        run = mt.trace(step) if traced else step
        losses = []
        for _ in range(6):
            x = mt.random.normal((8, 4))
            losses.append(run(x, x[:, :1] * 2).item())
        return losses, w.tolist()

    assert fit(True) == fit(False)


def test_reading_inside_a_trace():
    def branches(x):
        return x if mt.sum(x) > 0 else -x

    with pytest.raises(mt.Error, match="trace"):
        mt.trace(branches)(mt.ones((3,)))


def test_tape():
    w = leaf(2, 2)
    with mt.Tape() as tape:
        x = mt.asarray(np.eye(2))
        y = mt.sum(mt.relu(x @ w))
    operators = [node.operator for node in tape]
    assert "matmul" in operators or "contract" in operators
    node = tape.find(y)
    assert node.shape == () and node.dtype == mt.float64
    assert node.inputs and node.tensor.item() == y.item()
    assert tape.find(mt.ones((1,))) is None
    assert "%0" in str(tape) and tape.dot().startswith("digraph")
    assert tape.gradient(y, w).tolist() == [[1, 1], [1, 1]]
    again = tape.replay([w], [mt.asarray([[-1.0, 2], [3, 4]], dtype=mt.float64)], y)
    assert again.item() == 9
    with pytest.raises(IndexError):
        tape[len(tape)]


def test_tape_replays_a_checkpoint_with_positions():
    x = mt.asarray([1.0, 3, 2]).requires_grad_()
    with mt.Tape() as tape:
        y, i = mt.checkpoint(lambda x: (x * 2, mt.argmax(x * 3)), x)
    y, i = tape.replay([x], [mt.asarray([5.0, 3, 2])], [y, i])
    assert y.tolist() == [10, 6, 4] and i.item() == 0


def test_explain():
    x = mt.ones((1000,))
    y = mt.exp(x * 2 + 1)
    assert "exp" in mt.explain(y) and mt.explain(y, dot=True).startswith("digraph")


def test_errors_are_in_python_s_words():
    x = mt.ones(2).requires_grad_()
    y = (x * x).sum()
    y.backward()
    with pytest.raises(mt.Error, match="forgotten after an earlier backward; "
                                       "give that one retain_graph=True$"):
        y.backward()
    with pytest.raises(TypeError, match="^sin: a tensor is None$"):
        mt.sin(None)


def test_what_is_made_can_require_a_gradient():
    made = (mt.zeros(2, requires_grad=True), mt.ones((2,), requires_grad=True),
            mt.full(2, 3.0, requires_grad=True), mt.random.normal(2, requires_grad=True),
            mt.random.uniform(2, requires_grad=True), mt.tensor([1.0, 2.0], requires_grad=True))
    sum(x.sum() for x in made).backward()
    assert all(x.is_leaf and x.grad.tolist() == [1, 1] for x in made)
    assert not mt.zeros(2).requires_grad
