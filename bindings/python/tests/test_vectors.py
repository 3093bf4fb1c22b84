# SPDX-License-Identifier: Apache-2.0
"""The vectors that every language runs (tests/vectors/README.md), and what NumPy says to them."""
import json
import pathlib

import numpy as np
import pytest

import mtorch as mt
from mtorch import native

FOLDER = pathlib.Path(__file__).parents[3] / "tests/vectors"
CASES = json.loads((FOLDER / "cases.json").read_text())
VALUES = mt.load(FOLDER / "values.safetensors")
OPTIONS = {"conv1d": native.conv_options, "conv2d": native.conv_options,
           "conv_transpose1d": native.conv_options, "conv_transpose2d": native.conv_options,
           "cross_entropy_with": native.cross_entropy_options, "batch_norm": native.batch_norm_options,
           "scaled_dot_product_attention": native.attention_options}
# Operators of several results, by what the extension has for them.
SEVERAL = {"split": lambda x, sizes, axis: native.split_into(x, sizes, axis),
           "topk": native.largest,
           "unique_all": lambda x: native.unique_parts(x, True, True, True),
           "slogdet": lambda x: native.matrix_parts("slogdet", x, False),
           "eigh": lambda x: native.matrix_parts("eigh", x, False),
           "qr": lambda x, complete: native.matrix_parts("qr", x, complete),
           "svd": lambda x, full: native.matrix_parts("svd", x, full),
           "rnn": lambda x, state, *weights: native.recurrent("rnn", x, state, None, weights),
           "gru": lambda x, state, *weights: native.recurrent("gru", x, state, None, weights),
           "lstm": lambda x, state, cell, *weights: native.recurrent("lstm", x, state, cell, weights)}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def index_item(item, argument):
    if isinstance(item, str):
        return {"new_axis": None, "ellipsis": ...}[item]
    if "range" in item:
        return slice(*item["range"])
    return item["at"] if "at" in item else argument(item["by"])


