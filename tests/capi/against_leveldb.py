#!/usr/bin/env python3
"""Shows that braid's C API means what LevelDB's means.

Builds the conformance_*.c programs against LevelDB and runs them: the facts that braid's build of
them proves hold there, too. Then turns examples/c_example.c back into the LevelDB program it was,
by renaming, and runs both on the same commands: with --example, the built program for braid, both
must print the same.

Usage: against_leveldb.py [--cc cc] [--example PROGRAM]; exit code 77 if LevelDB is not installed.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples" / "c_example.c"
GUIDE = ROOT / "docs/guide/leveldb-porting.md"
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SKIPPED = 77

COMMANDS = """\
set tree/oak sheds its leaves
set tree/fir keeps its needles
set stone/flint
mark
begin
set tree/elm is rare now
del tree/oak
get tree/elm
commit
list tree/
get tree/oak
past tree/oak
past tree/elm
begin
set lost forever
"""

EXPECTED = """\
tree/elm: no such note
tree/elm: is rare now
tree/fir: keeps its needles
tree/oak: no such note
tree/oak: sheds its leaves
tree/elm: no such note
"""

REOPENED = "stone/flint: \ntree/elm: is rare now\ntree/fir: keeps its needles\n"


class Check:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def fact(self, holds, text, details=""):
        print(f"{'ok' if holds else 'not ok'} - {text}")
        if not holds and details:
            print(details)
        self.passed += bool(holds)
        self.failed += not holds
        return holds


def build(compiler, source, target, *flags):
    return subprocess.run([compiler, *FLAGS, str(source), "-o", str(target), *flags],
                          capture_output=True, text=True)


def has_leveldb(compiler):
    probe = "#include <leveldb/c.h>\nint main(void) { return leveldb_major_version() < 1; }\n"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "probe.c"
        source.write_text(probe)
        return build(compiler, source, source.with_suffix(""), "-lleveldb").returncode == 0


def run_conformance(check, compiler, folder):
    for source in sorted(HERE.glob("conformance_*.c")):
        program = folder / source.stem
        built = build(compiler, source, program, "-include", str(HERE / "leveldb_names.h"),
                      "-lleveldb", "-lpthread")
        if not check.fact(built.returncode == 0, f"{source.name} builds against LevelDB",
                          built.stderr):
            continue
        ran = subprocess.run([str(program)], capture_output=True, text=True)
        count = re.search(r"^(\d+) passed, 0 failed$", ran.stdout, re.M)
        check.fact(ran.returncode == 0 and count is not None and int(count.group(1)) > 0,
                   f"all its facts hold for LevelDB ({count.group(1) if count else 'no'} passed)",
                   ran.stdout + ran.stderr)


def run_example(check, program, name, folder):
    database = folder / f"notes-{name}"
    first = subprocess.run([str(program), str(database)], input=COMMANDS, capture_output=True,
                           text=True)
    check.fact(first.returncode == 0 and first.stdout == EXPECTED,
               f"the example does what it should on {name}", first.stdout + first.stderr)
    second = subprocess.run([str(program), str(database)], input="list\n", capture_output=True,
                            text=True)
    check.fact(second.returncode == 0 and second.stdout == REOPENED,
               f"and finds its notes again on {name}", second.stdout + second.stderr)


def check_guide(check):
    """The listings in the guide that come from the example must still be in it."""
    example = EXAMPLE.read_text()
    listings = re.findall(r"```c\n(.*?)```", GUIDE.read_text(), re.S)
    ported = [listing for listing in listings if "braid_" in listing]
    check.fact(bool(ported) and all(listing.strip() in example for listing in ported),
               "the listings of the guide are lines of the example")
    before = [listing for listing in listings if "leveldb_" in listing]
    check.fact(bool(before) and all(listing.replace("leveldb_", "braid_").strip() in example
                                    for listing in before),
               "and its listings for LevelDB differ by the prefix alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--example", type=pathlib.Path)
    arguments = parser.parse_args()
    if not has_leveldb(arguments.cc):
        print("LevelDB's C API is not installed (libleveldb-dev): nothing was compared")
        return SKIPPED

    check = Check()
    with tempfile.TemporaryDirectory(prefix="braid-capi-") as name:
        folder = pathlib.Path(name)
        run_conformance(check, arguments.cc, folder)
        source = folder / "example.c"
        source.write_text(EXAMPLE.read_text().replace("braid_", "leveldb_")
                          .replace("braid/c.h", "leveldb/c.h"))
        built = build(arguments.cc, source, folder / "example", "-lleveldb")
        if check.fact(built.returncode == 0, "the renamed example builds against LevelDB",
                      built.stderr):
            run_example(check, folder / "example", "LevelDB", folder)
        if arguments.example:
            run_example(check, arguments.example, "braid", folder)
    check_guide(check)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
