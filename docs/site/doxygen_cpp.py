# SPDX-License-Identifier: Apache-2.0
"""A C++ header as Doxygen wants it: doxygen_cpp.py FILE. The functions that a macro makes are written
out, and one without a comment refers to the C function of its name, which it calls."""
import pathlib
import re
import sys

path = pathlib.Path(sys.argv[1])
text = path.read_text()
declared = set(re.findall(r"\b(mt_\w+)\(", "".join(
    header.read_text() for header in path.parent.glob("*.h"))))

# Macros that define a function: name to parameters and declaration.
macros = {}
for name, parameters, body in re.findall(r"^#define (MT_[A-Z]+_)\((.*?)\)(.*?[^\\])$", text, re.M | re.S):
    found = re.search(r"inline .*?\) (?=\{)", re.sub(r"\s*\\\s*", " ", body))
    if found:
        macros[name] = parameters.split(", "), found.group().strip()


def written_out(call):
    parameters, declaration = macros[call[1]]
    for parameter, value in zip(parameters, call[2].split(", ")):
        declaration = re.sub(rf"\b{parameter}\b", value, declaration)
    return f"\n{declaration};\n"


def documented(match):
    before, declaration, name = match.groups()
    if before.startswith("///") or f"mt_{name}" not in declared:
        return match[0]
    return f"{before}/// See mt_{name}().\n{declaration}"


text = re.sub(rf"\b({'|'.join(macros) or '$'})\(([\w, ]+)\);(?!.*\\)", written_out, text)
text = re.sub(r"^#undef .*\n", "", text, flags=re.M)
text = re.sub(r"^(.*\n)(inline [^\n]*?(\w+)\()", documented, text, flags=re.M)
print(text)
