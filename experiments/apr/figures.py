#!/usr/bin/env python3
"""Draws which pages a program references over virtual time, as figures 3.1 and 3.2 of the thesis do.

    python3 experiments/apr/figures.py "$HOTSET_TRACES/own/mem"

The folder has ocean_cp.pgt.zst and water_nsquared.pgt.zst with their lists of objects, NAME.obj.csv. The script writes
apr-pattern-NAME.svg beside itself. It needs Python 3.8 and the command zstd. The second trace has 600 million records
and takes most of the time, about ten minutes.

A picture is a grid. A cell is filled if the program referenced one of its pages in its interval. Time counts
references. docs/reference/memory-traces.md has the format of the traces.
"""

import csv
import subprocess
import sys
from bisect import bisect_left
from pathlib import Path

PAGE, LEAST = 4096, 40 * 1024
COLUMNS, ROWS = 360, 100
WIDTH, PANEL, LEFT, RIGHT, GAP = 760, 150, 48, 8, 48

# A panel: place of the object among the allocations over 40 KB, None for all pages; title; start and end in millions of
# references, None for all. The names of objects are those of the program's source, by the order of the allocations.
OCEAN_STEP = (60, 80)
FIGURES = {
    "ocean_cp": [
        (None, "all pages of ocean_cp, the whole run", None),
        (0, "object psi (first layer), somewhat more than one time step", OCEAN_STEP),
        (7, "object ga, the same interval", OCEAN_STEP),
        (25, "object q_multi, the same interval", OCEAN_STEP),
    ],
    "water_nsquared": [
        (0, "object VAR of water_nsquared, the whole run", None),
        (0, "object VAR, two million references", (150, 152)),
    ],
}


def allocations(path):
    """Returns the pages of each allocation over 40 KB, in order, and the references of the whole trace."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    large = [(int(row["addr"], 16), int(row["size"])) for row in rows if row["op"] == "m" and int(row["size"]) > LEAST]
    end = next(int(row["refno"]) for row in rows if row["op"] == "E")
    return [range(at // PAGE, (at + size - 1) // PAGE + 1) for at, size in large], end


def touched(path, edges):
    """Yields the pages that the program references from one edge to the next; edges ascend."""
    edges = iter(edges)
    edge = next(edges)
    pages = set()
    page = time = value = shift = field = 0
    with subprocess.Popen(["zstd", "-dc", "--long=27", str(path)], stdout=subprocess.PIPE) as tool:
        while chunk := tool.stdout.read(1 << 18):
            for byte in chunk:
                if byte > 127:
                    value |= (byte & 127) << shift
                    shift += 7
                    continue
                value |= byte << shift
                if field == 0:
                    page += -(value + 1 >> 1) if value & 1 else value >> 1
                    field = 1
                elif field == 1:
                    pages.add(page)
                    time += value >> 1
                    field = 2 if value & 1 else 0
                    while time >= edge:
                        yield pages
                        pages = {page} if time > edge else set()
                        edge = next(edges, None)
                        if edge is None:
                            tool.terminate()
                            return
                else:
                    field = 0
                value = shift = 0


def panel(pages, columns, title, interval, top):
    """Draws the pages of a panel, the first at the bottom."""
    rows = min(len(pages), ROWS)
    place = {page: at * rows // len(pages) for at, page in enumerate(pages)}
    filled = [sorted({place[page] for page in column if page in place}) for column in columns]
    # One vertical line for each run of rows in a column.
    path = []
    for column, cells in enumerate(filled):
        start = 0
        for at in range(1, len(cells) + 1):
            if at == len(cells) or cells[at] != cells[at - 1] + 1:
                path.append(f"M{column} {rows - cells[at - 1] - 1}v{at - start}")
                start = at
    wide, high = WIDTH - LEFT - RIGHT, PANEL
    scale = f"translate({LEFT + wide / COLUMNS / 2:.2f} {top}) scale({wide / COLUMNS:.4f} {high / rows:.4f})"
    return [
        f'<text x="{LEFT}" y="{top - 6}">{title}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{wide}" height="{high}"/>',
        f'<path transform="{scale}" d="{"".join(path)}"/>',
        f'<text class="e" x="{LEFT - 4}" y="{top + 10}">{len(pages):,}</text>',
        f'<text class="e" x="{LEFT - 4}" y="{top + high}">page 1</text>',
        f'<text x="{LEFT}" y="{top + high + 13}">{interval[0] / 1e6:.4g}</text>',
        f'<text class="e" x="{WIDTH - RIGHT}" y="{top + high + 13}">{interval[1] / 1e6:.4g} million references</text>',
    ]


def draw(trace, panels, folder):
    """Writes the picture of one program."""
    objects, end = allocations(folder / f"{trace}.obj.csv")
    intervals = [(part[0] * 1e6, part[1] * 1e6) if part else (0, end) for _, _, part in panels]
    grids = [[start + (to - start) * at / COLUMNS for at in range(COLUMNS + 1)] for start, to in intervals]
    edges = sorted({edge for grid in grids for edge in grid} - {0})
    columns = [[set() for _ in range(COLUMNS)] for _ in panels]
    every, before = set(), 0
    for edge, pages in zip(edges, touched(folder / f"{trace}.pgt.zst", edges)):
        every |= pages
        for grid, column in zip(grids, columns):
            at = bisect_left(grid, edge) - 1
            if at >= 0 and before >= grid[at] and edge <= grid[-1]:
                column[at] |= pages
        before = edge
    lines, top = [], 22
    for (place, title, _), column, interval in zip(panels, columns, intervals):
        lines += panel(sorted(every) if place is None else objects[place], column, title, interval, top)
        top += PANEL + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - GAP + 20}" role="img">'
        f"<title>{trace}: pages by virtual time</title><style>svg{{background:#fff}}text{{font:11px sans-serif}}"
        ".e{text-anchor:end}rect{fill:none;stroke:#999}path{fill:none;stroke:#1f4e79;stroke-width:1}</style>"
    )
    target = Path(__file__).parent / f"apr-pattern-{trace}.svg"
    target.write_text("\n".join([head, *lines, "</svg>", ""]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, parts in FIGURES.items():
        draw(name, parts, Path(sys.argv[1]))
