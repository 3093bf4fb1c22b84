#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our rows on a GPU, and PyTorch's beside them where it has one.

Each round times both sides once, for as many repetitions as take a few milliseconds, until the
device has done them all; medians over the rounds are compared. A ratio counts only when the results
agree. What moves memory is compared with what the device needs to read one array and write another,
measured in the same way; for what computes, operations per second are told. --tiny runs every row
at a size that a simulated device can take (docs/cuda.md), and compares results with the CPU's: its
times mean nothing."""
import argparse
import pathlib
import statistics
import sys
import time

import numpy

import bench
import module
from inputs import lenet, network, transformer, uniform
from rows import Row

SAMPLE = 0.02  # seconds of one sample, unless once takes longer


def rows(tiny):
    """A row's limit is ("operations", n) or ("bytes", n)."""
    def size(number, small):
        return small if tiny else number

    def row(name, text, ours, inputs, limit=None, theirs=None, **how):
        peers = {"PyTorch": theirs or ours.removesuffix("_home")}
        return Row(name, text, ours, peers, inputs, limit=limit, **how)

    made = []
    half = dict(tolerance=(4e-2, 4e-2))
    for n in (size(4096, 64), size(8192, 72)):
        made.append(row(f"bare{n}", f"matmul, bfloat16, {n} × {n} × {n}", "matmul_half",
                        uniform((n, n), (n, n), low=-.1, high=.1), ("operations", 2 * n ** 3), "matmul", **half))
        made.append(row(f"half{n}", f"linear, bias, GELU, bfloat16, {n} × {n} × {n}",
                        "linear_gelu_half", uniform((n, n), (n, n), n, low=-.1, high=.1),
                        ("operations", 2 * n ** 3), "linear_gelu", **half))
    n = size(4096, 128)
    for mode, bound in ("", 1e-2), ("_split", 1e-2), ("_bf16", 4), ("_tf32", 1):
        made.append(row(f"matmul{mode}", f"matmul {n} × {n} × {n}, float32{mode.replace('_', ', ')}",
                        "matmul" + mode, uniform((n, n), (n, n)), ("operations", 2 * n ** 3),
                        "matmul", tolerance=(1e-3, bound)))
    m, k, n = size(50_000, 600), size(784, 20), 10
    tall, right, narrow = (m, k), (k, n), (m, n)
    skinny = [("skinny", "a b", "matmul", (tall, right), 1e-3),
              ("skinny_db", "aᵀ dy", "matmul_at_b", (tall, narrow), 1e-1),
              ("skinny_da", "dy bᵀ", "matmul_a_bt", (narrow, right), 1e-3)]
    for name, text, ours, shapes, bound in skinny:
        how = dict(limit=("bytes", 4 * m * k), tolerance=(1e-3, bound))
        made.append(row(name, f"{m} × {k} times {k} × {n}: {text}", ours, uniform(*shapes), **how))
        if ours != "matmul_a_bt":
            made.append(row(name + "_home", f"{m} × {k} times {k} × {n}: {text}, and its copy back",
                            ours + "_home", uniform(*shapes), **how))
    n, wide = size(64 << 20, 3000), (size(16384, 5), size(4096, 70))
    columns, cells = wide[1], wide[0] * wide[1]
    made += [
        row("gelu", f"GELU in 9 operators, {n:,}", "gelu", uniform(n), ("bytes", 8 * n),
            tolerance=(1e-4, 1e-5)),
        row("cheap_chain", f"8 cheap operators, {n:,}", "cheap_chain", uniform(n, n), ("bytes", 12 * n)),
        row("softmax", f"softmax, {wide[0]} × {columns}", "softmax", uniform(wide),
            ("bytes", 8 * cells)),
        row("layer_norm", f"layer norm, {wide[0]} × {columns}", "layer_norm",
            uniform(wide, columns, columns), ("bytes", 8 * cells), tolerance=(1e-4, 1e-5)),
    ]
    heads, n, d = size(16, 1), size(4096, 70), size(128, 16)
    attention = uniform(*[(heads, n, d)] * 3)
    for kind in "", "_half":
        made.append(row("attention" + kind, f"attention, causal, {heads} × {n} × {d}"
                        + ", bfloat16" * bool(kind), "attention_causal" + kind, attention,
                        ("operations", 2 * heads * n ** 2 * d), "attention_causal",
                        tolerance=(4e-2, 4e-2) if kind else (1e-3, 1e-4)))
    backward = uniform(*[(heads, n, d)] * 4)
    made.append(row("attention_backward", f"attention, causal, {heads} × {n} × {d}: gradients",
                    "attention_causal_backward", backward,
                    ("operations", 6 * heads * n ** 2 * d), tolerance=(1e-3, 1e-3)))
    n = size(1_240_000, 30)
    points = network((2, 100, 100, 1), 10, lambda random:
                     random.integers(0, 2, 10).astype(numpy.float32))
    trained = dict(tolerance=(1e-3, 1e-4), steps=2)
    gpt = dict(context=size(256, 8), width=size(384, 16), blocks=6, symbols=65)
    made += [
        row("adamw", f"AdamW, 100 tensors of {n:,}", "adamw", uniform(*[(n,)] * 200),
            ("bytes", 28 * 100 * n), "adamw_foreach", **trained),
        row("minitorch", "MiniTorch step 2-100-100-1, batch 10, replayed", "minitorch_replay",
            points, theirs="minitorch", **trained),
        row("lenet", f"LeNet-5 step, batch {size(64, 2)}, replayed", "lenet_replay",
            lenet(size(64, 2)), theirs="lenet", **trained),
        row("gpt", f"transformer, 6 × {gpt['width']}, {size(64, 2)} × {gpt['context']}: step, replayed",
            "gpt_step", transformer(size(64, 2), targets=True, **gpt), tolerance=(1e-2, 0), steps=2),
    ]
    return made


