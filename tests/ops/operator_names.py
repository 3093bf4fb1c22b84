# SPDX-License-Identifier: Apache-2.0
"""operator_names.py SRC: a name stands for one operator, since backends find their kernels by it, and
what a table of kernels names is an operator."""
import collections
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
DEFINITION = re.compile(r'\.name = "(\w+)"|\b(?:reduce|matrix)_op\(\s*"(\w+)"')
ROW = re.compile(r"^(?:UNARY|BINARY|SLOPE) *\((\w+),", re.M)
TABLES = ["backends/cpu/call.cpp", "backends/cpu/linalg/routines.cpp", "backends/cuda/call.cpp"]

defined = collections.defaultdict(list)
for file in sorted(source.rglob("*.cpp")) + [source / "ops/elementwise.def"]:
    text = file.read_text()
    if own := re.search(r'constexpr char name\[\] = ("\w+")', text):
        text = re.sub(r"_op\(\s*name,", f"_op({own[1]},", text)
    found = ROW.findall(text) if file.suffix == ".def" else map("".join, DEFINITION.findall(text))
    for name in found:
        defined[name].append(str(file.relative_to(source)))

faults = [f"{name} is several operators: {', '.join(files)}"
          for name, files in defined.items() if len(files) > 1]
for table in TABLES:
    text = (source / table).read_text()
    named = re.findall(r'\{"(\w+)", ', text[text.index("entries"):])
    faults += [f"{table}: {name} is no operator" for name in named if name not in defined]
    faults += [] if named else [f"{table} has no entries"]
print("\n".join(faults) or f"{len(defined)} operators")
sys.exit(bool(faults) or len(defined) < 100)
