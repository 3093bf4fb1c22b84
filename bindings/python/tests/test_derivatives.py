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
