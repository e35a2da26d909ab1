#!/usr/bin/env python3
"""Shows what hadoop/cluster/demo.py does without a cluster: its text, its commands, its tables and
its options; and that cluster.sh refuses settings that make no sense."""

import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "hadoop/cluster"))
sys.dont_write_bytecode = True

import demo  # noqa: E402
from comparison import history, jobs, reads, report, text  # noqa: E402


def run(job, mode, seconds, output="same", **facts):
    return {"job": job, "mode": mode, "job_s": seconds, "cpu_s": seconds, "output": output,
            "round": 1, "containers": 9, "maps": 8, "local_maps": 7} | facts


class TextTest(unittest.TestCase):
    def written(self, size, seed=1):
        stream = io.BytesIO()
        text.write(stream, size, seed)
        return stream.getvalue()

    def test_has_the_size_and_is_the_same_each_time(self):
        first = self.written(300_001)
        self.assertEqual(len(first), 300_001)
        self.assertEqual(first, self.written(300_001))
        self.assertNotEqual(first, self.written(300_001, seed=2))

    def test_grep_finds_something(self):
        self.assertRegex(self.written(100_000).decode(), jobs.PATTERN)

    def test_uneven_records_vary_from_stretch_to_stretch_and_add_nothing(self):
        stream = io.BytesIO()
        text.write(stream, 4 << 20, stretch=1 << 18)
        whole = stream.getvalue()
        self.assertEqual(len(whole), 4 << 20)
        costly = [sum(len(line) == text.COSTLY_LETTERS for line in part.split(b"\n"))
                  for part in (whole[i:i + (1 << 18)] for i in range(0, 4 << 20, 1 << 18))]
        self.assertGreater(max(costly), 2 * sum(costly) / len(costly))
        self.assertGreater(sum(costly), 4 * text.COSTLY_PER_MIB / 4)
        for line in whole.split(b"\n"):
            if len(line) == text.COSTLY_LETTERS:
                self.assertNotIn(b"q", line)


class ReadsTest(unittest.TestCase):
    """Lines as a DataNode of Hadoop 3.5 logs them."""

    LINE = ("2026-11-22 10:00:00,123 DEBUG DataNode.clienttrace: src: /10.0.0.2:40001, dest: "
            "/10.0.0.{to}:50002, volume: , bytes: {bytes}, op: {op}, cliID: DFSClient_x_1, "
            "offset: 0, srvID: 1-2, blockid: BP-1-10.0.0.1-3:blk_{block}_1001, duration(ns): 5")

    def test_reads_of_the_text_are_local_or_remote(self):
        line = self.LINE.format
        lines = [line(to=2, bytes=70, op="HDFS_READ", block=7),
                 line(to=3, bytes=20, op="HDFS_READ", block=7),
                 line(to=3, bytes=10, op="HDFS_READ", block=8),
                 line(to=3, bytes=500, op="HDFS_READ", block=9),  # of another file
                 line(to=3, bytes=600, op="HDFS_WRITE", block=8)]
        self.assertEqual(reads.parsed(lines, {"blk_7", "blk_8"}), (70, 30))

    def test_only_what_is_new_is_told(self):
        class Asked:
            def __init__(self, folder):
                self.home = pathlib.Path(folder)

            def run(self, *_words):
                return "0. BP-1-10.0.0.1-3:blk_7_1001 len=70 Live_repl=2"

        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "node1/log/datanode.log"
            log.parent.mkdir(parents=True)
            one = self.LINE.format(to=3, bytes=20, op="HDFS_READ", block=7) + "\n"
            log.write_text(one)
            since = reads.Reads(Asked(folder), "/in/text")
            self.assertEqual(since.since(), (0, 0))
            log.write_text(one + one + one[:30])
            self.assertEqual(since.since(), (0, 20))
            log.write_text(one + one + one)
            self.assertEqual(since.since(), (0, 20))


