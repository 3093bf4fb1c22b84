# SPDX-License-Identifier: Apache-2.0
"""The rows of the benchmark: a new one is an entry here, its work in rows/ and in the peers. dx, dw,
da and db stand for gradients."""
import dataclasses
import math

import numpy

import flops
from inputs import (
    EINSUM_SHAPES, lenet, logits, network, shuffled, table, transformer, uniform)


@dataclasses.dataclass
class Row:
    name: str
    workload: str
    ours: str       # the row's name on our side
    peers: dict     # peer -> the row's name there
    inputs: callable
    # Their time over ours that we want: against the fastest of all, or {peer or peers: ratio}.
    target: float | dict = None
    target_share: float = None  # of the physical limit
    # ("operations", n), or ("bytes", [(how, size), ...]): arrays that are read, written or updated.
    limit: tuple = None
    steps: int = 1              # run before results are compared
    tolerance: tuple = (1e-5, 1e-6)  # relative, absolute
    threads: int = None         # rather than all; 1: small work, told by processor time
    by: str = "ours"            # which side of ours: from C, from Python, a program, a kernel alone

    def targets(self):
        """(peers, the target that is about the fastest of them)."""
        how = self.target if isinstance(self.target, dict) else {tuple(self.peers): self.target}
        return [((peers,) if isinstance(peers, str) else peers, target)
                for peers, target in how.items() if target is not None]


_eager = "PyTorch"  # targets of what compilers fuse as we do are about PyTorch without one
_one_thread = dict(threads=1)
_trained = dict(tolerance=(1e-4, 1e-5), steps=10)
_big = 16 << 20  # floats in 64 MB
_double = numpy.float64
_two = uniform((4,), (4,))


def _bytes(read=(), written=(), updated=()):
    """The limit of a row that goes through arrays of these sizes."""
    return "bytes", [*(("read", size) for size in read), *(("written", size) for size in written),
                     *(("updated", size) for size in updated)]


def _torch(row, *others):
    return dict.fromkeys(["PyTorch", *others], row)


def _fusing(row):
    return _torch(row, "torch.compile", "JAX")


# ------------------------------------------------------------------------- what a call costs
_calls = [
    Row("record", "record an operator (4 elements)", "record",
        {"libtorch": "add4", "PyTorch": "add4"}, _two, target=10, **_one_thread),
    Row("add4", "add, 4 elements, computed at once", "add4",
        {"libtorch": "add4", "PyTorch": "add4"}, _two, target=6, **_one_thread),
    Row("adds_replay", "64 adds of 4 elements, replayed", "adds_replay",
        {"libtorch": "adds", "PyTorch": "adds"}, _two, target=40, tolerance=(1e-5, 1e-5),
        **_one_thread),
    Row("record_python", "record an operator, from Python", "record",
        {"NumPy": "add4", "PyTorch": "add4"}, _two, target={"NumPy": 1, "PyTorch": 3}, by="Python",
        **_one_thread),
    Row("add4_python", "add, 4 elements, at once, from Python", "add4",
        {"NumPy": "add4", "PyTorch": "add4"}, _two, target={"NumPy": 1, "PyTorch": 3}, by="Python",
        **_one_thread),
    Row("start", "process: start to a first 64 × 64 product", "start",
        {"libtorch program": "start"}, _two, target=10, tolerance=(1e-4, 0), by="program"),
]


# ----------------------------------------------------------------------------------- networks
def _training(name, text, peers, inputs, step, replayed, operations, **how):
    limit = ("operations", operations)
    return [Row(f"{name}_step", text, f"{name}_step", peers, inputs, target=step, limit=limit,
                **_trained, **how),
            Row(f"{name}_replay", f"{text}, replayed", f"{name}_replay", peers, inputs,
                target=replayed, limit=limit, **_trained, **how)]


_minitorch, _mnist = ((2, 100, 100, 1), 10), ((784, 100, 10), 128)  # sizes, batch
_points = network(*_minitorch, lambda random: random.integers(0, 2, 10).astype(numpy.float32))
_digits = network(*_mnist, lambda random: random.integers(0, 10, 128))
_gpt = dict(context=128, width=256, blocks=6, symbols=65)


def _transformer(name, text, batch, targets, target, **how):
    how_large = dict(batch=batch, targets=targets, **_gpt)
    return Row(name, text, name, _torch(name), transformer(**how_large), target=target,
               limit=("operations", flops.transformer(**how_large)), **how)


