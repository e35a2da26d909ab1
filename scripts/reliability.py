#!/usr/bin/env python3
"""Runs the long tests, stage by stage, up to the amounts of a size, and writes what was done.

  reliability.py [push|night|release]      minutes, hours, days; goes on where it was stopped
  reliability.py --table [FILE]            puts a run's facts into docs/evidence/testing.md

Every stage runs in slices of a few minutes with seeds of their own. What was done is in
build/reliability/state-SIZE.json after each, and in build/reliability/reliability.json at the end,
with reliability.html beside it, where the curves of stores that grow old are drawn.
"""

import sys

sys.dont_write_bytecode = True  # noqa: E402  the source folder stays as it is

import argparse
import fcntl
import json
import os
import pathlib
import signal

from reliability import page, report
from reliability.run import Run, say, write_atomically
from reliability.stages import SIZES, all_stages

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTING = ROOT / "docs/evidence/testing.md"
LAST_RUN = ROOT / "docs/evidence/reliability.json"


def parse_arguments():
    names = [stage.name for stage in all_stages()]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", default="push", choices=SIZES)
    parser.add_argument("--only", action="append", choices=names, metavar="STAGE",
                        help="this stage alone; may be given several times")
    parser.add_argument("--list", action="store_true", help="list the stages and what is done")
    parser.add_argument("--restart", action="store_true", help="forget what was done")
    parser.add_argument("--seconds", type=float, help="stop a stage after about so many seconds; "
                        "the report says what share of the target was done")
    parser.add_argument("--with-vm", action="store_true", help="run stage vm in size push too")
    parser.add_argument("--output", type=pathlib.Path, help="where the report goes")
    parser.add_argument("--table", nargs="?", type=pathlib.Path, const=LAST_RUN, metavar="FILE",
                        help="write the table of docs/evidence/testing.md from FILE (docs/evidence/reliability.json)")
    arguments = parser.parse_args()
    if arguments.seconds is not None and arguments.seconds < 1:
        parser.error("--seconds must be at least 1")
    return arguments


def write_table(path):
    text = report.table(json.loads(path.read_text()))
    try:
        replaced = report.replace_table(TESTING.read_text(), text)
    except ValueError as error:
        sys.exit(f"reliability.py: {TESTING.relative_to(ROOT)}: {error}; put them where the table goes")
    TESTING.write_text(replaced)


def list_stages(run, stages):
    for stage in stages:
        progress = run.progress_of(stage)
        target = progress["target"] or stage.targets[run.size]
        wanted = f"{target:,}" if target else "all"
        print(f"{stage.name:<12} {progress['done']:>15,} of {wanted:>14} {stage.unit:<11} "
              f"{progress['failure_count']} failures  {stage.title}")


def stop(number, _frame):
    raise KeyboardInterrupt(number)


def main():
    arguments = parse_arguments()
    if arguments.table is not None:
        write_table(arguments.table)
        return 0
    jobs = int(os.environ.get("BRAID_JOBS") or os.cpu_count())
    stages = all_stages()
    if arguments.list:
        list_stages(Run(ROOT, arguments.size, jobs), stages)
        return 0
    folder = ROOT / "build/reliability"
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / "lock", "w")  # held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("reliability.py: another run is at work in build/reliability; wait for it or stop it")
    run = Run(ROOT, arguments.size, jobs, arguments.seconds, arguments.restart)
    signal.signal(signal.SIGTERM, stop)
    revision = report.revision(ROOT)
    if revision not in run.state["revisions"]:
        run.state["revisions"].append(revision)
    run.state["cap"] = arguments.seconds and round(arguments.seconds)
    built, code = set(), 0
    try:
        for stage in stages:
            if arguments.only and stage.name not in arguments.only:
                continue
            if stage.name == "vm" and run.size == "push" and not (arguments.with_vm or arguments.only):
                run.progress_of(stage)["skipped"] = "not in size push (--with-vm runs it)"
                continue
            run.stage(stage, built)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        code = 130
    run.save()
    output = arguments.output or run.folder / "reliability.json"
    facts = report.compose(run.state, stages, report.machine(ROOT), ROOT)
    write_atomically(output, facts)
    output.with_suffix(".html").write_text(page.compose(facts), encoding="utf-8")
    failures = sum(row["failures"] for row in facts["stages"])
    print(report.table(facts))
    print(f"{failures} failures; the report is {output}, drawn in {output.with_suffix('.html')}")
    return code or (1 if failures else 0)


if __name__ == "__main__":
    sys.exit(main())
