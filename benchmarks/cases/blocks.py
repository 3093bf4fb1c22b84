# SPDX-License-Identifier: Apache-2.0
# pylint: disable=unused-argument
"""Blocks of networks: what shows how operators work together."""
import math

import numpy

from .case import Case, apart, text


class Block(Case):
    def floats(self, random, shape):
        """Inputs and weights of either sign, these such that what they make is as large."""
        terms = math.prod(shape[1:]) if self.is_weight(shape) else 1
        return random.uniform(-1, 1, shape) * math.sqrt(3 / terms)

    def is_weight(self, shape):
        return len(shape) > 1 and shape != self.inputs["x"][0]

    def tolerance(self):
        """Where relu takes a number next to zero for positive on one side alone, all that follows differs."""
        return 1e-2

    def difference(self, ours, theirs):
        """On the whole, as a part of the whole."""
        return numpy.linalg.norm(apart(ours, theirs)) / max(numpy.linalg.norm(theirs), 1e-30)


def block(function, label, **shapes):
    """The block by itself, and with the gradients of its input and of all its weights."""
    inputs = {name: (shape, "float32", 0) for name, shape in shapes.items()}
    name = f"{label} [{text(shapes['x'])}]"
    yield Block(name, function, function, inputs)
    yield Block(f"{name} gradients", function, function, inputs, tuple(shapes))


def layer_norm(F, x, w, b):
    return F.layer_norm(x, w, b) if F.__name__.startswith("mtorch") else F.layer_norm(x, w.shape, w, b)


def residual(m, F, x, w1, s1, b1, w2, s2, b2):
    """Two convolutions, each with a scale and a shift for what a batch norm has become."""
    y = m.relu(F.conv2d(x, w1, None, padding=1) * s1 + b1)
    return m.relu(x + F.conv2d(y, w2, None, padding=1) * s2 + b2)


def bottleneck(m, F, x, w1, b1, w2, b2, w3, b3):
    y = m.relu(F.conv2d(m.relu(F.conv2d(x, w1, b1)), w2, b2, padding=1))
    return m.relu(x + F.conv2d(y, w3, b3))


def halving(m, F, x, w1, b1, w2):
    return m.relu(F.conv2d(x, w1, b1, padding=1, stride=2) + F.conv2d(x, w2, None, stride=2))


def stem(m, F, x, w, b):
    return F.max_pool2d(m.relu(F.conv2d(x, w, b, padding=3, stride=2)), 3, 2, 1)


def vgg(m, F, x, w1, b1, w2, b2):
    y = m.relu(F.conv2d(x, w1, b1, padding=1))
    return F.max_pool2d(m.relu(F.conv2d(y, w2, b2, padding=1)), 2)


def inverted_residual(m, F, x, w1, b1, w2, b2, w3, b3):
    y = m.clip(F.conv2d(x, w1, b1), 0, 6)
    y = m.clip(F.conv2d(y, w2, b2, padding=1, groups=len(b2)), 0, 6)
    return x + F.conv2d(y, w3, b3)


def squeeze_and_excite(m, F, x, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5):
    y = F.silu(F.conv2d(x, w1, b1))
    y = F.silu(F.conv2d(y, w2, b2, padding=2, groups=len(b2)))
    scale = F.silu(F.conv2d(m.mean(y, axis=(2, 3), keepdims=True), w3, b3))
    return x + F.conv2d(y * m.sigmoid(F.conv2d(scale, w4, b4)), w5, b5)


def dense(m, F, x, w1, w2, w3):
    for w in [w1, w2]:
        x = m.concat([x, m.relu(F.conv2d(x, w, None, padding=1))], 1)
    return m.relu(F.conv2d(x, w3, None, padding=1))


def convnext(m, F, x, w1, g, b, w2, b2, w3, b3):
    y = layer_norm(F, F.conv2d(x, w1, None, padding=3, groups=len(g)).permute(0, 2, 3, 1), g, b)
    return x + F.linear(F.gelu(F.linear(y, w2, b2)), w3, b3).permute(0, 3, 1, 2)