_networks = [
    *_training("minitorch", "MiniTorch step 2-100-100-1, batch 10",
               {"libtorch": "minitorch", "PyTorch": "minitorch"}, _points, 5, 25,
               flops.perceptron(*_minitorch), **_one_thread),
    *_training("mnist", "MNIST step 784-100-10, batch 128",
               {"libtorch": "mnist", "PyTorch": "mnist"}, _digits, 3, 3,
               flops.perceptron(*_mnist)),
    *_training("lenet", "LeNet-5 step, batch 64", _torch("lenet"), lenet(64), 4, 4,
               flops.lenet(64)),
    _transformer("gpt_step", "transformer, 6 × 256, 16 × 128: step", 16, True, 1.5,
                 tolerance=(1e-3, 0), steps=2),
    _transformer("gpt_token", "transformer, 6 × 256: next character", 1, False, 3,
                 tolerance=(1e-3, 1e-4)),
    Row("gpt_kept", "next character, with kept keys and values", "gpt_kept", _torch("gpt_kept"),
        transformer(1, targets=False, **_gpt), target=3, tolerance=(1e-3, 1e-4),
        limit=_bytes(read=[4 * 12 * 6 * 256 * 256])),
]


def _adamw(name, count, shape, target):
    size = int(numpy.prod(shape))
    text = f"AdamW, {count} tensors of {size:,}" if count > 1 else f"AdamW, {size:,}"
    return Row(name, text, name, {"PyTorch": "adamw", "PyTorch foreach": "adamw_foreach",
                                  "PyTorch fused": "adamw_fused"},
               uniform(*[shape] * (2 * count)), target=target,
               limit=_bytes(read=[4 * count * size], updated=[4 * count * size] * 3), **_trained)


_optimizers = [
    _adamw("adamw", 100, (100, 100), 5),
    _adamw("adamw_one", 1, 10_000_000, 1.5),
    _adamw("adamw_small", 300, 512, 5),
]


# ------------------------------------------------------------------------------- element-wise
def _stream(name, text, inputs, target, read, written, **how):
    """A row that goes through arrays of 16 M numbers, with so many bytes to each."""
    return Row(name, text, name, _fusing(name), inputs, target={_eager: target},
               limit=_bytes([_big * size for size in read], [_big * size for size in written]), **how)


def _function(name, *ranges, tolerance=(1e-6, 1e-7)):
    """Two functions of 1 to 2 ulp each."""
    def inputs():
        return [uniform(4096, low=low, high=high)()[0] for low, high in ranges]
    return Row(name, f"{name}, 4,096 numbers", name, {"SLEEF": name}, inputs, target=1,
               tolerance=tolerance, **_one_thread)


_elementwise = [
    _stream("relu_add", "relu(x + y), 64 MB", uniform(_big, _big), 8, [4, 4], [4]),
    Row("gelu", "GELU in 9 operators, 16 M", "gelu", {"unfused": "gelu_unfused"} | _fusing("gelu"),
        uniform(_big), target={"unfused": 3, _eager: 4}, limit=_bytes([4 * _big], [4 * _big])),
    Row("cheap_chain", "8 cheap operators, 100,000", "cheap_chain", _fusing("cheap_chain"),
        uniform(100_000, 100_000), target={_eager: 2}),
    _stream("sum", "sum, 64 MB", uniform(_big), 1, [4], [], tolerance=(1e-4, 1e-1)),
    _stream("transpose_copy", "copy of a transpose, 4096 × 4096", uniform((4096, 4096)), 1.5, [4], [4],
            tolerance=(0, 0)),
    _stream("to_bfloat16", "cast to bfloat16, 16 M", uniform(_big), 1, [4], [2], tolerance=(0, 0)),
    _stream("to_float64", "cast to float64, 16 M", uniform(_big), 1, [4], [8], tolerance=(0, 0)),
    _function("exp", (-10, 10)), _function("log", (0.01, 100)), _function("tanh", (-4, 4)),
    _function("erf", (-4, 4)), _function("sigmoid", (-10, 10)), _function("sin", (-10, 10)),
    _function("pow", (0.01, 10), (-5, 5)),
]


# ----------------------------------------------------------------------- functions of whole rows
def _rows(name, text, inputs, arrays, tolerance):
    """arrays: how many of 4096 × 1024 are read and written."""
    read, written = arrays
    return Row(name, text + " 4096 × 1024", name, _fusing(name), inputs, target={_eager: 2},
               tolerance=tolerance, limit=_bytes([16 << 20] * read, [16 << 20] * written))


