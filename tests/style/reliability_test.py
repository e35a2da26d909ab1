#!/usr/bin/env python3
"""Shows that scripts/reliability reads what the programs say, resumes, and that the table of
docs/evidence/testing.md is that of docs/evidence/reliability.json."""

import json
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from reliability import page, parse, report  # noqa: E402
from reliability import run as run_module  # noqa: E402
from reliability.run import Run  # noqa: E402
from reliability.stages import Crash, Listed, Slice, Stage, all_stages  # noqa: E402

CRASH = """\
[ crash    ] Put              1848 checked, 9465 pruned (in recovery 303 once, 156 twice, 59 three \
times; 25 process crashes, 45 continued), 100 duplicates, 11 rechecked, all images known at 110 of \
132 points, 2 runs, 60 operations, 0.3 s, 6922 checked/s, 42374 checked and pruned/s
[ crash    ] Put: the time is up; BRAID_TEST_SIZE=push BRAID_SEED=9 goes on
[ crash    ] PutEadr          20 checked, 3 pruned (in recovery 2 once, 1 twice, 0 three times; 0 \
process crashes, 0 continued), 0 duplicates, 0 rechecked, all images known at 1 of 2 points, 5 \
runs, 60 operations, 0.3 s, 1 checked/s, 1 checked and pruned/s
[ crash    ] all workloads    1868 checked, 9468 pruned (in recovery 305 once, 157 twice, 59 three \
times; 25 process crashes, 45 continued), 100 duplicates, 11 rechecked, all images known at 111 of \
134 points, 7 runs, 60 operations, 0.3 s, 6922 checked/s, 42374 checked and pruned/s
"""


class ParseTest(unittest.TestCase):
    def test_crash_lines_are_summed_by_medium_and_the_next_seed_is_new_to_all_workloads(self):
        done, counts, seed = parse.crash(CRASH, 7)
        self.assertEqual(done, 1868)
        self.assertEqual((counts["ADR"], counts["eADR"], counts["page"]), (1848, 20, 0))
        self.assertEqual(counts["pruned"], 9468)
        self.assertEqual(counts["crashed twice in recovery"], 157)
        self.assertEqual(seed, 12)
        self.assertEqual(parse.crash("", 7)[2], 8)

    def test_curves_of_ageing_are_read_and_drawn(self):
        text = "".join(
            f"[ ageing   ] Queue_{who} {tenth}: {who_bytes} pool 2097152 dram {tenth}.500 us/op "
            f"{10 * tenth}.000 us/p99.9 3.000 us/seek\n"
            for who, who_bytes in (("braid", 1 << 20), ("listdb_inline", 3 << 20))
            for tenth in range(1, 11))
        curves = parse.ageing(text)
        self.assertEqual(sorted(curves), ["Queue_braid", "Queue_listdb_inline"])
        self.assertEqual(curves["Queue_braid"]["p99.9"], [10.0 * i for i in range(1, 11)])
        drawn = page.ageing(curves)
        self.assertEqual(drawn.count("<polyline"), 2 * len(parse.AGEING_MEASURES))
        self.assertIn("listdb, inline", drawn)
        # The pool of one is a third of the other's, on an axis that ends at 5 MiB.
        chart = page.chart("pool", {"a": [1 << 20], "b": [5 << 20]})
        heights = [float(y) for y in re.findall(r'points="[\d.]+,([\d.]+)"', chart)]
        plot = page.HEIGHT - page.TOP - page.BOTTOM
        self.assertAlmostEqual(heights[0] - heights[1], plot * 0.8, delta=0.2)

    def test_every_workload_has_its_row(self):
        rows = [parse.crash_row(name) for name in ("Growth", "PutEadr", "PutPage", "ThreadsEadr")]
        self.assertEqual(rows, ["ADR", "eADR", "page", "threads"])

    def test_gtest_outcomes_are_counted_once_though_failures_are_listed_twice(self):
        text = ("[       OK ] A.B (1 ms)\n[  SKIPPED ] A.S (0 ms)\n"
                "[  FAILED  ] A/B.C/1, where GetParam() = 4 (2 ms)\n"
                "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A/B.C/1, where GetParam() = 4\n")
        self.assertEqual(parse.gtest(text), {"passed": 1, "skipped": 1, "failed": ["A/B.C/1"]})

    def test_the_steps_of_a_bare_machine(self):
        text = ("fresh: a bare root     87 s  made\nfresh: demo           250 s  Done in 20 s\n"
                "fresh: test          1900 s  FAILED: make test ended\n  otherwise\n"
                "fresh: failed: test, in 40 min\n")
        self.assertEqual(parse.fresh(text), (2, ["test"], ""))
        self.assertEqual(parse.fresh("fresh.py: needs root, to make a root\n"),
                         (0, [], "needs root, to make a root"))

    def test_listed_tests_lose_the_remarks_behind_them(self):
        text = "Running main() from x.cc\nA.\n  One\n  Two\nP/B.  # TypeParam = int\n  C/0  # G = 1\n"
        self.assertEqual(parse.gtest_names(text), ["A.One", "A.Two", "P/B.C/0"])

    def test_histories_kills_damage_repair_model_and_faults(self):
        text = ("[ history  ] 4 threads: 1332 operations, 472 overlap, 217 swapped, 155 refused\n"
                "[ history  ] 8 threads: 1800 operations, 683 overlap, 292 swapped, 211 refused\n")
        self.assertEqual(parse.histories(text), (3132, {"overlapping": 1155}))
        done, counts = parse.kills(
            "[ kill     ] 50 writes acknowledged, 14 of them swaps; in flight at the kill: 5 old, 2 "
            "new\n[ kill     ] 94 kills: 7 in open, 8 in recovery, 6 in a merge, 4 in growth, 10 in "
            "a flush; the first four are 27%\n")
        self.assertEqual((done, counts["in growth"], counts["writes acknowledged"]), (94, 4, 50))
        done, counts = parse.damage(
            "[ damage   ] 3 refused, 20 reported by verify, 1 by verify only, 2 torn ends, "
            "15 right (bytes changed: unused 12), 2 faults\n")
        self.assertEqual((done, counts["right"], counts["silent, crashed or hung"]), (43, 15, 2))
        self.assertEqual(parse.repair("[ repair   ] 40 trials, 3 with nothing left\n" * 2),
                         (80, {"nothing left": 6}))
        self.assertEqual(parse.model("[ model    ] 112000 operations\n" * 2), (224000, {}))
        self.assertEqual(parse.faults("[ runs     ] 12\n[ runs     ] 3\n"),
                         {"runs with a failing call": 15})

    def test_mutants_fuzz_porcupine_and_vm(self):
        rows = [{"name": "kA", "outcome": "killed"}, {"name": "kB", "outcome": "survived"}]
        self.assertEqual(parse.mutants(json.dumps(rows)), (1, ["kB"]))
        lines = '{"target":"a","execs":5,"findings":0}\n{"target":"b","execs":7,"findings":2}\n'
        self.assertEqual(parse.fuzz(lines), (12, {"a": 5, "b": 7}, 2))
        self.assertEqual(parse.porcupine("70 histories of 900 operations: 0 not linearizable\n"),
                         (70, {"operations": 900}))
        self.assertEqual(parse.skipped("porcupine: skipped: no go\n"), "no go")
        self.assertEqual(parse.skipped("[    0s] skip  all tests in a virtual machine: no qemu\n"),
                         "no qemu")
        self.assertEqual(parse.skipped("[    0s] skip  cxl: too old\n"), "")
        self.assertEqual(parse.vm("vm: size\n5 passed, 1 failed, 2 skipped\n"), (5, 1, 2))

    def test_each_replay_line_is_kept_once(self):
        self.assertEqual(parse.replays("x\n  replay: A=1 b\nz replay: A=1 b\nreplay: c\n"),
                         ["replay: A=1 b", "replay: c"])


