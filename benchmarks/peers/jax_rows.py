# SPDX-License-Identifier: Apache-2.0
"""JAX: expressions compiled by XLA."""
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import numpy  # noqa: E402
from jax import numpy as jnp  # noqa: E402

jax.config.update("jax_enable_x64", True)
# As exact as everybody else.
jax.config.update("jax_default_matmul_precision", "highest")


def set_threads(_):
    """XLA takes every core that the process may run on; bench.py leaves JAX out for fewer."""


def version():
    return jax.__version__


def _gelu(x):
    return 0.5 * (x * (1 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))))


def _layer_norm(x, w, b, *_):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def _rms_norm(x, w, *_):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def _cross_entropy(x, t):
    picked = jnp.take_along_axis(jax.nn.log_softmax(x, -1), t[:, None], 1)
    return -picked.mean()


def _cheap_chain(x, y):
    t = jnp.maximum((x + y) * x - y, x)
    return jax.nn.relu(jnp.abs(t * 0.5) - x)


def _gradients(compute, count):
    """The gradients to the first `count` inputs; the last is the value's own, unless that is one
    number."""
    def made(*inputs):
        value, back = jax.vjp(lambda *leaves: compute(*leaves, *inputs[count:]), *inputs[:count])
        return back(inputs[-1] if value.ndim else jnp.ones_like(value))
    return made


_of_rows = {
    "softmax": (lambda x, *_: jax.nn.softmax(x, -1), 1),
    "layer_norm": (_layer_norm, 3),
    "rms_norm": (_rms_norm, 2),
    "cross_entropy": (_cross_entropy, 1),
}

ROWS = {name: compute for name, (compute, _) in _of_rows.items()} | {
    f"{name}_gradient": _gradients(*how) for name, how in _of_rows.items()} | {
    "relu_add": lambda x, y: jax.nn.relu(x + y),
    "gelu": _gelu,
    "cheap_chain": _cheap_chain,
    "sum": jnp.sum,
    "transpose_copy": lambda x: x.T.copy(),
    "to_bfloat16": lambda x: x.astype(jnp.bfloat16),
    "to_float64": lambda x: x.astype(jnp.float64),
    "matmul": jnp.matmul,
    "matmul_at_b": lambda a, b: a.T @ b,
    "matmul_a_bt": lambda a, b: a @ b.T,
}


class Row:
    def __init__(self, name, inputs):
        if name not in ROWS:
            raise LookupError("not in this module")
        self._compute = jax.jit(ROWS[name])
        self._inputs = [jnp.asarray(x) for x in inputs]

    def run(self, times):
        for _ in range(times):
            jax.block_until_ready(self._compute(*self._inputs))

    def result(self):
        made = jax.tree_util.tree_leaves(self._compute(*self._inputs))
        return numpy.concatenate([numpy.asarray(part, numpy.float64).reshape(-1) for part in made])

    def close(self):
        self._compute = self._inputs = None


open = Row
