# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the README as it is printed: readme.py c|python README INCLUDE LIBRARY [CC...].

Both fit y = 3 x + 1 and print "w=3.000 b=1.000 loss=...".
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

language, readme, include, library, *compiler = sys.argv[1:]
programs = re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(readme).read_text(), re.M | re.S)
assert len(programs) == 1, f"the README has {len(programs)} programs in {language}"

with tempfile.TemporaryDirectory() as folder:
    if language == "c":
        source = pathlib.Path(folder, "line.c")
        source.write_text(programs[0])
        subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{include}", source,
                        library, f"-Wl,-rpath,{pathlib.Path(library).resolve().parent}",
                        "-o", f"{folder}/line"], check=True)
        command = [f"{folder}/line"]
    else:
        source = pathlib.Path(folder, "line.py")
        source.write_text(programs[0])
        command = [sys.executable, source]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout
print(output, end="")
printed = re.fullmatch(r"w=3\.000 b=1\.000 loss=(\S+)\n", output)
assert printed and float(printed[1]) < 1e-6, "not the line y = 3 x + 1"
