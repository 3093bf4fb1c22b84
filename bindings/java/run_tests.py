# SPDX-License-Identifier: Apache-2.0
"""Runs the tests under JUnit, and fails on what -Xcheck:jni says, too.
run_tests.py JAVA CLASSPATH PACKAGE TESTS FLAG..."""
import os
import re
import subprocess
import sys

java, classpath, package, tests, *flags = sys.argv[1:]
# Meson's default, which fills every block of memory, would double the time.
os.environ.pop("MALLOC_PERTURB_", None)
done = subprocess.run(
    [java, *flags, "-cp", f"{package}:{tests}:{classpath}",
     "org.junit.platform.console.ConsoleLauncher", "--scan-classpath", tests, "--details=tree",
     "--disable-banner", "--disable-ansi-colors"], stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT, text=True)
print(done.stdout)
# The JVM's own libraries are not free of warnings about unchecked exceptions at its start.
warnings = [line for line in re.findall(r"^(?:WARNING|FATAL ERROR) in native.*(?:\n\s+at.*)*",
                                        done.stdout, re.M) if "org.mtorch" in line]
for warning in warnings:
    print("-Xcheck:jni:", warning, file=sys.stderr)
sys.exit(done.returncode or bool(warnings))
