# SPDX-License-Identifier: Apache-2.0
"""Small pictures of real tensors and tapes, as SVG, for the pages' `picture` blocks: where a tensor's
elements lie in memory, how shapes are broadcast, a tape with its values and gradients."""
import html

import numpy as np

CELL, GAP = 34, 14


class Svg:
    """Shapes in the page's colours; as large as what is drawn."""

    def __init__(self):
        self.parts, self.width, self.height = [], 0, 0

    def reach(self, x, y):
        self.width, self.height = max(self.width, x), max(self.height, y)

    def text(self, x, y, text, size=13, anchor="middle", quiet=False):
        style = ' opacity=".65"' if quiet else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
                          f' fill="currentColor"{style}>{html.escape(str(text))}</text>')
        width = len(str(text)) * size * .58
        self.reach(x + {"start": width, "middle": width / 2, "end": 0}[anchor], y + size * .4)

    def cell(self, x, y, text, hue, ghost=False):
        """A box with a value; `hue` from 0 to 1 colours it, a ghost is not in memory."""
        fill = f"hsl({hue * 300:.0f} 60% 50% / {'.1' if ghost else '.3'})"
        dash = ' stroke-dasharray="3 3" opacity=".7"' if ghost else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" rx="4"'
                          f' fill="{fill}" stroke="currentColor" stroke-opacity=".45"{dash}/>')
        self.text(x + CELL / 2, y + CELL / 2 + 5, text)
        self.reach(x + CELL, y + CELL)

    def __str__(self):
        width, height = self.width + 4, self.height + 4
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {width:g} {height:g}"'
                f' width="{width:g}" height="{height:g}" font-family="ui-monospace, monospace"'
                f' role="img">{"".join(self.parts)}</svg>')


def _number(value):
    return f"{value:g}"


def _memory(x):
    """A tensor's memory as NumPy sees it, without a copy: values, strides in elements."""
    array = np.from_dlpack(x)
    return array, tuple(stride // array.itemsize for stride in array.strides)


def _grid(svg, array, left, top, hues, ghosts=None):
    """Draws up to three dimensions: the leading one as sheets side by side."""
    sheets = array.reshape((-1, *array.shape[-2:])) if array.ndim > 1 else array.reshape(1, 1, -1)
    hues = np.asarray(hues).reshape(sheets.shape)
    for s, sheet in enumerate(sheets):
        x0 = left + s * (sheet.shape[1] * CELL + GAP)
        for (i, j), value in np.ndenumerate(sheet):
            ghost = ghosts is not None and np.asarray(ghosts).reshape(sheets.shape)[s, i, j]
            svg.cell(x0 + j * CELL, top + i * CELL, _number(value), hues[s, i, j], ghost)
    return (left + len(sheets) * (sheets.shape[2] * CELL + GAP) - GAP, top + sheets.shape[1] * CELL)


def strides(*views):
    """Views of one memory: the memory in a row, and each view with the place that it reads for
    every element. Elements have the colour of their place."""
    found = [_memory(view) for view in views]
    starts = [array.__array_interface__["data"][0] for array, _ in found]
    first, size = min(starts), found[0][0].itemsize
    places = []
    for (array, steps), start in zip(found, starts):
        index = np.indices(array.shape).reshape(array.ndim, -1).T
        places.append(((start - first) // size + index @ np.array(steps, int)).reshape(array.shape))
    count = 1 + max(int(place.max()) for place in places)
    held = {int(p): v for place, (array, _) in zip(places, found)
            for p, v in zip(place.ravel(), array.ravel())}
    svg = Svg()
    svg.text(0, 13, "memory", anchor="start", quiet=True)
    for place in range(count):
        svg.cell(place * CELL, 22, _number(held[place]) if place in held else "·", place / count)
        svg.text(place * CELL + CELL / 2, 22 + CELL + 14, place, size=11, quiet=True)
    left = 0
    for (array, steps), place in zip(found, places):
        shape = f"shape {list(array.shape)}"
        svg.text(left, 106, shape, size=12, anchor="start", quiet=True)
        svg.text(left, 122, f"strides {list(steps)}", size=12, anchor="start", quiet=True)
        right, _ = _grid(svg, array, left, 132, place / count)
        left = max(right, left + 8 * len(shape)) + 2 * GAP
    return str(svg)


def broadcast(a, b, name, result):
    """Two operands as they are stretched to the result's shape, and the result. What is dashed is
    not in memory: its stride is 0."""
    svg, left = Svg(), 0
    shape = tuple(result.shape)
    for operand, sign in ((a, name), (b, "=")):
        array, _ = _memory(operand)
        places = np.arange(array.size).reshape(array.shape)
        wide, ghost = np.broadcast_to(array, shape), np.ones(shape, bool)
        own = tuple(slice(0, n) for n in (1,) * (len(shape) - array.ndim) + array.shape)
        ghost[own] = False
        svg.text(left, 13, f"{list(array.shape)}", size=12, anchor="start", quiet=True)
        right, bottom = _grid(svg, wide, left, 22, np.broadcast_to(places, shape) / array.size, ghost)
        svg.text(right + GAP + 3, (22 + bottom) / 2 + 5, sign, size=16)
        left = right + 2 * GAP + 6
    array, _ = _memory(result)
    svg.text(left, 13, f"{list(array.shape)}", size=12, anchor="start", quiet=True)
    _grid(svg, array, left, 22, np.full(shape, .5))
    return str(svg)


def scalar_tape(tape, output, names):
    """A tape of scalars for Graphviz: each node with its value and its gradient, as MiniTorch's
    scalar sandbox draws it. `names` gives inputs their names: a dictionary of tensors."""
    nodes = list(tape)
    found = {tape.find(tensor).index: name for name, tensor in names.items()}
    slopes = tape.gradient(output, [node.tensor for node in nodes])
    lines = ["digraph tape {", "rankdir=LR;",
             'node [shape=box, style=rounded, fontname="sans-serif"];']
    for node, slope in zip(nodes, slopes):
        title = found.get(node.index, node.operator)
        lines.append(f'n{node.index} [label="{title}\\n{node.tensor.item():.3g}\\n'
                     f'gradient {slope.item():.3g}"'
                     f'{", shape=ellipse" if node.operator == "input" else ""}];')
        lines += [f"n{read.index} -> n{node.index};" for read in node.inputs]
    return "\n".join([*lines, "}"])