class Counted(Stage):
    """Does ten a slice, and fails or is stopped where it is told."""

    def __init__(self, fails_at=None, stops_at=None, **more):
        super().__init__("counted", "counted things", "things", (30, 50, None), [], **more)
        self.fails_at, self.stops_at, self.seeds, self.given = fails_at, stops_at, [], []

    def slice(self, run, seed, done, seconds):
        if seed == self.stops_at:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        self.given.append(seconds)
        return Slice(10, {"odd": 5}, None, ["it broke"] if seed == self.fails_at else [])


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        silence = mock.patch.object(run_module, "say")
        self.said = silence.start()
        self.addCleanup(silence.stop)

    def run_of(self, **more):
        return Run(self.root, "push", 2, **more)

    def test_a_stage_runs_slices_of_growing_seeds_up_to_its_target(self):
        stage, run = Counted(), self.run_of()
        self.assertTrue(run.stage(stage, set()))
        self.assertEqual(stage.seeds, [1, 2, 3])
        self.assertEqual(run.progress_of(stage)["counts"], {"odd": 15})
        self.assertEqual(run.progress_of(stage)["share"], 1)

    def test_a_stop_loses_one_slice_and_the_next_run_goes_on(self):
        with self.assertRaises(KeyboardInterrupt):
            self.run_of().stage(Counted(stops_at=3), set())
        stage = Counted()
        self.assertTrue(self.run_of().stage(stage, set()))
        self.assertEqual(stage.seeds, [3])
        restarted = Counted()
        self.assertTrue(self.run_of(restart=True).stage(restarted, set()))
        self.assertEqual(restarted.seeds, [1, 2, 3])

    def test_a_failure_ends_a_seeded_stage_and_stays_in_the_state(self):
        run = self.run_of()
        self.assertFalse(run.stage(Counted(fails_at=2), set()))
        progress = self.run_of().progress_of(Counted())
        self.assertEqual((progress["done"], progress["failure_count"]), (20, 1))
        self.assertEqual(progress["failures"][0]["what"], "it broke")

    def test_what_is_wanted_besides_keeps_a_stage_going(self):
        stage = Counted(minimum={"odd": (25, None, None)})
        self.assertTrue(self.run_of().stage(stage, set()))
        self.assertEqual(len(stage.seeds), 5)

    def test_a_cap_ends_a_stage_and_the_share_is_what_was_done(self):
        times = iter(range(0, 1000, 4))
        stage, run = Counted(), self.run_of(cap=12)
        self.assertTrue(run.stage(stage, set(), clock=lambda: next(times)))
        self.assertEqual(stage.seeds, [1])
        self.assertAlmostEqual(run.progress_of(stage)["share"], 1 / 3)

    def test_slices_are_short_first_long_then_and_as_short_as_what_is_missing(self):
        for share, seconds, expected in ((0, 0, 20), (0.01, 100, 240), (0.5, 10, 13)):
            given = Run.slice_seconds({"share": share, "seconds": seconds}, 1000)
            self.assertAlmostEqual(given, expected)

    def test_a_program_without_a_count_or_with_a_bad_end_is_a_failure(self):
        stage, run = Crash("crash", "t", "images", (10, 20, 30), []), self.run_of()
        for script, what in (("true", "no count"), ("exit 3", "ends with code 3")):
            with mock.patch.object(stage, "command", ["bash", "-c", script]):
                result = stage.slice(run, 1, 0, 1)
            self.assertIn(what, result.failures[0])

    def test_a_test_that_did_not_run_is_a_failure(self):
        program = self.root / "tests"
        program.write_text("#!/bin/sh\n[ $1 = --gtest_list_tests ] && printf 'A.\\n  B\\n  C\\n'\n"
                           "[ $1 = --gtest_list_tests ] || echo '[       OK ] A.B (1 ms)'\n")
        program.chmod(0o755)
        stage = Listed("l", "t", "tests", (0, 0, 0), [], program=str(program), at_a_time=9)
        run = self.run_of()
        self.assertFalse(run.stage(stage, set()))
        self.assertEqual(run.progress_of(stage)["failures"][0]["what"], "1 of 2 tests did not run")

    def test_a_program_that_is_not_there_fails_its_stage_alone(self):
        stage = Listed("l", "t", "tests", (0, 0, 0), [], program="./missing", at_a_time=9)
        self.assertFalse(self.run_of().stage(stage, set()))
        progress = self.run_of().progress_of(stage)
        self.assertIn("can't be listed", progress["failures"][0]["what"])

    def test_what_a_killed_program_leaves_behind_is_removed(self):
        with mock.patch.dict("os.environ", BRAID_TMP=str(self.root)):
            script = "touch $BRAID_TMP/pool; echo $BRAID_TMP; ls $BRAID_TMP; kill -9 $$"
            output = self.run_of().program(Counted(), ["bash", "-c", script], 1)
        folder, listed = output.text.split()[:2]
        self.assertEqual((pathlib.Path(folder).parent, listed), (self.root, "pool"))
        self.assertFalse(pathlib.Path(folder).exists())

    def test_a_hang_is_ended_and_told(self):
        output = self.run_of().execute(["sleep", "60"], self.root / "log", {}, 0.2)
        self.assertIn("hangs", output.ending)
        self.assertNotEqual(output.code, 0)