class AnsweringCluster:
    """Answers as a cluster would that ran one job of one map, which the command tells of so."""

    MAP = "  attempt_1_2_m_000000_0                  node1         0.00     1.50      4096       1\n"

    def __init__(self, folder, told):
        self.home = pathlib.Path(folder)
        (self.home / "master/conf").mkdir(parents=True)
        settings = {"yarn.app.mapreduce.am.staging-dir": "/staging",
                    "mapreduce.jobhistory.webapp.address": "master:19888"}
        lines = "".join(f"<property><name>{name}</name><value>{value}</value></property>"
                        for name, value in settings.items())
        (self.home / "master/conf/mapred-site.xml").write_text(
            f"<configuration>{lines}</configuration>")
        self.told = told

    def run(self, *words):
        if words[0] == "hadoop":
            return self.told
        attempt = {"id": "attempt_1_2_m_000000_0", "nodeHttpAddress": "node1:8042",
                   "startTime": 5000, "finishTime": 6500,
                   "counters": {history.BYTES_READ[0][0]: {history.BYTES_READ[0][1]: 4096}}}
        return json.dumps({"job_1_2": {
            "job": {"submitTime": 1000, "finishTime": 8000, "mapsCompleted": 1},
            "maps": [attempt]}})


class HistoryTest(unittest.TestCase):
    JOB = 'job_1_2 "word count": 7.0 s, 1 maps, at most 1 at once, 1.00 waves\n'

    def differences(self, told, job_id="job_1_2"):
        with tempfile.TemporaryDirectory() as folder:
            return history.differences(AnsweringCluster(folder, told), "braid.jar", [job_id])

    def test_what_agrees_is_not_told(self):
        self.assertEqual(self.differences(self.JOB + AnsweringCluster.MAP), [])

    def test_each_number_is_held_against_the_servers(self):
        right = self.JOB + AnsweringCluster.MAP
        for wrong in (right.replace("7.0 s", "7.2 s"), right.replace("1 maps", "2 maps"),
                      right.replace("node1 ", "node2 "), right.replace(" 1.50 ", " 1.52 "),
                      right.replace(" 4096 ", " 4097 "), self.JOB):
            self.assertEqual(len(self.differences(wrong)), 1, wrong)

    def test_a_job_that_one_does_not_know_is_told(self):
        self.assertEqual(self.differences(self.JOB, "job_1_3"), ["job_1_3 is missing"])


