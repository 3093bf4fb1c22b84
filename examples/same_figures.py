# SPDX-License-Identifier: Apache-2.0
"""Runs examples in C and in another language: for the same seed both print the same figures, and
those that draw with the same code write the same page.

  same_figures.py FOLDER pictures|figures NAME... -- COMMAND...

FOLDER has the programs in C. In COMMAND, {} stands for an example's name, {Name} for the same with
a capital.
"""
import gzip
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

folder, what, *rest = sys.argv[1:]
split = rest.index("--")
names, command = rest[:split], rest[split + 1:]


def write_idx(path, dims, values):
    with gzip.open(path, "wb") as file:
        file.write(bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims))
        file.write(bytes(values))


def run(program, arguments, out):
    done = subprocess.run([*program, *map(str, arguments), "--seed", "3", "--out", str(out)],
                          capture_output=True, text=True)
    assert done.returncode == 0, f"{program}: {done.stderr}"
    figures = re.findall(r"^(?:trained on|held out): .*", done.stdout, re.M)
    page = None
    if what == "pictures":  # times differ
        page = re.sub(r"[\d.e+-]+ ms\b", "", out.with_suffix(".html").read_text())
    return figures, page, done.stdout


def refused(program, arguments, said):
    """What is wrong is said in words, not in a trace of calls."""
    done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
    error = done.stderr + done.stdout
    assert done.returncode and said in error, f"{program} {arguments}: {done.returncode}\n{error}"
    assert not re.search(r"Traceback|\bat .*\.java:", error), error


with tempfile.TemporaryDirectory() as name:
    scratch = pathlib.Path(name)
    draw = random.Random(7)
    images, labels, text = (scratch / name for name in ("images.gz", "labels.gz", "text.gz"))
    write_idx(images, [100, 28, 28], draw.choices(range(256), k=100 * 28 * 28))
    write_idx(labels, [100], draw.choices(range(10), k=100))
    with gzip.open(text, "wt") as file:
        file.write("".join(draw.choices("to be or not,\n", k=3000)))
    cases = [
        ("points", ["--dataset", "circle", "--epochs", 40]),
        ("points", ["--dataset", "spiral", "--epochs", 20]),
        ("digits", ["--network", "mlp", "--epochs", 3]),
        ("mnist", ["--images", images, "--labels", labels, "--epochs", 2, "--batch", 30]),
        ("gpt", ["--text", text, "--steps", 12, "--every", 5, "--blocks", 1, "--width", 16,
                 "--heads", 2, "--context", 8, "--length", 20]),
    ]
    def command_of(example):
        return [part.replace("{}", example).replace("{Name}", example.capitalize()) for part in command]

    if "digits" in names:
        words = scratch / "words.csv"
        for wrong in ("no digits here\n", "1,2,3\n"):
            words.write_text(wrong)
            refused(command_of("digits"), ["--data", words], "words.csv")
        refused(command_of("digits"), ["--seed", 10**23], "--seed")
    for example, arguments in cases:
        if example not in names:
            continue
        in_c = run([f"{folder}/{example}"], arguments, scratch / "one")
        there = run(command_of(example), arguments, scratch / "two")
        print(example, *arguments, *in_c[0], sep="\n  ")
        assert in_c[0] and in_c[0] == there[0], there[2]
        assert in_c[1] == there[1], "the pages differ"
