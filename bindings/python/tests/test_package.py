# SPDX-License-Identifier: Apache-2.0
"""The package as its users read it: documented, with examples that run and types that check."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import mtorch as mt

FOLDER = pathlib.Path(mt.__file__).parent
MODULES = [mt, *(importlib.import_module(found.name)
                 for found in pkgutil.walk_packages(mt.__path__, "mtorch.")
                 if not found.name.endswith("._native"))]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    missing = [f"{module.__name__}.{name}" for module in MODULES if module is not mt.native
               for name, value in vars(module).items()
               if not name.startswith("_") and callable(value)
               and getattr(value, "__module__", "").startswith("mtorch") and not value.__doc__]
    assert missing == []


def test_signatures_come_from_the_headers():
    assert str(inspect.signature(mt.add)) == "(a, b, /)" and "number" in mt.add.__doc__
    assert str(inspect.signature(mt.native.conv2d)) == "(x, weight, bias, options)"


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True,
                          cwd=FOLDER.parent)


def test_types():
    pytest.importorskip("mypy")
    done = run("mypy", "--cache-dir", "/dev/null", "-p", "mtorch")
    assert done.returncode == 0, done.stdout


def test_types_are_those_at_run_time(tmp_path):
    pytest.importorskip("mypy")
    # Not to be compared: what C sets, lists of names that are computed, static functions as
    # attributes, properties made by property(), the layout of an int.
    allowed = tmp_path / "allowed"
    allowed.write_text("\n".join([
        r"mtorch\._native.*", r"mtorch\.native.*", r".*\.__all__", r".*\._not_ours",
        r".*\.function", r"mtorch\.tape\.Node\..*", r".*Tensor\.(device|itemsize|mT|nbytes)", r"mtorch.*\.DType"]))
    done = run("mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", "mtorch")
    assert done.returncode == 0, done.stdout
