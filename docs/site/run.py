# SPDX-License-Identifier: Apache-2.0
"""Runs a page's Python block by block: what each prints, so that pages can show it. As a program it
is the other process: it reads blocks as JSON and writes their outputs."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile


def run_python(parts, page):
    """What each block of a program prints."""
    given = [{"text": block.text, "line": block.line} for block in parts]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, __file__, page], input=json.dumps(given), text=True,
                              stdout=subprocess.PIPE, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{page}: a block failed, see above")
    return json.loads(done.stdout)


def main():
    names, outputs = {"__name__": "__main__"}, []
    for block in json.load(sys.stdin):
        code = compile("\n" * (block["line"] + 1) + block["text"], sys.argv[1], "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        outputs.append(printed.getvalue())
    json.dump(outputs, sys.stdout)


if __name__ == "__main__":
    sys.path[0] = str(pathlib.Path(__file__).resolve().parent)
    main()
