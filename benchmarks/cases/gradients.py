# SPDX-License-Identifier: Apache-2.0
"""Gradients of other operators, and what is left."""
from .case import case


def cases():
    matrix = {"x": (1000, 1000)}
    for ours, theirs in [
        ("m.max(x, axis=1)", "m.amax(x, 1)"),
        ("m.var(x, axis=1)", "m.var(x, 1, correction=0)"),
        ("m.std(x, axis=0)", "m.std(x, 0, correction=0)"),
        ("m.cumulative_sum(x, axis=1)", "m.cumsum(x, 1)"),
        ("m.prod(x, axis=1)", "m.prod(x, 1)"),
        ("m.logsumexp(x, axis=1)", "m.logsumexp(x, 1)"),
        ("m.sort(x, 1)", "m.sort(x, dim=1, stable=True)[0]"),
        ("m.exp(x)", ""),
        ("m.tanh(x)", ""),
        ("m.sigmoid(x)", ""),
        ("m.sqrt(x)", ""),
        ("m.log(x)", ""),
        ("x * x.T", ""),
        ("x[:, 10:500]", ""),
        ("x[::2]", ""),
        ("m.concat([x, x], 1)", ""),
        ("m.pad(x, ((1, 1), (1, 1)))", "F.pad(x, (1, 1, 1, 1))"),
        ("m.clip(x, 0.2, 0.7)", ""),
        ("m.linalg.norm(x)", ""),
        ("m.mean(x)", ""),
        ("x.T @ x", ""),
        ("m.where(x > 0.5, x, x * 2)", ""),
    ]:
        yield case(ours, theirs, grads="x", **matrix)
    yield case(
        "F.bce_with_logits(x, y)",
        "F.binary_cross_entropy_with_logits(x, y)",
        x=(1000, 1000),
        y=(1000, 1000),
        grads="x",
    )
    yield case(
        "F.batch_norm(x, w, b, p, q)",
        "F.batch_norm(x, p, q, w, b)",
        x=(16, 64, 56, 56),
        **{name: (64,) for name in "wbpq"},
    )
    for channels in [3, 64]:
        yield case(
            "F.resize_nearest(x, (64, 64))",
            "F.interpolate(x, size=(64, 64))",
            x=(8, channels, 32, 32),
            grads="x",
        )
        yield case(
            "F.resize_linear(x, (64, 64))",
            "F.interpolate(x, size=(64, 64), mode='bilinear')",
            x=(8, channels, 32, 32),
            grads="x",
        )
    yield case(
        "F.conv2d(x, w, b, padding=2, dilation=2)",
        x=(8, 32, 28, 28),
        w=(32, 32, 3, 3),
        b=(32,),
        grads="xwb",
    )
    yield case("F.conv2d(x, w, None, padding=1, groups=4)", x=(8, 64, 28, 28), w=(64, 16, 3, 3), grads="xw")
    yield case("F.conv1d(x, w, None, stride=2)", x=(8, 80, 1000), w=(128, 80, 3), grads="xw")
    yield case("F.avg_pool2d(x, 3, 1, 1)", x=(8, 64, 28, 28), grads="x")
    yield case("F.max_pool2d(x, 3, 1, 1)", x=(8, 64, 28, 28), grads="x")
    yield case("F.embedding(t, x)", x=(50_000, 128), t=((64, 256), "int64", 50_000), grads="x")
    yield case(
        "m.take(x, t, axis=0)",
        "m.index_select(x, 0, t)",
        x=(10_000, 64),
        t=((20_000,), "int64", 10_000),
        grads="x",
    )
    yield case(
        "m.einsum('bij,bjk,bkl->bil', x, y, z)", x=(16, 64, 64), y=(16, 64, 64), z=(16, 64, 64), grads="xyz"
    )
    yield case("m.einsum('ijk,ilk->ijl', x, y)", x=(64, 100, 32), y=(64, 100, 32), grads="xy")
    yield case("m.matmul(x, y)", x=(8, 16, 128, 64), y=(8, 16, 64, 128), grads="xy")
    yield case("m.one_hot(t, 1000)", "F.one_hot(t, 1000)", t=((4096,), "int64", 1000))
    yield case(
        "m.tensordot(x, y, axes=([1], [0]))", "m.tensordot(x, y, ([1], [0]))", x=(100, 50, 20), y=(50, 30)
    )
    yield case("m.repeat(x, 3, axis=0)", "m.repeat_interleave(x, 3, 0)", x=(1000, 500))
    yield case("m.argsort(x, 1)", "m.argsort(x, dim=1, stable=True)", x=(1000, 1000))
    yield case("m.masked_select(x, c)", x=(1000, 1000), c=((1000, 1000), "bool", 0))
    yield case("m.cumulative_prod(x, axis=1)", "m.cumprod(x, 1)", x=(1000, 1000))
    yield case(
        "m.meshgrid(x, y)[0] + m.meshgrid(x, y)[1]",
        "m.add(*m.meshgrid(x, y, indexing='xy'))",
        x=(1000,),
        y=(1000,),
    )
    yield case("x[:, None] * y", x=(2000,), y=(2000,))
    yield case("((x[:, None] - y[None]) ** 2).sum(-1)", x=(300, 16), y=(300, 16))
    yield case("m.abs(x - y).mean()", x=(1000, 1000), y=(1000, 1000))
    yield case("m.isnan(x).any()", x=(1_000_000,))
    yield case("(x > 0.5).sum()", x=(1_000_000,))
    yield case("m.floor_divide(x, 7)", x=(1_000_000,), dtype="int32", below=99)
    yield case("x % 7", x=(1_000_000,), dtype="int64", below=99)
    yield case("x & y", x=(1_000_000,), y=(1_000_000,), dtype="int32", below=99)
    yield case("m.bitwise_left_shift(x, 3)", x=(1_000_000,), dtype="int64", below=99)
