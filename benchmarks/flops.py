# SPDX-License-Identifier: Apache-2.0
"""The least that networks and Einstein sums ask for, from their shapes: multiplications and
additions of products, which are the limits of their rows. Whatever is element-wise is not counted."""
import functools
import itertools
import math

from inputs import EINSUMS, EINSUM_SHAPES, LENET, LENET_PLACES


def _training(batch, products):
    """A step of layers one after another: each forward, for its weight and, but for the first, for
    its input."""
    return 2 * batch * (3 * sum(products) - products[0])


def perceptron(sizes, batch):
    return _training(batch, [a * b for a, b in zip(sizes, sizes[1:])])


def lenet(batch):
    return _training(batch, [places * math.prod(weight)
                             for weight, places in zip(LENET, LENET_PLACES)])


def transformer(batch, context, width, blocks, symbols, targets):
    """A training step with targets; without, what may follow the last symbol, for which the last
    block needs the keys and values of all places, and the rest of itself at one."""
    pairs = context * (context + 1) // 2  # of a place and one that it sees
    block = 12 * width ** 2 * context + 2 * width * pairs
    if targets:
        return 2 * batch * 3 * (blocks * block + width * symbols * context)
    last = 2 * width ** 2 * context + 10 * width ** 2 + 2 * width * context
    return 2 * batch * ((blocks - 1) * block + last + width * symbols)


def einsum(name):
    """In the best order of multiplying two operands at a time."""
    terms, result = EINSUMS[name].split("->")
    terms = terms.split(",")
    size = {label: n for term, shape in zip(terms, EINSUM_SHAPES[name])
            for label, n in zip(term, shape)}

    def labels(part):
        """What is left of operands that have been multiplied."""
        outside = set(result).union(*(t for i, t in enumerate(terms) if i not in part))
        return set().union(*(terms[i] for i in part)) & outside

    @functools.cache
    def least(part):
        if len(part) == 1:
            return 0
        first, *others = sorted(part)
        ways = []
        for count in range(len(others)):
            for chosen in itertools.combinations(others, count):
                a = frozenset({first, *chosen})
                b = part - a
                product = math.prod(size[label] for label in labels(a) | labels(b))
                ways.append(least(a) + least(b) + product)
        return min(ways)

    return 2 * least(frozenset(range(len(terms))))
