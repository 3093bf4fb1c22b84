# SPDX-License-Identifier: Apache-2.0
"""Trains the C examples with several seeds and checks that each reaches its goal.

  goals.py FOLDER [--seeds N] [--only NAME] [--mnist IMAGES LABELS] [--text FILE]

FOLDER holds the programs. MNIST and a text are not shipped, so mnist and gpt run when named.
A row gives the figure of each seed at its best epoch, and the time of an epoch.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def run(folder, scratch, program, arguments, seed):
    """The figures that a run prints: percentages or nats, and milliseconds."""
    command = [folder / program, *arguments, "--seed", str(seed), "--out", scratch / "run"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    figures = dict(re.findall(r"^(trained on|held out): .*at best +([\d.]+) %", done.stdout, re.M))
    figures.update(re.findall(r"^(held out): +([\d.]+) nats", done.stdout, re.M))
    figures.update(re.findall(r"^(training): +(\S+) ms", done.stdout, re.M))
    return {name: float(value) for name, value in figures.items()}


def rows(options):
    """(program, arguments, which figure, goal); a goal below 10 is in nats and a ceiling."""
    for name in "simple", "diag", "split", "xor", "circle", "spiral":
        yield "points", ["--dataset", name], "trained on", 100
    for name in "simple", "diag", "split", "xor", "circle", "spiral":
        many = ["--dataset", name, "--points", 500, "--epochs", 100]
        yield "points", many, "held out", 96
    yield "digits", ["--network", "mlp"], "held out", 97
    yield "digits", ["--network", "conv"], "held out", 98.5
    if options.mnist:
        files = ["--images", options.mnist[0], "--labels", options.mnist[1]]
        yield "mnist", ["--network", "mlp", *files], "held out", 95.5
        yield "mnist", ["--network", "lenet", *files], "held out", 98
    if options.text:
        yield "gpt", ["--text", options.text], "held out", 1.80


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="run this program alone")
    parser.add_argument("--mnist", nargs=2, metavar=("IMAGES", "LABELS"))
    parser.add_argument("--text")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for program, arguments, which, goal in rows(options):
            if options.only not in (None, program):
                continue
            runs = [run(options.folder, pathlib.Path(scratch), program, arguments, seed)
                    for seed in range(options.seeds)]
            values = [figures[which] for figures in runs]
            reached = max(values) < goal if goal < 10 else min(values) >= goal
            missed += not reached
            shown = " ".join(str(word) for word in arguments if "/" not in str(word))
            print(f"{'ok' if reached else 'MISSED':7}{program} {shown}: {which} {values}, goal {goal},"
                  f" {min(figures['training'] for figures in runs):g} ms", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
