#!/usr/bin/env python3
"""Counts test results written by ctest --output-junit, and those of pytest --junitxml.

count_tests.py FILE...                      names what failed, then one line: N passed, M failed
count_tests.py --step FILE                  one short line about one file
count_tests.py --record FILE NAME CODE LOG  writes a result of its own, for steps ctest doesn't know

A skipped test is neither passed nor failed; how many there are is said on a line of its own.
"""

import sys
import xml.etree.ElementTree as ElementTree


class Counts:
    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failures = []

    def add_file(self, path):
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            status = case.get("status")
            if case.find("failure") is not None or status == "fail":
                self.failures.append(case.get("name"))
            elif case.find("error") is not None:
                self.failures.append(f"{case.get('name')} (error)")
            elif status == "run" or (status is None and case.find("skipped") is None):
                self.passed += 1  # ctest says so, pytest says nothing
            elif case.find("skipped") is not None and was_skipped_by_choice(case):
                self.skipped += 1
            else:
                self.failures.append(f"{case.get('name')} (did not run)")


def was_skipped_by_choice(case):
    """GTEST_SKIP, skip codes and pytest's marks are a choice; a program that is missing or unusable
    is not."""
    skipped = case.find("skipped")
    by_pytest = skipped.get("type", "").startswith("pytest.")
    return by_pytest or skipped.get("message", "").startswith("SKIP_")


def record(path, name, code, log):
    root = ElementTree.Element("testsuite")
    status = "run" if code == "0" else "fail"
    case = ElementTree.SubElement(root, "testcase", name=name, status=status)
    if code != "0":
        ElementTree.SubElement(case, "failure", message=f"see {log}")
    ElementTree.ElementTree(root).write(path)


def main(arguments):
    if arguments[:1] == ["--record"]:
        record(*arguments[1:5])
        return 0
    one_step = arguments[:1] == ["--step"]
    counts = Counts()
    for path in arguments[1:] if one_step else arguments:
        counts.add_file(path)
    failed = len(counts.failures)
    if one_step:
        print(f"{counts.passed} passed, {failed} failed, {counts.skipped} skipped")
        return 0
    for name in counts.failures:
        print(f"FAILED {name}")
    if counts.skipped:
        print(f"{counts.skipped} skipped")
    if counts.passed + failed == 0:
        failed = 1
        print("FAILED no test ran")
    print(f"{counts.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
