# SPDX-License-Identifier: Apache-2.0
"""Derivatives as functions of functions, and what a student of them gets wrong."""
import shutil

import numpy as np
import pytest

import mtorch as mt


def test_gradients_to_numbers_and_arrays():
    assert mt.grad(lambda x: x ** 3)(2.0).item() == 12
    assert mt.grad(lambda x: (x * x).sum())(np.ones(2)).tolist() == [2, 2]
    assert mt.value_and_grad(lambda x, y: (x * y).sum(), 1)(mt.tensor([1.0, 2.0]), 3.0)[1].item() == 3
    assert mt.hessian(lambda x: x[0] * x[1])([1.0, 1.0]).tolist() == [[0, 1], [1, 0]]
    assert mt.jacobian(lambda x: x * 2)(1.5).item() == 2
    assert mt.vjp(mt.square, 3.0)[1](mt.tensor(1.0))[0].item() == 6
    assert mt.jvp(mt.square, [3.0], [mt.tensor(1.0)])[1].item() == 6


def test_derivatives_nest():
    x = mt.tensor([1.0, 2.0])
    third = mt.jacobian(mt.jacobian(lambda x: x ** 3))(x)
    assert third.shape == (2, 2, 2) and third[1, 1, 1].item() == 12 and third.sum().item() == 18
    assert mt.jacobian(mt.hessian(lambda x: (x ** 4).sum()))(x)[1, 1, 1].item() == 48
    assert mt.grad(lambda x: mt.jacobian(mt.square)(x).sum())(x).tolist() == [2, 2]
    assert not mt.jacobian(mt.square)(x).requires_grad and not mt.hessian(mt.sum)(x).requires_grad
    y = mt.tensor([3.0, 4.0])
    to_x, to_y = mt.jacobian(lambda x, y: x * y, (0, 1))(x, y)
    assert to_x.tolist() == [[3, 0], [0, 4]] and to_y.tolist() == [[1, 0], [0, 2]]
    blocks = mt.hessian(lambda x, y: (x * x * y).sum(), (0, 1))(x, y)
    assert blocks[0][0].tolist() == [[6, 0], [0, 8]] and blocks[0][1].tolist() == [[2, 0], [0, 4]]
    assert blocks[1][0].tolist() == blocks[0][1].tolist() and blocks[1][1].tolist() == [[0, 0], [0, 0]]


def test_gradients_of_mixed_arguments():
    x, y = mt.tensor([1.0, 2.0]), mt.tensor([3.0, 4.0]).requires_grad_()
    slope = mt.grad(lambda x, y: (x * x * y).sum())(x, y)
    slope.sum().backward()
    assert slope.tolist() == [6, 16] and y.grad.tolist() == [2, 4] and x.grad is None


def test_derivatives_are_partial():
    x = mt.tensor(3.0).requires_grad_()
    assert mt.grad(lambda a: a * x)(x).item() == 3 and mt.grad(lambda a, b: a * b, 0)(x, x).item() == 3
    assert [y.item() for y in mt.grad(lambda a, b: a * a * b, (0, 1))(x, x)] == [18, 9]
    assert mt.jacobian(lambda a: a * x)(x).item() == 3 and mt.hessian(lambda a: a * x)(x).item() == 0
    assert mt.vjp(lambda a: a * x, x)[1](1.0)[0].item() == 3
    assert mt.jvp(lambda a: a * x, (x,), (1.0,))[1].item() == 3
    for inner in mt.grad, mt.jacobian:
        for outer in mt.grad, mt.jacobian:
            assert outer(lambda x: inner(lambda a: a * x)(x))(3.0).item() == 1
            assert outer(lambda x: inner(lambda a: a * a * x)(x))(3.0).item() == 12
            assert outer(lambda x: inner(lambda a: a * x)(2.0))(3.0).item() == 1
    slope = mt.grad(lambda a: a * a * x)(x)
    slope.backward()
    assert slope.item() == 18 and x.grad.item() == 12


def test_derivatives_of_products_with_tensors():
    assert mt.grad(lambda x: mt.jvp(mt.sin, (x,), (1.0,))[1])(0.5).item() == pytest.approx(-np.sin(0.5))
    assert mt.grad(lambda v: mt.jvp(mt.sin, (0.5,), (v,))[1])(2.0).item() == pytest.approx(np.cos(0.5))
    assert mt.grad(lambda x: mt.vjp(mt.square, x)[1](x)[0])(3.0).item() == 12
    pull = mt.vjp(mt.square, 3.0)[1]
    assert mt.jacobian(lambda v: pull(v)[0])(1.0).item() == 6 and not pull(2.0)[0].requires_grad
    x = mt.tensor([1.0, 2.0])
    assert mt.vjp(lambda x: (x * 2, mt.ones(2)), x)[1]([1, 1], [5, 5])[0].tolist() == [2, 2]
    assert mt.jvp(lambda a, b: a * 2, (x, x), ([1, 0], [3, 3]))[1].tolist() == [2, 0]
    for call in lambda: pull(1.0, 2.0), lambda: mt.jvp(mt.add, (x, x), (x,)):
        with pytest.raises(ValueError, match="for [12] (results|primals)"):
            call()