class PyTorch:
    """Its rows, with the inputs on the GPU."""

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        from peers import pytorch  # pylint: disable=import-outside-toplevel
        if not torch.cuda.is_available():
            raise ImportError("has no GPU here")
        self._torch, self._rows = torch, pytorch
        self.wait = torch.cuda.synchronize

    def open(self, name, inputs, half):
        tensors = [self._torch.from_numpy(x).cuda() for x in inputs]
        if half:
            tensors = [x.bfloat16() for x in tensors]
        return _OnDevice(self._torch, *self._rows.ROWS[name](*tensors))

    def replayed(self, name, inputs):
        """A step as PyTorch has it fastest: compiled, and captured as a CUDA graph; and what it is called."""
        networks, torch = self._rows.pytorch_networks, self._torch
        ways = [(networks.as_written, "as a graph")]
        if hasattr(torch, "compile"):
            ways.insert(0, (torch.compile, "compiled, as a graph"))
        for prepare, called in ways:
            try:
                networks.prepare = prepare
                step, _ = networks.ROWS[name](*[torch.from_numpy(x).cuda() for x in inputs])
                stream = torch.cuda.Stream()
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    for _ in range(3):
                        step()
                torch.cuda.current_stream().wait_stream(stream)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    step()
                return _OnDevice(torch, graph.replay, lambda: torch.zeros(1)), called
            except Exception as error:  # pylint: disable=broad-except  # of whatever part of it
                print(f"PyTorch: {name} {called}: {str(error).strip().splitlines()[:1]}", file=sys.stderr)
            finally:
                networks.prepare = networks.as_written
        return None, "as it is written"

    def products_in(self, mode):
        self._torch.set_float32_matmul_precision("high" if mode == "tf32" else "highest")

    def exact_product(self, inputs):
        a, b = (self._torch.from_numpy(x).cuda().double() for x in inputs)
        return (a @ b).cpu().numpy().ravel()


class _OnDevice:
    def __init__(self, torch, run, result):
        self._torch, self._work, self._result = torch, run, result

    def run(self, times):
        for _ in range(times):
            self._work()

    def result(self):
        made = self._result()
        made = [made] if isinstance(made, self._torch.Tensor) else made
        return numpy.concatenate([x.detach().double().cpu().numpy().ravel() for x in made])

    def close(self):
        self._work = self._result = None


def timed(side, wait, times):
    begin = time.perf_counter()
    side.run(times)
    wait()
    return (time.perf_counter() - begin) / times


def samples_of(sides, seconds):
    """sides: name -> (row, wait). Seconds for one run each, at least three for every side."""
    times, samples = {}, {name: [] for name in sides}
    for name, (side, wait) in sides.items():
        timed(side, wait, 1)  # plans and kernels are made
        times[name] = max(1, round(SAMPLE / timed(side, wait, 1))) if seconds else 1
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples["ours"]) < 3:
        for name, (side, wait) in sides.items():
            samples[name].append(timed(side, wait, times[name]))
    return samples


