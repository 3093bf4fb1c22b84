# SPDX-License-Identifier: Apache-2.0
"""Runs SWIG and keeps what the package needs of it.  natives.py SWIG SOURCE INTERFACE WRAPPER"""
import pathlib
import subprocess
import sys

swig, source, interface, wrapper = sys.argv[1:]
folder = pathlib.Path(wrapper).parent
for stale in folder.glob("SWIGTYPE*.java"):  # of a run that failed below
    stale.unlink()
subprocess.run([swig, "-java", "-package", "org.mtorch", "-DSWIGWORDSIZE64", "-w302,314,321",
                f"-I{source}/include", f"-I{source}/bindings/java", "-outdir", folder,
                "-o", wrapper, interface], check=True)
# The constants: Java has enumerations of its own for them.
constants = folder / "NativeConstants.java"
constants.unlink()
native = folder / "Native.java"
native.write_text(native.read_text().replace(" implements NativeConstants", ""))
strange = [path.name for path in folder.glob("SWIGTYPE*.java")]
if strange:
    sys.exit(f"bindings/java/typemaps.i has no rule for what became {', '.join(strange)}")
