# SPDX-License-Identifier: Apache-2.0
"""PyTorch from Python, eager: for rows in which the price of a call does not matter, and for what
a user of its Python interface sees. Each row is a function of the inputs, as tensors, that returns
what to run and what to compare."""
import torch
from torch.nn import functional

from inputs import EINSUMS
from peers import pytorch_networks

set_threads = torch.set_num_threads


def version():
    return torch.__version__


def value(compute):
    def row(*inputs):
        def run():
            with torch.no_grad():
                return compute(*inputs)
        return run, run
    return row


def gradients(compute, count):
    """The gradients to the first `count` inputs; the last is the value's own, unless that is one
    number."""
    def row(*inputs):
        leaves = inputs[:count]
        for leaf in leaves:
            leaf.requires_grad_()

        def run():
            made = compute(*inputs)
            return torch.autograd.grad(made, leaves, inputs[-1] if made.dim() else None)
        return run, run
    return row


def _gelu(x):
    return 0.5 * (x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))))


def _layer_norm(x, w, b, *_):
    return functional.layer_norm(x, w.shape, w, b, 1e-5)


def _rms_norm(x, w, *_):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * w


def _cheap_chain(x, y):
    t = torch.maximum((x + y) * x - y, x)
    return torch.relu(torch.abs(t * 0.5) - x)


def _adds(x, y):
    for _ in range(64):
        x = x + y
    return x


def _linear_gelu(x, weight, bias, *_):
    return functional.gelu(functional.linear(x, weight, bias))


def _attention(causal):
    return lambda q, k, v, *_: pytorch_networks.attention(q, k, v, causal)


def _convolution(same, gradient=None):
    def compute(x, w, dy=None):
        how = {"padding": w.shape[-1] // 2 if same else 0, "groups": x.shape[1] // w.shape[1]}
        if gradient == "dx":
            return torch.nn.grad.conv2d_input(x.shape, w, dy, **how)
        if gradient == "dw":
            return torch.nn.grad.conv2d_weight(x, w.shape, dy, **how)
        return functional.conv2d(x, w, **how)
    return compute


def _einsum(equation):
    return lambda *operands: torch.einsum(equation, *operands)


# Expressions that a compiler of PyTorch's may fuse.
FUSIBLE = {
    "relu_add": lambda x, y: torch.relu(x + y),
    "gelu": _gelu,
    "cheap_chain": _cheap_chain,
    "sum": torch.sum,
    "transpose_copy": lambda x: x.t().contiguous(),
    "to_bfloat16": lambda x: x.to(torch.bfloat16),
    "to_float64": lambda x: x.to(torch.float64),
    "softmax": lambda x, *_: torch.softmax(x, -1),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "cross_entropy": functional.cross_entropy,
}
# Of those the ones with a gradient, and to how many inputs.
DIFFERENTIABLE = {"softmax": 1, "layer_norm": 3, "rms_norm": 2, "cross_entropy": 1}

ROWS = {name: value(compute) for name, compute in FUSIBLE.items()} | {
    f"{name}_gradient": gradients(FUSIBLE[name], count) for name, count in DIFFERENTIABLE.items()
} | {name: value(_einsum(equation)) for name, equation in EINSUMS.items()} | {
    "add4": value(torch.add),
    "adds": value(_adds),
    "sort": value(lambda x: torch.sort(x)[0]),
    "argsort": value(torch.argsort),
    "top100": value(lambda x: torch.topk(x, 100)),
    "cumulative_sum": value(lambda x: torch.cumsum(x, 0)),
    "gather": value(lambda x, i: torch.index_select(x, 0, i)),
    "scatter_add": value(lambda x, i, values: torch.index_add(x, 0, i, values)),
    "matmul": value(torch.matmul),
    "matmul_at_b": value(lambda a, b: a.t() @ b),
    "matmul_a_bt": value(lambda a, b: a @ b.t()),
    "linear_gelu": value(_linear_gelu),
    "linear_gelu_backward": gradients(_linear_gelu, 3),
    "attention": value(_attention(False)),
    "attention_causal": value(_attention(True)),
    "attention_backward": gradients(_attention(False), 3),
    "attention_causal_backward": gradients(_attention(True), 3),
    **{f"conv_{'same' if same else 'valid'}{'_' + g if g else ''}": value(_convolution(same, g))
       for same in (True, False) for g in (None, "dx", "dw")},
} | pytorch_networks.ROWS


class Row:
    def __init__(self, name, inputs, rows=ROWS):
        if name not in rows:
            raise LookupError("not in this version")
        self._run, self._result = rows[name](*[torch.from_numpy(x).clone() for x in inputs])

    def run(self, times):
        work = self._run
        for _ in range(times):
            work()

    def result(self):
        made = self._result()
        made = [made] if isinstance(made, torch.Tensor) else made
        return torch.cat([tensor.detach().reshape(-1).to(torch.float64) for tensor in made]).numpy()

    def close(self):
        self._run = self._result = None


open = Row  # the same interface as a module of compiled rows
