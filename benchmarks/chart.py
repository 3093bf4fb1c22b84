# SPDX-License-Identifier: Apache-2.0
"""The results as a picture: a line for each workload, by kind of work, on a logarithmic axis."""
import math
from xml.sax.saxutils import escape

from report import fastest, groups, named, targets, verdict

WIDTH, PITCH = 880, 14.5
LEFT, RIGHT = 308, 726       # of the axis; labels stand before, figures behind
FIRST = 94                   # where the first group begins
LOW, HIGH = 0.5, 64          # of the axis, unless ratios lie beyond
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

STYLE = """
svg { font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.page { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; }
.title { font-size: 18px; font-weight: 700; } .group { font-size: 13px; font-weight: 700; }
.small { font-size: 10px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.strong { font-weight: 600; }
.grid { stroke: #e4e8ec; } .one { stroke: #6e7781; stroke-width: 1.25; } .rule { stroke: #c9d1d9; }
.met { fill: #26804f; } .missed { fill: #c8571f; } .limit { fill: #6179ad; } .free { fill: #8c959f; }
.dot { fill: #ffffff; stroke: #59636e; } .target { stroke: #1f2328; stroke-width: 2; }
.halo { stroke: #ffffff; stroke-width: 4; } .counted { stroke: #ffffff; }
@media (prefers-color-scheme: dark) {
  .page { fill: #14171a; } text { fill: #e6edf3; } .quiet { fill: #9aa4ae; }
  .grid { stroke: #262c32; } .one { stroke: #8b949e; } .rule { stroke: #3b434b; }
  .met { fill: #3fa46b; } .missed { fill: #e27c43; } .limit { fill: #7f98cc; } .free { fill: #7d8590; }
  .dot { fill: #14171a; stroke: #9aa4ae; } .target { stroke: #ffffff; }
  .halo, .counted { stroke: #14171a; }
}
"""
MEANING = {"met": "meet the target", "limit": "miss it, as a run at the machine's limit would",
           "missed": "miss it", "free": "have none"}


def text(x, y, content, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{content}</text>'


class Chart:
    def __init__(self, made):
        self.made, self.groups = made, groups(made)
        ratios = [peer["ratio"] for row in made["rows"] for peer in row["peers"].values()]
        wanted = [peer["target"] for row in made["rows"] for peer in targets(row)]
        self.low = math.log(min([LOW, *ratios]) * 0.95)
        self.high = math.log(max([HIGH, *ratios, *wanted]) * 1.05)
        self.out = []

    def x(self, ratio):
        return LEFT + (math.log(ratio) - self.low) / (self.high - self.low) * (RIGHT - LEFT)

    def line(self, kind, x, begin, end):
        self.out.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{begin:.1f}" '
                        f'y2="{end:.1f}"/>')

    def target(self, x, y):
        for kind in ("halo", "target"):
            self.line(kind, x, y - 6, y + 6)

    def dot(self, kind, x, y, radius):
        self.out.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')

    def head(self):
        made, found = self.made, [verdict(row) for row in self.made["rows"]]
        self.out.append(text(10, 26, "How many times as fast as the fastest peer", "title"))
        self.out.append(text(10, 44, escape(f"{made['cpu']}, {made['threads']} threads, "
                                            f"{made['date'][:10]}"), "quiet"))
        x = 10
        for kind, meaning in MEANING.items():
            if count := found.count(kind):
                self.out.append(f'<rect class="{kind}" x="{x}" y="55" width="10" height="10"/>')
                x = self.legend(x + 15, 64, f"{count} {meaning}")
        self.target(13, 77)
        x = self.legend(22, 81, "target")
        self.dot("dot", x + 3, 77, 2.5)
        x = self.legend(x + 12, 81, "other peers")
        self.dot("met counted", x + 4, 77, 4)
        self.legend(x + 14, 81, "the peer that the target counts against, where it is not the fastest")

    def legend(self, x, y, meaning):
        """Returns where the next one begins."""
        self.out.append(text(x, y, escape(meaning), "quiet"))
        return x + 6 * len(meaning) + 16

    def group(self, heading, rows, top):
        """Returns where the next one begins."""
        bottom = top + 24 + PITCH * len(rows)
        for ratio in TICKS:
            if self.low <= math.log(ratio) <= self.high:
                self.line("one" if ratio == 1 else "grid", self.x(ratio), top + 20, bottom)
                self.out.append(text(self.x(ratio), top + 14, f"{ratio:g}", "small quiet middle"))
        self.out.append(text(10, top + 14, escape(heading), "group"))
        self.out.append(f'<line class="rule" x1="10" x2="{WIDTH - 10}" y1="{top + 20}" y2="{top + 20}"/>')
        for i, row in enumerate(rows):
            self.row(row, top + 24 + PITCH * i + PITCH / 2)
        return bottom + 10

    def row(self, row, y):
        kind, name = verdict(row), fastest(row)
        self.out.append(text(10, y + 4, escape(row["workload"])))
        if name is None:
            return
        best = row["peers"][name]["ratio"]
        begin, end = sorted((self.x(1), self.x(best)))
        self.out.append(f'<rect class="{kind}" x="{begin:.1f}" y="{y - 4.5:.1f}" '
                        f'width="{max(end - begin, 1.5):.1f}" height="9"/>')
        for peer in targets(row):
            self.target(self.x(peer["target"]), y)
        for other, peer in row["peers"].items():
            if other != name and peer["agrees"]:
                counts = peer["target"] is not None
                self.dot(f"{kind} counted" if counts else "dot", self.x(peer["ratio"]), y,
                         4 if counts else 2.5)
        self.out.append(text(RIGHT + 44, y + 4, f"{best:.2f}" if best < 10 else f"{best:.1f}",
                             f"end strong {kind}"))
        self.out.append(text(RIGHT + 52, y + 4, escape(named(name)), "quiet"))

    def svg(self):
        self.head()
        top = FIRST
        for heading, rows in self.groups:
            top = self.group(heading, rows, top)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" role="img" '
            f'aria-label="How many times as fast as the fastest peer, workload by workload">',
            f"<style>{STYLE}</style>", f'<rect class="page" width="{WIDTH}" height="{top:.0f}"/>',
            *self.out, "</svg>\n"])


def chart(made):
    return Chart(made).svg()
