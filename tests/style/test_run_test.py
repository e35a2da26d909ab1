#!/usr/bin/env python3
"""Shows that scripts/testing takes nothing for a pass that did not run: programs that die, hang up, or
say nothing; and that the shares of pushes that follow each other cover everything."""

import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from testing import budget, choice, gtest_programs, mutant_share, plan, processes  # noqa: E402

# Stands in for a GoogleTest program: each test does what its name says.
PROGRAM = """
#!/usr/bin/env python3
import os, signal, sys
names = ["A.passes", "A.fails", "A.dies", "A.follows", "B/S.exits/1", "B/S.skips/1", "B/S.passes/2"]
if "--gtest_list_tests" in sys.argv:
    print("Running main() from a file\\nA.\\n  passes\\n  fails\\n  dies\\n  follows\\n  DISABLED_off\\n"
          "B/S.\\n  exits/1  # GetParam() = 1\\n  skips/1  # GetParam() = 1\\n  passes/2")
    sys.exit(0)
chosen = [a.split("=", 1)[1].split(":") for a in sys.argv if a.startswith("--gtest_filter=")][0]
code = 0
for name in names:
    if name not in chosen:
        continue
    print(f"[ RUN      ] {name}", flush=True)
    if "dies" in name:
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if "exits" in name:
        print("a sanitizer's words", flush=True)
        os._exit(1)
    if "fails" in name:
        code = 1
        print(f"somewhere.cc:7: Failure\\n[  FAILED  ] {name} (3 ms)")
    elif "skips" in name:
        print(f"why not\\n[  SKIPPED ] {name} (0 ms)")
    else:
        print(f"words without an end of line[       OK ] {name} (12 ms)")
if code:
    print("[  FAILED  ] 1 test, listed below:\\n[  FAILED  ] A.fails\\n\\n 1 FAILED TEST")
sys.exit(code)
"""


class GtestProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, text=PROGRAM, **facts):
        path = self.folder / "braid_some_tests"
        path.write_text(textwrap.dedent(text).lstrip())
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return gtest_programs.Program(path, "some", **facts)

    def outcomes(self, program, names):
        told = []
        runner = gtest_programs.Runner(2, self.folder, told.append)
        results = runner.run([(program, names)])
        self.assertEqual(sorted(result.name for result in told),
                         sorted(result.name for result in results))
        return {result.name: result for result in results}

    def test_lists_tests_without_disabled_ones(self):
        self.assertEqual(gtest_programs.list_tests(self.program()),
                         ["A.passes", "A.fails", "A.dies", "A.follows", "B/S.exits/1", "B/S.skips/1",
                          "B/S.passes/2"])

    def test_each_test_has_one_outcome_whatever_its_neighbours_do(self):
        program = self.program()
        names = gtest_programs.list_tests(program)
        results = self.outcomes(program, names)
        self.assertEqual({name: result.outcome for name, result in results.items()},
                         {"some/A.passes": "passed", "some/A.fails": "failed",
                          "some/A.dies": "failed", "some/A.follows": "passed",
                          "some/B/S.exits/1": "failed", "some/B/S.skips/1": "skipped",
                          "some/B/S.passes/2": "passed"})
        self.assertIn("last words", results["some/A.dies"].output)
        self.assertIn("SIGSEGV", results["some/A.dies"].output)
        self.assertIn("a sanitizer's words", results["some/B/S.exits/1"].output)
        self.assertIn("in the middle", results["some/B/S.exits/1"].output)
        self.assertIn("somewhere.cc:7", results["some/A.fails"].output)
        self.assertEqual(results["some/A.passes"].seconds, 0.012)

    def test_a_process_each_gives_the_same(self):
        program = self.program(alone=True)
        names = gtest_programs.list_tests(program)
        failed = [name for name, result in self.outcomes(program, names).items()
                  if result.outcome == "failed"]
        self.assertEqual(sorted(failed), ["some/A.dies", "some/A.fails", "some/B/S.exits/1"])

    def test_a_program_that_says_nothing_fails_each_test(self):
        program = self.program("#!/bin/sh\nexit 0\n")
        outcomes = {result.outcome for result in self.outcomes(program, ["A.a", "A.b"]).values()}
        self.assertEqual(outcomes, {"failed"})

    def test_a_failure_after_the_last_test_is_one(self):
        program = self.program('#!/bin/sh\necho "[ RUN      ] A.a"\necho "[       OK ] A.a (1 ms)"\n'
                               "exit 23\n")
        result = self.outcomes(program, ["A.a"])["some/A.a"]
        self.assertEqual(result.outcome, "failed")
        self.assertIn("exit code 23", result.output)

    def test_tests_of_one_parameter_share_a_process(self):
        names = [f"S/T.n{i}/{p}" for i in range(100) for p in ("x", "y")]
        groups = gtest_programs.in_groups(names)
        self.assertEqual(sorted(name for group in groups for name in group), sorted(names))
        for group in groups:
            self.assertLessEqual(len(group), gtest_programs.GROUP_TESTS)
            self.assertEqual(len({name[-1] for name in group}), 1)


