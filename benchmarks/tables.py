# SPDX-License-Identifier: Apache-2.0
"""The results as tables in Markdown, one for each kind of work."""
import os
import statistics

from report import duration, fastest, groups, is_met, misses_share, most, most_share, named, verdict
from rounds import APART, ONE_CORE

BEGIN, END = "<!-- results: bench.py writes from here on -->", "<!-- results end -->"
VERDICTS = ("met", "limit", "missed")
WORTH_TELLING = 1.1  # times another ratio


SPACE = "\u00a0"  # at which no line breaks


def short(seconds):
    return duration(seconds).replace("us", "µs").replace(" ", SPACE)


def slug(heading):
    return "".join(c for c in heading.lower() if c.isalnum() or c in " -").replace(" ", "-")


def table(heads, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)]


def counts(rows):
    found = [verdict(row) for row in rows]
    return [found.count(kind) for kind in VERDICTS]


def distance(made):
    """How far the cores were from each other, which on a virtual machine may change meanwhile."""
    rows = [row for row in made["rows"] if "round_trip" in row]
    if not rows:
        return []
    trips = [row["round_trip"]["median"] for row in rows]
    out = (f"A line of memory went to the other core and back in {short(min(trips))} to {short(max(trips))}, "
           "the median of a row's rounds.")
    if left_out := sum(row.get("rounds_left_out", 0) for row in rows):
        told = "[do not count](#cores-apart)" if apart(made) else "do not count"
        out += (f" {left_out} of {left_out + sum(row['rounds'] for row in rows)} rounds in which it took "
                f"more than {short(APART)}, as between two chips, or less than {short(ONE_CORE)}, as between two "
                f"threads of one core, {told}.")
    if always := sum(trip > APART for trip in trips):
        out += f" In {always} rows it took more than {short(APART)} in most of the rounds that count."
    return ["", out]


def apart(made):
    """What the ratios were while the cores were apart, where that makes a difference."""
    rows = []
    for row in made["rows"]:
        name = fastest(row)
        if not name or "ours" not in row.get("apart", {}):
            continue
        ratio, other = row["peers"][name]["ratio"], row["apart"][name] / row["apart"]["ours"]
        if max(ratio / other, other / ratio) > WORTH_TELLING:
            rows.append([workload(row), short(row["apart"]["ours"]),
                         f"{named(name)}, {short(row['apart'][name])}", f"{other:.2f}", f"{ratio:.2f}"])
    heads = ["workload", "ours", "fastest peer", "ratio", "that counts"]
    return ["", "### Cores apart", "", *table(heads, rows)] if rows else []


def summary(made):
    met, limit, missed = counts(made["rows"])
    out = [f"Of {len(made['rows'])} workloads, measured on {made['date'][:10]} with {made['threads']} "
           f"threads, {met} meet their target, {limit} miss it as a run at the machine's limit would, "
           f"and {missed} miss it.", *distance(made), ""]
    rows = []
    for heading, measured in groups(made):
        ratios = [row["peers"][name]["ratio"] for row in measured if (name := fastest(row))]
        ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
        rows.append([f"[{heading}](#{slug(heading)})", str(len(measured)), ratio,
                     *map(str, counts(measured))])
    return out + table(["kind of work", "workloads", "median ratio", "met", "at the limit", "missed"],
                       rows)


def target(row, name, peer):
    """One target, and the peer that it counts against where that is not the fastest."""
    text = f"{peer['target']:g}{SPACE}{'✓' if is_met(peer) else '✗'}"
    if highest := most(row, peer):
        text += f" at most {highest:.2g}" if "✗" in text else ""
    return text if name == fastest(row) else f"{text} ({named(name)})"


def times(peer):
    return f"{peer['ratio']:.2f}" if peer["agrees"] else "differs"


def workload(row):
    return row["workload"].replace(" × ", f"{SPACE}×{SPACE}")


def cells(row):
    name, share = fastest(row), ""
    if "limit" in row:
        share = f"{100 * row['share']:.0f}{SPACE}%{SPACE + '✗' if misses_share(row) else ''}"
        if highest := most_share(row):
            share += f" at most {100 * highest:.0f}{SPACE}%"
    wanted = [target(row, other, peer) for other, peer in row["peers"].items()
              if peer["target"] is not None]
    others = [f"{named(other)}{SPACE}{times(peer)}" for other, peer in row["peers"].items() if other != name]
    beside, ratio = "", ""
    if name:
        peer = row["peers"][name]
        beside, ratio = f"{named(name)}, {short(peer['median'])}", times(peer)
    return [workload(row), short(row["ours"]["median"]), beside,
            ratio, "; ".join(wanted), share, ", ".join(others)]


HEADS = ["workload", "ours", "fastest peer", "ratio", "target", "of the limit", "other ratios"]


def kind(rows):
    """A table without the columns in which there is nothing."""
    columns = list(zip(HEADS, *map(cells, rows)))
    columns = [column for column in columns if any(column[1:])]
    return table([column[0] for column in columns], zip(*[column[1:] for column in columns]))


def markdown(made, picture):
    out = summary(made)
    if picture:
        out += ["", f"![How many times as fast as the fastest peer]({picture})"]
    for heading, rows in groups(made):
        out += ["", f"### {heading}", "", *kind(rows)]
    out += apart(made)
    return "\n".join(out) + "\n"


def page(made, file, picture=None):
    """The text of the file: with new tables between its marks, or of tables alone if it has none."""
    before = after = ""
    if file.exists() and BEGIN in (there := file.read_text(encoding="utf-8")):
        before, rest = there.split(BEGIN, 1)
        before, after = before + BEGIN + "\n\n", "\n" + END + rest.split(END, 1)[1]
    return before + markdown(made, picture and os.path.relpath(picture, file.parent)) + after
