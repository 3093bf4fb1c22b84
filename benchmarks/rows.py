# SPDX-License-Identifier: Apache-2.0
"""The rows of the benchmark: a new one is an entry here, its work in rows/ and in the peers."""
import dataclasses

import numpy


@dataclasses.dataclass
class Row:
    name: str
    workload: str
    ours: str       # the row's name in our module
    peers: dict     # peer -> the row's name there; the first is the one that the target is about
    inputs: callable
    target: float = None        # their time over ours
    target_share: float = None  # of the physical limit
    limit: tuple = None  # ("operations", n), ("stream", arrays read, written, bytes each)
    steps: int = 1              # run before results are compared
    tolerance: tuple = (1e-5, 1e-6)  # relative, absolute
    threads: int = None         # rather than all; 1: small work, told by processor time


def _uniform(*shapes):
    def inputs():
        random = numpy.random.default_rng(0)
        return [random.uniform(-1, 1, shape).astype(numpy.float32) for shape in shapes]
    return inputs


def _network(sizes, batch, target):
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


def _logits(batch, classes):
    def inputs():
        random = numpy.random.default_rng(0)
        return [random.uniform(-1, 1, (batch, classes)).astype(numpy.float32),
                random.integers(0, classes, batch)]
    return inputs


def _adamw(name, count, size, target, torch):
    peers = {"PyTorch": torch}
    return Row(name, f"AdamW, {count} tensors of {size:,}" if count > 1 else f"AdamW, {size:,}",
               name, peers, _uniform(*[size] * (2 * count)), target=target,
               limit=("stream", 4, 3, 4 * count * size), **_step)


_points = _network((2, 100, 100, 1), 10, lambda random:
                   random.integers(0, 2, 10).astype(numpy.float32))
_digits = _network((784, 100, 10), 128, lambda random: random.integers(0, 10, 128))
_digits_operations = 2 * 128 * (2 * 784 * 100 + 3 * 100 * 10)
_big = 16 << 20  # floats in 64 MB
_rows_shape = (4096, 1024)
_two = (4,), (4,)
_step = dict(tolerance=(1e-4, 1e-5), steps=10)


_algebra = {"oneDNN": "matmul", "OpenBLAS": "matmul", "BLIS": "matmul", "PyTorch": "matmul"}


def _square(n):
    return Row(f"matmul{n}", f"matmul {n} × {n}", "matmul", _algebra,
               _uniform((n, n), (n, n)), limit=("operations", 2 * n ** 3), target=1,
               target_share=0.93 if n >= 512 else None, tolerance=(1e-4, 1e-6 * n))


def _small(n):
    return Row(f"matmul{n}", f"matmul {n} × {n}", "matmul",
               dict.fromkeys(["libtorch", "libxsmm", "PyTorch"], "matmul"),
               _uniform((n, n), (n, n)), target=5, limit=("operations", 2 * n ** 3), threads=1,
               tolerance=(1e-4, 1e-5))


def _skinny(name, gradient, row, shapes, target, **how):
    return Row(name, "50,000 × 784" + gradient, row,
               dict.fromkeys(["oneDNN", "BLIS", "OpenBLAS", "PyTorch"], row), _uniform(*shapes),
               target=target, **how)


def _convolution(name, text, row, x, w, target):
    """x and w, and the gradient of y for rows that need it."""
    images, channels, size, _ = x
    outputs, _, kernel, _ = w
    places = size if "same" in row else size - kernel + 1
    y = images, outputs, places, places
    operations = 2 * images * outputs * places ** 2 * w[1] * kernel ** 2
    terms = images * places ** 2 if row.endswith("dw") else w[1] * kernel ** 2
    return Row(name, text, row, {"PyTorch": row}, _uniform(x, w, *([y] if "_d" in row else [])),
               target=target, limit=("operations", operations), tolerance=(1e-4, 1e-6 * terms))


def _convolutions(name, text, kind, x, w, target, gradients=("", "_dx", "_dw")):
    written = {"": "", "_dx": ", gradient of the input", "_dw": ", gradient of the weight"}
    return [_convolution(name + g, text + written[g], kind + g, x, w, target) for g in gradients]