_wide = (4096, 1024)
_row_functions = [
    _rows("softmax", "softmax", uniform(_wide), (1, 1), (1e-5, 1e-6)),
    _rows("softmax_gradient", "softmax's gradient", uniform(_wide, _wide), (2, 1), (1e-4, 1e-6)),
    _rows("cross_entropy", "log-softmax and cross-entropy", logits(*_wide), (1, 0), (1e-4, 1e-5)),
    _rows("cross_entropy_gradient", "cross-entropy's gradient", logits(*_wide), (1, 1),
          (1e-4, 1e-8)),
    _rows("layer_norm", "layer norm", uniform(_wide, 1024, 1024), (1, 1), (1e-4, 1e-5)),
    _rows("layer_norm_gradient", "layer norm's gradients", uniform(_wide, 1024, 1024, _wide), (2, 1),
          (1e-3, 1e-4)),
    _rows("rms_norm", "RMS norm", uniform(_wide, 1024), (1, 1), (1e-4, 1e-5)),
    _rows("rms_norm_gradient", "RMS norm's gradients", uniform(_wide, 1024, _wide), (2, 1),
          (1e-3, 1e-4)),
]


# ------------------------------------------------------------------------------------ products
def _square(n, dtype=numpy.float32):
    float64 = dtype is _double
    peers = [*([] if float64 else ["oneDNN"]), "OpenBLAS", "BLIS", "PyTorch", "JAX"]
    return Row(f"matmul{n}" + "_f64" * float64, f"matmul {n} × {n}" + ", float64" * float64,
               "matmul", dict.fromkeys(peers, "matmul"), uniform((n, n), (n, n), dtype=dtype),
               limit=("operations", 2 * n ** 3 * (2 if float64 else 1)), target=1,
               target_share=0.93 if n >= 512 else None,
               tolerance=(1e-12, 1e-14 * n) if float64 else (1e-4, 1e-6 * n))


def _processor_has(flag):
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return any(flag in line.split() for line in file if line.startswith("flags"))
    except OSError:
        return False


_strict_products = ("oneDNN", "matmul")
_tiles, _pairs = _processor_has("amx_bf16"), _processor_has("avx512_bf16")


def _in_precision(n, mode, text, target, tolerance, limit=None, **rounded):
    """A square product in a precision mode, against those that keep float32 as written."""
    return Row(f"matmul{n}_{mode}", f"matmul {n} × {n}, {text}", f"matmul_{mode}",
               dict.fromkeys(_strict_products, "matmul") | rounded, uniform((n, n), (n, n)),
               target=target, tolerance=tolerance, limit=limit)


def _split(n):
    # Without tiles the mode is strict.
    target = {_strict_products: 1.4} if _tiles else {"matmul": 0.97}
    return _in_precision(n, "split", "split into bfloat16", target, (1e-4, 1e-6 * n))


def _rounded(n):
    # Vectors of pairs do twice the multiply-adds of float32. The errors of n products, each of some
    # 2^-9 of it, add up like a random walk.
    target = {_strict_products: 4} if _tiles else {"matmul": 1.7 if _pairs else 0.97}
    limit = ("operations", n ** 3) if _pairs and not _tiles else None
    return _in_precision(n, "bf16", "bfloat16", target, (0, 0.006 * n ** 0.5), limit,
                         **{"oneDNN bf16": "matmul_bf16"})


def _small(n):
    return Row(f"matmul{n}", f"matmul {n} × {n}", "matmul",
               dict.fromkeys(["libtorch", "libxsmm", "PyTorch"], "matmul"),
               uniform((n, n), (n, n)), target={("libtorch", "PyTorch"): 5},
               limit=("operations", 2 * n ** 3), tolerance=(1e-4, 1e-5), **_one_thread)


def _kernel(n):
    return Row(f"kernel{n}", f"matmul {n} × {n}, kernel against kernel", "matmul",
               dict.fromkeys(["libxsmm"], "matmul"), uniform((n, n), (n, n)), target=1,
               limit=("operations", 2 * n ** 3), tolerance=(1e-4, 1e-5), by="kernel", **_one_thread)


