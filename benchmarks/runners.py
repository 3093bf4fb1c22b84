# SPDX-License-Identifier: Apache-2.0
"""Everything that can run rows: us, and the peers that are there."""
import importlib
import os
import sys

import module
from peers.programs import Program

# A peer of compiled rows: its module's file, and the Debian package that it is built with.
COMPILED = {"libtorch": ("libtorch", "libtorch-dev"), "oneDNN": ("dnnl", "libdnnl-dev"),
            "oneDNN bf16": ("dnnl", "libdnnl-dev"),
            "OpenBLAS": ("openblas", "libopenblas-dev"), "BLIS": ("blis", "libblis-dev"),
            "libxsmm": ("xsmm", "libxsmm-dev"), "SLEEF": ("sleef", "libsleef-dev")}
# A peer of Python's: its module here, and what has it.
IMPORTED = {"PyTorch": ("pytorch", "python3-torch, or torch of PyPI"),
            "torch.compile": ("compiled", "PyTorch 2 of PyPI"),
            "JAX": ("jax_rows", "jax of PyPI"),
            "NumPy": ("numpy_rows", "python3-numpy"),
            "opt_einsum": ("opt_einsum_rows", "opt_einsum of PyPI")}


class Runners:
    def __init__(self, folder, threads):
        self.threads = threads
        ours = module.Module(folder / "librows.so", threads)
        # "unfused" and "matmul": other rows of ours to compare one with.
        self._openers = dict.fromkeys(["ours", "unfused", "matmul"], ours.open)
        self._setters = [ours.set_threads]
        self.versions = {}
        for name, (file, has) in IMPORTED.items():
            if name == "JAX" and threads != len(os.sched_getaffinity(0)):
                print("JAX: takes all cores, whatever --threads says; skipped")
                continue
            self._add(name, lambda file=file: importlib.import_module(f"peers.{file}"),
                      f"not installed for {sys.executable} ({has})")
        for name, (file, package) in COMPILED.items():
            if name == "libtorch" and not self._same_torch(folder):
                continue
            path = folder / f"lib{file}.so"
            self._add(name, lambda path=path: module.Module(path, threads),
                      f"not there when this was built (Debian: {package})")
        sys.path.insert(0, str(folder.parent / "bindings/python"))
        self._add("Python", lambda: importlib.import_module("peers.from_python"),
                  "our own module was not built (Debian: swig, python3-dev)")
        self._add("kernel", lambda: module.Module(folder / "libkernel.so", threads), "not built")
        for name, file in [("program", "start_ours"), ("libtorch program", "start_libtorch")]:
            self._add(name, lambda file=file: Program(folder / file), "not built")

    def _add(self, name, load, absent):
        try:
            peer = load()
        except (ImportError, OSError):
            print(f"{name}: {absent}; skipped")
            return
        self._openers[name] = peer.open
        self._setters.append(peer.set_threads)
        if hasattr(peer, "version"):
            self.versions[name] = peer.version()

    def _same_torch(self, folder):
        """Two versions of PyTorch do not share a process: Python's, loaded already, is first."""
        file = folder / "libtorch.version"
        built_for = file.read_text().strip('"\n') if file.exists() else ""
        here = self.versions.get("PyTorch", built_for)
        if not built_for or here.split(".")[:2] == built_for.split(".")[:2]:
            return True
        print(f"libtorch: built for PyTorch {built_for}, but Python's is {here}; skipped")
        return False

    def set_threads(self, threads):
        for setter in self._setters:
            setter(threads)

    def open(self, row):
        """The row on each side that has it; nothing when our side was not built."""
        if row.by not in self._openers:
            return {}
        inputs = row.inputs()
        opened = {"ours": self._openers[row.by](row.ours, inputs)}
        for side, name in row.peers.items():
            try:
                if opener := self._openers.get(_family(side)):
                    opened[side] = opener(name, inputs)
            except (LookupError, RuntimeError) as error:
                print(f"{row.name}: {side}: {error}; skipped")
        return opened


def _family(side):
    """"PyTorch foreach" is one more way of PyTorch's."""
    return "PyTorch" if side.startswith("PyTorch ") else side
