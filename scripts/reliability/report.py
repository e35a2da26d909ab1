"""The report of a run as JSON, and as the table of docs/evidence/testing.md (page.py draws it as HTML)."""

import os
import pathlib
import platform
import re
import subprocess

from reliability.run import duration

BEGIN, END = "<!-- reliability:begin -->", "<!-- reliability:end -->"


def first_line(command, root):
    try:
        done = subprocess.run(command, cwd=root, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip().split("\n")[0]


def revision(root):
    name = first_line(["git", "rev-parse", "--short=12", "HEAD"], root)
    changed = first_line(["git", "status", "--porcelain", "--untracked-files=no"], root)
    return (name or "unknown") + (" and changes" if changed else "")


def field(path, pattern):
    try:
        match = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        return ""
    return match[1].strip() if match else ""


def machine(root):
    """What the numbers depend on, and nothing that names the machine."""
    kib = field("/proc/meminfo", r"^MemTotal:\s*(\d+) kB")
    return {"cpu": field("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(int(kib) / (1 << 20), 1) if kib else None,
            # Without what its builder put behind the version.
            "kernel": f"{platform.system()} {re.match(r'[0-9.]*', platform.release())[0]}",
            "compiler": first_line([os.environ.get("CXX", "c++"), "--version"], root)}


def compose(state, stages, facts, root):
    """The report. What a failure says may hold a path of this machine: the root is taken out."""
    rows = []
    for stage in stages:
        progress = state["stages"].get(stage.name)
        if progress is None:
            continue
        rows.append({
            "name": stage.name, "title": stage.title, "unit": stage.unit,
            "target": progress["target"], "done": progress["done"],
            "share": round(progress["share"], 4), "counts": progress["counts"],
            "curves": progress.get("curves", {}),
            "failures": progress["failure_count"],
            "failed": [{"what": failure["what"].replace(f"{root}/", ""),
                        "replay": [line.replace(f"{root}/", "") for line in failure["replay"]]}
                       for failure in progress["failures"]],
            "seconds": progress["seconds"], "skipped": progress["skipped"]})
    return {"size": state["size"], "begun": state["begun"], "ended": state["ended"],
            "seconds_a_stage": state["cap"], "revisions": state["revisions"], "machine": facts,
            "stages": rows}


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def percent(share):
    if share >= 1:
        return "all"
    return f"{share * 100:.2g} %" if share < 0.1 else f"{int(share * 100)} %"


def table(report):
    """The text between the markers."""
    facts = report["machine"]
    limit = report["seconds_a_stage"]
    scaled = f", scaled down to about {limit} s a stage" if limit is not None else ""
    memory = f"{facts['memory_gib']} GiB, " if facts["memory_gib"] else ""
    lines = [f"Size {report['size']}{scaled}; ended {report['ended'][:10]}; revision "
             f"{', '.join(report['revisions'])}; {facts['cpu']}, {facts['cores']} cores, {memory}"
             f"{facts['kernel']}, {facts['compiler']}.", "",
             "| stage | done | of the target | failures | time | among them |",
             "|---|---|---|---|---|---|"]
    for row in report["stages"]:
        if row["skipped"] and not row["done"]:
            lines.append(f"| {cell(row['title'])} | skipped: {cell(row['skipped'])} | - | - | - | |")
            continue
        counts = ", ".join(f"{key} {number:,}" for key, number in row["counts"].items() if number)
        target = f"{row['target']:,}" if row["target"] else "-"
        lines.append(f"| {cell(row['title'])} | {row['done']:,} {row['unit']} | "
                     f"{percent(row['share'])} of {target} | {row['failures']} | "
                     f"{duration(row['seconds'])} | {cell(counts)} |")
    return "\n".join(lines) + "\n"


def between_markers(page):
    """What stands between the markers; None without them."""
    match = re.search(re.escape(BEGIN) + r"\n(.*?)" + re.escape(END), page, re.DOTALL)
    return match[1] if match else None


def replace_table(page, text):
    old = between_markers(page)
    if old is None:
        raise ValueError(f"there are no lines {BEGIN} and {END}")
    begin = page.index(BEGIN) + len(BEGIN) + 1
    return page[:begin] + text + page[begin + len(old):]
