#!/usr/bin/env python3
"""Draws the figures that braid-figures measured: one SVG and one PNG each, in one look.

    plot.py RESULTS_FOLDER --out FOLDER [--figure listdb-29,...]

Colours are Okabe and Ito's, which the colour-blind can tell apart; lines differ in style and marker,
bars in hatching too, so that a print in grey still reads.
"""

import argparse
import json
import math
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot.py needs matplotlib: apt-get install python3-matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: E402

PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#F0E442"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)), (0, (3, 3))]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
# Lines only: each dot of a hatching is a path of its own in the file.
HATCHES = ["", "///", "\\\\\\", "xxx", "---", "+++", "|||", "/"]
# What occurs in many figures looks the same in all of them.
FIXED = {"put": 0, "flush": 1, "compaction": 2, "get": 1, "puts arriving": 5, "gets arriving": 4}
SOLID = {"put", "get"}  # dashes are for what is not measured, or for a third line
FILLED = {"flush", "compaction"}  # steps of jobs, over the time they took
DASHED = {"puts arriving", "gets arriving"}
MARKED_POINTS = 16  # lines with more points go without markers

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "braid",
}


class Look:
    """Gives each name of a figure its colour, dashes, marker and hatching."""

    def __init__(self, names):
        taken = {FIXED[name] for name in names if name in FIXED}
        free = [i for i in range(len(PALETTE)) if i not in taken]
        self.index = {}
        for name in names:
            self.index[name] = FIXED[name] if name in FIXED else (
                free.pop(0) if free else len(self.index) % len(PALETTE))

    def line(self, name):
        i = self.index[name]
        dashes = "-" if name in SOLID else "--" if name in DASHED else DASHES[i]
        return {"color": PALETTE[i], "linestyle": dashes}

    def marker(self, name):
        return MARKERS[self.index[name]]

    def bar(self, name):
        i = self.index[name]
        return {"facecolor": PALETTE[i], "hatch": HATCHES[i], "edgecolor": "white",
                "linewidth": 0.6}


def short_number(value, _=None):
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:g} k"
    return f"{value:g}"


def draw_lines(axes, panel, look):
    for series in panel["series"]:
        style = look.line(series["name"])
        if series["name"] in FILLED and len(series["x"]) > MARKED_POINTS:
            axes.fill_between(series["x"], series["y"], label=series["name"], alpha=0.45,
                              facecolor=style["color"], edgecolor=style["color"], linewidth=0.7,
                              zorder=1.5)
            continue
        if len(series["x"]) <= MARKED_POINTS:
            style["marker"] = look.marker(series["name"])
        axes.plot(series["x"], series["y"], label=series["name"], **style)
    points = sorted({x for series in panel["series"] for x in series["x"]})
    if len(points) <= 8 and points:
        axes.set_xticks(points)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.set_xlim(left=0)


# Letters that fit below one panel.
LABEL_LETTERS = 52


def draw_bars(axes, panel, look, stacked):
    categories = panel["categories"]
    count = len(panel["series"])
    width = 0.62 if stacked else 0.8 / max(1, count)
    floor = [0.0] * len(categories)
    for number, series in enumerate(panel["series"]):
        heights = [0 if y is None else y for y in series["y"]]
        shift = 0 if stacked else (number - (count - 1) / 2) * width
        places = [i + shift for i in range(len(heights))]
        axes.bar(places, heights, width * (1 if stacked else 0.94), label=series["name"],
                 bottom=floor[:len(heights)] if stacked else None, **look.bar(series["name"]))
        if stacked:
            floor = [low + high for low, high in zip(floor, heights)]
    axes.set_xticks(range(len(categories)))
    # What stands in brackets or behind a comma gets a line of its own.
    names = [name.replace(" (", "\n(").replace(", ", ",\n") for name in categories]
    # Long names of many bars would run into each other: a line a word, or a part of one.
    room = LABEL_LETTERS // max(1, len(names))
    if max(len(line) for name in names for line in name.split("\n")) > room:
        names = [name.replace(" ", "\n").replace("-", "-\n") for name in names]
    axes.set_xticklabels(names)


