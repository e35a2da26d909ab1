#!/usr/bin/env python3
"""Shows that bench/compare.py writes tables of results between the marks of a document and nothing
else, and that README.md and docs/evidence/benchmarking.md have the tables of the results checked in."""

import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import compare  # noqa: E402


def entry(benchmark, position, engine, rate):
    def sample(value):
        return {"median": value, "min": value * 0.9, "max": value * 1.1}
    return {"benchmark": benchmark, "position": position, "engine": engine,
            "ops_per_second": sample(rate), "p99_99_ns": sample(12_300), "max_ns": sample(4.5e6)}


def result(key=16, value=100, threads=4, rates=((1_300_000, 200_000, 400_000),), num=2_000_000):
    engines = ["lmdb", "braid", "rocksdb"]
    names = ["fillrandom", "ycsb-a", "readseq"]
    summary = [entry(names[i], i, engine, rate)
               for i, row in enumerate(rates) for engine, rate in zip(["braid", "lmdb", "rocksdb"], row)]
    return {"schema": "braid-compare/1",
            "machine": {"processor": "Some processor", "cores": 4, "kernel": "Linux 6", "build":
                        "release", "compiler": "gcc", "filesystem": "tmpfs", "commit": "abc123"},
            "parameters": {"key_size": key, "value_size": value, "threads": threads, "num": num,
                           "runs": 3, "engines": engines, "force_media_class": "cache_line"},
            "engines": {"braid": {"version": "1.0", "parameters": "p", "caveat": ""},
                        "lmdb": {"version": "0.9", "parameters": "p, map 8 GiB", "caveat": ""},
                        "rocksdb": {"version": "7.8", "parameters": "p", "caveat": "slow build"}},
            "summary": summary, "runs": []}


def under_load(scenario, benchmarks, threads=2):
    """A result of a scenario: rates of braid, lmdb and rocksdb by benchmark."""
    data = result(threads=threads)
    data["parameters"]["scenario"] = scenario
    data["summary"] = []
    for position, (benchmark, rates) in enumerate(benchmarks.items()):
        for engine, rate in zip(["braid", "lmdb", "rocksdb"], rates):
            one = entry(benchmark, position, engine, rate)
            one["cpu_ns_per_operation"] = {"median": 1_500, "min": 1_500, "max": 1_500}
            data["summary"].append(one)
    return data


def sustained():
    data = under_load("sustained", {"sustained": (900_000, 400_000, 100_000)})
    for one in data["summary"]:
        one["ops_per_second_settled"] = {"median": one["ops_per_second"]["median"] * 0.5}
        one["rest_bytes_per_live_byte"] = {"median": 1.7}
        one["peak_bytes_per_live_byte"] = {"median": 9.7}
        one["settle_seconds"] = {"median": 19}
        one["rounds"] = [{"ops_per_second": rate} for rate in (1_200_000, 800_000, 418_000)]
    data["goals"] = [{"benchmark": "sustained", "what": "rate, settling counted", "peer": "lmdb",
                      "value": 2.25, "goal": 3, "at_least": True, "met": False}]
    return data


def designs():
    data = under_load("designs", {"fillrandom": (900_000, 400_000, 100_000), "open-after-kill": (200, 500, 20)})
    for one in data["summary"]:
        one["flushed_bytes_per_byte_put"] = {"median": 2.5}
        one["p99_ns"] = {"median": 1_200}
        one["anonymous_bytes"] = {"median": 64 << 20}
    return data


DOCUMENT = f"# Title\n\nBefore.\n\n{compare.BEGIN}\nold\n{compare.END}\n\nBehind.\n"


class TablesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def run_compare(self, *arguments):
        """Exit code, output, messages."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["compare.py", *arguments]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = compare.main()
        return code, out.getvalue(), err.getvalue()

    def test_the_short_table_has_the_usual_sizes_and_the_most_threads(self):
        files = [self.file("a.json", result(8, 8, 4, ((9e6, 1, 1),))),
                 self.file("b.json", result(16, 100, 1, ((8e6, 1, 1),))),
                 self.file("c.json", result()), self.file("d.json", result(16, 1024, 4))]
        path = self.file("README.md", DOCUMENT)
        code, _, err = self.run_compare("--update-short", path, *files)
        self.assertEqual((code, err), (0, ""))
        text = pathlib.Path(path).read_text()
        self.assertIn("| fillrandom | 1,300 | 200 | 400 | **3.25** |", text)
        self.assertIn("|  | braid 1.0 | lmdb 0.9 | rocksdb 7.8 | braid / best other |", text)
        self.assertIn("with 4 threads on 4 cores, medians of 3 interleaved runs: 2,000,000 records "
                      "of 16 + 100 bytes on tmpfs; braid issues real cache-line flushes, as on "
                      "persistent memory; commit abc123.",
                      text)
        self.assertIn("rocksdb: slow build.", text)
        self.assertNotIn("9,000", text)
        self.assertNotIn("8,000", text)

    def test_the_short_table_has_a_few_benchmarks_only(self):
        data = copy.deepcopy(result())
        for entry in data["summary"]:
            if entry["benchmark"] == "ycsb-a":
                entry["benchmark"] = "ycsb-b"
        text = compare.render_short([data])
        self.assertIn("| fillrandom |", text)
        self.assertNotIn("ycsb-b", text)

    def test_designs_are_beside_each_other_and_opens_are_in_milliseconds(self):
        text = compare.render([designs()], [])
        self.assertIn("| fillrandom | 16/100 | 2 | 900 · 1.50 us | 400 · 1.50 us | 100 · 1.50 us |", text)
        self.assertIn("| open-after-kill | 16/100 | 2 | 5.00 ms | 2.00 ms | 50.0 ms |", text)
        self.assertIn("| fillrandom | 16/100 | 2 | 1.20 / 12.3 / 4.50 |", text)
        self.assertIn("| fillrandom | 16/100 | 2 | 2.50 | 2.50 | 2.50 |", text)

    def test_only_what_is_between_the_marks_changes_and_twice_is_as_once(self):
        path = self.file("doc.md", DOCUMENT)
        data = self.file("a.json", result())
        for _ in range(2):
            self.assertEqual(self.run_compare("--update", path, data)[0], 0)
            text = pathlib.Path(path).read_text()
            self.assertTrue(text.startswith(f"# Title\n\nBefore.\n\n{compare.BEGIN}\nThousands"))
            self.assertTrue(text.endswith(f"\n{compare.END}\n\nBehind.\n"))
            self.assertNotIn("old", text)
        self.assertEqual(self.run_compare("--check", "--update", path, data)[0], 0)

    def test_a_check_finds_another_digit_and_writes_nothing(self):
        path = self.file("doc.md", DOCUMENT)
        data = self.file("a.json", result())
        self.run_compare("--update-short", path, data)
        text = pathlib.Path(path).read_text()
        self.assertEqual(self.run_compare("--check", "--update-short", path, data)[0], 0)
        changed = self.file("doc.md", text.replace("1,300", "1,400"))
        code, _, err = self.run_compare("--check", "--update-short", changed, data)
        self.assertEqual(code, 1)
        self.assertIn(changed, err)
        self.assertIn("1,400", pathlib.Path(changed).read_text())

    def test_documents_without_their_marks_are_refused_and_none_is_written(self):
        good = self.file("good.md", DOCUMENT)
        data = self.file("a.json", result())
        for name, text in {
                "none": "# Title\n", "begin": f"{compare.BEGIN}\n", "end": f"{compare.END}\n",
                "turned": f"{compare.END}\n{compare.BEGIN}\n", "twice": DOCUMENT + DOCUMENT,
                "inline": f"see {compare.BEGIN} and {compare.END}\n"}.items():
            with self.subTest(name):
                bad = self.file("bad.md", text)
                for mode in ([data], ["--marks"]):
                    code, _, err = self.run_compare("--update", good, "--update-short", bad, *mode)
                    self.assertEqual(code, 2)
                    self.assertIn(f"{bad} needs the lines '{compare.BEGIN}'", err)
                self.assertEqual(pathlib.Path(good).read_text(), DOCUMENT)
                self.assertEqual(pathlib.Path(bad).read_text(), text)
        self.assertEqual(self.run_compare("--update", good, "--marks")[0], 0)

    def test_what_is_no_result_is_refused(self):
        broken = result()
        del broken["summary"][0]["ops_per_second"]
        for data in ("no json", {"schema": "other"}, broken):
            code, _, err = self.run_compare(self.file("a.json", data))
            self.assertEqual(code, 2)
            self.assertTrue(err.startswith("compare.py: "), err)
        self.assertEqual(self.run_compare()[0], 2)
        self.assertEqual(self.run_compare(str(self.folder / "none.json"))[0], 2)

    def test_a_store_without_a_benchmark_has_a_dash(self):
        data = result(rates=((1_300_000, 200_000, 400_000), (500_000, 100_000, 50_000)))
        data["summary"] = [one for one in data["summary"]
                           if (one["benchmark"], one["engine"]) != ("ycsb-a", "lmdb")]
        text = compare.render_short([data])
        self.assertIn("| ycsb-a | 500 | - | 50.0 | **10.00** |", text)
        self.assertIn("| ycsb-a | 16/100 | 4 | 500 ±10 % | - |", compare.render([data], []))

    def test_a_benchmark_of_two_files_stands_once_in_the_short_table(self):
        second = copy.deepcopy(result(rates=((1, 1, 1),)))
        self.assertEqual(compare.render_short([result(), second]).count("| fillrandom |"), 1)


class ScenarioTest(unittest.TestCase):
    def test_sustained_has_a_row_a_store_and_its_goals(self):
        text = compare.render([sustained()], [])
        self.assertIn("| 16/100 | 2 | braid | 450 | 1,200 | 800 to 418 | 12.3 / 4.50 | 1.50 | 1.70 / 9.70 | - "
                      "| 19.0 |", text)
        self.assertIn("| rate, settling counted, beside lmdb | 16/100 | 2 | 2.25 | ≥ 3.00 | **missed** |", text)
        self.assertNotIn("half the spread", text, "nothing was measured at rest")

    def test_rates_have_their_processor_time_and_their_goal(self):
        data = under_load("scan-at-once", {"readseq": (7_000_000, 14_000_000, 3_500_000)})
        data["goals"] = [{"benchmark": "readseq", "what": "rate", "peer": "lmdb", "value": 0.5, "goal": 1,
                          "at_least": True, "met": False}]
        text = compare.render([result(), data], [])
        self.assertIn("| readseq | 16/100 | 2 | 7,000 · 1.50 us | 14,000 · 1.50 us | 3,500 · 1.50 us | 0.50 | 2.00 "
                      "| **0.50** | ≥ 1.00 x lmdb: **missed** (0.50) |", text)
        self.assertIn("| fillrandom | 16/100 | 4 |", text, "and what was measured at rest is there, too")

    def test_a_busy_machine_marks_the_row(self):
        data = under_load("scan-at-once", {"readseq": (7_000_000, 14_000_000, 3_500_000)})
        self.assertNotIn("†", compare.render([data], []))
        data["summary"][1]["busy_share"] = {"median": 0.3}
        text = compare.render([data], [])
        self.assertIn("14,000 · 1.50 us † |", text)
        self.assertIn("no evidence", text)

    def test_the_short_table_shows_what_is_left_under_load(self):
        beside = under_load("scan-beside-writer", {"seekrandom-beside-writer": (50_000, 200_000, 25_000)})
        text = compare.render_short([result(), beside, sustained()])
        self.assertIn("| ten overwrites, settling counted | 450 · 1.50 us | 200 · 1.50 us | 50.0 · 1.50 us | **2.25** |",
                      text)
        self.assertIn("| seekrandom while written | 50.0 · 1.50 us | 200 · 1.50 us | 25.0 · 1.50 us | **0.25** |", text)
        self.assertIn("2 threads on 4 cores", text)
        self.assertNotIn("while written", compare.render_short([result()]))


class CondenseTest(unittest.TestCase):
    def test_the_runs_go_and_the_tables_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "k16-v100-t1-at-rest.json"
            whole = dict(result(), runs=[{"engine": "braid", "run": 1, "results": []}])
            path.write_text(json.dumps(whole), encoding="utf-8")
            for _ in range(2):  # the second time nothing is left to leave out
                with mock.patch.object(sys, "argv", ["compare.py", "--condense", str(path)]):
                    self.assertEqual(compare.main(), 0)
                small = json.loads(path.read_text(encoding="utf-8"))
                self.assertNotIn("runs", small)
                self.assertEqual(compare.render([small], []), compare.render([whole], []))
                self.assertEqual(compare.render_short([small]), compare.render_short([whole]))

    def test_the_results_checked_in_are_small(self):
        for path in (ROOT / "bench/results").glob("**/*.json"):
            self.assertNotIn("runs", json.loads(path.read_text(encoding="utf-8")),
                             f"python3 bench/compare.py --condense {path.relative_to(ROOT)}")


class CheckedInTest(unittest.TestCase):
    def check(self, folder, *marked):
        results = [str(path) for path in (ROOT / folder).glob("*.json")]
        mode = ["--check", *ordered(results)] if results else ["--marks"]
        with mock.patch.object(sys, "argv", ["compare.py", *marked, *mode]):
            self.assertEqual(compare.main(), 0, "run: python3 bench/compare.py " + " ".join(marked) + " ...")

    def test_the_documents_have_the_tables_of_the_results(self):
        self.check("bench/results", "--update", str(ROOT / "docs/evidence/benchmarking.md"),
                   "--update-short", str(ROOT / "README.md"))

    def test_the_page_of_designs_has_the_tables_of_their_results(self):
        self.check("bench/results/designs", "--update", str(ROOT / "docs/evidence/designs.md"))


def ordered(paths):
    """As scripts/bench.sh names them: by key size, value size, plan and threads."""
    def place(path):
        key, value, threads, plan = pathlib.Path(path).stem.split("-", maxsplit=3)
        return int(key[1:]), int(value[1:]), plan, int(threads[1:])
    return sorted(paths, key=place)


if __name__ == "__main__":
    unittest.main()
