#!/usr/bin/env python3
"""Checks that the tests and the seeded faults that pages name are there.

`SuiteTest` and `SuiteTest.Name` in backquotes, in the pages that promise something and say what
shows it."""

import argparse
import pathlib
import re
import sys

from source_text import ROOT, Problem, cpp_files, read, report

PAGES = ("docs/evidence/features.md", "docs/guide/limitations.md", "docs/evidence/complaints.md")
FOLDERS = ("tests", "src", "tools", "bench")
JAVA_FOLDERS = ("bindings", "hadoop")
JAVA_CLASS = re.compile(r"^(?:public |final |abstract )*class (\w+Test)\b", re.MULTILINE)
JAVA_METHOD = re.compile(r"^  (?:public )?void (\w+)\(", re.MULTILINE)
DEFINITION = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
FAULTS = ("src/sim/faults.h", "src/media/sites.h")
FAULT_PAGES = ("docs/internals/persistence.md", "docs/evidence/testing.md", "docs/internals/crash-simulator.md")
ENUMERATOR = re.compile(r"^  (k[A-Z]\w*),", re.MULTILINE)
FAULT = re.compile(r"`(k[A-Z]\w*)`")
NAMED = re.compile(r"`([A-Z]\w*Test)(?:\.(\w+))?`")


def tests_of(root):
    """The names of the tests, by suite."""
    suites = {}
    for path in cpp_files(root, *FOLDERS):
        for suite, name in DEFINITION.findall(read(root, path)):
            suites.setdefault(suite, set()).add(name)
    for folder in JAVA_FOLDERS:
        for path in sorted((root / folder).rglob("src/test/java/**/*.java")):
            text = path.read_text(encoding="utf-8")
            for suite in JAVA_CLASS.findall(text):
                suites.setdefault(suite, set()).update(JAVA_METHOD.findall(text))
    return suites


def check(root):
    suites = tests_of(root)
    problems = []
    for page in PAGES:
        for number, line in enumerate(read(root, pathlib.Path(page)).splitlines(), 1):
            for suite, name in NAMED.findall(line):
                if suite not in suites:
                    problems.append(Problem(page, number, f"there is no test suite {suite}"))
                elif name and name not in suites[suite]:
                    problems.append(Problem(page, number, f"{suite} has no test {name}"))
    return problems + check_faults(root)


def check_faults(root):
    """A page that names a fault or a site names one that there is."""
    known = set()
    for path in FAULTS:
        known.update(ENUMERATOR.findall(read(root, pathlib.Path(path))))
    return [Problem(page, number, f"there is no fault or site {name}")
            for page in FAULT_PAGES
            for number, line in enumerate(read(root, pathlib.Path(page)).splitlines(), 1)
            for name in FAULT.findall(line) if name not in known]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "names")


if __name__ == "__main__":
    sys.exit(main())
