#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our rows and the peers' in turn, in one process, and compares them.

Each round times every side once, for as many repetitions as take a few milliseconds, and then the
limit of the machine; medians over the rounds are compared. What others do on the machine meanwhile
slows all alike. A ratio counts only when the results agree."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time

import numpy

import chart
import module
import report
import tables
from rounds import ENOUGH, by_side, counted, repetitions, take_rounds
from rows import ROWS
from runners import Runners

MODULES = pathlib.Path(__file__).resolve().parent.parent / "build/benchmarks"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", metavar="NAME", help="only this row; repeatable")
    parser.add_argument("--list", action="store_true", help="names the rows")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="default: all cores, here %(default)s")
    parser.add_argument("--seconds", type=float, default=5, help="for each row; default %(default)s")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="writes every number")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE", help="draws the ratios")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE",
                        help="writes the tables; of a page only what is between their marks")
    parser.add_argument("--from", type=pathlib.Path, metavar="FILE", dest="earlier",
                        help="measures nothing: what --json has written is drawn anew")
    parser.add_argument("--modules", type=pathlib.Path, metavar="FOLDER",
                        default=MODULES, help="where the compiled modules are; default %(default)s")
    return parser.parse_args()


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.machine()


def is_virtual():
    """Whether a host may move the cores."""
    try:
        return "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def agree(row, opened):
    """For each peer the largest error, in units of the tolerance: at most 1 is agreement. Drops the
    peers that fail."""
    def result(side):
        if row.steps > 1:
            side.run(row.steps)
        return side.result()

    ours, errors = result(opened["ours"]), {}
    for name in [name for name in opened if name != "ours"]:
        try:
            errors[name] = largest_error(ours, result(opened[name]), *row.tolerance)
        except (RuntimeError, MemoryError) as error:
            print(f"{row.name}: {name} failed: {error}; skipped")
            opened.pop(name).close()
    return errors


def largest_error(ours, theirs, relative, absolute, part=1 << 22):
    if ours.shape != theirs.shape:
        return float("inf")
    errors = [0.0]
    for i in range(0, ours.size, part):
        x, y = ours[i:i + part], theirs[i:i + part]
        allowed = numpy.maximum(absolute + relative * numpy.abs(y), 1e-300)
        errors.append(float(numpy.max(numpy.abs(x - y) / allowed)))
    return float(numpy.max(errors))  # NaN if there is one


def measure(row, runners, limits, seconds):
    threads = row.threads or runners.threads
    runners.set_threads(threads)
    opened = runners.open(row)
    if not opened:
        return None
    errors = agree(row, opened)
    # On one thread its processor time counts, in which others have no part.
    clock = time.thread_time if threads == 1 else time.perf_counter
    if row.by == "program":
        clock = time.perf_counter
    limits.set_threads(threads)
    kind, what = row.limit or (None, None)
    if kind == "bytes":
        opened["limit"] = limits.stream(what)
    measured = limits.operations(what) if kind == "operations" else {}
    times = {name: repetitions(side, clock) for name, side in opened.items()}
    moves = threads > 1 and is_virtual()
    rounds = take_rounds(opened, measured, times, clock, seconds, limits if moves else None)
    for side in opened.values():
        side.close()
    return result(row, rounds, errors)


def spread(values):
    quartiles = statistics.quantiles(values, n=4)
    return {"median": quartiles[1], "low": quartiles[0], "high": quartiles[2], "best": min(values)}


def result(row, rounds, errors):
    near, apart = counted(rounds)
    samples = by_side(near)
    made = {"name": row.name, "workload": row.workload, "threads": row.threads,
            "rounds": len(near), "load": os.getloadavg()[0],
            "target_share": row.target_share, "ours": spread(samples["ours"]), "peers": {}}
    for name, error in errors.items():
        ratios = [theirs / ours for theirs, ours in zip(samples[name], samples["ours"])]
        made["peers"][name] = spread(samples[name]) | {
            "ratio": statistics.median(samples[name]) / made["ours"]["median"],
            "ratios": spread(ratios), "error": error, "agrees": error <= 1, "target": None}
    for rivals, target in row.targets():
        there = [made["peers"][name] for name in rivals if name in made["peers"]]
        agreeing = [peer for peer in there if peer["agrees"]] or there
        if agreeing:
            min(agreeing, key=lambda peer: peer["median"])["target"] = target
    if "limit" in samples:
        made["limit"] = spread(samples["limit"])
        # What the machine can do is what it did in its best round, and so for us beside it.
        made["share"] = made["limit"]["best"] / made["ours"]["best"]
        kind, amount = row.limit
        if kind == "bytes":
            amount = sum(size * (2 if how == "updated" else 1) for how, size in amount)
        made["limit"] |= {"kind": kind, "rate": amount / made["limit"]["best"]}
    if "loading" in samples:
        made["loading"] = spread(samples["loading"])
        made["loading_share"] = made["limit"]["best"] / made["loading"]["best"]
    if trips := [max(trips) for trips, _ in near if max(trips)]:
        made["round_trip"] = spread(trips)
        made["rounds_left_out"] = len(rounds) - len(near)
        if len(apart) >= ENOUGH:
            made["apart"] = {name: statistics.median(values) for name, values in by_side(apart).items()}
    return made


def measure_all(options):
    runners = Runners(options.modules, options.threads)
    limits = module.Limits(options.modules / "liblimits.so")
    made = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "cpu": cpu_name(), "threads": options.threads, "cores": os.cpu_count(),
            "load": os.getloadavg()[0], "system": platform.platform(), "versions": runners.versions, "rows": []}
    print(report.heading(made))
    for row in ROWS:
        if not options.row or row.name in options.row:
            if measured := measure(row, runners, limits, options.seconds):
                made["rows"].append(measured)
                print(report.lines(measured), flush=True)
    return made


def main():
    options = arguments()
    if options.list:
        for row in ROWS:
            print(f"{row.name:26}{row.workload}")
        return
    unknown = set(options.row or []) - {row.name for row in ROWS}
    if unknown:
        sys.exit(f"no such row: {', '.join(sorted(unknown))} (--list names them)")
    if options.earlier:
        made = json.loads(options.earlier.read_text(encoding="utf-8"))
    else:
        made = measure_all(options)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    if options.svg:
        options.svg.write_text(chart.chart(made), encoding="utf-8")
    if options.markdown:
        page = tables.page(made, options.markdown, options.svg)
        options.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