def unet(m, F, x, g1, c1, w1, b1, g2, c2, w2, b2):
    y = F.conv2d(F.silu(F.group_norm(x, 32, g1, c1)), w1, b1, padding=1)
    return x + F.conv2d(F.silu(F.group_norm(y, 32, g2, c2)), w2, b2, padding=1)


def autoencoder(m, F, x, w1, b1, w2, b2, w3, b3, w4, b4):
    y = m.relu(F.conv2d(x, w1, b1, padding=1, stride=2))
    y = m.relu(F.conv2d(y, w2, b2, padding=1, stride=2))
    return F.conv_transpose2d(m.relu(F.conv_transpose2d(y, w3, b3, 2, 1)), w4, b4, 2, 1)


def sequences(m, F, x, w1, b1, w2, b2):
    return F.conv1d(F.gelu(F.conv1d(x, w1, b1, padding=1)), w2, b2, padding=1, stride=2)


def perceptron(m, F, x, w1, b1, w2, b2, w3, b3):
    y = m.relu(F.linear(m.relu(F.linear(x, w1, b1)), w2, b2))
    return F.linear(y, w3, b3)


def transformer(heads):
    def layer(m, F, x, g1, c1, w1, b1, w2, b2, g2, c2, w3, b3, w4, b4):
        batch, positions, width = x.shape
        rows = F.linear(layer_norm(F, x, g1, c1), w1, b1)
        rows = rows.reshape(batch, positions, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(rows[0], rows[1], rows[2]).permute(0, 2, 1, 3)
        x = x + F.linear(seen.reshape(batch, positions, width), w2, b2)
        return x + F.linear(F.gelu(F.linear(layer_norm(F, x, g2, c2), w3, b3)), w4, b4)

    return layer


def of_images():
    for batch, channels, size in [
        (1, 64, 56), (8, 64, 56), (8, 128, 28), (1, 256, 14), (8, 256, 14), (1, 512, 7), (2, 512, 7),
        (8, 512, 7),
    ]:  # fmt: skip
        weight, each = (channels, channels, 3, 3), (channels, 1, 1)
        yield from block(
            residual, "residual block", x=(batch, channels, size, size),
            w1=weight, s1=each, b1=each, w2=weight, s2=each, b2=each,
        )  # fmt: skip
    for batch in [1, 8]:
        for channels, size in [(64, 56), (128, 28), (256, 14), (512, 7)]:
            wide = 4 * channels
            yield from block(
                bottleneck, "bottleneck", x=(batch, wide, size, size),
                w1=(channels, wide, 1, 1), b1=(channels,), w2=(channels, channels, 3, 3), b2=(channels,),
                w3=(wide, channels, 1, 1), b3=(wide,),
            )  # fmt: skip
    for batch, channels, size in [(1, 64, 56), (1, 256, 14), (8, 64, 56), (8, 256, 14)]:
        yield from block(
            halving, "halving block", x=(batch, channels, size, size),
            w1=(2 * channels, channels, 3, 3), b1=(2 * channels,), w2=(2 * channels, channels, 1, 1),
        )  # fmt: skip
    for batch in [1, 8]:
        yield from block(stem, "first layers of ResNet", x=(batch, 3, 224, 224), w=(64, 3, 7, 7), b=(64,))
    for batch, channels, size in [(1, 64, 112), (1, 512, 14), (4, 256, 28)]:
        weight = (channels, channels, 3, 3)
        yield from block(
            vgg, "block of VGG", x=(batch, channels, size, size),
            w1=weight, b1=(channels,), w2=weight, b2=(channels,),
        )  # fmt: skip
    for batch, channels, size in [(1, 32, 28), (8, 32, 28), (8, 96, 14), (1, 160, 7), (8, 160, 7)]:
        wide = 6 * channels
        yield from block(
            inverted_residual, "inverted residual", x=(batch, channels, size, size),
            w1=(wide, channels, 1, 1), b1=(wide,), w2=(wide, 1, 3, 3), b2=(wide,),
            w3=(channels, wide, 1, 1), b3=(channels,),
        )  # fmt: skip
    for batch, channels, size in [(1, 40, 28), (1, 112, 14), (8, 40, 28), (8, 192, 7)]:
        wide, narrow = 6 * channels, channels // 4
        yield from block(
            squeeze_and_excite, "squeeze and excitation", x=(batch, channels, size, size),
            w1=(wide, channels, 1, 1), b1=(wide,), w2=(wide, 1, 5, 5), b2=(wide,),
            w3=(narrow, wide, 1, 1), b3=(narrow,), w4=(wide, narrow, 1, 1), b4=(wide,),
            w5=(channels, wide, 1, 1), b5=(channels,),
        )  # fmt: skip
    for batch, channels, size in [(1, 64, 28), (8, 128, 14)]:
        weights = {f"w{i + 1}": (32, channels + 32 * i, 3, 3) for i in range(3)}
        yield from block(dense, "dense block", x=(batch, channels, size, size), **weights)
    for batch, channels, size in [(1, 96, 56), (4, 384, 14), (8, 768, 7)]:
        wide, each = 4 * channels, (channels,)
        yield from block(
            convnext, "block of ConvNeXt", x=(batch, channels, size, size),
            w1=(channels, 1, 7, 7), g=each, b=each, w2=(wide, channels), b2=(wide,),
            w3=(channels, wide), b3=each,
        )  # fmt: skip
    for batch, channels, size in [(1, 128, 32), (4, 128, 32), (2, 256, 16)]:
        weight, each = (channels, channels, 3, 3), (channels,)
        yield from block(
            unet, "block of a U-Net", x=(batch, channels, size, size),
            g1=each, c1=each, w1=weight, b1=each, g2=each, c2=each, w2=weight, b2=each,
        )  # fmt: skip
    for batch, size in [(1, 64), (16, 32)]:
        yield from block(
            autoencoder, "autoencoder", x=(batch, 3, size, size),
            w1=(32, 3, 4, 4), b1=(32,), w2=(64, 32, 4, 4), b2=(64,),
            w3=(64, 32, 4, 4), b3=(32,), w4=(32, 3, 4, 4), b4=(3,),
        )  # fmt: skip


def of_sequences():
    for batch, channels, length in [(1, 80, 3000), (8, 64, 1000), (4, 256, 128)]:
        wide = 2 * channels
        yield from block(
            sequences, "convolutions of sequences", x=(batch, channels, length),
            w1=(wide, channels, 3), b1=(wide,), w2=(wide, wide, 3), b2=(wide,),
        )  # fmt: skip
    for batch, inputs, hidden in [
        (1, 784, 512), (32, 784, 512), (256, 784, 512), (64, 64, 256), (1024, 13, 128)
    ]:  # fmt: skip
        yield from block(
            perceptron, "perceptron", x=(batch, inputs),
            w1=(hidden, inputs), b1=(hidden,), w2=(hidden, hidden), b2=(hidden,), w3=(10, hidden), b3=(10,),
        )  # fmt: skip
    for batch, positions, width, heads in [
        (1, 128, 768, 12), (8, 128, 768, 12), (1, 197, 384, 6), (16, 64, 256, 4), (4, 512, 512, 8)
    ]:  # fmt: skip
        each, wide = (width,), 4 * width
        yield from block(
            transformer(heads), "transformer's layer", x=(batch, positions, width),
            g1=each, c1=each, w1=(3 * width, width), b1=(3 * width,), w2=(width, width), b2=each,
            g2=each, c2=each, w3=(wide, width), b3=(wide,), w4=(width, wide), b4=each,
        )  # fmt: skip


def cases():
    yield from of_images()
    yield from of_sequences()
