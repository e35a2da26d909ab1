#!/usr/bin/env python3
"""Writes the page of the figures: what the paper claims, what was measured here, whether it agrees.

    page.py RESULTS_FOLDER --pictures FOLDER --out FOLDER/README.md

The verdicts are braid-figures' own, computed from the numbers by the rules that stand beside them.
"""

import argparse
import json
import os
import pathlib
import sys
import textwrap

SCHEMA = "braid-figure/1"


def load(folder):
    figures = []
    for path in folder.glob("*.json"):
        figure = json.loads(path.read_text(encoding="utf-8"))
        if figure.get("schema") == SCHEMA:
            figures.append(figure)

    def order(figure):
        paper, _, number = figure["id"].rpartition("-")
        digits = "".join(c for c in number if c.isdigit())
        return figure["paper"], paper, int(digits or 999), number

    return sorted(figures, key=order)


def number_text(value):
    if value is None:
        return "not measured"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def wrap(text):
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def machine_text(figure):
    machine = figure["parameters"]["machine"]
    memory = machine["memory_bytes"] / 2**30
    return (f"{machine['processor']}, {machine['cores']} cores, {memory:.0f} GiB, "
            f"{machine['kernel']}, {machine['compiler']}, {machine['build']} build, "
            f"{machine['filesystem']}, write-back with {machine['flush_instruction']}")


def medium_text(figure):
    medium = figure["parameters"]["medium"]
    text = f"{medium['filesystem']}, class {medium['class']}"
    if medium["emulated"]:
        text += (f"; **slowed down for braid** ({medium['emulate_pmem']}: nanoseconds more for each "
                 "line written back, and a limit in MB/s for all threads)")
    return text


def load_text(figures):
    loads = sorted(figure["parameters"].get("load_average", 0) for figure in figures)
    return f"{loads[0]:.1f} to {loads[-1]:.1f}"


def summary(figures):
    lines = ["| figure | shows | verdict |", "|---|---|---|"]
    for figure in figures:
        verdict = figure["verdict"] if figure["state"] == "measured" else "skipped"
        anchor = figure["id"]
        lines.append(f"| [{figure['id']}](#{anchor}) | {figure['title']} | {verdict} |")
    return lines


def check_rows(figure):
    lines = ["| what is compared | paper | here | rule | verdict |", "|---|---|---|---|---|"]
    for check in figure["checks"]:
        lines.append(f"| {check['statement']} | {check['paper'] or '-'} | "
                     f"{number_text(check['measured'])} | {check['rule']} | {check['verdict']} |")
    return lines


def stores(figure):
    """Each store once, with its version and the options all its runs had in common."""
    facts = {}
    for run in figure["runs"]:
        if "parameters" not in run:
            continue
        # Figures that count threads by hand have no store to ask for its version.
        name = " ".join(filter(None, [run["engine"], run.get("version")]))
        parts = run["parameters"].split(", ")
        if name in facts:
            facts[name] = [part for part in facts[name] if part in parts]
        else:
            facts[name] = parts
    return [f"- {name}: {', '.join(parts)}" for name, parts in sorted(facts.items())]


def caveats(figure):
    found = []
    for run in figure["runs"]:
        caveat = run.get("caveat", "")
        if caveat and caveat not in found:
            found.append(caveat)
    return found


def section(figure, pictures, page):
    lines = ["", f"## {figure['id']}", "", f"**{figure['title']}** ({figure['paper']}, "
             f"{figure['section']})", ""]
    lines += [wrap("The paper: " + figure["claim"]), ""]
    if figure["state"] != "measured":
        lines += [wrap(f"**Skipped**: {figure['skipped_because']}."), ""]
        return lines
    picture = pictures / f"{figure['id']}.svg"
    if picture.exists():
        lines += [f"![{figure['title']}]({os.path.relpath(picture, page.parent)})", ""]
    lines += [wrap("Here: " + figure["setting"]), "", f"Verdict: **{figure['verdict']}**.", ""]
    lines += check_rows(figure) + [""]
    reasons = [check["reason"] for check in figure["checks"] if check["reason"]]
    if reasons:
        lines += ["Why not:", ""]
        lines += [f"- {reason}" for reason in dict.fromkeys(reasons)] + [""]
    notes = figure["notes"] + caveats(figure)
    if notes:
        lines += ["To note:", ""] + [f"- {note}" for note in notes] + [""]
    lines += [f"Medium: {medium_text(figure)}. Run it:", "", "```",
              f"make figures FIGURE={figure['id']}", "```", ""]
    lines += ["<details><summary>Stores and options</summary>", ""] + stores(figure)
    lines += ["", f"Every run with its options and numbers is in `{figure['id']}.json`, below `build/figures`.", "",
              "</details>", ""]
    return lines


def page_text(figures, pictures, page):
    first = figures[0]
    scales = sorted({figure["parameters"]["scale"] for figure in figures})
    lines = [
        "# Figures of the papers, measured with braid", "",
        wrap("Each figure is a program in `bench/figures`; `make figures` runs them all, draws them "
             "and writes this page. braid takes the part that the paper describes by options, and "
             "everything else stays as it is, so a figure shows what that part does, not how "
             "the authors' program ran. A verdict follows from the numbers by the rule beside it; "
             "the sizes are the paper's, scaled to a small machine."), "",
        wrap("Ratios carry over between machines, absolute numbers do not. Differences of a few "
             "percent mean nothing: each store runs once."), "",
        f"- Machine: {machine_text(first)}",
        f"- Scale: {', '.join(f'{scale:g}' for scale in scales)}",
        f"- Load average before a figure began: {load_text(figures)}", "",
    ]
    lines += summary(figures)
    for figure in figures:
        lines += section(figure, pictures, page)
    lines += ["## Running them", "", "```",
              "make figures                      # all, about ten minutes on four cores",
              "make figures FIGURE=listdb-29     # one",
              "make figures SCALE=0.1            # smaller; the page goes to build/figures",
              "```", "",
              wrap("A figure that was measured already with the same commit and settings is not run "
                   "again; `AGAIN=1` does. Data goes to `$BRAID_TMP`, else to /dev/shm, and is "
                   "removed. `EMULATE=off` runs on memory as it is, `EMULATE=write_ns=300,"
                   "bandwidth=2000` on another medium."), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, help="folder with the JSON of braid-figures")
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the page")
    args = parser.parse_args()
    figures = load(args.results)
    if not figures:
        print(f"page: there are no figures in {args.results}; run braid-figures first",
              file=sys.stderr)
        return 2
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(page_text(figures, args.pictures, args.out), encoding="utf-8")
    print(f"page: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
