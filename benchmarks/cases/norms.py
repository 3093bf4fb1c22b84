# SPDX-License-Identifier: Apache-2.0
"""Softmax, norms and losses."""
from .case import FLOATS, case


def cases():
    for shape in [(1000, 1000), (64, 50_000), (10_000, 64), (16 * 8 * 128, 128)]:
        for dtype in FLOATS:
            for grads in ["", "x"]:
                yield case("F.softmax(x, -1)", x=shape, dtype=dtype, grads=grads)
        yield case("F.log_softmax(x, -1)", x=shape)
        yield case("F.log_softmax(x, -1)", x=shape, grads="x")
    yield case("F.softmax(x, 0)", x=(1000, 1000))
    for grads in ["", "x"]:
        yield case("F.softmax(x, 1)", x=(4, 21, 256, 256), grads=grads)
    for rows, columns in [(4096, 256), (1024, 768), (64, 8192), (10_000, 64)]:
        for dtype in FLOATS:
            # PyTorch adds up thousands of rows in bfloat16, for weights and biases.
            for grads in ["", "xwb" if dtype != "bfloat16" else "x"]:
                yield case(
                    "F.layer_norm(x, w, b)",
                    "F.layer_norm(x, w.shape, w, b)",
                    x=(rows, columns),
                    w=(columns,),
                    b=(columns,),
                    grads=grads,
                    dtype=dtype,
                )
        for grads in ["", "xw"]:
            yield case(
                "F.rms_norm(x, w)",
                "F.rms_norm(x, w.shape, w)",
                x=(rows, columns),
                w=(columns,),
                grads=grads,
            )
    for shape in [(16, 64, 56, 56), (64, 32, 28, 28)]:
        for grads in ["", "xwb"]:
            yield case("F.group_norm(x, 8, w, b)", x=shape, w=shape[1:2], b=shape[1:2], grads=grads)
            yield case(
                "F.batch_norm(x, w, b, None, None, True)",
                "F.batch_norm(x, None, None, w, b, True)",
                x=shape,
                w=shape[1:2],
                b=shape[1:2],
                grads=grads,
            )
    for rows, classes in [(128, 10), (1000, 1000), (512, 50_000)]:
        for grads in ["", "x"]:
            yield case(
                "F.cross_entropy(x, t)", x=(rows, classes), t=((rows,), "int64", classes), grads=grads
            )
    yield case("F.mse_loss(x, y)", x=(1000, 1000), y=(1000, 1000), grads="x")
    yield case("F.huber_loss(x, y)", x=(1000, 1000), y=(1000, 1000), grads="x")
