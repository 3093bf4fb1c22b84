# SPDX-License-Identifier: Apache-2.0
"""instructions.py VALGRIND PROGRAM COUNTS COMPILER [--write]: how many instructions a few calls of
ours take, against what they took when COUNTS was written. Counts are the same on a busy machine and
on a quiet one; they differ between compilers, so each has its own. Valgrind knows AVX2 and less."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.1
SKIPPED = 77


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def count(valgrind, program):
    """Function -> instructions in its last call."""
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", "--dump-before=counted_*",
                   f"--callgrind-out-file={folder}/out", program]
        # Meson would have malloc() fill what it gives.
        environment = os.environ | {"MT_CPU_TARGET": "AVX2", "MALLOC_PERTURB_": "0", "MT_EAGER": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        if "AVX2" not in done.stdout:
            skip(f"this processor is not counted as one with AVX2: {done.stdout.strip()}")
        # Each dump but the first holds what the function did that caused the one before.
        counts, function = {}, None
        for dump in sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:])):
            text = dump.read_text(errors="replace")
            if function:
                counts[function] = int(re.search(r"^totals: (\d+)", text, re.M)[1])
            trigger = re.search(r"^desc: Trigger: --dump-before=counted_(\w+)", text, re.M)
            function = trigger and trigger[1]
    if function != "end":
        sys.exit(f"Callgrind wrote no counts after {function}")
    return counts


def main():
    valgrind, program, file, compiler = sys.argv[1:5]
    file = pathlib.Path(file)
    committed = json.loads(file.read_text())
    write = sys.argv[5:] == ["--write"]
    if not valgrind:
        skip("no valgrind (Debian: valgrind)")
    if compiler not in committed and not write:
        skip(f"{file.name} has no counts for {compiler}, only for {', '.join(committed)}")
    counts = count(valgrind, program)
    if write:
        committed[compiler] = counts
        file.write_text(json.dumps(committed, indent=1) + "\n")
    before = committed[compiler]
    for name, now in counts.items():
        ratio = now / before[name] if name in before else float("inf")
        print(f"{name:16}{now:12,}{ratio:8.3f}{' !' if ratio > 1 + TOLERANCE else ''}")
    worse = [name for name, now in counts.items() if now > (1 + TOLERANCE) * before.get(name, 0)]
    better = [name for name, now in counts.items() if now < (1 - TOLERANCE) * before.get(name, 0)]
    if better:
        print(f"Fewer than committed, so that a step back would pass: {', '.join(better)}.")
    if worse or better:
        print("ninja -C build instructions writes them anew.")
    sys.exit(bool(worse) or counts.keys() != before.keys())


if __name__ == "__main__":
    main()