ROWS = [
    Row("record", "record an operator (4 elements)", "record",
        {"libtorch": "add4", "PyTorch": "add4"}, _uniform(*_two), target=5, threads=1),
    Row("add4", "add, 4 elements, computed at once", "add4",
        {"libtorch": "add4", "PyTorch": "add4"}, _uniform(*_two), target=5, threads=1),
    Row("minitorch_step", "MiniTorch step 2-100-100-1, batch 10", "minitorch_step",
        {"libtorch": "minitorch", "PyTorch": "minitorch"}, _points, target=3, threads=1, **_step),
    Row("minitorch_replay", "MiniTorch step, replayed", "minitorch_replay",
        {"libtorch": "minitorch", "PyTorch": "minitorch"}, _points, target=10, threads=1,
        **_step),
    Row("relu_add", "relu(x + y), 64 MB", "relu_add", {"PyTorch": "relu_add"},
        _uniform(_big, _big), target=5, limit=("stream", 2, 1, 4 * _big)),
    Row("softmax", "softmax 4096 × 1024", "softmax", {"PyTorch": "softmax"},
        _uniform(_rows_shape), target=1.5, limit=("stream", 1, 1, 16 << 20)),
    Row("layer_norm", "layer norm 4096 × 1024", "layer_norm", {"PyTorch": "layer_norm"},
        _uniform(_rows_shape, 1024, 1024), target=1.5, tolerance=(1e-4, 1e-5),
        limit=("stream", 1, 1, 16 << 20)),
    Row("rms_norm", "RMS norm 4096 × 1024", "rms_norm", {"PyTorch": "rms_norm"},
        _uniform(_rows_shape, 1024), target=2, tolerance=(1e-4, 1e-5),
        limit=("stream", 1, 1, 16 << 20)),
    Row("cross_entropy", "cross-entropy 4096 × 1024", "cross_entropy",
        {"PyTorch": "cross_entropy"}, _logits(4096, 1024), target=2, tolerance=(1e-4, 1e-5),
        limit=("stream", 1, 0, 16 << 20)),
    Row("softmax_grad", "softmax 4096 × 1024, gradient", "softmax_gradient",
        {"PyTorch": "softmax_gradient"}, _uniform(_rows_shape, _rows_shape), target=2,
        tolerance=(1e-4, 1e-6), limit=("stream", 2, 1, 16 << 20)),
    Row("layer_norm_grad", "layer norm 4096 × 1024, gradient", "layer_norm_gradient",
        {"PyTorch": "layer_norm_gradient"}, _uniform(_rows_shape, 1024, 1024, _rows_shape),
        target=2, tolerance=(1e-3, 1e-5), limit=("stream", 2, 1, 16 << 20)),
    Row("cross_entropy_grad", "cross-entropy 4096 × 1024, gradient", "cross_entropy_gradient",
        {"PyTorch": "cross_entropy_gradient"}, _logits(4096, 1024), target=2,
        tolerance=(1e-4, 1e-8), limit=("stream", 1, 1, 16 << 20)),
    Row("cheap_chain", "8 cheap operators, 100,000", "cheap_chain", {"PyTorch": "cheap_chain"},
        _uniform(100_000, 100_000), target=2),
    Row("gelu", "GELU in 9 operators, 16 M", "gelu", {"unfused": "gelu_unfused", "PyTorch": "gelu"},
        _uniform(_big), target=3, limit=("stream", 1, 1, 4 * _big)),
    Row("adamw", "AdamW, 100 tensors of 10,000", "adamw", {"PyTorch": "adamw"},
        _uniform(*[(100, 100)] * 200), target=4, limit=("stream", 4, 3, 4_000_000), **_step),
    _adamw("adamw_one", 1, 10_000_000, 1.5, "adamw"),
    _adamw("adamw_small", 300, 512, 5, "adamw_foreach"),
    _small(32), _small(64), _square(256), _square(512), _square(1024), _square(2048),
    Row("einsum", "einsum ik,kj->ij, 1024 × 1024", "einsum", {"matmul": "matmul"},
        _uniform((1024, 1024), (1024, 1024)), target=0.97, tolerance=(0, 0)),
    Row("multiply_sum", "multiply and sum, 1024 × 1024 × 1024", "multiply_sum",
        {"matmul": "matmul"}, _uniform((1024, 1024), (1024, 1024)), target=0.97,
        tolerance=(0, 0)),
    Row("einsum_chain", "einsum ij,jk,kl->il, 512 × 2048 × 512 × 64", "einsum_chain",
        {"PyTorch": "einsum_chain"}, _uniform((512, 2048), (2048, 512), (512, 64)), target=1.2,
        tolerance=(1e-4, 1e-2)),
    Row("batched", "64 × (128 × 64 times 64 × 128)", "matmul", {"PyTorch": "matmul"},
        _uniform((64, 128, 64), (64, 64, 128)), target=1.3, tolerance=(1e-4, 1e-4),
        limit=("operations", 2 * 64 * 128 * 64 * 128)),
    Row("vector", "vector times 4096 × 4096", "matmul",
        dict.fromkeys(["oneDNN", "OpenBLAS", "PyTorch"], "matmul"),
        _uniform((1, 4096), (4096, 4096)), target=1, tolerance=(1e-4, 1e-3),
        limit=("stream", 1, 0, 4 * 4096 ** 2)),
    _skinny("skinny", " times 784 × 10", "matmul", [(50_000, 784), (784, 10)], 2,
            tolerance=(1e-4, 1e-3), limit=("stream", 1, 0, 4 * 50_000 * 784), target_share=0.75),
    _skinny("skinny_db", ": its gradient aᵀ dy", "matmul_at_b", [(50_000, 784), (50_000, 10)],
            1.6, tolerance=(1e-4, 1e-2), limit=("stream", 1, 0, 4 * 50_000 * 784),
            target_share=0.75),
    _skinny("skinny_da", ": its gradient dy bᵀ", "matmul_a_bt", [(50_000, 10), (784, 10)], 1.6,
            tolerance=(1e-4, 1e-4), limit=("stream", 0, 1, 4 * 50_000 * 784), target_share=0.75),
    Row("linear_gelu", "linear, bias, GELU: 256 × 1024 × 1024", "linear_gelu",
        {"PyTorch": "linear_gelu"}, _uniform((256, 1024), (1024, 1024), 1024), target=1.25,
        tolerance=(1e-4, 1e-3), limit=("operations", 2 * 256 * 1024 ** 2)),
    Row("linear_gelu_grad", "linear, bias, GELU with the gradients", "linear_gelu_backward",
        {"PyTorch": "linear_gelu_backward"},
        _uniform((256, 1024), (1024, 1024), 1024, (256, 1024)), target=1.3,
        tolerance=(1e-4, 1e-3), limit=("operations", 6 * 256 * 1024 ** 2)),
    *_convolutions("conv", "convolution 3 × 3, 64 channels, 56 × 56, batch 32", "conv_same",
                   (32, 64, 56, 56), (64, 64, 3, 3), 1.2),
    *_convolutions("lenet1", "LeNet's first convolution, batch 64", "conv_same",
                   (64, 1, 28, 28), (6, 1, 5, 5), 2, ("", "_dw")),
    *_convolutions("lenet2", "LeNet's second convolution, batch 64", "conv_valid",
                   (64, 6, 14, 14), (16, 6, 5, 5), 2),
    *_convolutions("depthwise", "depthwise 3 × 3, 64 channels, 56 × 56, batch 32", "conv_same",
                   (32, 64, 56, 56), (64, 1, 3, 3), 2),
    Row("sum", "sum, 64 MB", "sum", {"PyTorch": "sum"}, _uniform(_big), tolerance=(1e-4, 1e-1),
        limit=("stream", 1, 0, 4 * _big)),
    Row("transpose_copy", "copy of a transpose, 4096 × 4096", "transpose_copy",
        {"PyTorch": "transpose_copy"}, _uniform((4096, 4096)), tolerance=(0, 0),
        limit=("stream", 1, 1, 4 * _big)),
    Row("mnist_step", "MNIST step 784-100-10, batch 128", "mnist_step",
        {"libtorch": "mnist", "PyTorch": "mnist"}, _digits,
        limit=("operations", _digits_operations), **_step),
    Row("mnist_replay", "MNIST step, replayed", "mnist_replay",
        {"libtorch": "mnist", "PyTorch": "mnist"}, _digits,
        limit=("operations", _digits_operations), **_step),
]
