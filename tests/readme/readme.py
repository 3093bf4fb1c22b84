# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the README as it is printed: readme.py c|cpp|python|java README INCLUDE LIBRARY
[CC...]; for Java the library is the jar, and the compiler java.

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
    source = pathlib.Path(folder, f"line.{language}")
    source.write_text(programs[0])
    if language in ("c", "cpp"):
        standard = {"c": "-std=c11", "cpp": "-std=c++20"}[language]
        subprocess.run([*compiler, standard, "-Wall", "-Wextra", "-Werror", f"-I{include}", source,
                        library, f"-Wl,-rpath,{pathlib.Path(library).resolve().parent}",
                        "-o", f"{folder}/line"], check=True)
        command = [f"{folder}/line"]
    elif language == "java":
        command = [*compiler, "-cp", library, source]
    else:
        command = [sys.executable, source]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout
print(output, end="")
printed = re.fullmatch(r"w=3\.000 b=1\.000 loss=(\S+)\n", output)
assert printed and float(printed[1]) < 1e-6, "not the line y = 3 x + 1"
