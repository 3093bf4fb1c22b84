# SPDX-License-Identifier: Apache-2.0
"""PyTorch from Python, eager: for rows in which the price of a call does not matter, and for what
a user of its Python interface sees. Each row is a function of the inputs, as tensors, that returns
what to run and what to compare."""
import torch
from torch.nn import functional

set_threads = torch.set_num_threads


def version():
    return torch.__version__


def _value(compute):
    def row(*inputs):
        def run():
            with torch.no_grad():
                return compute(*inputs)
        return run, run
    return row


def _gelu(x):
    return 0.5 * (x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))))


def _gradient(compute):
    """The gradient to the first input; what compute returns comes with its own, or None."""
    def row(*inputs):
        inputs[0].requires_grad_()

        def run():
            value, of_value = compute(*inputs)
            return torch.autograd.grad(value, inputs[0], of_value)[0]
        return run, run
    return row


def _layer_norm(x, w, b):
    return functional.layer_norm(x, w.shape, w, b, 1e-5)


def _rms_norm(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * w


def _cheap_chain(x, y):
    t = torch.maximum((x + y) * x - y, x)
    return torch.relu(torch.abs(t * 0.5) - x)


def _linear_gelu_backward(x, weight, bias, dy):
    leaves = x, weight, bias
    for leaf in leaves:
        leaf.requires_grad_()

    def run():
        return torch.autograd.grad(functional.gelu(functional.linear(*leaves)), leaves, dy)
    return run, run


def _convolution(same, gradient=None):
    def compute(x, w, dy=None):
        how = {"padding": w.shape[-1] // 2 if same else 0, "groups": x.shape[1] // w.shape[1]}
        if gradient == "dx":
            return torch.nn.grad.conv2d_input(x.shape, w, dy, **how)
        if gradient == "dw":
            return torch.nn.grad.conv2d_weight(x, w.shape, dy, **how)
        return functional.conv2d(x, w, **how)
    return _value(compute)


def _training(layers, loss):
    def row(*inputs):
        parameters, (x, t) = inputs[:2 * layers], inputs[2 * layers:]
        for parameter in parameters:
            parameter.requires_grad_()
        optimizer = torch.optim.SGD(parameters, lr=0.05)

        def step():
            y = x
            for i in range(layers):
                y = functional.linear(y, parameters[2 * i], parameters[2 * i + 1])
                if i + 1 < layers:
                    y = torch.relu(y)
            optimizer.zero_grad(set_to_none=True)
            loss(y, t).backward()
            optimizer.step()
        return step, lambda: parameters
    return row


def _adamw(*inputs):
    return _adamw_by(inputs)


def _adamw_foreach(*inputs):
    return _adamw_by(inputs, foreach=True)


def _adamw_by(inputs, **how):
    parameters = inputs[:len(inputs) // 2]
    for parameter, gradient in zip(parameters, inputs[len(parameters):]):
        parameter.requires_grad_().grad = gradient
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, **how)
    return optimizer.step, lambda: parameters


ROWS = {
    "add4": _value(torch.add),
    "relu_add": _value(lambda x, y: torch.relu(x + y)),
    "gelu": _value(_gelu),
    "softmax": _value(lambda x: torch.softmax(x, -1)),
    "layer_norm": _value(_layer_norm),
    "rms_norm": _value(_rms_norm),
    "cross_entropy": _value(functional.cross_entropy),
    "softmax_gradient": _gradient(lambda x, dy: (torch.softmax(x, -1), dy)),
    "layer_norm_gradient": _gradient(lambda x, w, b, dy: (_layer_norm(x, w, b), dy)),
    "cross_entropy_gradient": _gradient(lambda x, t: (functional.cross_entropy(x, t), None)),
    "cheap_chain": _value(_cheap_chain),
    "sum": _value(torch.sum),
    "transpose_copy": _value(lambda x: x.t().contiguous()),
    "matmul": _value(torch.matmul),
    "matmul_at_b": _value(lambda a, b: a.t() @ b),
    "matmul_a_bt": _value(lambda a, b: a @ b.t()),
    "einsum_chain": _value(lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c)),
    "linear_gelu": _value(lambda *in_: functional.gelu(functional.linear(*in_))),
    "linear_gelu_backward": _linear_gelu_backward,
    **{f"conv_{'same' if same else 'valid'}{'_' + g if g else ''}": _convolution(same, g)
       for same in (True, False) for g in (None, "dx", "dw")},
    "minitorch": _training(3, lambda y, t:
                           functional.binary_cross_entropy_with_logits(y.view(-1), t)),
    "mnist": _training(2, functional.cross_entropy),
    "adamw": _adamw,
    "adamw_foreach": _adamw_foreach,
}


class _Row:
    def __init__(self, name, inputs):
        self._run, self._result = ROWS[name](*[torch.from_numpy(x).clone() for x in inputs])

    def run(self, times):
        work = self._run
        for _ in range(times):
            work()

    def result(self):
        made = self._result()
        made = [made] if isinstance(made, torch.Tensor) else made
        return torch.cat([tensor.detach().reshape(-1) for tensor in made]).numpy()

    def close(self):
        self._run = self._result = None


open = _Row  # the same interface as a module of compiled rows
