#!/usr/bin/env python3
"""Draws the simulator's figures of chapters III and IV, an SVG and a PNG each, in one look.

    plot.py --class-path JARS --out FOLDER [--figures 2,6]    runs the simulator, then draws
    plot.py --data FOLDER --out FOLDER [--figures 2,6]       draws figure-N.json files made before

The files are what `simulate --figure N --json` writes. Each picture names the skew that it was made
under. Colours are Okabe and Ito's, which the colour-blind can tell apart.
"""

import argparse
import json
import pathlib
import subprocess
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot.py needs matplotlib: apt-get install python3-matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#A0522D",
           "#117733", "#882255"]
DASHES = ["-", "--", "-.", ":"]
MARKERS = ["o", "s", "^", "D"]
HATCHES = ["", "///", "...", "xxx", "\\\\\\", "+++"]
FIGURES = (1, 2, 3, 4, 6, 7, 8, 9, 10)

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "braid",
    "svg.fonttype": "none",  # text stays text: smaller, and can be searched
}


def column(table, name):
    at = table["columns"].index(name)
    return [row[at] for row in table["rows"]]


def legend(axes, **how):
    """A legend only if there is something to tell apart."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**how)


def line(axes, number, xs, ys, label, marked=True):
    axes.plot(xs, ys, color=PALETTE[number % len(PALETTE)], linestyle=DASHES[number % len(DASHES)],
              marker=MARKERS[number % len(MARKERS)] if marked else None, label=label)


def figure_1(data):
    figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
    steps = data["tables"]["steps"]["rows"]
    for number, (name, start, end) in enumerate(steps):
        axes.barh(number, end - start, left=start, height=0.6, color=PALETTE[number])
        before = start > steps[-1][2] / 2
        axes.text(start - 0.12 if before else end + 0.12, number, f"{name}, {end - start:.2f} s",
                  va="center", ha="right" if before else "left", fontsize=8)
    axes.set(yticks=[], xlabel="seconds since the job was submitted")
    axes.invert_yaxis()
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    return figure


def figure_2(data):
    figure, axes = plt.subplots(figsize=(5.2, 3), layout="constrained")
    table = data["tables"]["times"]
    sizes = [str(size) if size < 1024 else f"{size // 1024} GiB"
             for size in column(table, "block_mib")]
    line(axes, 0, sizes, column(table, "default_s"), "a split a block")
    line(axes, 1, sizes, column(table, "logical_1gib_s"), "one wave of large splits")
    axes.set(xlabel="HDFS block size (MiB unless it says GiB)", ylabel="job time (s)",
             ylim=(0, None))
    legend(axes, loc="lower left")
    return figure


USAGE = [("containers", "containers of a node"), ("cpu_s", "processor time (s of all cores)"),
         ("disk_gib", "disk (GiB)"), ("network_gib", "network (GiB)")]


def usage(data, skews):
    """A row of panels a skew; tables are named "SIZE, SKEW", or "SIZE" alone."""
    rows = skews or [""]
    figure, grid = plt.subplots(len(rows), len(USAGE), figsize=(11, 0.9 + 2.2 * len(rows)),
                                squeeze=False, layout="constrained")
    for axes_row, skew in zip(grid, rows):
        names = [name for name in data["tables"] if name.endswith(skew)]
        for axes, (quantity, label) in zip(axes_row, USAGE):
            for number, name in enumerate(names):
                table = data["tables"][name]
                line(axes, number, column(table, "time_s"), column(table, quantity),
                     name.split(",")[0] + " blocks", marked=False)
            axes.set(xlabel="seconds", ylabel=label, ylim=(0, None))
        axes_row[0].set_title(skew)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def figure_3(data):
    return usage(data, [])


def figure_4(data):
    return usage(data, list(dict.fromkeys(name.split(", ", 1)[1] for name in data["tables"])))


def figure_6(data):
    figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    shown = [("job_s", "job time (s)"), ("fastest_node_s", "fastest node's end (s)"),
             ("node_end_stddev_s", "standard deviation of nodes' ends (s)")]
    for axes, (quantity, label) in zip(panels, shown):
        for number, (skew, table) in enumerate(data["tables"].items()):
            line(axes, number, column(table, "largest_splits"), column(table, quantity), skew)
        axes.set(xlabel="slots a node with a largest split", ylabel=label, ylim=(0, None))
    legend(panels[1], loc="lower left")
    return figure


def figure_7(data):
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    times = data["tables"]["times"]
    line(left, 0, column(times, "largest_splits"), column(times, "job_s"), "job")
    line(left, 1, column(times, "largest_splits"), column(times, "maps_done_s"), "last map's end")
    line(left, 2, column(times, "largest_splits"), column(times, "first_shuffle_s"),
         "1 % is shuffled")
    left.set(xlabel="slots a node with a largest split", ylabel="seconds", ylim=(0, None))
    legend(left, loc="center left", bbox_to_anchor=(0, 0.57))
    for number, count in enumerate((0, 2, 5, 8)):
        table = data["tables"][f"shuffled with {count}"]
        line(right, number, column(table, "time_s"), column(table, "shuffled_gib"),
             f"{count} largest splits a node", marked=False)
    right.set(xlabel="seconds", ylabel="shuffled (GiB)", ylim=(0, None))
    legend(right, loc="lower right")
    return figure


def lives(data, policies):
    """Each container a line from start to end, in order of starts, coloured by job."""
    skews = [name for name, table in data["tables"].items() if "policy" in table["columns"]]
    size = (3.4 * len(policies), 2.6 * len(skews))
    figure, grid = plt.subplots(len(skews), len(policies), figsize=size, squeeze=False,
                                layout="constrained")
    jobs = []
    for axes_row, skew in zip(grid, skews):
        ends = []
        for axes, policy in zip(axes_row, policies):
            table = data["tables"][f"{policy}, {skew}"]
            job = column(table, "job")
            axes.hlines(range(len(job)), column(table, "launched_s"), column(table, "ended_s"),
                        colors=[PALETTE[(j - 1) % len(PALETTE)] for j in job], linewidth=0.5,
                        rasterized=True)
            axes.set(ylabel="container" if policy == policies[0] else "")
            axes.set_title(policy if skew == skews[0] else "")
            axes.grid(False)
            ends.append(max(column(table, "ended_s")))
            jobs = sorted(set(job))
        for axes in axes_row:
            axes.set(xlim=(0, 1.02 * max(ends)), xlabel="seconds")
        axes_row[0].annotate(skew, (0, 0.5), xytext=(-48, 0), xycoords="axes fraction", rotation=90,
                             textcoords="offset points", va="center", ha="right", weight="bold")
    handles = [plt.Line2D([], [], color=PALETTE[(j - 1) % len(PALETTE)], linewidth=3) for j in jobs]
    figure.legend(handles, [f"job {j}" for j in jobs], loc="outside lower center", ncols=len(jobs))
    return figure


def figure_8(data):
    return lives(data, ["none", "maximum", "assorted-strict", "assorted-balanced"])


def figure_9(data):
    return lives(data, ["none", "maximum", "assorted-strict", "assorted-balanced"])


def figure_10(data):
    bars = [("default", "none, 128 MiB"), ("blocks_1gib", "none, 1 GiB blocks"),
            ("maximum", "maximum"), ("assorted_strict", "assorted-strict"),
            ("assorted_balanced", "assorted-balanced"), ("auto", "auto")]
    figure, panels = plt.subplots(1, len(data["tables"]), figsize=(11, 3.2), sharey=True,
                                  layout="constrained")
    for axes, (skew, table) in zip(panels, data["tables"].items()):
        jobs = column(table, "job")
        for number, (name, label) in enumerate(bars):
            places = [at + (number - 2.5) * 0.14 for at in range(len(jobs))]
            axes.bar(places, column(table, name), width=0.13, color=PALETTE[number],
                     hatch=HATCHES[number], edgecolor="white", label=label)
        axes.axhline(1, color="#555555", linewidth=0.8)
        axes.set_xticks(range(len(jobs)), jobs)
        axes.set_title(skew)
    panels[0].set_ylabel("job time, share of the default's")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


DRAW = {1: figure_1, 2: figure_2, 3: figure_3, 4: figure_4, 6: figure_6, 7: figure_7, 8: figure_8,
        9: figure_9, 10: figure_10}


def load(number, args):
    if args.data:
        return json.loads((args.data / f"figure-{number}.json").read_text())
    command = ["java", "-cp", args.class_path, "io.braid.hadoop.sim.SimulateCommand", "--figure",
               str(number), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def title(data):
    """Two lines: what it shows, and the skew where that is one for all panels."""
    skew = data["facts"].get("skew")
    return data["title"] + (f"\nskew: {skew}" if skew else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--class-path", help="the jars, or the classes, of braid-hadoop and its simulator")
    source.add_argument("--data", type=pathlib.Path, help="a folder of figure-N.json files")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", default=",".join(map(str, FIGURES)),
                        help="which, separated by commas (default: all)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(STYLE)
    for number in map(int, args.figures.split(",")):
        if number not in DRAW:
            sys.exit(f"plot.py: there is no figure {number}: use some of {FIGURES}")
        try:
            data = load(number, args)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            sys.exit(f"plot.py: no data for figure {number}: {error}")
        figure = DRAW[number](data)
        figure.suptitle(title(data), fontsize=9.5)
        for suffix in ("svg", "png"):
            figure.savefig(args.out / f"figure-{number}.{suffix}", dpi=110,
                           metadata={"Date": None} if suffix == "svg" else None)
        plt.close(figure)
        print(args.out / f"figure-{number}.svg")


if __name__ == "__main__":
    main()
