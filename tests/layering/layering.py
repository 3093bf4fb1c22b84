# SPDX-License-Identifier: Apache-2.0
"""Includes go one way: a folder of src includes only itself and those after it in this list."""
import pathlib
import re
import sys

ORDER = ["mtorch", "api", "nn", "io", "autodiff", "fusion", "backends", "plan", "ops", "graph", "tensor", "base"]
# The public headers are the C boundary's business alone; Highway is written with quotes.
ALLOWED = {folder: set(ORDER[ORDER.index(folder):]) | {"hwy"} for folder in ORDER} | {
    "api": set(ORDER) | {"hwy"}
}

source = pathlib.Path(sys.argv[1])
files = [f for f in sorted(source.rglob("*")) if f.suffix in (".h", ".hpp", ".cpp", ".def", ".inc", ".cu")]
faults = []
for file in files:
    folder = file.relative_to(source).parts[0]
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for included in re.findall(r'^\s*#\s*include\s+["<](\w+)/', line):
            if included in ORDER and included not in ALLOWED[folder]:
                faults.append(f"{file}:{number}: {folder} must not include {included}")
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', line):
            if included.split("/")[0] not in ORDER + ["hwy"]:
                faults.append(f'{file}:{number}: write "{included}" relative to src')
            # What others ask of the host is in backends/host.h; a backend's own folder is its business.
            backend = re.match(r"backends/\w+/", included)
            if (backend and not str(file.relative_to(source)).startswith(backend[0])
                    and file.name != "devices.cpp"):
                faults.append(f"{file}:{number}: only {backend[0]} and devices.cpp may include {included}")
print("\n".join(faults) or f"{len(files)} files in order")
sys.exit(bool(faults) or not files)
