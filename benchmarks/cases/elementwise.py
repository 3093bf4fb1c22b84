# SPDX-License-Identifier: Apache-2.0
"""Operators element by element, and casts."""
import itertools

from .case import FLOATS, case


def cases():
    for name in ["exp", "log", "tanh", "sin", "sqrt", "erf", "sigmoid", "abs", "floor", "square"]:
        for n in [10_000, 1_000_000]:
            yield case(f"m.{name}(x)", x=(n,))
    for name, dtype in itertools.product(["exp", "tanh", "sigmoid"], ["float64", "bfloat16"]):
        yield case(f"m.{name}(x)", x=(1_000_000,), dtype=dtype)
    for name, dtype in itertools.product(["gelu", "silu", "softplus", "relu", "leaky_relu"], FLOATS):
        yield case(f"F.{name}(x)", x=(1_000_000,), dtype=dtype)
        yield case(f"F.{name}(x)", x=(1_000_000,), dtype=dtype, grads="x")
    for sign, dtype in itertools.product("+*/", FLOATS + ["int32", "int64", "uint8"]):
        if sign == "/" and "int" in dtype:
            continue
        for n in [10_000, 1_000_000]:
            yield case(f"x {sign} y", x=(n,), y=(n,), dtype=dtype, below=9)
    for sides in [((1000, 1000), (1000,)), ((1000, 1000), (1000, 1)), ((32, 64, 56, 56), (64, 1, 1))]:
        yield case("x + y", x=sides[0], y=sides[1])
        yield case("x + y", x=sides[0], y=sides[1], dtype="bfloat16")
        yield case("x * y", x=sides[0], y=sides[1], grads="xy")
    yield case("x > y", x=(1_000_000,), y=(1_000_000,))
    yield case("m.where(c, x, y)", c=((1_000_000,), "bool", 0), x=(1_000_000,), y=(1_000_000,))
    yield case("m.maximum(x, y)", x=(1_000_000,), y=(1_000_000,))
    yield case("m.pow(x, y)", x=(1_000_000,), y=(1_000_000,))
    yield case("m.clip(x, 0.2, 0.7)", x=(1_000_000,))
    kinds = ["float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8", "bool"]
    for source, target in itertools.permutations(kinds, 2):
        yield case(f"x.to(m.{target})", x=(1_000_000,), dtype=source, below=200)