def call(operator, arguments, inputs, part=0):
    def argument(value):
        if isinstance(value, str) and value[0] == "$":
            return inputs[int(value[1:])]
        if isinstance(value, list):
            return [argument(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "number" in value:
            return value["number"]
        if "call" in value:
            return call(value["call"], value["arguments"], inputs, value.get("part", 0))
        if "dtype" in value:
            return getattr(mt, value["dtype"])
        if "dtype_of" in value:
            return argument(value["dtype_of"]).dtype
        options = OPTIONS[operator]()
        for name, member in value.items():
            setattr(options, name, member)
        return options

    if operator == "index":
        return argument(arguments[0])[tuple(index_item(item, argument) for item in arguments[1])]
    if operator == "slice":
        ends = [-2**63 if end is None else end for end in arguments[2:4]]
        arguments = [*arguments[:2], *ends, arguments[4]]
    if operator == "roll" or operator.startswith("pad"):  # two lists are one argument
        x, first, second, *more = arguments
        return getattr(native, operator)(argument(x), (first, second), *more)
    if operator == "tensordot":
        return native.tensordot(*map(argument, arguments[:2]), arguments[2:])
    values = [argument(value) for value in arguments]
    if values[1:2] == [[]]:  # over all axes
        values[1] = None
    if operator in SEVERAL:
        return SEVERAL[operator](*values)[part]
    return getattr(native, operator)(*values)


def check(found, expected, tolerance):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    largest = np.max(np.abs(expected.astype(np.float64)), initial=1e-30)
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=0,
                               atol=tolerance * largest)


@each_case
def test_value_and_gradients(case):
    def stored(name):
        return VALUES[f"{case['id']}/{name}"]

    inputs = [mt.asarray(stored(f"input{i}").numpy()) for i in range(case["inputs"])]
    wanted = [inputs[i].requires_grad_() for i in case["gradients"]]
    if "seed" in case:
        mt.seed(case["seed"])
    result = call(case["operator"], case["arguments"], inputs, case.get("part", 0))
    check(result.detach(), stored("result"), case["tolerance"])
    if wanted:
        gradients = mt.grad(result, wanted, stored("weight"))
        for i, gradient in zip(case["gradients"], gradients):
            check(gradient, stored(f"gradient{i}"), 10 * case["tolerance"])


# NumPy's functions where they have other names or other arguments than ours.
OTHER_NAMES = {
    "neg": np.negative, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sub": np.subtract,
    "mul": np.multiply, "div": np.true_divide, "pow": np.power, "atan2": np.arctan2,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "bitwise_invert": np.invert, "round": np.rint, "concat": lambda tensors, axis: np.concatenate(tensors, axis),
    "permute_dims": np.transpose, "transpose": np.swapaxes,
    "matrix_transpose": lambda x: np.swapaxes(x, -1, -2), "index_select": np.take,
    "masked_select": lambda x, mask: x[mask],
    "pad": lambda x, before, after, value: np.pad(x, tuple(zip(before, after)),
                                                  constant_values=value),
    **{f"pad_{mode}": lambda x, before, after, mode=mode: np.pad(x, tuple(zip(before, after)), mode)
       for mode in ("reflect", "edge", "wrap")},
    "einsum": lambda equation, tensors: np.einsum(equation, *tensors),
    "nonzero": np.argwhere, "unique_values": np.unique,
    "cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod,
    "diff": lambda x, axis, order: np.diff(x, order, axis),
    "searchsorted": lambda x, values, right: np.searchsorted(x, values, "right" if right else "left"),
    "tensordot": lambda a, b, left, right: np.tensordot(a, b, (left, right)), "repeat_by": np.repeat,
    "vecdot": lambda a, b, axis: np.sum(a * b, axis),
    "cross": lambda a, b, axis: np.cross(a, b, axis=axis),
    "matrix_diagonal": lambda x, k: np.diagonal(x, k, -2, -1),
    "matrix_trace": lambda x, k: np.trace(x, k, -2, -1),
    "sort": lambda x, axis, descending: np.sort(x, axis),
    "argsort": lambda x, axis, descending: np.argsort(-x if descending else x, axis),
    "matrix_norm": lambda x, order: np.linalg.norm(
        x, order if order in ("fro", "nuc") else float(order), (-2, -1)),
    "matrix_rank": lambda x, rtol: np.linalg.matrix_rank(x),
    "pinv": lambda x, rtol: np.linalg.pinv(x), "svdvals": lambda x: np.linalg.svd(x)[1],
    "cholesky": lambda x, upper: np.swapaxes(np.linalg.cholesky(x), -1, -2) if upper
    else np.linalg.cholesky(x),
    "solve_triangular": lambda a, b, upper: np.linalg.inv((np.triu if upper else np.tril)(a)) @ b,
    "solve": lambda a, b: np.linalg.inv(a) @ b,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "linear": lambda x, w, b: x @ w.T + b,
    "var": lambda x, axis, correction: np.var(x, axis, ddof=int(correction)),
    "std": lambda x, axis, correction: np.std(x, axis, ddof=int(correction)),
    "norm": lambda x, axis, order: np.sqrt(np.sum(x * x, axis)), "embedding": lambda i, w: w[i],
    "logsumexp": lambda x, axis: np.log(np.sum(np.exp(x), axis)),
    "softmax": lambda x, axis: np.exp(x) / np.sum(np.exp(x), axis, keepdims=True),
    "log_softmax": lambda x, axis: x - np.log(np.sum(np.exp(x), axis, keepdims=True)),
    "mse_loss": lambda x, y, reduction: np.sum((x - y) ** 2),
    "window": lambda x, axis, size, step, dilation: np.lib.stride_tricks.sliding_window_view(
        x, dilation * (size - 1) + 1, axis)[:, ::step, ::dilation],
    "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.log1p(np.exp(x)),
    "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
    "select": lambda x, axis, i: np.take(x, i, axis),
}


def numpy_function(name):
    base = name.removesuffix("_keep")
    # The argument of the one is a type of ours, that of the other is no axis.
    if name in ("astype", "matrix_norm_keep"):
        return None
    function = OTHER_NAMES.get(base) or getattr(np, base, getattr(np.linalg, base, None))
    if function and base != name:
        return lambda x, axis, *more: np.expand_dims(function(x, axis, *more), axis)
    return function


KNOWN = [case for case in CASES if numpy_function(case["operator"]) and case["inputs"]
         and case["operator"] not in SEVERAL]


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case["id"])
def test_numpy_agrees(case):
    inputs = [VALUES[f"{case['id']}/input{i}"].numpy() for i in range(case["inputs"])]
    inputs = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]

    def argument(value):
        if isinstance(value, str) and value[0] == "$":
            return inputs[int(value[1:])]
        if isinstance(value, list):
            items = [argument(item) for item in value]
            if items and isinstance(items[0], np.ndarray):
                return items
            return items[0] if len(items) == 1 else tuple(items) or None
        if isinstance(value, dict) and "call" in value:
            return numpy_function(value["call"])(*map(argument, value["arguments"]))
        return value["number"] if isinstance(value, dict) else value

    expected = np.asarray(numpy_function(case["operator"])(*map(argument, case["arguments"])))
    stored = np.asarray(VALUES[f"{case['id']}/result"])
    check(stored.astype(np.float64), expected.astype(np.float64), 10 * case["tolerance"])


def test_numpy_knows_most():
    assert len({case["operator"] for case in KNOWN}) > 100