def _skinny(name, text, row, shapes, target, absolute, result):
    """A product in both types."""
    made = []
    for dtype in (numpy.float32, _double):
        float64 = dtype is _double
        size = 8 if float64 else 4
        peers = [*([] if float64 else ["oneDNN"]), "BLIS", "OpenBLAS", "PyTorch", "JAX"]
        made.append(Row(name + "_f64" * float64, text + ", float64" * float64, row,
                        dict.fromkeys(peers, row), uniform(*shapes, dtype=dtype), target=target,
                        tolerance=(1e-12, absolute * 1e-9) if float64 else (1e-4, absolute),
                        limit=_bytes([size * math.prod(shape) for shape in shapes],
                                     [size * math.prod(result)]),
                        target_share=0.75))
    return made


def _written(product):
    """Other ways of writing a product, which should cost what it costs."""
    kind = product.ours.removeprefix("matmul")
    return [Row(f"{product.name}_{way}", f"{product.workload}, by {written}", way + kind,
                {"matmul": product.ours}, product.inputs, target=0.97, tolerance=(0, 0))
            for way, written in (("einsum", "einsum"), ("multiply_sum", "multiply and sum"))]


def _einsum(name, text, absolute, dtype=numpy.float32):
    float64 = dtype is _double
    return Row(name + "_f64" * float64, text + ", float64" * float64, name,
               dict.fromkeys(["PyTorch", "opt_einsum"], name),
               uniform(*EINSUM_SHAPES[name], dtype=dtype), target=1.2,
               tolerance=(1e-10, absolute * 1e-8) if float64 else (1e-3, absolute),
               limit=("operations", flops.einsum(name) * (2 if float64 else 1)))


_thin, _tall, _narrow = (50_000, 784), (784, 10), (50_000, 10)
_skinny_products = [
    *_skinny("skinny", "50,000 × 784 times 784 × 10", "matmul", [_thin, _tall], 2, 1e-3, _narrow),
    *_skinny("skinny_db", "50,000 × 784: aᵀ dy", "matmul_at_b", [_thin, _narrow], 1.6, 1e-2, _tall),
    *_skinny("skinny_da", "50,000 × 784: dy bᵀ", "matmul_a_bt", [_narrow, _tall], 1.6, 1e-4, _thin),
]
_products = [
    _small(32), _small(64), _kernel(32), _kernel(64),
    _square(256), _square(512), _square(1024), _square(2048),
    _square(256, _double), _square(1024, _double),
    _split(512), _split(1024), _split(2048), _rounded(512), _rounded(1024), _rounded(2048),
    Row("batched", "64 × (128 × 64 times 64 × 128)", "matmul", _torch("matmul", "JAX"),
        uniform((64, 128, 64), (64, 64, 128)), target={_eager: 1.3}, tolerance=(1e-4, 1e-4),
        limit=("operations", 2 * 64 * 128 * 64 * 128)),
    Row("vector", "vector times 4096 × 4096", "matmul",
        dict.fromkeys(["oneDNN", "OpenBLAS", "PyTorch"], "matmul"),
        uniform((1, 4096), (4096, 4096)), target=1, tolerance=(1e-4, 1e-3),
        limit=_bytes([4 * 4096 ** 2, 4 * 4096], [4 * 4096])),
    *_skinny_products,
]
_einsums = [
    _einsum("einsum3", "einsum of 3: a chain", 1e-2),
    _einsum("einsum3", "einsum of 3: a chain", 1e-2, _double),
    _einsum("einsum4", "einsum of 4: linear attention", 1e-1),
    _einsum("einsum5", "einsum of 5: a tensor train", 1e-2),
    _einsum("einsum6", "einsum of 6: a matrix product state", 1e-1),
    Row("einsum", "einsum ik,kj->ij, 1024 × 1024", "einsum", {"matmul": "matmul"},
        uniform((1024, 1024), (1024, 1024)), target=0.97, tolerance=(0, 0)),
    Row("multiply_sum", "multiply and sum, 1024 × 1024 × 1024", "multiply_sum",
        {"matmul": "matmul"}, uniform((1024, 1024), (1024, 1024)), target=0.97, tolerance=(0, 0)),
    *[row for product in _skinny_products[::2] for row in _written(product)],
]


# -------------------------------------------------------------------------------------- layers
def _convolution(name, text, row, x, w, target):
    """x and w, and the gradient of y for rows that need it."""
    images, channels, size, _ = x
    outputs, _, kernel, _ = w
    places = size if "same" in row else size - kernel + 1
    y = images, outputs, places, places
    operations = 2 * images * outputs * places ** 2 * w[1] * kernel ** 2
    if kernel == 3 and w[1] >= 16:
        operations = operations * 4 // 9  # of minimal filtering, F(2 x 2, 3 x 3)
    terms = images * places ** 2 if row.endswith("dw") else w[1] * kernel ** 2
    return Row(name, text, row, _torch(row), uniform(x, w, *([y] if "_d" in row else [])),
               target=target, limit=("operations", operations), tolerance=(1e-4, 1e-6 * terms))


