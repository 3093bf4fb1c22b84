# SPDX-License-Identifier: Apache-2.0
"""The results as lines of text, and what tables and pictures say about a row."""
from rows import GROUPS

FIRST = 48  # characters of the table's first column

NAMES = {"libtorch": "PyTorch (C++)", "unfused": "ours, unfused", "matmul": "our matmul",
         "libtorch program": "PyTorch (C++)"}
OURS = ("unfused", "matmul")  # peers that are other rows of ours


def named(peer):
    return NAMES.get(peer, peer)


def heading(made):
    peers = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    return (f"{made['cpu']}, {made['threads']} threads, load {made['load']:.1f}; "
            f"{peers or 'no peers'}\n"
            "Median times; their time over ours, with the middle half of the rounds' ratios; the\n"
            "physical limit and the share of it that we reach, from the best round of each.\n"
            f"{'workload':{FIRST}}{'peer':>17}{'ours':>9}{'theirs':>9}{'ratio':>7}{'':>14}{'target':>8}"
            f"{'limit':>9}{'share':>7}")


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


NOISE = 0.03  # of a limit, from one measurement to the next


def most(row, peer):
    """The ratio that a run at the machine's limit would have, where that misses the target. What was
    measured is no limit if we were faster."""
    if peer["target"] is None or "limit" not in row or row["share"] > 1 + NOISE:
        return None
    ratio = max(peer["best"] / min(row["limit"]["best"], row["ours"]["best"]), peer["ratio"])
    return ratio if ratio < peer["target"] else None


def misses_share(row):
    wanted = row["target_share"]
    return wanted is not None and "share" in row and row["share"] < wanted


def most_share(row):
    """The share of the peak that multiply-adds have when their operands are loaded, as a product's must
    be, where that misses the target."""
    share = row.get("loading_share", 1)
    return share if misses_share(row) and share < row["target_share"] else None


def targets(row):
    """The peers that a target counts against."""
    return [peer for peer in row["peers"].values() if peer["target"] is not None]


def is_met(peer):
    return peer["agrees"] and peer["ratio"] >= peer["target"]


def verdict(row):
    """met; missed; limit: missed, as a run at the machine's limit would have; free: no target."""
    missed = [peer for peer in targets(row) if not is_met(peer)]
    if missed or misses_share(row):
        beyond = (all(most(row, peer) for peer in missed)
                  and (not misses_share(row) or most_share(row) is not None))
        return "limit" if beyond else "missed"
    return "met" if targets(row) or row["target_share"] is not None else "free"


def fastest(row):
    """The name of the fastest peer whose results agree; of ours only where there is no other."""
    there = {name: peer for name, peer in row["peers"].items() if peer["agrees"]}
    others = {name: peer for name, peer in there.items() if name not in OURS} or there
    return min(others, key=lambda name: others[name]["median"], default=None)


def groups(made):
    """(heading, rows) of the kinds of work that were measured."""
    left = {row["name"]: row for row in made["rows"]}
    found = [(heading, [left.pop(row.name) for row in rows if row.name in left])
             for heading, rows in GROUPS.items()]
    return [(heading, rows) for heading, rows in (*found, ("Others", list(left.values()))) if rows]


def lines(row):
    made = []
    limit, share = "", ""
    if "limit" in row:
        limit = duration(row["limit"]["best"])
        share = f"{100 * row['share']:.0f} %"
        if misses_share(row):
            share += "!"
    start = f"{row['workload']:{FIRST}}"
    ours = f"{duration(row['ours']['median']):>9}"
    for name, peer in row["peers"].items():
        span = f"({peer['ratios']['low']:.3g}-{peer['ratios']['high']:.3g})"
        ratio = f"{peer['ratio']:7.2f}" if peer["agrees"] else "differs"
        target = ""
        if peer["target"] is not None:
            target = f"{peer['target']:g}{'  ' if is_met(peer) else ' !'}"
        made.append(f"{start}{name:>17}{ours}{duration(peer['median']):>9}{ratio}{span:>14}"
                    f"{target:>8}{limit:>9}{share:>7}")
        start, limit, share = " " * FIRST, "", ""
    return "\n".join(made or [f"{start}{'':>17}{ours}{'':38}{limit:>9}{share:>7}"])
