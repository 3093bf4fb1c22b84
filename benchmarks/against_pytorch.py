#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our operators beside PyTorch's, many shapes and types of each, from Python: how many times as fast
we are, in turn, as medians. It finds what is behind; rows with targets are bench.py's."""
import argparse
import functools
import math
import os
import pathlib
import re
import statistics
import sys
import time

try:
    import numpy
    import tqdm
    import cases
except ImportError as missing:
    sys.exit(f"It takes mtorch's Python package, PyTorch, NumPy and tqdm: {missing}")
import rounds

BUILT = pathlib.Path(__file__).resolve().parent.parent / "build" / "bindings" / "python"


class Side:
    """What rounds.py times."""

    def __init__(self, function):
        self.function = function

    def run(self, times):
        for _ in range(times):
            self.function()


class Library:
    def __init__(self, module, functional):
        self.module = module
        self.names = {"m": module, "F": functional}

    def tensors(self, arrays):
        return {name: self.module.asarray(array).to(getattr(self.module, dtype))
                for name, (array, dtype) in arrays.items()}

    def function(self, expression, tensors, grads):
        """What computes the expression, or its gradients."""
        value = self.value(expression, {**self.names, **tensors})
        if not grads:
            return self.without_gradients(value)
        sources = [tensors[name].requires_grad_() for name in grads]
        result = value()
        numbers = numpy.random.default_rng(1).random(tuple(result.shape))
        dy = self.module.asarray(numbers).to(result.dtype)
        return lambda: self.evaluated(self.module.autograd.grad(value(), sources, dy))

    def value(self, expression, names):
        if callable(expression):
            return functools.partial(expression, **names)
        return eval("lambda: " + expression, names)  # pylint: disable=eval-used

    def without_gradients(self, value):
        def computed():
            with self.module.no_grad():
                return self.evaluated([value()])
        return computed

    def evaluated(self, results):
        return results

    def numbers(self, result):
        return numpy.asarray(result.detach().to(self.module.float64))


class Ours(Library):
    def __init__(self, threads):
        import mtorch  # pylint: disable=import-outside-toplevel
        super().__init__(mtorch, mtorch.nn.functional)
        mtorch.set_threads(threads)

    def without_gradients(self, value):  # of what needs none
        return lambda: self.evaluated([value()])

    def evaluated(self, results):
        self.module.eval(*results)
        return results


class PyTorch(Library):
    def __init__(self, threads):
        import torch  # pylint: disable=import-outside-toplevel
        super().__init__(torch, torch.nn.functional)
        torch.set_num_threads(threads)


def check(case, answers, libraries):
    """Raises ValueError if results differ."""
    for results in zip(*answers):
        ours, theirs = (library.numbers(x[0] if isinstance(x, tuple) else x)
                        for library, x in zip(libraries, results))
        if ours.shape != theirs.shape:
            raise ValueError(f"shapes differ: {ours.shape} and PyTorch's {theirs.shape}")
        if ours.size == 0:
            continue
        off = case.difference(ours, theirs)
        if not off <= case.tolerance():
            raise ValueError(f"results differ by {off:.2g}")


def compared(case, libraries, seconds):
    """(their time over ours, our seconds)"""
    arrays, opened = case.arrays(), {}
    for library, expression in zip(libraries, (case.ours, case.theirs)):
        opened[library] = Side(library.function(expression, library.tensors(arrays), case.grads))
    check(case, [side.function() for side in opened.values()], libraries)
    times = {name: rounds.repetitions(side, time.perf_counter) for name, side in opened.items()}
    taken = rounds.by_side(rounds.take_rounds(opened, {}, times, time.perf_counter, seconds, None))
    ours, theirs = (taken[library] for library in libraries)
    return statistics.median(b / a for a, b in zip(ours, theirs)), statistics.median(ours)


def summary(ratios):
    return (f"{len(ratios)} cases: median {statistics.median(ratios):.2f}, geometric mean "
            f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}, "
            f"{sum(ratio < 1 for ratio in ratios)} behind, "
            f"{sum(ratio < 0.8 for ratio in ratios)} of them below 0.8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bindings", type=pathlib.Path, default=BUILT, metavar="FOLDER",
                        help="where the package mtorch lies (default: in the build folder)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0.1, help="of each case, at least")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose names match")
    parser.add_argument("--below", type=float, default=1, metavar="RATIO",
                        help="which are listed (default: those that are behind)")
    options = parser.parse_args()
    sys.path.insert(0, str(options.bindings))
    try:
        libraries = Ours(options.threads), PyTorch(options.threads)
    except ImportError as error:
        sys.exit(f"It takes mtorch's Python package, PyTorch, NumPy and tqdm: {error}")
    chosen = [case for case in cases.cases() if re.search(options.only, case.name)]
    if not chosen:
        sys.exit(f"No case has a name that matches {options.only!r}")
    measured = {}
    for case in tqdm.tqdm(chosen, disable=not sys.stderr.isatty()):
        try:
            measured[case.name] = compared(case, libraries, options.seconds)
        except Exception as error:  # pylint: disable=broad-exception-caught
            print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
    by_ratio = sorted(measured.items(), key=lambda item: item[1][0])
    for name, (ratio, seconds) in by_ratio:
        if ratio < options.below:
            print(f"{ratio:7.2f} {seconds * 1e6:10.1f} us  {name}")
    if measured:
        print(summary([ratio for ratio, _ in measured.values()]))


if __name__ == "__main__":
    main()
