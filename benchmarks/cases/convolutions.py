# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling."""
from .case import case


def cases():
    for batch, channels, size, filters, window, options in [
        (8, 3, 64, 16, 3, "padding=1"),
        (8, 32, 28, 64, 3, "padding=1"),
        (8, 64, 14, 64, 1, ""),
        (8, 64, 28, 64, 3, "padding=1, stride=2"),
        (2, 3, 224, 64, 7, "padding=3, stride=2"),
        (8, 64, 14, 256, 1, ""),
        (8, 32, 28, 32, 5, "padding=2"),
        (1, 256, 14, 256, 3, "padding=1"),
    ]:
        for grads in ["", "xw"]:
            yield case(
                f"F.conv2d(x, w, None, {options})",
                x=(batch, channels, size, size),
                w=(filters, channels, window, window),
                grads=grads,
            )
    for channels, size, window, options in [
        (64, 56, 3, "padding=1"),
        (192, 28, 3, "padding=1, stride=2"),
        (144, 56, 3, "padding=1, stride=2"),
        (576, 14, 3, "padding=1"),
        (96, 28, 5, "padding=2"),
        (384, 14, 7, "padding=3"),
    ]:
        for grads in ["", "xw"]:
            yield case(
                f"F.conv2d(x, w, None, {options}, groups={channels})",
                x=(8, channels, size, size),
                w=(channels, 1, window, window),
                grads=grads,
            )
    for channels, size, window in [(960, 7, 3), (576, 14, 3), (192, 28, 3), (384, 14, 7)]:
        yield case(
            f"m.relu(F.conv2d(x, w, b, padding={window // 2}, groups={channels}))",
            x=(8, channels, size, size),
            w=(channels, 1, window, window),
            b=(channels,),
        )
    for batch, channels, size, filters in [(8, 256, 7, 512), (8, 512, 7, 2048), (1, 512, 7, 512)]:
        yield case(
            "F.conv2d(x, w, b)",
            x=(batch, channels, size, size),
            w=(filters, channels, 1, 1),
            b=(filters,),
        )
    for grads in ["", "xw"]:
        yield case("F.conv1d(x, w, None, padding=1)", x=(16, 64, 256), w=(64, 64, 3), grads=grads)
        yield case("F.conv_transpose2d(x, w, None, 2, 1)", x=(4, 64, 16, 16), w=(64, 32, 4, 4), grads=grads)
    for grads in ["", "x"]:
        yield case("F.max_pool2d(x, 2)", x=(16, 64, 28, 28), grads=grads)
        yield case("F.max_pool2d(x, 3, 2, 1)", x=(8, 64, 56, 56), grads=grads)
        yield case("F.avg_pool2d(x, 2)", x=(16, 64, 28, 28), grads=grads)
