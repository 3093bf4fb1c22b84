# SPDX-License-Identifier: Apache-2.0
"""Reductions and running sums."""
from .case import case


def cases():
    for shape in [(1000, 1000), (64, 100_000), (100_000, 64), (1_000_000, 4)]:
        for axis in [0, 1]:
            yield case(f"m.sum(x, axis={axis})", f"m.sum(x, dim={axis})", x=shape)
            yield case(f"m.max(x, axis={axis})", f"m.amax(x, dim={axis})", x=shape)
            yield case(f"m.var(x, axis={axis})", f"m.var(x, dim={axis}, correction=0)", x=shape)
            yield case(f"m.argmax(x, axis={axis})", f"m.argmax(x, dim={axis})", x=shape)
    for dtype in ["float64", "bfloat16", "int32", "int64"]:
        for axis in [0, 1]:
            yield case(
                f"m.sum(x, axis={axis})", f"m.sum(x, dim={axis})", x=(1000, 1000), dtype=dtype, below=9
            )
    for shape, axes in [  # of images: channels, places, all but channels; and others that lie apart
        ((8, 256, 14, 14), (1,)),
        ((8, 256, 14, 14), (2, 3)),
        ((8, 256, 14, 14), (0, 2, 3)),
        ((32, 64, 56, 56), (0, 2, 3)),
        ((8, 512, 7, 7), (0, 2, 3)),
        ((100, 3, 1000), (0, 2)),
        ((20, 30, 40, 5), (0, 2)),
        ((64, 100, 100), (1,)),
    ]:
        for grads in ["", "x"]:
            yield case(f"m.sum(x * x, axis={axes})", f"m.sum(x * x, dim={axes})", x=shape, grads=grads)
            yield case(f"m.max(x, axis={axes})", f"m.amax(x, dim={axes})", x=shape, grads=grads)
            yield case(
                f"m.var(x, axis={axes})", f"m.var(x, dim={axes}, correction=0)", x=shape, grads=grads
            )
    yield case("m.sum(x)", x=(1_000_000,))
    yield case("m.prod(x)", x=(1_000_000,))
    yield case("m.max(x)", x=(1_000_000,))
    yield case("m.mean(x, axis=(0, 2, 3))", "m.mean(x, dim=(0, 2, 3))", x=(32, 64, 28, 28))
    yield case("m.logsumexp(x, axis=1)", "m.logsumexp(x, dim=1)", x=(1000, 1000))
    yield case("m.all(c)", c=((1_000_000,), "bool", 0))
    yield case("m.cumulative_sum(x, axis=1)", "m.cumsum(x, 1)", x=(1000, 1000))
    yield case("m.cumulative_sum(x, axis=0)", "m.cumsum(x, 0)", x=(1000, 1000))