class ProcessesTest(unittest.TestCase):
    def setUp(self):
        output = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        self.addCleanup(output.close)
        self.output = output

    def run_shell(self, script, **facts):
        return processes.run(["sh", "-c", script], self.output, None, **facts)

    def said(self):
        self.output.seek(0)
        return self.output.read().decode()

    def test_who_speaks_now_and_then_may_take_its_time(self):
        script = "for i in 1 2 3 4 5; do echo $i; sleep 0.7; done; exit 7"
        self.assertEqual(self.run_shell(script, silence_seconds=2.5), (7, ""))

    def test_who_is_silent_is_ended_with_all_it_started(self):
        code, why = self.run_shell("sleep 1000 & echo $!; wait", silence_seconds=1)
        self.assertEqual((code, why), (-signal.SIGABRT, processes.STUCK))
        child, _, where = self.said().partition("\n")
        self.assert_ends(int(child))
        self.assertRegex(where, r"thread \d+ \(sh\): waits in ")

    def test_who_does_not_abort_is_killed(self):
        code, why = self.run_shell("trap '' ABRT; while :; do sleep 1000; done", silence_seconds=1)
        self.assertEqual((code, why), (-signal.SIGKILL, processes.STUCK))

    def test_nothing_outlives_the_program(self):
        self.assertEqual(self.run_shell("sleep 1000 & echo $!"), (0, ""))
        self.assert_ends(int(self.said()))

    def test_the_end_of_the_run_is_that_of_its_programs(self):
        script = f"""
import sys, threading, time
sys.path.insert(0, {str(ROOT / "scripts")!r})
from testing import processes
output = open(sys.argv[1], "wb")
thread = threading.Thread(target=lambda: print(processes.run(["sleep", "1000"], output, None)))
thread.start()
time.sleep(0.5)
processes.end_all()
thread.join()
try:
    processes.run(["true"], output, None)
except RuntimeError as error:
    print(error)
"""
        with tempfile.NamedTemporaryFile() as file:
            run = subprocess.run([sys.executable, "-c", script, file.name], text=True, check=True,
                                 stdout=subprocess.PIPE, timeout=60)
        self.assertEqual(run.stdout, "(-9, '')\nthe run is over\n")

    def assert_ends(self, pid):
        for _ in range(100):
            status = pathlib.Path(f"/proc/{pid}/stat")
            # What nobody waits for stays as a zombie where there is no init.
            if not status.exists() or " Z " in status.read_text():
                return
            time.sleep(0.1)
        self.fail(f"process {pid} is still there")


class ChoiceTest(unittest.TestCase):
    def test_seeds_that_follow_each_other_take_everything(self):
        items = [f"item{i}" for i in range(103)]
        shares = [choice.Choice(seed).share(items, 4) for seed in range(17, 21)]
        self.assertEqual(sorted(item for share in shares for item in share), sorted(items))
        self.assertEqual(choice.Choice(3).share(items, 4), choice.Choice(3).share(items, 4))
        self.assertEqual(choice.Choice(3, full=True).share(items, 4), items)

    def test_what_changed_is_in_every_share(self):
        items = [f"item{i}" for i in range(40)]
        for seed in range(4):
            self.assertIn("item7", choice.Choice(seed).share(items, 4, always={"item7"}))

    def test_every_pair_of_test_store_and_way_is_there(self):
        ways = [f"{size}_{how}" for size in ("tiny", "default") for how in ("background", "inline")]
        names = [f"S/T.test{t}/store{s}_{way}" for t in range(9) for s in range(16) for way in ways]
        names.append("Other.Test")
        taken = choice.Choice(5).one_way_each(names)
        self.assertIn("Other.Test", taken)
        self.assertEqual(len(taken), 9 * 16 / 2 + 1)
        parts = [choice.parts_of(name) for name in taken if name != "Other.Test"]
        self.assertEqual(len({(test, way) for test, _, way in parts}), 9 * 4)
        self.assertEqual(len({(store, way) for _, store, way in parts}), 16 * 4)
        two = {choice.parts_of(name)[:2] for seed in (5, 6)
               for name in choice.Choice(seed).one_way_each(names)}
        self.assertEqual(len(two), 9 * 16 + 1)
        others = {name for seed in range(5, 13) for name in choice.Choice(seed).one_way_each(names)}
        self.assertEqual(others, set(names))

    def test_faults_are_found_in_the_files_that_changed(self):
        found = mutant_share.mutants_in(ROOT, {"src/recovery/recovery_job.cc", "README.md",
                                               "src/gone.cc", "src/media/sites.h"})
        self.assertIn("kRedoNotReplayed", found, "woven into the file")
        self.assertIn("kSweepSync", found, "a site of it")
        self.assertNotIn("kEntryHeader", found, "a site of another file")
        self.assertNotIn("kNone", found)

    def test_a_smaller_share_is_a_part_of_the_usual_one(self):
        names = [f"A.{number}" for number in range(100)]
        for seed in range(16):
            usual = choice.Choice(seed).share(names, plan.ONE_CRASH_TEST_IN)
            for pieces in budget.PIECES:
                smaller = choice.Choice(seed).share(names, plan.ONE_CRASH_TEST_IN * pieces)
                self.assertLessEqual(set(smaller), set(usual))
                self.assertAlmostEqual(len(smaller), len(usual) / pieces, delta=1)

    def test_a_spare_step_names_no_program(self):
        listed = ("kFound\tlog\tflush\t\n"
                  "kByOthers\tlog\torder\tbraid_limits_tests A.*\n"
                  "kSpare\tlog\tspare\tthe commit fences\n")
        done = subprocess.CompletedProcess([], 0, stdout=listed)
        with unittest.mock.patch.object(mutant_share.subprocess, "run", return_value=done):
            shares = [mutant_share.Share(ROOT, choice.Choice(seed)) for seed in range(8)]
        for share in shares:
            self.assertEqual(share.programs(), ["braid_crash_tests", "braid_limits_tests"])
        self.assertIn("kSpare", {name for share in shares for name in share.names})


