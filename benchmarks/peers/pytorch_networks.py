# SPDX-License-Identifier: Apache-2.0
"""Networks and optimizers of PyTorch's: rows like those of pytorch.py. The parameters are the first
inputs (inputs.py has their order)."""
import inspect

import torch
from torch.nn import functional

_of_adamw = inspect.signature(torch.optim.AdamW).parameters


def attention(q, k, v, causal):
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, -1) @ v


def _trainable(parameters):
    for parameter in parameters:
        parameter.requires_grad_()
    return parameters


def as_written(function):
    return function


# What a loss goes through before it is trained on: who measures may put torch.compile here.
prepare = as_written


def _training(count, network, loss):
    """A step of stochastic gradient descent, and the parameters that it leaves."""
    def row(*inputs):
        parameters, (x, t) = _trainable(inputs[:count]), inputs[count:]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        prepared = prepare(lambda p, x, t: loss(network(p, x), t))

        def step():
            optimizer.zero_grad(set_to_none=True)
            prepared(parameters, x, t).backward()
            optimizer.step()
        return step, lambda: parameters
    return row


def _perceptron(parameters, x):
    for i in range(0, len(parameters), 2):
        x = functional.linear(x, parameters[i], parameters[i + 1])
        if i + 2 < len(parameters):
            x = torch.relu(x)
    return x


def _lenet(p, x):
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, p[0], p[1], padding=2)), 2)
    x = functional.max_pool2d(torch.relu(functional.conv2d(x, p[2], p[3])), 2)
    return _perceptron(p[4:], x.flatten(1))


def _transformer(p, symbols, heads=4):
    def norm(x, i):
        return functional.layer_norm(x, x.shape[-1:], p[i], p[i + 1], 1e-5)

    x = functional.embedding(symbols, p[0]) + p[1]
    n, context, width = x.shape
    for at in range(2, len(p) - 3, 12):
        qkv = functional.linear(norm(x, at), p[at + 2], p[at + 3])
        q, k, v = qkv.view(n, context, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        y = attention(q, k, v, True).transpose(1, 2).reshape(n, context, width)
        x = x + functional.linear(y, p[at + 4], p[at + 5])
        inner = functional.linear(norm(x, at + 6), p[at + 8], p[at + 9])
        x = x + functional.linear(functional.gelu(inner, approximate="tanh"), p[at + 10], p[at + 11])
    return norm(x, len(p) - 3)


def _gpt_loss(p, symbols, following):
    logits = functional.linear(_transformer(p, symbols), p[-1])
    return functional.cross_entropy(logits.flatten(0, 1), following.flatten())


def _gpt(*inputs):
    parameters, (symbols, following) = _trainable(inputs[:-2]), inputs[-2:]
    how = {"fused": True} if "fused" in _of_adamw else {"foreach": True}
    if parameters[0].is_cuda:
        how["capturable"] = True
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, **how)
    prepared = prepare(_gpt_loss)

    def step():
        optimizer.zero_grad(set_to_none=True)
        prepared(parameters, symbols, following).backward()
        optimizer.step()

    def loss():
        with torch.no_grad():
            return _gpt_loss(parameters, symbols, following)
    return step, loss


def _gpt_token(*inputs):
    parameters, symbols = inputs[:-1], inputs[-1]

    def run():
        with torch.no_grad():
            return functional.linear(_transformer(parameters, symbols)[:, -1], parameters[-1])
    return run, run


def _gpt_kept(*inputs, heads=4):
    """Of the symbols the last is asked about; the keys and values of the others are there."""
    p, symbols = inputs[:-1], inputs[-1]
    context, width = p[1].shape
    caches = [torch.zeros(2, heads, context, width // heads) for _ in range(2, len(p) - 3, 12)]

    def step(place):
        x = functional.embedding(symbols[:, place], p[0]) + p[1][place]
        for at, cache in zip(range(2, len(p) - 3, 12), caches):
            normed = functional.layer_norm(x, (width,), p[at], p[at + 1])
            qkv = functional.linear(normed, p[at + 2], p[at + 3]).view(3, heads, 1, width // heads)
            cache[:, :, place:place + 1] = qkv[1:]
            seen = cache[:, None, :, :place + 1]
            y = attention(qkv[0][None], seen[0], seen[1], False).view(1, width)
            x = x + functional.linear(y, p[at + 4], p[at + 5])
            normed = functional.layer_norm(x, (width,), p[at + 6], p[at + 7])
            inner = functional.gelu(functional.linear(normed, p[at + 8], p[at + 9]), approximate="tanh")
            x = x + functional.linear(inner, p[at + 10], p[at + 11])
        return functional.linear(functional.layer_norm(x, (width,), p[-3], p[-2]), p[-1])

    def run():
        with torch.no_grad():
            return step(context - 1)
    with torch.no_grad():
        for place in range(context - 1):
            step(place)
    return run, run


def _adamw(**how):
    def row(*inputs):
        parameters = _trainable(inputs[:len(inputs) // 2])
        for parameter, gradient in zip(parameters, inputs[len(parameters):]):
            parameter.grad = gradient
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, **how)
        return optimizer.step, lambda: parameters
    return row


ROWS = {
    "minitorch": _training(6, lambda p, x: _perceptron(p, x).view(-1),
                           functional.binary_cross_entropy_with_logits),
    "mnist": _training(4, _perceptron, functional.cross_entropy),
    "lenet": _training(10, _lenet, functional.cross_entropy),
    "gpt_step": _gpt,
    "gpt_token": _gpt_token,
    "gpt_kept": _gpt_kept,
    # In a plain loop over the tensors; over lists of them; in one kernel.
    "adamw": _adamw(foreach=False),
    "adamw_foreach": _adamw(foreach=True),
}
if "fused" in _of_adamw:
    ROWS["adamw_fused"] = _adamw(fused=True)
