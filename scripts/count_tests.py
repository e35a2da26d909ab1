#!/usr/bin/env python3
"""Counts test results in JUnit's XML: ctest's (--output-junit), Maven's (surefire) and
pytest's (--junitxml).

count_tests.py FILE...                      says what failed and how it began and ended, then one
                                            line: N passed, M failed
count_tests.py --step FILE...               one short line about the files
count_tests.py --record FILE NAME CODE LOG  writes a result of its own, for steps ctest doesn't know

A skipped test is neither passed nor failed; how many there are is said on a line of its own.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


# How much is said of a failure: where the whole log is not at hand, it must be enough to go on.
FIRST_LINES = 8
LAST_LINES = 3
LINE_CHARACTERS = 200
# Of more than so many the names are said once more, in a line.
MANY_FAILURES = 3


class Counts:
    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failures = []
        self.reasons = []  # of each failure, lines

    def add_file(self, path):
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            status = case.get("status") or status_by_others(case)
            if case.find("failure") is not None or status == "fail":
                self.failures.append(full_name(case))
                self.reasons.append(reason(case))
            elif status == "run":
                self.passed += 1
            elif status == "skipped" or was_skipped_by_choice(case):
                self.skipped += 1
            else:
                self.failures.append(f"{full_name(case)} (did not run)")
                self.reasons.append([])


def reason(case):
    """The first and the last lines of what a failed test said."""
    text = ""
    for part in ("failure", "error", "system-out"):
        found = case.find(part)
        if found is not None and not text:
            text = (found.text or "").strip() or found.get("message", "").strip()
    # What the test programs say of every test tells nothing of this one.
    lines = [line.rstrip()[:LINE_CHARACTERS] for line in text.splitlines()
             if line.strip() and not line.startswith(("[ RUN  ", "[  FAILED  ]"))]
    if len(lines) <= FIRST_LINES + LAST_LINES:
        return lines
    return lines[:FIRST_LINES] + ["..."] + lines[-LAST_LINES:]


def full_name(case):
    """Maven names a test within its class; ctest gives the same name twice."""
    name, folder = case.get("name"), case.get("classname")
    return name if folder in (None, name) else f"{folder}.{name}"


def status_by_others(case):
    """Surefire and pytest write no status. What is skipped there is skipped by choice: something
    missing fails the build before any test."""
    if case.find("error") is not None:
        return "fail"
    return "run" if case.find("skipped") is None else "skipped"


def was_skipped_by_choice(case):
    """GTEST_SKIP and skip codes are a choice; a program that is missing or unusable is not."""
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_")


def in_short(paths):
    """One short line about the files."""
    counts = Counts()
    for path in paths:
        counts.add_file(path)
    return f"{counts.passed} passed, {len(counts.failures)} failed, {counts.skipped} skipped"


def print_slowest(paths, most):
    """The tests that took longest."""
    times = []
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            # Maven groups thousands by commas.
            times.append((float((case.get("time") or "0").replace(",", "")), full_name(case)))
    print(f"the {most} slowest tests, in seconds:")
    for seconds, name in sorted(times, reverse=True)[:most]:
        print(f"  {seconds:6.1f}  {name}")


def last_lines(log):
    """Of a file, in characters that XML takes: the log may not be at hand later."""
    try:
        with open(log, errors="replace", encoding="utf-8") as file:
            lines = file.read().splitlines()[-FIRST_LINES:]
    except OSError:
        return []
    return [re.sub(r"[^\t -\ud7ff\ue000-\ufffd]", "?", line) for line in lines]


def record(path, name, code, log):
    root = ElementTree.Element("testsuite")
    status = "run" if code == "0" else "fail"
    case = ElementTree.SubElement(root, "testcase", name=name, status=status)
    if code != "0":
        failure = ElementTree.SubElement(case, "failure", message="")
        failure.text = "\n".join([f"see {log}", *last_lines(log)])
    ElementTree.ElementTree(root).write(path)


def main(arguments):
    if arguments[:1] == ["--record"]:
        record(*arguments[1:5])
        return 0
    if arguments[:1] == ["--step"]:
        print(in_short(arguments[1:]))
        return 0
    counts = Counts()
    for path in arguments:
        counts.add_file(path)
    failed = len(counts.failures)
    for name, lines in zip(counts.failures, counts.reasons):
        print(f"FAILED {name}")
        for line in lines:
            print(f"  {line}")
    if failed > MANY_FAILURES:
        print("failed: " + ", ".join(counts.failures))
    if counts.skipped:
        print(f"{counts.skipped} skipped")
    if counts.passed + failed == 0:
        failed = 1
        print("FAILED no test ran")
    print(f"{counts.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