def _convolutions(name, text, kind, x, w, target, gradients=("", "_dx", "_dw")):
    return [_convolution(name + g, text + g.replace("_", ": "), kind + g, x, w, target)
            for g in gradients]


def _attention(name, text, operations, backward):
    shapes = [(8, 512, 64)] * (4 if backward else 3)
    return Row(name, "attention, 8 × 512 × 64" + text, name, _torch(name), uniform(*shapes),
               target=2.5, limit=("operations", operations * 8 * 512 ** 2 * 64),
               tolerance=(1e-3, 1e-5))


_layers = [
    Row("linear_gelu", "linear, bias, GELU: 256 × 1024 × 1024", "linear_gelu",
        _torch("linear_gelu"), uniform((256, 1024), (1024, 1024), 1024), target=1.25,
        tolerance=(1e-4, 1e-3), limit=("operations", 2 * 256 * 1024 ** 2)),
    Row("linear_gelu_backward", "linear, bias, GELU: gradients", "linear_gelu_backward",
        _torch("linear_gelu_backward"), uniform((256, 1024), (1024, 1024), 1024, (256, 1024)),
        target=1.3, tolerance=(1e-4, 1e-3), limit=("operations", 6 * 256 * 1024 ** 2)),
    _attention("attention", "", 4, False),
    _attention("attention_causal", ", causal", 2, False),
    _attention("attention_backward", ": gradients", 12, True),
    _attention("attention_causal_backward", ", causal: gradients", 6, True),
    *_convolutions("conv", "convolution 3 × 3, 32 × 64 × 56 × 56", "conv_same",
                   (32, 64, 56, 56), (64, 64, 3, 3), 1.2),
    *_convolutions("lenet1", "LeNet's first convolution, batch 64", "conv_same",
                   (64, 1, 28, 28), (6, 1, 5, 5), 2, ("", "_dw")),
    *_convolutions("lenet2", "LeNet's second convolution, batch 64", "conv_valid",
                   (64, 6, 14, 14), (16, 6, 5, 5), 2),
    *_convolutions("depthwise", "depthwise 3 × 3, 32 × 64 × 56 × 56", "conv_same",
                   (32, 64, 56, 56), (64, 1, 3, 3), 2),
]

_sorted = _torch("sort", "NumPy")
_table = 4 * 100_000 * 64  # bytes
_index = [
    Row("sort", "sort, 1 M", "sort", _sorted, shuffled(1 << 20), target=1.5, tolerance=(0, 0)),
    Row("argsort", "argsort, 1 M", "argsort", dict.fromkeys(_sorted, "argsort"), shuffled(1 << 20),
        target=1.5, tolerance=(0, 0)),
    Row("top100", "the 100 largest of 1 M", "top100", _torch("top100"), shuffled(1 << 20),
        target=1.5, tolerance=(0, 0)),
    Row("cumulative_sum", "cumulative sum, 16 M", "cumulative_sum",
        _torch("cumulative_sum", "NumPy"), uniform(_big, low=0), target=1.5, tolerance=(1e-2, 0),
        limit=_bytes([4 * _big], [4 * _big])),
    Row("gather", "1 M rows of 64 picked from 100,000", "gather", _torch("gather"),
        table(100_000, 64, 1 << 20, False), target=1.5, tolerance=(0, 0),
        limit=_bytes([_table, 8 << 20], [256 << 20])),
    Row("scatter_add", "1 M rows of 64 added to 100,000", "scatter_add", _torch("scatter_add"),
        table(100_000, 64, 1 << 20, True), target=1.5, tolerance=(1e-4, 1e-4),
        limit=_bytes([256 << 20, 8 << 20], [_table])),
]

# By kind of work, as tables and pictures show them.
GROUPS = {
    "Calls": _calls,
    "Element-wise operators and copies": _elementwise,
    "Softmax, losses and norms": _row_functions,
    "Products of matrices": _products,
    "Einstein sums": _einsums,
    "Layers": _layers,
    "Networks and optimizers": [*_networks, *_optimizers],
    "Picking and sorting": _index,
}
ROWS = [row for rows in GROUPS.values() for row in rows]
