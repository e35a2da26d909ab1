#!/usr/bin/env python3
"""Switches on one seeded fault after the other (src/sim/faults.h, src/media/sites.h) and expects the tests to find
each. Prints a table; exits 1 when a fault survives. Called by mutants.sh, which builds first."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

# For a fault that the crash tests do not find and that names no tests of its own.
OTHER_TESTS = [
    "braid_crash_tests DurableReadTest.*",
    "braid_unit_tests ManifestTest.*:PowerLossTest.*",
    "braid_limits_tests *PoolFullTest*",
    "braid_conformance_tests *",
    "braid_concurrency_tests *AtomicityTest*",
    "braid_model_tests *",
    "braid_damage_tests *",
]


# A spare step is one that another covers today; the table of sites says which.
GOOD = ("killed", "spare")


class Runner:
    def __init__(self, crash_tests, seconds):
        self.crash_tests = crash_tests
        self.seconds = seconds

    def run(self, command, mutant=None):
        """Exit code (None: not finished) and output."""
        environment = dict(os.environ)
        environment.pop("BRAID_MUTANT", None)
        if mutant:
            environment["BRAID_MUTANT"] = mutant
        try:
            done = subprocess.run(command, env=environment, timeout=self.seconds, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout

    def has(self, tests):
        """Whether the program of '<program> <filter>' is built: a push builds those that it needs."""
        return self.crash_tests.with_name(tests.split(" ", 1)[0]).exists()

    def tests(self, tests, mutant=None):
        """Runs '<program> <filter>'. What failed, or None."""
        program, test_filter = tests.split(" ", 1)
        path = self.crash_tests.with_name(program)
        if not path.exists():
            raise RuntimeError(f"{path} is not built")
        code, output = self.run(
            [path, f"--gtest_filter={test_filter}", "--gtest_fail_fast"], mutant)
        if code == 0:
            if not re.search(r"\[  PASSED  \] [1-9]", output):
                raise RuntimeError(f"{program} has no test that fits {test_filter}")
            return None
        if code is None:
            return f"{program}: not finished after {self.seconds} s"
        failed = re.search(r"\[  FAILED  \] ([^\s,]+)", output)
        if failed:
            return f"{program}: {failed.group(1)}"
        running = re.findall(r"\[ RUN      \] (\S+)", output)
        return f"{program}: {running[-1] if running else ''} ends with code {code}"

    def crash(self, mutant):
        """Outcome, images and what found it, by the crash tests."""
        code, output = self.run([self.crash_tests, f"--mutant={mutant}"])
        killed = re.search(r"^killed \S+ after (\d+) images by (.*)$", output, re.MULTILINE)
        if code == 0 and killed:
            return "killed", int(killed.group(1)), killed.group(2)
        survived = re.search(r"^survived \S+: (\d+) images", output, re.MULTILINE)
        if code == 1 and survived:
            return "survived", int(survived.group(1)), ""
        if code is None:
            return "failed", 0, f"not finished after {self.seconds} s; raise BRAID_MUTANT_SECONDS"
        return "failed", 0, f"exit code {code}: {output.strip()[-200:]}"


def examine(runner, mutant):
    """Tries one mutant. Returns its row."""
    begin = time.monotonic()
    outcome, images, found = "survived", 0, ""
    if mutant["mistake"] == "spare":
        outcome, images, found = "spare", 0, mutant["tests"]
    elif mutant["tests"]:
        found = runner.tests(mutant["tests"], mutant["name"]) or ""
        outcome = "killed" if found else "survived"
    if outcome == "survived":
        outcome, images, found = runner.crash(mutant["name"])
    if outcome == "survived":
        for tests in OTHER_TESTS:
            if tests == mutant["tests"] or not runner.has(tests):
                continue
            found = runner.tests(tests, mutant["name"])
            if found:
                outcome = "killed"
                break
    return {"name": mutant["name"], "part": mutant["part"], "mistake": mutant["mistake"],
            "outcome": outcome, "images": images, "seconds": round(time.monotonic() - begin, 2),
            "found_by": found or ""}


def list_mutants(crash_tests):
    lines = subprocess.run([crash_tests, "--list_mutants"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    return [dict(zip(("name", "part", "mistake", "tests"), line.split("\t"))) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutants", nargs="*", help="names; none: all")
    parser.add_argument("--crash-tests", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=600, help="limit of one run of a program")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file too")
    arguments = parser.parse_args()

    mutants = list_mutants(arguments.crash_tests)
    unknown = set(arguments.mutants) - {mutant["name"] for mutant in mutants}
    if unknown:
        sys.exit(f"mutants.py: no mutant is called {', '.join(sorted(unknown))}")
    if arguments.mutants:
        mutants = [mutant for mutant in mutants if mutant["name"] in arguments.mutants]
    if not mutants:
        sys.exit(f"mutants.py: {arguments.crash_tests} lists no mutants; is it the crashsim build?")

    runner = Runner(arguments.crash_tests.resolve(), arguments.seconds)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        # A test that fails without any fault would find them all.
        controls = {tests: pool.submit(runner.tests, tests)
                    for tests in sorted({mutant["tests"] for mutant in mutants
                                         if mutant["mistake"] != "spare"} - {""})}
        rows = list(pool.map(lambda mutant: examine(runner, mutant), mutants))
        broken = [f"{tests}: {control.result()}" for tests, control in controls.items()
                  if control.result()]

    print(f"{'mutant':<28} {'kind':<16} {'outcome':<9} {'images':>7} {'s':>6}  found by")
    for row in rows:
        outcome = row["outcome"] if row["outcome"] in GOOD else row["outcome"].upper()
        print(f"{row['name']:<28} {row['mistake']:<16} {outcome:<9} {row['images'] or '-':>7} "
              f"{row['seconds']:>6.1f}  {row['found_by'][:90]}")
    # Once more, where who reads only the end sees them.
    for row in rows:
        if row["outcome"] not in GOOD:
            print(f"not killed: {row['name']}")
    for line in broken:
        print(f"fails without any fault: {line}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    killed = sum(row["outcome"] in GOOD for row in rows)
    print(f"{killed} of {len(rows)} mutants killed, {len(rows) - killed} not, "
          f"in {time.monotonic() - begin:.0f} s")
    sys.exit(0 if killed == len(rows) and not broken else 1)


if __name__ == "__main__":
    main()