def draw_panel(axes, panel, look):
    if panel["kind"] == "lines":
        draw_lines(axes, panel, look)
    else:
        draw_bars(axes, panel, look, panel["kind"] == "stacked-bars")
    axes.set_title(panel["title"])
    axes.set_xlabel(panel["x_label"])
    axes.set_ylabel(panel["y_label"])
    if panel["log_y"]:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
        top = max((y for s in panel["series"] for y in s["y"] if y is not None), default=0)
        if panel["kind"] != "stacked-bars" and top > 0:
            axes.set_ylim(top=top * 1.08)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(short_number))


def panel_names(panel):
    return [series["name"] for series in panel["series"]]


def grid_of(count):
    columns = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}.get(count, 4)
    return math.ceil(count / columns), columns


def footer(figure):
    medium = figure["parameters"]["medium"]
    note = f"{figure['id']}, scale {figure['parameters']['scale']:g}"
    return note + (f", medium slowed down: {medium['emulate_pmem']}" if medium["emulated"] else "")


def legend_beside(canvas, axes, names):
    """One diagram with many lines: names stand to its right, in the order of the lines' ends."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, labels, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.8)
    canvas.set_figwidth(canvas.get_figwidth() + 0.6 + 0.068 * max(map(len, names)))


def legend_above(canvas, axes, names):
    """The same series in all diagrams: names stand once, above them. Returns the inches it takes."""
    handles, labels = axes.get_legend_handles_labels()
    inches = sum(0.75 + 0.072 * len(name) for name in names)
    rows = math.ceil(inches / canvas.get_figwidth())
    per_row = math.ceil(len(names) / rows)
    canvas.legend(handles, labels, loc="upper center", ncol=per_row, bbox_to_anchor=(0.5, 1.0),
                  handlelength=2.6, columnspacing=1.8)
    return 0.12 + 0.2 * rows


def legends_inside(cells, panels):
    """Each diagram has series of its own: names stand in it, and the axis leaves them room."""
    for axes, panel in zip(cells, panels):
        if len(panel["series"]) < 2:
            continue
        bottom, top = axes.get_ylim()
        share = 1.08 + 0.09 * len(panel["series"])
        axes.set_ylim(top=bottom * (top / bottom) ** share if panel["log_y"] else top * share)
        axes.legend(loc="upper left", handlelength=2.6, borderaxespad=0.1)


def draw(figure, folder):
    panels = figure["panels"]
    names = panel_names(panels[0])
    shared = all(panel_names(panel) == names for panel in panels)
    rows, columns = grid_of(len(panels))
    width = {1: 5.2, 2: 8.4, 3: 10.8}.get(columns, 13.0)
    canvas, grid = plt.subplots(rows, columns, figsize=(width, 2.75 * rows + 0.3), squeeze=False)
    cells = [axes for row in grid for axes in row]
    for axes, panel in zip(cells, panels):
        draw_panel(axes, panel, Look(panel_names(panel)))
    for axes in cells[len(panels):]:
        axes.set_visible(False)
    above = 0.05
    if not shared:
        legends_inside(cells, panels)
    elif len(panels) == 1 and len(names) > 4:
        legend_beside(canvas, cells[0], names)
    elif len(names) > 1:
        above = legend_above(canvas, cells[0], names)
    canvas.text(0.995, 0.004, footer(figure), ha="right", va="bottom", fontsize=6.5,
                color="#777777")
    height = canvas.get_figheight() + above
    canvas.set_figheight(height)
    canvas.tight_layout(rect=(0, 0.16 / height, 1, 1 - above / height), h_pad=1.4, w_pad=1.8)
    for suffix, extra in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 160})):
        canvas.savefig(folder / f"{figure['id']}.{suffix}", **extra)
    plt.close(canvas)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, help="folder with the JSON of braid-figures")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the pictures")
    parser.add_argument("--figure", default="", help="which, separated by commas; default: all")
    args = parser.parse_args()
    wanted = set(filter(None, args.figure.split(",")))
    args.out.mkdir(parents=True, exist_ok=True)
    drawn = 0
    with plt.rc_context(STYLE):
        for path in sorted(args.results.glob("*.json")):
            figure = json.loads(path.read_text(encoding="utf-8"))
            if figure.get("schema") != "braid-figure/1" or not figure["panels"]:
                continue
            if wanted and figure["id"] not in wanted:
                continue
            draw(figure, args.out)
            drawn += 1
    print(f"plot: {drawn} figures drawn into {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
