# SPDX-License-Identifier: Apache-2.0
"""What the Python examples share: options, data, a progress line, the history of a training,
pictures. matplotlib draws them and tqdm shows progress, where they are installed."""
import argparse
import gzip
import pathlib
import sys
import time

import numpy as np

import mtorch as mt

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


def parse(summary, name, **own):
    """The command line: options that all examples share, and each example's own, given as
    name=(default, help). Sets device, threads and seed; `out` names the files to write."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result [0]")
    parser.add_argument("--device", default="cpu", help="cpu, cpu:reference, cuda:0 [cpu]")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as the machine has [0]")
    parser.add_argument("--out", help="name of the files to write, without extension")
    for option, (default, text) in own.items():
        kind = str if default is None else type(default)
        shown = "" if default is None else f" [{default}]"
        parser.add_argument(f"--{option}", type=kind, default=default, help=text + shown)
    options = parser.parse_args()
    options.refuse = parser.error
    for option, (default, _) in own.items():
        if isinstance(default, int) and getattr(options, option) < 1:
            parser.error(f"--{option}: cannot use '{getattr(options, option)}' (1 or more)")
    for option, most in ("seed", 2**64 - 1), ("threads", 2**31 - 1):
        if not 0 <= getattr(options, option) <= most:
            parser.error(f"--{option}: cannot use '{getattr(options, option)}' (0 to {most})")
    options.out = options.out or name(options)
    mt.set_default_device(options.device)
    if options.threads:
        mt.set_threads(options.threads)
    mt.seed(options.seed)
    return options


# ------------------------------------------------------------------------------------- Data

def random_uniform(seed):
    """SplitMix64 as doubles in [0, 1): the same numbers in every language's examples."""
    mask, state = 2**64 - 1, seed & (2**64 - 1)
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        yield ((z ^ z >> 31) >> 11) * 2.0**-53


INSIDE = {
    "simple": lambda x, y: x < 0.5,
    "diag": lambda x, y: x + y < 0.5,
    "split": lambda x, y: (x < 0.2) | (x > 0.8),
    "xor": lambda x, y: (x < 0.5) & (y > 0.5) | (x > 0.5) & (y < 0.5),
    "circle": lambda x, y: (x - 0.5) ** 2 + (y - 0.5) ** 2 > 0.1,
}


def points(name, count, seed):
    """Points in the plane [count, 2] and their labels [count, 1], 0 or 1: the six sets of the
    MiniTorch course. Spiral is the same for every seed."""
    if name == "spiral":
        half = count // 2
        i = np.arange(count)
        second = i >= half
        t = 10.0 * (np.where(second, i - half, i) + 5) / (half or 1)
        a, b = t * np.cos(t) / 20, t * np.sin(t) / 20
        x = np.stack([np.where(second, b, a), np.where(second, -a, b)], 1) + 0.5
        labels = second
    else:
        numbers = random_uniform(seed)
        x = np.array([next(numbers) for _ in range(2 * count)]).reshape(count, 2)
        labels = INSIDE[name](x[:, 0], x[:, 1])
    return mt.asarray(x.astype(np.float32)), mt.asarray(labels.astype(np.float32)[:, None])


def digits(path):
    """8 x 8 digits as (images [n, 1, 8, 8], labels): those to train on, and every fifth, held
    out."""
    try:
        table = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
    except ValueError as error:
        raise OSError(f"{path}: no digits: {error}") from error
    if table.shape[1] != 65:
        raise OSError(f"{path}: {table.shape[1]} numbers a line, not 64 pixels and a class")
    held = np.arange(len(table)) % 5 == 4
    return [(mt.asarray(table[rows, :64].reshape(-1, 1, 8, 8) / 16),
             mt.asarray(table[rows, 64].astype(np.int64))) for rows in (~held, held)]


def read_text(path):
    """The symbols of a text, plain or gzip, as numbers; and the bytes that they stand for."""
    data = pathlib.Path(path).read_bytes()
    data = np.frombuffer(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, np.uint8)
    alphabet, symbols = np.unique(data, return_inverse=True)
    return symbols.astype(np.int64), bytes(alphabet)


# --------------------------------------------------------------------------------- Progress

class Progress:
    """A line that says how far a training is: by tqdm where it is installed."""

    def __init__(self, unit, total):
        self.unit, self.total, self.start, self.tenth = unit, total, time.monotonic(), -1
        self.bar = tqdm(total=total, unit=unit) if tqdm and sys.stderr.isatty() else None

    def show(self, done, text):
        if self.bar:
            self.bar.set_postfix_str(text)
            self.bar.update(done - self.bar.n)
            return
        tenth = 10 * done // self.total
        if tenth != self.tenth:
            self.tenth = tenth
            each = (time.monotonic() - self.start) / done
            left = each * (self.total - done)
            print(f"{self.unit} {done}/{self.total}  {text}  {1e3 * each:.1f} ms/{self.unit}  "
                  f"{int(left) // 60}:{int(left) % 60:02} left", file=sys.stderr)

    def end(self):
        if self.bar:
            self.bar.close()


class History:
    """Loss and accuracy (%) of each epoch, of what is trained on and what is held out."""

    def __init__(self):
        self.trained_on, self.held_out, self.seconds = [], [], 0.0

    def report(self):
        for name, scores in ("trained on:", self.trained_on), ("held out:", self.held_out):
            best = max(range(len(scores)), key=lambda i: scores[i][1])
            print(f"{name:11} {scores[-1][1]:6.2f} % right, at best {scores[best][1]:6.2f} % "
                  f"(epoch {best + 1})")
        print(f"training:    {1e3 * self.seconds / len(self.held_out):.3g} ms an epoch")


def report_weights(path, same):
    print(f"weights:     {path}, {'reloaded, the same' if same else 'NOT THE SAME'}")
    return 0 if same else 1


# --------------------------------------------------------------------------------- Pictures

def picture(path, title, *panels):
    """Draws panels, functions of matplotlib axes, one below the other into an SVG file, so that it
    can be read at the width of a phone."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("picture:     none: matplotlib is not installed (pip install matplotlib)")
        return
    figure = Figure(figsize=(5, 4 * len(panels)), layout="constrained")
    figure.suptitle(title)
    for axes, draw in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels):
        draw(axes)
    figure.savefig(path)
    print(f"picture:     {path}")


def curves(xs, series, xlabel, ylabel, log=False):
    """A panel of lines: series are (name, values)."""
    def draw(axes):
        for name, values in series:
            axes.plot(xs, values, label=name)
        axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
        axes.grid(alpha=0.3)
        axes.legend()
    return draw


def history_curves(history):
    """Panels of loss and accuracy."""
    epochs = range(1, len(history.held_out) + 1)
    both = ("trained on", history.trained_on), ("held out", history.held_out)
    return [curves(epochs, [(name, [score[i] for score in scores]) for name, scores in both],
                   "epoch", label, log)
            for i, label, log in ((0, "cross-entropy (nats)", True), (1, "accuracy (%)", False))]


def confusion(labels, predicted, classes=10):
    """A panel that counts images by class and by what they are taken for."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, predicted), 1)

    def draw(axes):
        axes.imshow(np.log1p(counts), cmap="Blues")
        for (i, j), count in np.ndenumerate(counts):
            if count:
                axes.text(j, i, count, ha="center", va="center", fontsize=6,
                          color="white" if count > counts.max() / 4 else "black")
        axes.set(xlabel="taken for", ylabel="class", xticks=range(classes), yticks=range(classes))
    return draw
