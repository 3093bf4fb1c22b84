# SPDX-License-Identifier: Apache-2.0
"""Runs each C example briefly and looks at what it prints and writes: check.py FOLDER"""
import gzip
import html.parser
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile


def run(program, *arguments, expect=0):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, f"{program.name} {arguments}: {done.returncode}\n{done.stderr}"
    return done.stdout, done.stderr


class Page(html.parser.HTMLParser):
    """Every opened element is closed, and nothing is fetched from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        assert not [tag for tag in self.open if tag != "html"], self.open

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        for name, value in attributes:
            assert name not in ("src", "href") or value.startswith("data:image/png"), value
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


def write_idx(path, dims, values):
    with gzip.open(path, "wb") as file:
        file.write(bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims))
        file.write(bytes(values))


def check(program, scratch, *arguments):
    text, _ = run(program, "--help")
    for option in "--seed", "--device", "--threads", "--out", "--help":
        assert option in text, option
    _, error = run(program, "--no-such-option", expect=2)
    assert "--help" in error
    run(program, *arguments, "--device", "abacus", expect=1)

    weights = []
    for seed in 1, 1, 2:
        out = scratch / program.name
        text, progress = run(program, *arguments, "--seed", seed, "--out", out)
        assert "reloaded, the same" in text and re.search(r"held out: .*\d", text), text
        assert len(progress.splitlines()) <= 11, "progress is too long where nobody watches"
        page = Page(out.with_suffix(".html").read_text())
        assert {"svg", "path", "h1"} <= page.seen
        weights.append(out.with_suffix(".safetensors").read_bytes())
    assert weights[0] == weights[1], "the same seed gives other weights"
    assert weights[0] != weights[2], "another seed gives the same weights"


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        images, labels, text = (scratch / name for name in ("images.gz", "labels.gz", "text.gz"))
        write_idx(images, [100, 28, 28], draw.choices(range(256), k=100 * 28 * 28))
        write_idx(labels, [100], draw.choices(range(10), k=100))
        with gzip.open(text, "wt") as file:
            file.write("".join(draw.choices("to be or not,\n", k=3000)))
        mnist = ["--images", images, "--labels", labels, "--epochs", 2, "--batch", 30]
        tiny = ["--blocks", 1, "--width", 16, "--heads", 2, "--context", 8, "--length", 20]

        check(folder / "points", scratch, "--dataset", "Xor", "--epochs", 12)
        check(folder / "points", scratch, "--dataset", "spiral", "--epochs", 5, "--points", 23)
        check(folder / "digits", scratch, "--network", "mlp", "--epochs", 2)
        check(folder / "digits", scratch, "--network", "conv", "--epochs", 1)
        check(folder / "mnist", scratch, "--network", "mlp", *mnist)
        check(folder / "mnist", scratch, "--network", "lenet", *mnist)
        check(folder / "gpt", scratch, "--text", text, "--steps", 12, "--every", 5, *tiny)

        run(folder / "points", "--dataset", "square", expect=2)
        run(folder / "digits", "--data", scratch / "none", expect=1)
        labels.write_bytes(labels.read_bytes()[:40])
        _, error = run(folder / "mnist", *mnist, expect=1)
        assert "labels" in error, error


if __name__ == "__main__":
    main()