class CommandTest(unittest.TestCase):
    def command(self, job, mode, size=1000, slots=8):
        return jobs.command(job, jobs.MODES[mode], "braid.jar", "/in", "/out", size, slots)

    def test_the_hand_set_size_is_the_share_of_a_slot(self):
        self.assertIn("-Dmapreduce.input.fileinputformat.split.maxsize=126",
                      self.command("wordcount", "combine", size=1001))

    def test_every_job_is_told_its_input_format(self):
        for job in ("wordcount", "grep"):
            self.assertIn(f"-Dmapreduce.job.inputformat.class={jobs.COALESCING}",
                          self.command(job, "maximum"))
        words = self.command("sort", "maximum")
        self.assertEqual(words[words.index("-inFormat") + 1], jobs.COALESCING)

    def test_paths_come_last_and_the_pattern_after_them(self):
        self.assertEqual(self.command("wordcount", "auto")[-2:], ["/in", "/out"])
        self.assertEqual(self.command("grep", "auto")[-1], jobs.PATTERN)


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.results = {"pair": ["wordcount", "grep"], "together": [
            {"mode": "default", "job_s": [200, 150]}], "runs": [
                run("wordcount", "default", 100), run("wordcount", "default", 140, round=2),
                run("wordcount", "default", 102, round=3), run("wordcount", "maximum", 34),
                run("wordcount", "auto", 51)]}

    def test_each_way_comes_first_in_some_round(self):
        modes = ["default", "combine", "auto"]
        rounds = [demo.in_turn(modes, turn) for turn in range(4)]
        self.assertEqual([each[0] for each in rounds], [*modes, "default"])
        for each in rounds:
            self.assertEqual(sorted(each), sorted(modes))

    def test_medians_and_ratios(self):
        rows = list(report.rows(self.results, "wordcount"))
        self.assertEqual([row[0] for row in rows], ["default", "maximum", "auto"])
        self.assertEqual(rows[0][3:6], ("12 %", "102.0 s", "1.00"))
        self.assertEqual(rows[1][4:6], ("34.0 s", "0.34"))  # of the first round's

    def test_ratios_are_of_one_round_and_their_median_is_shown(self):
        for number, seconds in ((2, 70), (3, 10)):
            self.results["runs"].append(run("wordcount", "maximum", seconds, round=number))
        ratio = report.ratio(self.results, "wordcount", "maximum", "default", "job_s")
        self.assertAlmostEqual(ratio, 0.34)  # of 0.34, 0.5 and 0.1
        self.assertIsNone(report.ratio(self.results, "wordcount", "auto", "uber", "job_s"))

    def test_the_datanodes_account_of_reads_comes_first(self):
        told = run("grep", "combine", 10, read_local=75, read_remote=25)
        self.assertEqual(report.remote_share(told), 0.25)
        self.assertIsNone(report.remote_share(run("grep", "combine", 10)))

    def test_slowdown_beside_another_job(self):
        self.assertAlmostEqual(report.slowdowns(self.results, "wordcount", "default"), 200 / 102)
        self.assertIsNone(report.slowdowns(self.results, "wordcount", "maximum"))

    def test_slowdown_beside_the_same_job_counts_both(self):
        both = self.results | {"pair": ["wordcount", "wordcount"]}
        self.assertAlmostEqual(report.slowdowns(both, "wordcount", "default"), 175 / 102)

    def test_what_was_uneven_is_said_first(self):
        self.assertEqual(self.setting(), "")
        slow = {"skew": "node", "slow": "node4", "slow_cores": 0.5}
        rounds = max(each["round"] for each in self.results["runs"])
        self.assertIn("node4, was held at 0.5 of a core by its cgroup, where 1 fall to each: it had "
                      "used up its time in 30 of 100 tenths of a second in which it ran. ",
                      self.setting(throttled=[[10, 60, rounds - 1], [20, 40, 1]], **slow))
        self.assertIn("in 10 of 60 tenths of a second in which it ran (counted in 1 of the rounds). ",
                      self.setting(throttled=[[10, 60, 1]], **slow))
        self.assertIn("Records were of uneven cost", self.setting(skew="data"))

    def setting(self, **facts):
        results = self.results | facts | {
            "machine": {"cpus": 4, "memory_gb": 8}, "size": 8 << 20, "block": 1 << 20,
            "replication": 2, "nodes": 4, "slots": 2}
        for each in results["runs"]:
            each["load"] = 1
        return report.setting(results).partition("A text of 8 MB in 8 blocks")[0]

    def test_rounds_of_other_processors_are_told_apart(self):
        runs = [run("grep", "default", 10) | {"round": at, "load": 1} for at in (1, 2, 3)]
        for each in runs[1:]:
            each["cpu"] = "B"
        results = {"machine": {"cpus": 2, "memory_gb": 8, "cpu": "A"}, "size": 8 << 20,
                   "block": 1 << 20, "replication": 2, "nodes": 4, "slots": 2, "runs": runs}
        self.assertIn("2 cores, 8 GB; 3 rounds: 1 on A, 2 on B. The load", report.setting(results))
        results["runs"] = runs[:1]
        self.assertIn("2 cores, 8 GB; 1 round. The load", report.setting(results))

    def test_auto_is_held_against_the_best(self):
        self.assertEqual(report.auto_against_best(self.results), {"wordcount": (1.5, "maximum")})

    def test_an_output_that_differs_is_named(self):
        self.assertEqual(report.outputs_differ(self.results), [])
        self.results["runs"].append(run("wordcount", "uber", 50, output="other"))
        self.assertEqual(report.outputs_differ(self.results), ["wordcount (uber)"])