def result_of(row, side):
    if row.steps > 1:
        side.run(row.steps)
    return side.result()


def result_on_cpu(row, ours, device, inputs):
    ours.set_device("cpu")
    side = ours.open(row.ours, inputs)
    result = result_of(row, side)
    side.close()
    ours.set_device(device)
    return result


def measure(row, ours, peer, copy_rate, options):
    """A line of the table; what is wrong is told in it."""
    inputs = row.inputs()
    expected = result_on_cpu(row, ours, options.device, inputs) if options.tiny else None
    sides = {"ours": (ours.open(row.ours, inputs), ours.wait)}
    called = ""
    if peer:
        half = row.ours.endswith("_half")
        peer.products_in(row.ours.rpartition("_")[2])
        sides["PyTorch"] = (peer.open(row.peers["PyTorch"], inputs, half), peer.wait)
    results = {name: result_of(row, side) for name, (side, _) in sides.items()}
    if peer:
        expected = results["PyTorch"]
    if peer and row.ours.endswith(("_replay", "gpt_step")):
        replayed, called = peer.replayed(row.peers["PyTorch"], inputs)
        if replayed:
            sides["PyTorch"][0].close()
            sides["PyTorch"] = (replayed, peer.wait)
    error = 0 if expected is None else bench.largest_error(results["ours"], expected, *row.tolerance)
    samples = samples_of(sides, options.seconds)
    for side, _ in sides.values():
        side.close()
    mine = statistics.median(samples["ours"])
    line = f"{row.name:20}{row.workload:64}{mine * 1e6:12.1f} µs"
    if row.limit and row.limit[0] == "operations":
        line += f"{row.limit[1] / mine / 1e12:10.2f} Tflop/s"
    elif row.limit and copy_rate:
        line += f"{row.limit[1] / mine / copy_rate:10.0%} of copying"
    if peer:
        line += f"   {statistics.median(samples['PyTorch']) / mine:6.2f} × PyTorch"
        line += f" {called}" if called else ""
    if peer and row.name.startswith("matmul"):
        exact = peer.exact_product(inputs)
        own, theirs = (numpy.abs(results[name] - exact).max() for name in ("ours", "PyTorch"))
        line += f"   largest error {own / theirs:.2g} × PyTorch's"
    if not error <= 1:
        line += f"   RESULTS DIFFER by {error:.3g} tolerances"
    if not numpy.isfinite(results["ours"]).all():
        line += "   RESULTS ARE NOT FINITE"
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0", help="default: %(default)s")
    parser.add_argument("--row", action="append", metavar="NAME", help="only this row; repeatable")
    parser.add_argument("--list", action="store_true", help="names the rows")
    parser.add_argument("--seconds", type=float, default=3, help="for each row; default %(default)s")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, for a simulated device")
    parser.add_argument("--modules", type=pathlib.Path, metavar="FOLDER", default=bench.MODULES)
    options = parser.parse_args()
    table = rows(options.tiny)
    if options.list:
        for row in table:
            print(f"{row.name:20}{row.workload}")
        return
    unknown = set(options.row or []) - {row.name for row in table}
    if unknown:
        sys.exit(f"no such row: {', '.join(sorted(unknown))} (--list names them)")
    ours = module.Module(options.modules / "librows.so", 1)
    try:
        ours.set_device(options.device)
    except RuntimeError as error:
        sys.exit(f"{options.device} is not there: {error}")
    peer = None
    try:
        peer = PyTorch()
    except ImportError as error:
        print(f"PyTorch: {error}; skipped")
    size = 3000 if options.tiny else 64 << 20
    copying = ours.open("negative", uniform(size)())
    copy_rate = 8 * size / min(samples_of({"ours": (copying, ours.wait)}, options.seconds)["ours"])
    copying.close()
    print(f"{options.device}, mtorch {ours.version()}: copies {copy_rate / 1e9:.1f} GB/s")
    failed = False
    for row in table:
        if not options.row or row.name in options.row:
            line = measure(row, ours, peer, copy_rate, options)
            failed |= "RESULTS" in line
            print(line, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
