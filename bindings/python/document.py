# SPDX-License-Identifier: Apache-2.0
"""The public headers' comments as docstrings for SWIG, each with the signature that Python shows, and
a table of the functions of one and of two tensors: document.py INCLUDE_DIRECTORY MTORCH_I OUTPUT TABLE"""
import pathlib
import re
import sys

DECLARATION = re.compile(r"^MT_API\s+([\w\s]+?[\s*]+)mt_(\w+)\(([^;]*)\);(?:\s*///<\s*(.*))?$", re.M)


def parameters(text):
    """The names that remain in Python: an array and its count are one."""
    names, pointer = [], False
    for part in re.sub(r"\s+", " ", text).split(","):
        part = part.strip()
        if part == "void":
            continue
        name = re.search(r"\w*$", part).group()  # none: a function, which no binding takes
        if re.match(r"size_t n\w*$", part) and pointer:
            continue
        array = bool(re.match(r"const (int64_t|mt_index_item)\* |(struct )?mt_tensor\* const\* ", part))
        if not (array and pointer and part.startswith("const int64_t")):  # the second of a pair
            names.append(name)
        pointer = array
    return names


def functions(include):
    """(name, result, parameters, their names, comment) of every declared function."""
    for header in sorted(pathlib.Path(include).glob("*.h")):
        comment, declared, used = [], "", False
        for line in header.read_text().splitlines():
            if declared:
                declared += " " + line.strip()
            elif line.startswith("///") and not line.startswith("/// @"):
                comment = [*([] if used else comment), line[4:]]
                used = False
                continue
            elif line.startswith("MT_API"):
                declared = line
            else:
                comment = []
                continue
            if ");" not in declared:
                continue
            found = DECLARATION.match(declared)
            if found:
                result, name, arguments, beside = found.groups()
                text = beside or ("" if used else "\n".join(comment))
                yield name, re.sub(r"\s+", " ", result).strip(), arguments, parameters(arguments), text
                used = True
            declared = ""


def for_python(text):
    """C's words as Python's."""
    text = re.sub(r"\bmt_(\w+)", r"\1", text)
    return (text.replace("NULL, 0", "None").replace("NULL", "None").replace("MT_EINVAL", "ValueError")
            .replace("MT_ESHAPE", "ValueError").replace("MT_EDTYPE", "TypeError")
            .replace("MT_EINDEX", "IndexError").replace("MT_ENOMEM", "MemoryError")
            .replace("MT_ENULL", "TypeError").replace("MT_ETRACE", "Error"))


def quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def main(include, interface, output, table):
    ignored = set(re.findall(r"%ignore mt_(\w+);", pathlib.Path(interface).read_text()))
    entries, fast, last = [], [], ""
    for name, result, arguments, names, comment in functions(include):
        comment = comment or (last if name.endswith("_keep") else "")
        last = comment
        if name in ignored:
            continue
        text = quoted(f"{name}({', '.join(names)})\n--\n\n{for_python(comment)}")
        entries.append(f'%feature("docstring") mt_{name} "{text}";\n')
        types = re.sub(r"\w+(?=,|$)", "", re.sub(r"\s+", " ", arguments))
        if result == "mt_tensor*" and name not in BORROWED and types in FAST:
            shown = ", ".join([*names, "/"])
            text = quoted(f"{name}({shown})\n--\n\n{for_python(comment)}").replace("\n", "\\n")
            fast.append(f'{FAST[types]}({name}, "{text}")\n')
    pathlib.Path(output).write_text("".join(entries))
    pathlib.Path(table).write_text("".join(fast))


FAST = {"mt_tensor* ": "UNARY", "mt_tensor* , mt_tensor* ": "BINARY"}
BORROWED = {"require_grad", "take", "retain"}  # what returns the same handle


if __name__ == "__main__":
    main(*sys.argv[1:])
