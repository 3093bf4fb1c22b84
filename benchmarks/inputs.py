# SPDX-License-Identifier: Apache-2.0
"""What rows are given: each function returns one that makes the arrays, the same every time."""
import numpy

# Of three to six operands, for every side that knows the grammar: a chain of products; attention
# without its softmax; a tensor train; and what a matrix product state of three sites is multiplied
# by when its energy is made smaller. Going from left to right is never a bad order: PyTorch 1.13
# knows no other. rows/matrix.c has the same.
EINSUMS = {
    "einsum3": "ij,jk,kl->il",
    "einsum4": "bqd,bkd,bkv,vo->bqo",
    "einsum5": "ai,ibj,jck,kdl,le->abcde",
    "einsum6": "atzdb,lwa,wvst,vxuz,xycd,ryb->lsucr",
}
_SITE = (5, 5, 2, 2)
EINSUM_SHAPES = {
    "einsum3": [(512, 2048), (2048, 512), (512, 64)],
    "einsum4": [(8, 512, 64), (8, 512, 64), (8, 512, 64), (64, 512)],
    "einsum5": [(16, 32), (32, 16, 32), (32, 16, 32), (32, 16, 32), (32, 16)],
    "einsum6": [(128, 2, 2, 2, 128), (128, 5, 128), _SITE, _SITE, _SITE, (128, 5, 128)],
}

# The weights of LeNet-5, and at how many places of an image each is applied.
LENET = [(6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (10, 84)]
LENET_PLACES = [28 * 28, 10 * 10, 1, 1, 1]


def uniform(*shapes, low=-1, high=1, dtype=numpy.float32):
    def inputs():
        random = numpy.random.default_rng(0)
        return [random.uniform(low, high, shape).astype(dtype) for shape in shapes]
    return inputs


def network(sizes, batch, target):
    """A perceptron: weight and bias of each layer, a batch and its targets."""
    def inputs():
        random = numpy.random.default_rng(0)
        arrays = []
        for fan_in, fan_out in zip(sizes, sizes[1:]):
            bound = fan_in ** -0.5
            arrays += [random.uniform(-bound, bound, (fan_out, fan_in)),
                       random.uniform(-bound, bound, fan_out)]
        arrays.append(random.uniform(0, 1, (batch, sizes[0])))
        return [a.astype(numpy.float32) for a in arrays] + [target(random)]
    return inputs


def lenet(batch):
    """Weight and bias of LeNet-5's layers, images and their classes."""
    def inputs():
        random = numpy.random.default_rng(0)
        arrays = []
        for shape in LENET:
            bound = numpy.prod(shape[1:]) ** -0.5
            arrays += [random.uniform(-bound, bound, shape), random.uniform(-bound, bound, shape[0])]
        arrays.append(random.uniform(0, 1, (batch, 1, 28, 28)))
        return [a.astype(numpy.float32) for a in arrays] + [random.integers(0, 10, batch)]
    return inputs


def transformer(batch, context, width, blocks, symbols, targets):
    """A decoder: embeddings of symbols and places; for each block the first norm, in_proj, out_proj,
    the second norm, growing and shrinking layer, each with weight and bias; the last norm; the
    output's weight. Then symbols and, when there are targets, what follows them."""
    def inputs():
        random = numpy.random.default_rng(0)

        def normal(*shape):
            return random.normal(0, 0.02, shape)

        def norm():
            return [numpy.ones(width), numpy.zeros(width)]

        def linear(to, of):
            return [normal(to, of), numpy.zeros(to)]

        arrays = [normal(symbols, width), normal(context, width)]
        for _ in range(blocks):
            arrays += [*norm(), *linear(3 * width, width), *linear(width, width),
                       *norm(), *linear(4 * width, width), *linear(width, 4 * width)]
        arrays += [*norm(), normal(symbols, width)]
        text = random.integers(0, symbols, (batch, context + 1))
        read = [text[:, :-1], text[:, 1:]][:2 if targets else 1]
        return ([a.astype(numpy.float32) for a in arrays]
                + [numpy.ascontiguousarray(part) for part in read])
    return inputs


def logits(batch, classes):
    def inputs():
        random = numpy.random.default_rng(0)
        return [random.uniform(-1, 1, (batch, classes)).astype(numpy.float32),
                random.integers(0, classes, batch)]
    return inputs


def shuffled(count):
    """Distinct numbers, so that there is one way to sort them."""
    return lambda: [numpy.random.default_rng(0).permutation(count).astype(numpy.float32)]


def table(rows, width, picked, values):
    """A table, numbers of its rows and, for those who add to them, a row of values for each."""
    def inputs():
        random = numpy.random.default_rng(0)
        made = [random.uniform(-1, 1, (rows, width)).astype(numpy.float32),
                random.integers(0, rows, picked)]
        return made + [random.random((picked, width), numpy.float32)] * values
    return inputs