def test_what_is_constant_has_derivatives_of_zero():
    x, w = mt.tensor([1.0, 2.0]), mt.ones(()).requires_grad_()
    for constant in mt.ones(()), w:
        f = lambda a, b: constant * b.sum()  # noqa: B023, E731
        assert mt.grad(f)(x, x).tolist() == [0, 0] == mt.jacobian(f)(x, x).tolist()
        assert mt.hessian(f)(x, x).tolist() == [[0, 0], [0, 0]] == mt.hessian(f, 1)(x, x).tolist()
        assert [y.tolist() for y in mt.grad(f, (0, 1))(x, x)] == [[0, 0], [1, 1]]
        assert mt.hessian(lambda x: constant * 1)(x).tolist() == [[0, 0], [0, 0]]  # noqa: B023
        value, slope = mt.value_and_grad(lambda x: constant * 2)(x)  # noqa: B023
        assert value.item() == 2 and slope.tolist() == [0, 0]
        assert mt.vjp(lambda x: constant * 2, x)[1](1.0)[0].tolist() == [0, 0]  # noqa: B023
        assert mt.jvp(lambda x: constant * 2, (x,), (x,))[1].item() == 0  # noqa: B023


def test_slopes_that_jump_have_derivatives_of_zero():
    for step in mt.round, mt.sign, mt.floor, mt.ceil, mt.trunc:
        x = mt.tensor([1.5, -2.25]).requires_grad_()
        step(x).sum().backward()
        assert x.grad.tolist() == [0, 0]
    for function in mt.relu, mt.abs, mt.max, lambda x: mt.clip(x, 0, 1), lambda x: mt.maximum(x, mt.zeros(2)):
        x = mt.tensor([1.0, -2.0]).requires_grad_()
        slope = mt.grad(function(x).sum(), x, create_graph=True)
        assert slope.requires_grad and mt.grad(slope.sum(), x).tolist() == [0, 0]
    with pytest.raises(mt.Error, match="came through greater, which has no gradient"):
        (x > 0).float().sum().backward()


def test_traced_functions_have_derivatives():
    cube = mt.trace(lambda x: x ** 3)
    assert cube(mt.tensor(2.0)).item() == 8
    assert mt.grad(cube)(2.0).item() == 12 == mt.jacobian(mt.grad(cube))(1.0).item() * 2
    assert mt.grad(lambda x: cube(x * 2) * x)(1.0).item() == 32
    assert mt.trace(mt.grad(lambda x: cube(x) * x))(mt.tensor(1.0)).item() == 4


def test_places_of_arguments_are_also_numpys_numbers():
    f = lambda x, y: x * x * y  # noqa: E731
    for place in np.int64(1), np.int32(-1):
        assert mt.grad(f, place)(2.0, 5.0).item() == 4 == mt.jacobian(f, place)(2.0, 5.0).item()
        assert mt.hessian(f, place)(2.0, 5.0).item() == 0
    assert [y.item() for y in mt.jacobian(f, np.array([0, 1]))(2.0, 5.0)] == [20, 4]


def test_parts_and_pictures_of_a_tape(tmp_path):
    with mt.Tape() as tape:
        mt.exp(mt.ones(2)).sum()
    assert [node.index for node in tape[1:]] == list(range(1, len(tape)))
    with pytest.raises(ValueError if shutil.which("dot") else mt.Error, match="draw: "):
        tape.draw(tmp_path / "tape.nonsense")


class Half(mt.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2


class Nothing(mt.Function):
    @staticmethod
    def forward(ctx, x):
        return 3

    @staticmethod
    def backward(ctx, dy):
        return "text"


@pytest.mark.parametrize("error, call, said", [
    (TypeError, lambda x: mt.grad(lambda x: float(x.sum()))(x), "gives one tensor, not float"),
    (TypeError, lambda x: mt.jacobian(lambda x: (x, x))(x), "gives one tensor, not tuple"),
    (ValueError, lambda x: mt.hessian(lambda x: x * x)(x), r"shape \(2,\), not one number"),
    (TypeError, lambda x: mt.grad(x.sum(), 3), "a tensor or several, not int"),
    (TypeError, lambda x: mt.grad(lambda x: x)(2), "needs a float, got int64"),
    (NotImplementedError, lambda x: Half.apply(x).sum().backward(), "defines backward"),
    (TypeError, lambda x: Half()(x), "call Half.apply"),
    (TypeError, lambda x: Nothing.apply(x), "Nothing.forward gives: a tensor or several, not int"),
    (ValueError, lambda x: len(mt.Tape()), "has not begun"),
    (ValueError, lambda x: str(mt.Tape()), "has not begun")])
def test_mistakes_are_named(error, call, said):
    with pytest.raises(error, match=said):
        call(mt.ones(2).requires_grad_())
