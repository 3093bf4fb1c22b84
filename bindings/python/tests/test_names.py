# SPDX-License-Identifier: Apache-2.0
"""The table of names in four languages, docs/names.md: what it names is there."""
import builtins
import functools
import pathlib
import re

import pytest

import mtorch as mt

ROOT = pathlib.Path(__file__).parents[3]


def rows():
    lines = [line for line in (ROOT / "docs/names.md").read_text().splitlines() if line.startswith("| ")]
    for line in lines[2:]:
        what, *names = (cell.strip() for cell in line.strip("|").split("|"))
        yield pytest.param(*([name for name in re.findall(r"`([^`]+)`", cell) if "=" not in name]
                             for cell in names), id=what)


def text(*patterns):
    return "\n".join(file.read_text() for pattern in patterns for file in sorted(ROOT.glob(pattern)))


C = text("include/mtorch/*.h")
CPP = text("include/mtorch/*.hpp")
INHERITED = {"Tensor": ("Drawing", "Creation", "HostMemory", "SeveralResults"), "Parameters": ("Layers",)}
JAVA = {file.stem: file.read_text() for file in ROOT.glob("bindings/java/src/main/java/org/mtorch/*.java")}


@pytest.mark.parametrize("c, cpp, python, java", rows())
def test_the_table_names_what_there_is(c, cpp, python, java):
    for name in c:
        assert re.search(rf"\b{name}\b", C), name
    for name in cpp:
        assert re.search(rf"\b{name.rpartition('::')[2]}\b", CPP), name
        assert re.search(rf"\b(class|struct) {name.partition('::')[0]}\b", CPP) or "::" not in name, name
    for name in python:
        start = mt if hasattr(mt, name.split(".")[0]) else builtins
        functools.reduce(getattr, name.split("."), start)
    for name in java:
        kind, _, method = name.partition(".")
        assert kind in JAVA, name
        if method:  # its own, one that it inherits, or an operator's, which comes from the header
            snake = re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), method)
            bodies = "\n".join(JAVA[part] for part in (kind, *INHERITED.get(kind, ())))
            assert re.search(rf"\b{method}\(", bodies) or kind == "Tensor" and re.search(rf"\bmt_{snake}\(", C), name
