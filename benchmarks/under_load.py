#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How we get along with others: the time of our rows while every core has a busy loop on it too,
against the time without; and what the library uses of a core when nobody calls it.

Loops and quiet take turns of a few samples, told by the clock on the wall. A core that two share
gives each a half, so 2 is as good as it gets."""
import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import bench
import module
from report import duration
from rows import ROWS

SAMPLE = 0.1    # seconds: many turns of those that the kernel gives
TURN = 3        # samples in loops, then in quiet
MOST = 2.3      # times as long as in quiet, at most
IDLE = 0.01     # of a core, at most, from 50 ms after the last call on


class BusyLoops:
    """One on each core, stopped until they are wanted."""

    def __init__(self):
        self._loops = []

    def __enter__(self):
        for core in sorted(os.sched_getaffinity(0)):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            os.sched_setaffinity(loop.pid, {core})
            self._loops.append(loop)
        self.run(False)
        return self

    def __exit__(self, *_):
        for loop in self._loops:
            loop.kill()
            loop.wait()

    def run(self, whether):
        for loop in self._loops:
            loop.send_signal(signal.SIGCONT if whether else signal.SIGSTOP)


def slowdown(side, loops, seconds):
    times, warming = bench.repetitions(side, time.perf_counter)
    times = max(1, round(SAMPLE / bench.timed(side, times, time.perf_counter, warming)))
    samples = {False: [], True: []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples[True]) < 2 * TURN:
        for busy, taken in samples.items():
            loops.run(busy)
            taken += [bench.timed(side, times, time.perf_counter, warming) for _ in range(TURN)]
    loops.run(False)
    return {busy: statistics.median(taken) for busy, taken in samples.items()}


def idle(side):
    """The share of a core that this process uses while it does nothing."""
    side.run(1)
    time.sleep(0.05)
    begin, used = time.perf_counter(), time.process_time()
    time.sleep(1)
    return (time.process_time() - used) / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", metavar="NAME", help="only this row; repeatable")
    parser.add_argument("--seconds", type=float, default=3, help="for each row; default %(default)s")
    parser.add_argument("--modules", type=pathlib.Path, metavar="FOLDER", default=bench.MODULES)
    options = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    ours = module.Module(options.modules / "librows.so", threads)
    ratios = {}
    print(f"{threads} threads, {threads} busy loops, load {os.getloadavg()[0]:.1f}\n"
          f"{'row':28}{'quiet':>10}{'beside':>10}{'ratio':>8}{'at most':>9}{'idle':>9}")
    with BusyLoops() as loops:
        for row in ROWS:
            if row.by != "ours" or (options.row and row.name not in options.row):
                continue
            ours.set_threads(row.threads or threads)
            side = ours.open(row.ours, row.inputs())
            median = slowdown(side, loops, options.seconds)
            ratios[row.name] = median[True] / median[False]
            share = idle(side)
            side.close()
            print(f"{row.name:28}{duration(median[False]):>10}{duration(median[True]):>10}"
                  f"{ratios[row.name]:8.2f}{MOST:7}{' !' if ratios[row.name] > MOST else '  '}"
                  f"{100 * share:7.2f} %{' !' if share > IDLE else ''}", flush=True)
    over = [name for name, ratio in ratios.items() if ratio > MOST]
    print(f"{len(ratios)} rows, median {statistics.median(ratios.values()):.2f}, beyond {MOST}: "
          f"{', '.join(over) or 'none'}")


if __name__ == "__main__":
    main()
