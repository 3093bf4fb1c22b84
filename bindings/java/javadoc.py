# SPDX-License-Identifier: Apache-2.0
"""Every public class and method is documented, without mistakes; the operators' parameters, whose
sentences come from the C headers, need no tags.  javadoc.py JAVADOC SOURCE.java..."""
import re
import subprocess
import sys
import tempfile

javadoc, *sources = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([javadoc, "-quiet", "-Xdoclint:all", "-Xmaxwarns", "9999", "-d", folder,
                           *sources], capture_output=True, text=True)
faults = [line for line in re.findall(r"^.*: (?:warning|error)(?::| -) .*", done.stderr, re.M)
          if not re.search(r"Operators\.java:.*warning: no @(param|return)", line)]
print("\n".join(faults) or "documented")
sys.exit(bool(faults) or done.returncode)
