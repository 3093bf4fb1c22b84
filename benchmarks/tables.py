# SPDX-License-Identifier: Apache-2.0
"""The results as tables in Markdown, one for each kind of work."""
import os
import statistics

from report import duration, fastest, groups, is_met, misses_share, most, most_share, named, verdict

BEGIN, END = "<!-- results: bench.py writes from here on -->", "<!-- results end -->"
VERDICTS = ("met", "limit", "missed")


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
    """How far the cores are from each other, which on a virtual machine may change meanwhile."""
    trips = [row["round_trip"]["best"] for row in made["rows"] if "round_trip" in row]
    if not trips:
        return []
    far = sum(trip > 2 * min(trips) for trip in trips)
    return ["", f"A line of memory went to the other core and back in {short(min(trips))} to "
            f"{short(max(trips))}, the shortest of a row's rounds; in {far} of {len(trips)} rows it took "
            "twice the shortest time and more."]


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
    return [row["workload"].replace(" × ", f"{SPACE}×{SPACE}"), short(row["ours"]["median"]), beside,
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
    return "\n".join(out) + "\n"


def page(made, file, picture=None):
    """The text of the file: with new tables between its marks, or of tables alone if it has none."""
    before = after = ""
    if file.exists() and BEGIN in (there := file.read_text(encoding="utf-8")):
        before, rest = there.split(BEGIN, 1)
        before, after = before + BEGIN + "\n\n", "\n" + END + rest.split(END, 1)[1]
    return before + markdown(made, picture and os.path.relpath(picture, file.parent)) + after
