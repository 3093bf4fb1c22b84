# SPDX-License-Identifier: Apache-2.0
"""The results as a table and as a picture."""
import math
from xml.sax.saxutils import escape

WIDTH = 400
FIRST = 48  # characters of the table's first column


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


def verdict(value, target):
    return "" if target is None else f"{target:g}{'  ' if value >= target else ' !'}"


def most(row, peer):
    """The ratio that a run at the machine's limit would have, where that misses the target. Arrays
    that stay in the caches have another limit than the one that was measured."""
    if peer["target"] is None or "limit" not in row or row["share"] > 1:
        return None
    ratio = peer["best"] / row["limit"]["best"]
    return ratio if ratio < peer["target"] else None


def lines(row):
    made = []
    limit, share = "", ""
    if "limit" in row:
        limit = duration(row["limit"]["best"])
        share = f"{100 * row['share']:.0f} %"
        if row["target_share"] is not None and row["share"] < row["target_share"]:
            share += "!"
    start = f"{row['workload']:{FIRST}}"
    ours = f"{duration(row['ours']['median']):>9}"
    for name, peer in row["peers"].items():
        span = f"({peer['ratios']['low']:.3g}-{peer['ratios']['high']:.3g})"
        ratio = f"{peer['ratio']:7.2f}" if peer["agrees"] else "differs"
        target = verdict(peer["ratio"], peer["target"])
        made.append(f"{start}{name:>17}{ours}{duration(peer['median']):>9}{ratio}{span:>14}"
                    f"{target:>8}{limit:>9}{share:>7}")
        start, limit, share = " " * FIRST, "", ""
    return "\n".join(made or [f"{start}{'':>17}{ours}{'':38}{limit:>9}{share:>7}"])


NAMES = {"libtorch": "PyTorch, C++", "PyTorch": "PyTorch, Python", "unfused": "ours, unfused",
         "matmul": "our matmul", "libtorch program": "a program of libtorch"}

def markdown(made):
    """The table of docs/performance.md."""
    out = ["| workload | peer | ours | theirs | ratio | target | share of the limit |",
           "|---|---|---|---|---|---|---|"]
    for row in made["rows"]:
        share = ""
        if "limit" in row:
            missed = row["target_share"] is not None and row["share"] < row["target_share"]
            share = f"{100 * row['share']:.0f} %{' ✗' if missed else ''}"
        start, ours = row["workload"], duration(row["ours"]["median"])
        for name, peer in row["peers"].items():
            ratio = f"{peer['ratio']:.2f}" if peer["agrees"] else "differs"
            target = verdict(peer["ratio"], peer["target"]).replace("!", "✗").strip()
            if (highest := most(row, peer)) and "✗" in target:
                target += f" at most {highest:.2g}"
            out.append(f"| {start} | {NAMES.get(name, name)} | {ours} | {duration(peer['median'])} "
                       f"| {ratio} | {target} | {share} |")
            start = ours = share = ""
        if start:
            out.append(f"| {start} |  | {ours} |  |  |  | {share} |")
    return "\n".join(out).replace(" us ", " µs ") + "\n"


STYLE = """
svg { font: 11px system-ui, sans-serif; }
.page { fill: #ffffff; }
text { fill: #1f2328; stroke: #ffffff; stroke-width: 3; paint-order: stroke; } .quiet { fill: #59636e; }
.grid { stroke: #d8dee4; } .one { stroke: #59636e; }
.met { fill: #2f7d4f; } .missed { fill: #c2571a; } .free { fill: #4a76b8; }
.target { stroke: #1f2328; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } text { fill: #e6edf3; stroke: #0d1117; } .quiet { fill: #9198a1; }
  .grid { stroke: #30363d; } .one { stroke: #9198a1; }
  .met { fill: #46a56c; } .missed { fill: #e07b39; } .free { fill: #6b98dc; }
  .target { stroke: #e6edf3; }
}
"""


def chart(made):
    """Bars of the ratios on a logarithmic axis, the targets as ticks across them."""
    bars = []
    for row in made["rows"]:
        for name, peer in row["peers"].items():
            if peer["agrees"]:
                bars.append((row["workload"], name, peer["ratio"], peer["target"]))
    ratios = [r for *_, r, _ in bars] + [t for *_, t in bars if t] + [1]
    low, high = math.log10(min(ratios + [0.5])), math.log10(max(ratios) * 1.9)
    left, right, top, pitch = 12, WIDTH - 8, 66, 31

    def x(ratio):
        return left + (math.log10(ratio) - low) / (high - low) * (right - left)

    height = top + pitch * len(bars) + 22
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
           f'aria-label="How many times as fast as each peer">',
           f"<style>{STYLE}</style>",
           f'<rect class="page" width="{WIDTH}" height="{height}"/>',
           '<text x="8" y="18" font-size="14" font-weight="600">'
           'Times as fast as the peer</text>',
           f'<text x="8" y="34" class="quiet">{escape(made["cpu"])}, {made["threads"]} threads, '
           f'{made["date"][:10]}</text>',
           '<text x="8" y="50" class="quiet">'
           '<tspan class="met">■</tspan> target met  <tspan class="missed">■</tspan> missed  '
           '<tspan class="free">■</tspan> no target  ▏target; logarithmic</text>']
    for ratio in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if low <= math.log10(ratio) <= high:
            kind = "one" if ratio == 1 else "grid"
            out.append(f'<line class="{kind}" x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" '
                       f'y1="{top - 4}" y2="{height - 20}"/>'
                       f'<text class="quiet" x="{x(ratio):.1f}" y="{height - 6}" '
                       f'text-anchor="middle">{ratio:g}</text>')
    for i, (workload, peer, ratio, target) in enumerate(bars):
        y = top + pitch * i
        kind = "free" if target is None else "met" if ratio >= target else "missed"
        begin, end = sorted((x(1), x(ratio)))
        out.append(f'<text x="{left}" y="{y + 9}">{escape(workload)} '
                   f'<tspan class="quiet">{escape(NAMES.get(peer, peer))}</tspan></text>'
                   f'<rect class="{kind}" x="{begin:.1f}" y="{y + 13}" '
                   f'width="{max(end - begin, 1):.1f}" height="9"/>')
        beside = end + 4
        if target is not None:
            out.append(f'<line class="target" x1="{x(target):.1f}" x2="{x(target):.1f}" '
                       f'y1="{y + 11}" y2="{y + 24}"/>')
            if -4 < x(target) - end < 34:
                beside = x(target) + 4
        out.append(f'<text x="{beside:.1f}" y="{y + 21}">{ratio:.3g}</text>')
    return "\n".join(out + ["</svg>\n"])
