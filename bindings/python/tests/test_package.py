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
from mtorch._porting_names import METHODS

FOLDER = pathlib.Path(mt.__file__).parent
MODULES = [mt, *(importlib.import_module(found.name)
                 for found in pkgutil.walk_packages(mt.__path__, "mtorch.")
                 if not found.name.endswith("._native"))]


PUBLIC = {f"{module.__name__}.{name}": value for module in MODULES if module is not mt.native
          for name, value in vars(module).items()
          if not name.startswith("_") and callable(value)
          and (getattr(value, "__module__", None) or "").startswith(("mtorch", "_native"))}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_examples_of_what_c_defines():
    found = {value.__name__: value for value in PUBLIC.values()
             if inspect.isbuiltin(value) or inspect.isroutine(value) and not inspect.isfunction(value)}
    assert len(found) > 70
    for name, value in found.items():
        examples = doctest.DocTestParser().get_doctest(value.__doc__, {}, name, None, None)
        assert doctest.DocTestRunner().run(examples).failed == 0, name


def test_what_is_public_has_an_example():
    # Named tuples and exceptions, which show themselves, and what only holds another's results.
    without = {name for name, value in PUBLIC.items() if ">>>" not in (value.__doc__ or "")
               and not (isinstance(value, type) and issubclass(value, (tuple, Exception)))}
    assert without <= {"mtorch.Tensor", "mtorch._tensor.Tensor", "mtorch.io.collection",
                       "mtorch.io.dictionary", "mtorch.dtypes.ComplexDType", "mtorch.info.ArrayNamespaceInfo",
                       "mtorch.tracing.svg_of"}
    methods = {name for name, value in vars(mt.Tensor).items() if not name.startswith("_")
               and inspect.isfunction(value) and ">>>" not in (value.__doc__ or "")}
    assert methods <= {"cuda"}


def test_everything_public_is_documented():
    assert [name for name, value in PUBLIC.items() if not value.__doc__] == []
    assert [name for name, value in vars(mt.Tensor).items() if not name.startswith("_")
            and not getattr(value, "__doc__", None)] == []


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


USER = '''
import mtorch as mt
from mtorch import data, linalg, nn, optim

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: mt.Tensor) -> mt.Tensor:
        return mt.tanh(self.layer(x))

net = Net()
optimizer = optim.AdamW(net.parameters(), lr=1e-3)
schedule = optim.CosineSchedule(optimizer, steps=10)
x: mt.Tensor = mt.divide(mt.zeros(2, 3), 2)
loss = nn.cross_entropy(nn.relu(net(x)), mt.tensor([0, 1]), label_smoothing=0.1)
loss.backward()
weight: mt.Tensor = nn.Parameter(x)
number: float = loss.item() + mt.linalg.matmul(x, x.T).sum().item()
'''


def test_programs_are_checked_strictly(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "user.py"
    program.write_text(USER)
    done = run("mypy", "--cache-dir", "/dev/null", "--strict", "--follow-imports=silent", str(program))
    complaints = [line for line in done.stdout.splitlines() if "user.py:" in line]
    assert not complaints and "found" in done.stdout.lower(), done.stdout
    assert set(mt.nn.functional.__all__) <= set(vars(mt.nn))


def test_types_are_those_at_run_time(tmp_path):
    pytest.importorskip("mypy")
    # Not to be compared: what C sets, lists of names that are computed, static functions as
    # attributes, properties made by property(), the layout of an int; and, for the mypy of Debian
    # 12, names that are there for types alone, and a class that stands for the extension's; and what
    # is there to say that it is not.
    allowed = tmp_path / "allowed"
    allowed.write_text("\n".join([
        r"mtorch\._native.*", r"mtorch\.native.*", r".*\.__all__",
        r".*\.function", r"mtorch.*\.Node\..*", r".*Tensor\.(device|itemsize|mT|nbytes)",
        r".*\.__r?pow__", r"mtorch.*\.DType", r"mtorch\..*\._(Exchanged|Converted).*",
        r"mtorch\..*\.(Tensor|Module|Parameter|Optimizer|Iterator|Iterable|Sequence|Mapping|NamedTuple)",
        rf"mtorch.*Tensor\.({'|'.join(METHODS)})"]))
    done = run("mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", "mtorch")
    assert done.returncode == 0, done.stdout
