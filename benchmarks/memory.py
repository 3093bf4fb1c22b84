#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory of training steps, ours and PyTorch's: how much the resident set of a process that
takes the steps grows, at its peak, beyond what it was before the first. Each in its own process."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import bench
from rows import ROWS

STEPS = 5
AT_MOST = 0.7  # of PyTorch's
MEASURED = ["lenet_step", "lenet_replay", "gpt_step"]


def resident(which):
    """Bytes: VmRSS, now, or VmHWM, the most."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(rf"{which}:\s+(\d+) kB", status)[1]) * 1024


def grown(name, peer, modules):
    """In this process."""
    row = next(row for row in ROWS if row.name == name)
    if peer:
        from peers import pytorch
        side = pytorch.open(row.peers["PyTorch"], row.inputs())
    else:
        import module
        ours = module.Module(modules / "librows.so", len(os.sched_getaffinity(0)))
        side = ours.open(row.ours, row.inputs())
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the most
    before = resident("VmRSS")
    side.run(STEPS)
    return resident("VmHWM") - before


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=pathlib.Path, metavar="FOLDER", default=bench.MODULES)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(grown(options.alone, options.peer, options.modules))
        return

    def measured(*how):
        command = [sys.executable, __file__, "--modules", options.modules, "--alone", *how]
        return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    print(f"{'row':16}{'ours':>10}{'PyTorch':>10}{'share':>8}{'at most':>9}")
    for name in MEASURED:
        ours, theirs = measured(name), measured(name, "--peer")
        print(f"{name:16}{ours / 1e6:7.1f} MB{theirs / 1e6:7.1f} MB{ours / theirs:8.2f}"
              f"{AT_MOST:7}{' !' if ours > AT_MOST * theirs else ''}", flush=True)


if __name__ == "__main__":
    main()