class TableTest(unittest.TestCase):
    def setUp(self):
        self.facts = json.loads((ROOT / "docs/evidence/reliability.json").read_text())
        self.page = (ROOT / "docs/evidence/testing.md").read_text()

    def test_the_page_shows_the_last_run(self):
        self.assertEqual(report.between_markers(self.page), report.table(self.facts),
                         "run scripts/reliability.py --table")

    def test_the_facts_name_no_folder_of_a_machine(self):
        self.assertIsNone(re.search(r'["\s=](/[a-z]+/|~/)', json.dumps(self.facts)))

    def test_the_facts_are_of_stages_that_exist(self):
        names = [stage.name for stage in all_stages()]
        self.assertEqual([row["name"] for row in self.facts["stages"]], names)

    def test_replacing_a_table_keeps_the_rest_and_needs_the_markers(self):
        page = f"a\n{report.BEGIN}\nold\n{report.END}\nb\n"
        new = report.replace_table(page, "new\n")
        self.assertEqual(new, f"a\n{report.BEGIN}\nnew\n{report.END}\nb\n")
        self.assertEqual(report.replace_table(new, "new\n"), new)
        with self.assertRaises(ValueError):
            report.replace_table("a\n", "new\n")

    def test_a_changed_number_changes_the_table(self):
        before = report.table(self.facts)
        self.facts["stages"][0]["done"] += 1
        self.assertNotEqual(report.table(self.facts), before)

    def test_only_a_whole_target_is_called_all(self):
        self.assertEqual([report.percent(share) for share in (1.2, 0.9999, 0.034, 0)],
                         ["all", "99 %", "3.4 %", "0 %"])


if __name__ == "__main__":
    unittest.main()