class BudgetTest(unittest.TestCase):
    """A run that takes `slowness` times as long as planned."""

    def pieces_and_end(self, slowness, compiled=False, seed=0, **settings):
        """Of each step, and when the run ends."""
        limit = budget.Budget(**settings)
        elapsed, pieces = 0, {}
        for step, seconds in budget.PLANNED.items():
            if step in budget.SANITIZERS and not limit.has_time_for(step, elapsed, seed):
                continue
            elapsed += 0 if compiled else seconds.build * slowness
            pieces[step] = limit.pieces_of_share(step, elapsed) if elapsed else 1
            elapsed += (seconds.always + seconds.share / pieces[step]) * slowness
        return pieces, elapsed / 60

    def test_the_plan_is_that_of_the_first_lane(self):
        self.assertEqual(tuple(budget.PLANNED), plan.FIRST_LANE)

    def test_who_is_in_time_takes_the_usual_share(self):
        for slowness in (0.5, 1.0, 1.2):
            pieces, end = self.pieces_and_end(slowness)
            self.assertEqual(set(pieces.values()), {1}, slowness)
            self.assertLess(end, budget.MINUTES)

    def test_who_is_late_takes_less(self):
        pieces, end = self.pieces_and_end(1.5)
        self.assertIn(2, pieces.values())
        self.assertLess(end, budget.MINUTES + 2)
        pieces, end = self.pieces_and_end(2.0)
        self.assertEqual({name: pieces[name] for name in ("release", "crash")},
                         {"release": 4, "crash": 4})
        self.assertLess(end, 1.3 * budget.MINUTES)

    def test_who_is_much_too_late_does_one_sanitizer(self):
        done = []
        for seed in (6, 7):
            pieces, end = self.pieces_and_end(2.5, seed=seed)
            done.append(set(budget.SANITIZERS) & set(pieces))
            self.assertLess(end, 1.6 * budget.MINUTES)
        self.assertEqual(done, [{"tsan-concurrency"}, {"asan-model"}])

    def test_who_is_far_behind_leaves_sanitizers_to_others(self):
        for seed in (0, 1):
            pieces, end = self.pieces_and_end(4.2, seed=seed)
            self.assertFalse(set(budget.SANITIZERS) & set(pieces))
            self.assertLess(end, 2 * budget.MINUTES)

    def test_what_had_been_compiled_leaves_time(self):
        pieces, _ = self.pieces_and_end(2.0, compiled=True)
        self.assertEqual(set(pieces.values()), {1})

    def test_a_full_run_leaves_nothing_out(self):
        pieces, _ = self.pieces_and_end(10.0, full=True)
        self.assertEqual(pieces, dict.fromkeys(budget.PLANNED, 1))

    def test_the_limit_can_be_set(self):
        with unittest.mock.patch.dict("os.environ", BRAID_TEST_MINUTES="120"):
            self.assertEqual(set(self.pieces_and_end(2.0)[0].values()), {1})
        with unittest.mock.patch.dict("os.environ", BRAID_TEST_MINUTES="soon"):
            self.assertRaises(SystemExit, budget.Budget)


if __name__ == "__main__":
    unittest.main()
