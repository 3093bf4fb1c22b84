# SPDX-License-Identifier: Apache-2.0
"""Runs examples in C and in Python: for the same seed both print the same figures.

  same_figures.py POINTS DIGITS, the programs in C
"""
import pathlib
import re
import subprocess
import sys
import tempfile

points, digits = sys.argv[1:]
folder = pathlib.Path(__file__).parent
cases = [(points, "points.py", ["--dataset", "circle", "--epochs", "40"]),
         (points, "points.py", ["--dataset", "spiral", "--epochs", "20"]),
         (digits, "digits.py", ["--network", "mlp", "--epochs", "3"])]

for program, script, arguments in cases:
    figures = []
    for command in [program], [sys.executable, folder / script]:
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([*command, *arguments, "--seed", "3", "--out", scratch + "/run"],
                                  capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        figures.append(re.findall(r"^(?:trained on|held out): .*", done.stdout, re.M))
    print(script, *arguments, *figures[0], sep="\n  ")
    assert len(figures[0]) == 2 and figures[0] == figures[1], f"in Python: {figures[1]}"