class PagesTest(unittest.TestCase):
    """The tables that are checked in are those of the results that are checked in."""

    def test_pages_have_the_tables_of_the_measurements(self):
        results = {skew: json.loads(path.read_text())
                   for skew, path in demo.RESULTS.items() if path.exists()}
        self.assertIn("none", results)
        for each in results.values():
            self.assertEqual(report.outputs_differ(each), [])
        for name in ("hadoop/README.md", "hadoop/docs/measurements.md"):
            page = (ROOT / name).read_text()
            self.assertIn("<!-- measured: setting -->", page)
            self.assertEqual(report.renewed(page, results), page,
                             f"{name} is out of date: hadoop/cluster/demo.py --tables")

    def test_what_stands_between_the_marks_is_replaced(self):
        results = {"runs": [run("wordcount", "default", 10)]}
        results = {"none": results}
        page = "a\n<!-- measured: short -->\nold\n<!-- measured: end -->\nb\n"
        made = report.renewed(page, results)
        self.assertNotIn("old", made)
        self.assertIn("| default | 9 | 10.0 s | 10 s |", made)
        self.assertEqual(report.renewed(made, results), made)

    def test_a_skews_tables_are_of_its_own_results(self):
        results = {"none": {"runs": [run("grep", "default", 10)]},
                   "node": {"runs": [run("grep", "default", 20)]}}
        page = "<!-- measured: short node -->\nold\n<!-- measured: end -->\n"
        self.assertIn("| default | 9 | 20.0 s | 20 s |", report.renewed(page, results))


class ScriptTest(unittest.TestCase):
    def refused(self, script, *words, **environment):
        done = subprocess.run([ROOT / "hadoop/cluster" / script, *words], capture_output=True,
                              text=True, env=dict(os.environ, **environment), check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_options_that_make_no_sense(self):
        self.assertIn("write 256M", self.refused("demo.py", "--size", "many"))
        self.assertIn("there is no 'tetris'", self.refused("demo.py", "--jobs", "tetris"))
        self.assertIn("there is no 'fastest'", self.refused("demo.py", "--modes", "fastest"))
        self.assertIn("invalid choice: 'rack'", self.refused("demo.py", "--skew", "rack"))
        self.assertIn("a round at least", self.refused("demo.py", "--runs", "0"))
        self.assertIn("a slot at least", self.refused("demo.py", "--slots", "0"))

    def test_skew_means_nine_rounds_of_grep_unless_said_otherwise(self):
        def asked(*words):
            options = demo.parse(words)
            return options.runs, options.jobs, options.together

        self.assertEqual(asked(), (1, list(jobs.JOBS), "also"))
        self.assertEqual(asked("--skew", "node"), (9, ["grep"], "also"))
        self.assertEqual(asked("--skew", "data", "--runs", "2", "--jobs", "sort"),
                         (2, ["sort"], "also"))
        self.assertEqual(asked("--skew", "data", "--size", "quick"), (1, ["grep"], "no"))
        self.assertEqual(asked("--size", "quick"), (1, ["wordcount"], "no"))

    def test_settings_that_make_no_sense(self):
        for name, value in {"ID": "../x", "NODES": "0", "SLOTS": "two", "SCHEDULER": "fifo",
                            "BLOCK": "-1"}.items():
            with self.subTest(name):
                message = self.refused("cluster.sh", "start", **{f"BRAID_CLUSTER_{name}": value})
                self.assertIn(f"BRAID_CLUSTER_{name}={value}", message)

    def test_without_a_cluster_the_next_step_is_said(self):
        for command in ("status", "logs", "limit", "throttled"):
            self.assertIn("start", self.refused("cluster.sh", command, BRAID_CLUSTER_ID="nosuch"))


if __name__ == "__main__":
    unittest.main()
