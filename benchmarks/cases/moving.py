# SPDX-License-Identifier: Apache-2.0
"""What moves, picks or sorts elements, and linear algebra."""
from .case import case


def cases():
    yield case("x.T.copy()", "x.T.contiguous()", x=(1000, 1000))
    yield case("x.T.copy()", "x.T.contiguous()", x=(1000, 1000), dtype="bfloat16")
    yield case("x.permute(0, 2, 1, 3).copy()", "x.permute(0, 2, 1, 3).contiguous()", x=(16, 128, 8, 64))
    yield case("x.permute(0, 2, 3, 1).copy()", "x.permute(0, 2, 3, 1).contiguous()", x=(16, 64, 28, 28))
    yield case("x.permute(2, 1, 0).copy()", "x.permute(2, 1, 0).contiguous()", x=(100, 100, 100))
    yield case("m.concat([x, y], 0)", x=(1000, 500), y=(1000, 500))
    yield case("m.concat([x, y], 1)", x=(1000, 500), y=(1000, 500))
    yield case("m.stack([x, y], -1)", x=(1000, 500), y=(1000, 500))
    yield case("m.flip(x, 1)", "m.flip(x, [1])", x=(1000, 1000))
    yield case("m.roll(x, 3, axis=1)", "m.roll(x, 3, 1)", x=(1000, 1000))
    yield case("m.tril(x)", x=(1000, 1000))
    yield case("m.tile(x, (4, 4))", x=(250, 250))
    yield case("m.pad(x, ((1, 1), (1, 1)))", "F.pad(x, (1, 1, 1, 1))", x=(1000, 1000))
    yield case("x[:, ::2].copy()", "x[:, ::2].contiguous()", x=(1000, 1000))
    yield case("m.sort(x)", "m.sort(x)[0]", x=(100_000,))
    yield case("m.sort(x, 0)", "m.sort(x, 0)[0]", x=(1000, 100))
    yield case("m.argsort(x)", "m.argsort(x, stable=True)", x=(100_000,))
    yield case("m.topk(x, 10).values", "m.topk(x, 10)", x=(1000, 1000))
    yield case("x[t]", x=(10_000, 64), t=((100_000,), "int64", 10_000))
    yield case("F.embedding(t, x)", x=(10_000, 256), t=((16, 128), "int64", 10_000), grads="x")
    yield case(
        "m.take_along_axis(x, t, 1)", "m.gather(x, 1, t)", x=(1000, 1000), t=((1000, 100), "int64", 1000)
    )
    yield case(
        "m.scatter_add(x, m.broadcast_to(t[:, None], y.shape), y, axis=0)",
        "x.index_add(0, t, y)",
        label="index_add",
        x=(10_000, 64),
        t=((20_000,), "int64", 10_000),
        y=(20_000, 64),
    )
    yield case("m.unique_values(t)", "m.unique(t)", t=((100_000,), "int64", 1000))
    yield case("m.searchsorted(m.sort(x), y)", "m.searchsorted(m.sort(x)[0], y)", x=(10_000,), y=(100_000,))
    yield case("m.nonzero(c)[0]", "m.nonzero(c)[:, 0]", c=((1_000_000,), "bool", 0))
    yield case("x[c]", x=(1_000_000,), c=((1_000_000,), "bool", 0))
    for n in [32, 256]:
        yield case("m.linalg.solve(x + 4 * m.eye(%d), y)" % n, x=(n, n), y=(n, 8))
        yield case("m.linalg.inv(x + 4 * m.eye(%d))" % n, x=(n, n))
        yield case("m.linalg.cholesky(x @ x.T + m.eye(%d))" % n, x=(n, n))
        yield case("m.abs(m.linalg.qr(x)[0])", x=(n, n))
        yield case("m.linalg.svdvals(x)", x=(n, n))
        yield case("m.linalg.det(x)", x=(n, n))
