# SPDX-License-Identifier: Apache-2.0
"""documented.py SOURCE VERSION: every public function is documented, every element-wise operator
of the table is declared, and the headers' version is the build's."""

import pathlib
import re
import sys

source, version = sys.argv[1:]
root = pathlib.Path(source)
faults = []

# A comment documents the declarations that follow it, up to an empty line.
declared = set()
for header in sorted((root / "include/mtorch").glob("*.h")):
    for paragraph in re.split(r"\n\s*\n", header.read_text()):
        above = False
        for line in paragraph.splitlines():
            above = above or line.startswith("/// ")
            if match := re.match(r"MT_API .*?\b(mt_\w+)\(", line):
                declared.add(match[1])
                if not above and "///<" not in line:
                    faults.append(f"{header.name}: {match[1]} has no documentation")

table = (root / "src/ops/elementwise.def").read_text()
rows = re.findall(r"^(?:UNARY|BINARY) *\( *(\w+)", table, re.MULTILINE)
faults += [f"elementwise.def: {row} is not declared" for row in rows if f"mt_{row}" not in declared]

text = (root / "include/mtorch/version.h").read_text()
numbers = ".".join(re.findall(r"#define MT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
quoted = re.search(r'#define MT_VERSION_TEXT "(.*)"', text)[1]
if not numbers == quoted == version:
    faults.append(f"version.h says {numbers} and {quoted}, the build {version}")

print(f"{len(declared)} functions, {len(rows)} element-wise operators")
print("\n".join(faults))
sys.exit(bool(faults) or not declared or not rows)
