#!/usr/bin/env python3
"""Checks that the folders that keep data safe state what they rely on (docs/internals/style.md): at least 20
assertions (BRAID_CHECK, BRAID_DCHECK, static_assert) per 1,000 lines of source, tests left out.

    check_asserts.py --list   the numbers of each folder
"""

import argparse
import pathlib
import re
import sys

from source_text import ROOT, Problem, cpp_files, read, report, without_comments

FOLDERS = ("log", "memtable", "index", "flush", "level", "merge", "compaction", "recovery", "pool")
PER_THOUSAND = 20

# static_assert also without a message; BRAID_CHECK_OK and the like are other macros.
ASSERTION = re.compile(r"\b(?:BRAID_D?CHECK|static_assert)\s*\(")


def count(root, folder):
    """The assertions and the lines of a folder, without its tests."""
    assertions = lines = 0
    for path in cpp_files(root, f"src/{folder}"):
        if path.suffix not in (".cc", ".h") or path.name.endswith("_test.cc"):
            continue
        text = read(root, path)
        lines += len(text.splitlines())
        assertions += len(ASSERTION.findall(without_comments(text, keep_strings=False)))
    return assertions, lines


def wanted(lines):
    return -(-lines * PER_THOUSAND // 1000)


def check(root):
    problems = []
    for folder in FOLDERS:
        assertions, lines = count(root, folder)
        missing = wanted(lines) - assertions
        if missing > 0:
            problems.append(Problem(
                f"src/{folder}", 1,
                f"{assertions} assertions in {lines} lines, {missing} fewer than {PER_THOUSAND} per "
                "1,000: put a BRAID_CHECK (or a BRAID_DCHECK, where it would cost time) at what "
                "functions require and promise, and a static_assert at what layouts rely on"))
    return problems


def table(root):
    print(f"{'folder':12} {'lines':>6} {'assertions':>10} {'per 1,000':>9} {'missing':>7}")
    for folder in FOLDERS:
        assertions, lines = count(root, folder)
        share = 1000 * assertions / lines if lines else 0
        print(f"{folder:12} {lines:6} {assertions:10} {share:9.1f} "
              f"{max(0, wanted(lines) - assertions):7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--list", action="store_true", help="print the numbers of each folder")
    arguments = parser.parse_args()
    if arguments.list:
        table(arguments.root)
        return 0
    return report(check(arguments.root), "asserts")


if __name__ == "__main__":
    sys.exit(main())
