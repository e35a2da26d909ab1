"""Runs GoogleTest programs: some tests a process, as many processes side by side as asked for.

A process a test, as ctest does it, pays the start of a program ten thousand times. Here a process runs
a group of tests of one suite or one parameter. What dies takes nothing with it: the test that was
running has failed, and the tests behind it are run by another process.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile

from reliability import parse
from testing import processes

# The most tests, and the most text of names, that one process is given.
GROUP_TESTS = 60
GROUP_CHARACTERS = 60_000

_EVENT = re.compile(r"\[ (?:     RUN|RUN     ) \] (?P<run>\S+)\s*$"
                    r"|\[       OK \] (?P<ok>\S+) \((?P<ok_ms>\d+) ms\)"
                    r"|\[  SKIPPED \] (?P<skipped>\S+) \((?P<skipped_ms>\d+) ms\)"
                    r"|\[  FAILED  \] (?P<failed>[^\s,]+)(?:, where .*)? \((?P<failed_ms>\d+) ms\)",
                    re.MULTILINE)


# A sanitizer's error exits with 1, as a program does whose tests failed.
_IN_IT = "the program ended in the middle of this test"


@dataclasses.dataclass
class Result:
    name: str
    outcome: str  # passed, failed, skipped
    seconds: float = 0.0
    output: str = ""


@dataclasses.dataclass(frozen=True)
class Program:
    """A test program. `alone`: its tests look at the whole process (limits, signals, children,
    memory), so that each gets one of its own."""
    path: pathlib.Path
    label: str
    alone: bool = False
    environment: tuple = ()


def list_tests(program):
    """The names of all tests of a program, disabled ones left out."""
    listed = subprocess.run([program.path, "--gtest_list_tests"], check=True, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120).stdout
    return [name for name in parse.gtest_names(listed) if "DISABLED_" not in name]


def parameter_of(name):
    """What stands behind the last slash of a parameterized test."""
    return name.rpartition("/")[2] if name.count("/") else ""


def in_groups(names, alone=False):
    """The tests in the groups that share a process: of one parameter, where they have one (such a
    program need set up that one only), else of neighbouring suites."""
    if alone:
        return [[name] for name in names]
    by_parameter = {}
    for name in names:
        by_parameter.setdefault(parameter_of(name), []).append(name)
    groups = []
    for tests in by_parameter.values():
        group, characters = [], 0
        for name in tests:
            if group and (len(group) == GROUP_TESTS or characters + len(name) > GROUP_CHARACTERS):
                groups.append(group)
                group, characters = [], 0
            group.append(name)
            characters += len(name) + 1
        groups.append(group)
    return groups


# GoogleTest's last words.
_SUMMARY = re.compile(r"^\[==========\] \d+ tests? .*ran\.", re.MULTILINE)


def read_output(names, output, why):
    """The results of the tests that a process has begun, of its output. A process that says nothing
    at its end did not come to it: then the test that was running has failed, and `why` says how."""
    wanted, results, running, begin = set(names), {}, None, 0
    for event in _EVENT.finditer(output):
        found = event.groupdict()
        if found["run"]:
            if found["run"] in wanted:
                running, begin = found["run"], event.start()
            continue
        for outcome, kind in (("passed", "ok"), ("skipped", "skipped"), ("failed", "failed")):
            # A summary at the end repeats failures without a time, which the pattern does not take.
            if found[kind] in wanted and found[kind] not in results:
                text = "" if outcome == "passed" else output[begin:event.end()]
                results[found[kind]] = Result(found[kind], outcome,
                                              int(found[kind + "_ms"]) / 1000, text)
                running = None
    if running is not None and (why or not _SUMMARY.search(output)):
        results[running] = Result(running, "failed", 0.0, output[begin:] + f"\n{why or _IN_IT}")
    return results


def how_it_ended(code):
    """Empty when the program came to its end by itself."""
    # 0: all passed; 1: some failed, each of which is named.
    if code in (0, 1):
        return ""
    if code < 0:
        return f"the program was ended by {signal.Signals(-code).name}"
    return f"the program ended with exit code {code}"


class Runner:
    """Runs groups of tests. tell(result) is called once a test, from any thread."""

    def __init__(self, jobs, scratch, tell, environment=None):
        self.jobs = jobs
        self.scratch = pathlib.Path(scratch)
        self.tell = tell
        self.environment = environment or {}

    def run(self, programs_and_names):
        """Runs the named tests of each program; returns the results of all."""
        work = []
        for program, names in programs_and_names:
            work += [(program, group) for group in in_groups(names, program.alone)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return [result for results in pool.map(lambda item: self._run_group(*item), work)
                    for result in results]

    def _run_group(self, program, names):
        results, left = {}, list(names)
        while left:
            got = self._run_process(program, left)
            if not got:
                got = {left[0]: Result(left[0], "failed", 0.0, "the program ran no test")}
            for result in got.values():
                result.name = f"{program.label}/{result.name}"
                self.tell(result)
            results.update(got)
            left = [name for name in left if name not in got]
        return list(results.values())

    def _run_process(self, program, names):
        environment = dict(os.environ, **self.environment, **dict(program.environment))
        with tempfile.TemporaryFile(dir=self.scratch) as output:
            code, why = processes.run(
                [program.path, "--gtest_filter=" + ":".join(names), "--gtest_color=no"], output,
                environment)
            output.seek(0)
            text = output.read().decode(errors="replace")
        why = why or how_it_ended(code)
        results = read_output(names, text, why)
        if why and not any(result.outcome == "failed" for result in results.values()):
            # It died between tests, or after the last one: that is a failure of somebody.
            missing = [name for name in names if name not in results] or names[-1:]
            results[missing[0]] = Result(missing[0], "failed", 0.0, text[-8000:] + f"\n{why}")
        return results
