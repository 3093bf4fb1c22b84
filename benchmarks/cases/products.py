# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, Einstein sums and attention."""
import itertools

from .case import FLOATS, case


def cases():
    for m, k, n in [
        (8, 8, 8),
        (100, 100, 100),
        (300, 300, 300),
        (1000, 1000, 1000),
        (1, 1000, 1000),
        (1000, 1000, 1),
        (1, 4096, 4096),
        (2, 2048, 2048),
        (4, 2048, 2048),
        (8, 1024, 1024),
        (64, 1024, 1024),
        (1000, 10, 1000),
        (10, 10_000, 10),
        (1000, 64, 10),
        (4096, 64, 64),
        (33, 777, 129),
    ]:
        for dtype in FLOATS:
            yield case("a @ b", a=(m, k), b=(k, n), dtype=dtype)
        yield case("F.linear(a, b)", a=(m, k), b=(n, k))
        yield case("F.linear(a, b)", a=(m, k), b=(n, k), dtype="bfloat16")
        yield case("a.T @ b", a=(k, m), b=(k, n))
    for batch, m, k, n in [(64, 32, 32, 32), (128, 128, 64, 128), (1000, 4, 4, 4), (16, 1, 64, 512)]:
        for dtype in FLOATS:
            yield case("a @ b", a=(batch, m, k), b=(batch, k, n), dtype=dtype)
    yield case("F.linear(a, w, b)", a=(256, 512), w=(512, 512), b=(512,), grads="awb")
    yield case("F.gelu(F.linear(a, w, b))", a=(256, 512), w=(512, 512), b=(512,), grads="awb")
    yield case("a @ x", a=(1000, 1000), x=(1000,))
    yield case("a @ x", a=(1000, 1000), x=(1000,), dtype="bfloat16")
    yield case("m.einsum('bij,bkj->bik', a, b)", a=(32, 128, 64), b=(32, 128, 64))
    yield case("m.einsum('bhqd,bhkd->bhqk', a, b)", a=(4, 8, 128, 64), b=(4, 8, 128, 64))
    for shape in [(2, 8, 256, 64), (1, 4, 1024, 32), (8, 4, 64, 64)]:
        for causal, grads in itertools.product(["False", "True"], ["", "qkv"]):
            yield case(
                f"F.scaled_dot_product_attention(q, k, v, None, causal={causal})",
                f"F.scaled_dot_product_attention(q, k, v, None, is_causal={causal})",
                q=shape,
                k=shape,
                v=shape,
                grads=grads,
                label=f"attention, causal={causal}",
            )
