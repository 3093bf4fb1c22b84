#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How we get along with others: the time of our rows while every core has a busy loop on it too,
against the time without; and what the library uses of a core when nobody calls it.

Loops and quiet take turns of a few samples, told by the clock on the wall. A core that two share
gives each a half, so 2 is as good as it gets; and less if what we left in the caches is gone when it
is our turn again, as on a host whose other machines use the last one too. That is measured: loops
and we take turns of 4 ms, as long as the kernel lets each run. Twice our time in such turns is the
limit; of what takes longer than a turn, which is then interrupted, 2."""
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
from rounds import repetitions, timed
from rows import ROWS

SAMPLE = 0.1    # seconds: many turns of those that the kernel gives
TURN = 3        # samples in loops, then in quiet
SLICE = 0.004   # seconds that the kernel lets one run
MOST = 2.3      # times as long as in quiet, at most; of a limit beyond 2 as much more
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


def in_turns(side, once, loops):
    """Seconds of one repetition of as many as fit our turn, after one of the loops'."""
    times = max(1, round(SLICE / once))
    loops.run(True)
    time.sleep(SLICE)
    loops.run(False)
    begin = time.perf_counter()
    side.run(times)
    return (time.perf_counter() - begin) / times


def measure(side, loops, seconds):
    """Seconds in quiet and beside the loops, as medians, and the limit of their ratio."""
    times, warming = repetitions(side, time.perf_counter)
    once = timed(side, times, time.perf_counter, warming)
    times = max(1, round(SAMPLE / once))
    quiet, turns, beside = [], [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(beside) < 2 * TURN:
        for busy, taken in (False, quiet), (True, beside):
            loops.run(busy)
            taken += [timed(side, times, time.perf_counter, warming) for _ in range(TURN)]
        if once < SLICE:
            turns += [in_turns(side, once, loops) for _ in range(2 * TURN)]
    loops.run(False)
    alone = statistics.median(quiet)
    limit = max(2.0, 2 * statistics.median(turns) / alone) if turns else 2.0
    return alone, statistics.median(beside), limit


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
    ratios, limits = {}, {}
    print(f"{threads} threads, {threads} busy loops, load {os.getloadavg()[0]:.1f}\n"
          f"{'row':28}{'quiet':>10}{'beside':>10}{'ratio':>8}{'at most':>9}{'limit':>8}{'idle':>9}")
    with BusyLoops() as loops:
        for row in ROWS:
            if row.by != "ours" or (options.row and row.name not in options.row):
                continue
            ours.set_threads(row.threads or threads)
            side = ours.open(row.ours, row.inputs())
            quiet, beside, limits[row.name] = measure(side, loops, options.seconds)
            ratios[row.name] = beside / quiet
            share = idle(side)
            side.close()
            print(f"{row.name:28}{duration(quiet):>10}{duration(beside):>10}"
                  f"{ratios[row.name]:8.2f}{MOST:7}{' !' if ratios[row.name] > MOST else '  '}"
                  f"{limits[row.name]:8.2f}{100 * share:7.2f} %{' !' if share > IDLE else ''}", flush=True)
    within = [name for name, ratio in ratios.items() if ratio <= MOST]
    near = [name for name, ratio in ratios.items() if MOST < ratio <= MOST * limits[name] / 2]
    beyond = [name for name in ratios if name not in within and name not in near]
    print(f"{len(ratios)} rows, median {statistics.median(ratios.values()):.2f}; within {MOST}: {len(within)}\n"
          f"beyond, but within {MOST / 2:.2f} of their limits: {', '.join(near) or 'none'}\n"
          f"beyond both: {', '.join(beyond) or 'none'}")


if __name__ == "__main__":
    main()
