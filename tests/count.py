# SPDX-License-Identifier: Apache-2.0
"""Adds up meson's test log: cases where a program says how many it ran, else one a program."""
import json
import re
import sys

passed = failed = skipped = 0
for line in open(sys.argv[1]):
    test = json.loads(line)
    if test["result"] == "SKIP":
        skipped += 1
        continue
    output = test.get("stdout", "")
    good = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) tests?\.", output, re.M)))
    bad = sum(map(int, re.findall(r"^\[  FAILED  \] (\d+) tests?, listed below", output, re.M)))
    skipped += sum(map(int, re.findall(r"^\[  SKIPPED \] (\d+) tests?, listed below", output, re.M)))
    for last in re.findall(r"^=+ (.*) in [\d.]+s.* =+$", output, re.M):  # pytest
        good += sum(map(int, re.findall(r"(\d+) (?:passed|xfailed)", last)))
        bad += sum(map(int, re.findall(r"(\d+) (?:failed|errors?|xpassed)", last)))
        skipped += sum(map(int, re.findall(r"(\d+) skipped", last)))
    if test["result"] == "OK":
        passed += good or 1
    else:  # a crash, a leak or a time limit fails no case of its own
        passed += good
        failed += bad or 1
if skipped:
    print(f"{skipped} skipped")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
