# SPDX-License-Identifier: Apache-2.0
# pylint: disable=unused-argument
"""What users write out of operators themselves: losses, cells, attention of their own, geometry."""
from .blocks import Block
from .case import text


def formula(function, label, integers=(), grads=True, **shapes):
    """`integers`: {name: what they stay below}, of the arrays that have some."""
    integers = dict(integers)
    inputs = {
        name: (shape, "int64" if name in integers else "float32", integers.get(name, 0))
        for name, shape in shapes.items()
    }
    name = f"{label} [{text(shapes['x'])}]"
    yield Formula(name, function, function, inputs)
    if grads:
        yield Formula(f"{name} gradients", function, function, inputs,
                      tuple(name for name in shapes if name not in integers))


class Formula(Block):
    def floats(self, random, shape):
        return random.uniform(-1, 1, shape)


def own_attention(m, F, q, k, x, mask):
    weights = q @ k.permute(0, 1, 3, 2) * 0.125 + mask
    weights = m.exp(weights - m.logsumexp(weights, -1, keepdims=True))
    return weights @ x


def rotated(m, F, x, c, s):
    """Rotary positions."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return m.concat([a * c - b * s, b * c + a * s], -1)


def gru_cell(m, F, x, h, w, u, b):
    a, r = x @ w + b, h @ u
    n = h.shape[1]
    update = m.sigmoid(a[:, :n] + r[:, :n])
    reset = m.sigmoid(a[:, n : 2 * n] + r[:, n : 2 * n])
    new = m.tanh(a[:, 2 * n :] + reset * r[:, 2 * n :])
    return update * h + (1 - update) * new


def contrastive(m, F, x, y):
    a = x / m.sqrt(m.sum(x * x, 1, keepdims=True))
    b = y / m.sqrt(m.sum(y * y, 1, keepdims=True))
    scores = a @ b.T * 10
    own = m.sum(a * b, 1) * 10
    return m.mean(m.logsumexp(scores, 1) + m.logsumexp(scores, 0) - 2 * own)


def distances(m, F, x, y):
    return m.sqrt(m.clip((x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T, 1e-6, 1e9))


def nearest(m, F, x, y):
    """A step of k-means."""
    return m.argmin((y * y).sum(1)[None] - 2 * x @ y.T, 1)


def kernel_sum(m, F, x, y, v):
    d = ((x[:, None] - y[None]) ** 2).sum(-1)
    return m.exp(-d) @ v


def forces(m, F, x):
    d = x[:, None] - x[None]
    r = (d * d).sum(-1) + 0.01
    return (d / (r * m.sqrt(r))[..., None]).sum(1)


def variational(m, F, x, y, a, s):
    z = -0.5 * m.sum(1 + s - a * a - m.exp(s), 1)
    return m.mean(m.sum((x - y) ** 2, 1) + z)


def focal(m, F, x, t):
    p, y = m.sigmoid(x), m.sigmoid(t * 8)
    return m.mean(-y * (1 - p) ** 2 * m.log(p) - (1 - y) * p * p * m.log(1 - p))


def dice(m, F, x, t):
    p, y = m.sigmoid(x), t * t
    both = m.sum(p * y, (1, 2, 3))
    return m.mean(1 - (2 * both + 1) / (m.sum(p, (1, 2, 3)) + m.sum(y, (1, 2, 3)) + 1))


def own_layer_norm(m, F, x, w, b):
    c = x - m.mean(x, -1, keepdims=True)
    return c / m.sqrt(m.mean(c * c, -1, keepdims=True) + 1e-5) * w + b


def own_batch_norm(m, F, x, w, b):
    mean = m.mean(x, (0, 2, 3), keepdims=True)
    c = x - mean
    return c / m.sqrt(m.mean(c * c, (0, 2, 3), keepdims=True) + 1e-5) * w + b


def instance_norm(m, F, x):
    c = x - m.mean(x, (2, 3), keepdims=True)
    return c / m.sqrt(m.mean(c * c, (2, 3), keepdims=True) + 1e-5)


def graph_convolution(m, F, x, a, w):
    return m.relu(a @ (x @ w))


def mixture(m, F, x, g, w, v):
    """Of experts, all of them computed."""
    gates = m.exp(x @ g)
    gates = gates / m.sum(gates, 1, keepdims=True)
    hidden = m.relu(m.einsum("bi,eij->ebj", x, w))
    return m.einsum("ebj,ejk,be->bk", hidden, v, gates)


def bag(m, F, x, t):
    """The mean of words."""
    return m.mean(F.embedding(t, x), 1)


def gram(m, F, x):
    flat = x.reshape(x.shape[0], x.shape[1], -1)
    return flat @ flat.permute(0, 2, 1) * (1.0 / flat.shape[2])


def total_variation(m, F, x):
    return m.mean(m.abs(x[:, :, 1:] - x[:, :, :-1])) + m.mean(m.abs(x[:, :, :, 1:] - x[:, :, :, :-1]))


def heat(m, F, x):
    for _ in range(10):
        inner = x[1:-1, 1:-1]
        around = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
        x = inner + 0.1 * (around - 4 * inner)
    return x


def mixed_density(m, F, x, w, u, s):
    """Of Gaussians."""
    p = m.logsumexp(w - 0.5 * ((x - u) * m.exp(-s)) ** 2 - s, 1) - m.logsumexp(w, 1)
    return -m.mean(p)


def polynomial(m, F, x):
    y = x * 0
    for i in range(12):
        y = y * x + (0.5 - i * 0.1)
    return y


def standardized(m, F, x):
    return (x - m.mean(x, 0)) / m.std(x, 0)


def covariance(m, F, x):
    c = x - m.mean(x, 0)
    return c.T @ c * (1.0 / x.shape[0])


def patches(m, F, x, w, b):
    """What a vision transformer begins with."""
    n, c, h, _ = x.shape
    p = h // 16
    rows = x.reshape(n, c, p, 16, p, 16).permute(0, 2, 4, 1, 3, 5).reshape(n, p * p, c * 256)
    return rows @ w + b


def gated(m, F, x, w, v, u):
    """SwiGLU."""
    return (F.silu(x @ w) * (x @ v)) @ u


def bilinear(m, F, x, y, w):
    return m.einsum("bi,ijk,bj->bk", x, w, y)


def of_networks():
    heads = {"q": (4, 8, 128, 64), "k": (4, 8, 128, 64), "x": (4, 8, 128, 64), "mask": (128, 128)}
    yield from formula(own_attention, "attention of operators", **heads)
    heads = {"q": (32, 4, 32, 16), "k": (32, 4, 32, 16), "x": (32, 4, 32, 16), "mask": (32, 32)}
    yield from formula(own_attention, "attention of operators", **heads)
    yield from formula(rotated, "rotary positions", x=(8, 8, 128, 64), c=(128, 32), s=(128, 32))
    weights = {"w": (64, 384), "u": (128, 384), "b": (384,)}
    yield from formula(gru_cell, "GRU cell of operators", x=(32, 64), h=(32, 128), **weights)
    for shape in [(2048, 512), (32, 10, 64)]:
        each = shape[-1:]
        yield from formula(own_layer_norm, "layer norm of operators", x=shape, w=each, b=each)
    each = (64, 1, 1)
    yield from formula(own_batch_norm, "batch norm of operators", x=(16, 64, 28, 28), w=each, b=each)
    yield from formula(instance_norm, "instance norm", x=(8, 64, 32, 32))
    yield from formula(graph_convolution, "graph convolution", x=(1000, 64), a=(1000, 1000), w=(64, 32))
    weights = {"g": (64, 8), "w": (8, 64, 128), "v": (8, 128, 64)}
    yield from formula(mixture, "mixture of experts", x=(128, 64), **weights)
    yield from formula(bag, "means of words", {"t": 10_000}, x=(10_000, 100), t=(64, 50))
    yield from formula(patches, "patches of images", x=(8, 3, 224, 224), w=(768, 192), b=(192,))
    weights = {"w": (256, 512), "v": (256, 512), "u": (512, 256)}
    yield from formula(gated, "gated linear units", x=(128, 256), **weights)
    yield from formula(bilinear, "bilinear form", x=(128, 32), y=(128, 48), w=(32, 48, 40))


def of_losses():
    yield from formula(contrastive, "contrastive loss", x=(256, 128), y=(256, 128))
    hidden = {"a": (128, 32), "s": (128, 32)}
    yield from formula(variational, "loss of a variational autoencoder", x=(128, 784), y=(128, 784), **hidden)
    yield from formula(focal, "focal loss", x=(64, 1000), t=(64, 1000))
    yield from formula(dice, "Dice loss", x=(8, 1, 128, 128), t=(8, 1, 128, 128))
    yield from formula(total_variation, "total variation", x=(4, 3, 256, 256))
    each = {name: (4096, 10) for name in "wus"}
    yield from formula(mixed_density, "mixture of Gaussians", x=(4096, 1), **each)


def of_numbers():
    yield from formula(distances, "distances", x=(1000, 64), y=(500, 64))
    yield from formula(nearest, "nearest centres", grads=False, x=(20_000, 16), y=(50, 16))
    yield from formula(kernel_sum, "sums of Gaussians", x=(500, 3), y=(500, 3), v=(500, 4))
    yield from formula(forces, "forces of bodies", x=(500, 3))
    yield from formula(gram, "Gram matrices", x=(4, 64, 56, 56))
    yield from formula(heat, "ten steps of heat", x=(300, 300))
    yield from formula(polynomial, "polynomial", x=(100_000,))
    yield from formula(standardized, "standardized columns", x=(10_000, 50))
    yield from formula(covariance, "covariance", x=(10_000, 50))


def cases():
    yield from of_networks()
    yield from of_losses()
    yield from of_numbers()
