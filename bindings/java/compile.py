# SPDX-License-Identifier: Apache-2.0
"""Compiles what uses the package into a jar.
compile.py JAVAC JAR PACKAGE CLASSPATH OUTPUT SOURCE.java..."""
import subprocess
import sys
import tempfile

javac, jar, package, classpath, output, *sources = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([javac, "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try,-path",
                    "-proc:none", "-cp", f"{package}:{classpath}", "-d", folder, *sources],
                   check=True)
    subprocess.run([jar, "--create", "--file", output, "-C", folder, "."], check=True)
