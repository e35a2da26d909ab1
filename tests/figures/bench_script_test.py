#!/usr/bin/env python3
"""Runs scripts/bench.sh with few records: results, page and tables come out, and a document that has
no place for its table is noticed before anything is measured."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN_DIR = None
DOCUMENT = "# Title\n\n<!-- results: begin -->\nold\n<!-- results: end -->\n"


class BenchScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "docs/evidence").mkdir(parents=True)
        (self.folder / "docs/evidence/benchmarking.md").write_text(DOCUMENT)
        (self.folder / "README.md").write_text(DOCUMENT)
        self.results = self.folder / "results"

    def bench(self, *flags, size="medium", scenario=None, **environ):
        environment = dict(os.environ, SIZE=size, BRAID_BIN_DIR=BIN_DIR, BRAID_TMP=str(self.folder),
                           BRAID_RESULTS=str(self.results), BRAID_DOCS=str(self.folder), **environ)
        environment.pop("SCENARIO", None)
        if scenario:
            environment["SCENARIO"] = scenario
        return subprocess.run(["bash", str(ROOT / "scripts/bench.sh"), *flags], env=environment,
                              capture_output=True, text=True, check=False)

    def test_medium_writes_results_page_and_tables(self):
        self.results.mkdir()
        (self.results / "k1-v1-t1-at-rest.json").write_text("from another size")
        run = self.bench("--engines=braid", "--num=500", "--duration=0.01", "--runs=1", "--pin=0",
                         scenario="at-rest,sustained")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        threads = sorted({1, len(os.sched_getaffinity(0))})
        files = sorted(path.name for path in self.results.iterdir())
        self.assertEqual(files, sorted(
            [f"k{key}-v{value}-t{thread}-{scenario}.json" for scenario in ("at-rest", "sustained")
             for key, value in ((8, 8), (16, 100), (16, 1024)) for thread in threads]
            + ["report.html"]))
        result = json.loads((self.results / "k16-v100-t1-at-rest.json").read_text())
        self.assertEqual(result["parameters"]["num"], 500, "a flag behind counts")
        self.assertEqual([entry["benchmark"] for entry in result["summary"]],
                         ["fillrandom", "readrandom", "readzipfian", "multireadrandom", "readseq",
                          "seekrandom", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"])
        page = (self.results / "report.html").read_text()
        self.assertEqual(page.count("<h2>"), 6 * len(threads))
        self.assertIn("<figcaption>Processors in use</figcaption>", page)
        for document in ("docs/evidence/benchmarking.md", "README.md"):
            text = (self.folder / document).read_text()
            self.assertIn("| fillrandom |", text)
            self.assertIn("processor time", text)
            self.assertNotIn("old", text.splitlines())

    def test_a_document_without_marks_costs_nothing(self):
        (self.folder / "README.md").write_text("# Title\n")
        run = self.bench("--num=500")
        self.assertEqual(run.returncode, 2)
        self.assertIn("README.md needs the lines", run.stderr)
        self.assertNotIn("==", run.stdout)
        self.assertFalse(self.results.exists())

    def test_a_run_that_fails_leaves_the_results_that_are_there(self):
        self.results.mkdir()
        (self.results / "k1-v1-t1-at-rest.json").write_text("kept")
        run = self.bench("--engines=braid", "--num=500", "--set=no.such=option", size="small")
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual([path.name for path in self.results.iterdir()], ["k1-v1-t1-at-rest.json"])
        self.assertEqual((self.folder / "README.md").read_text(), DOCUMENT)

    def test_another_size_or_scenario_is_refused(self):
        self.assertEqual(self.bench(size="huge").returncode, 2)
        self.assertEqual(self.bench(scenario="at-rest,at-noon").returncode, 2)
        self.assertEqual(self.bench(scenario="at-rest,designs").returncode, 2)

    def test_a_part_leaves_the_results_of_the_others(self):
        self.results.mkdir()
        kept = self.results / "k16-v100-t1-at-rest.json"
        run = self.bench("--engines=braid", "--num=500", "--duration=0.01", "--pin=0", size="small",
                         scenario="at-rest")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        before = kept.read_text()
        run = self.bench("--engines=braid", "--num=500", "--duration=0.01", "--pin=0", size="small",
                         scenario="scan-at-once,scan-beside-writer")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(kept.read_text(), before)
        text = (self.folder / "docs/evidence/benchmarking.md").read_text()
        for row in ("| ycsb-f | 16/100 | 1 |", "| seekrandom-beside-100k | 16/100 | 1 |"):
            self.assertIn(row, text)

    def test_designs_have_a_page_of_their_own_and_are_killed(self):
        page = self.folder / "docs/evidence/designs.md"
        page.write_text(DOCUMENT)
        run = self.bench("--num=2000", "--duration=0.01", "--pin=0", size="small", scenario="designs")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        result = json.loads((self.results / "k16-v100-t1-designs.json").read_text())
        stores = result["parameters"]["engines"]
        self.assertEqual(stores[0], "braid")
        for store in ("listdb", "zipperdb", "novelsm", "nvskiplist"):
            self.assertIn(store, stores)
            self.assertIn(f"design {store}", result["engines"][store]["parameters"])
        opens = [entry for entry in result["summary"] if entry["benchmark"] == "open-after-kill"]
        self.assertEqual([entry["engine"] for entry in opens], stores)
        text = page.read_text()
        self.assertRegex(text, r"\| open-after-kill \| 16/100 \| 1 \|( [0-9.,]+ ms \|){%d}\n" % len(stores))
        self.assertRegex(text, r"\| readseq-after-kill \| 16/100 \| 1 \|")
        self.assertEqual((self.folder / "README.md").read_text(), DOCUMENT)

    def test_data_that_the_pool_has_no_room_for(self):
        engines = subprocess.run([f"{BIN_DIR}/braid-compare", "--list_engines"], capture_output=True, text=True,
                                 check=True).stdout.split()
        if "rocksdb" not in engines:
            self.skipTest("built without RocksDB")
        run = self.bench("--num=60000", "--duration=0.05", "--pin=0", size="small", scenario="beyond-pool",
                         TIER_DIR=str(self.folder))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        # Gets of the 60 MB that a pool of 32 MiB holds a part of.
        shares = re.findall(r"^readrandom .* ([0-9.]+) tier gets/op, ([0-9.]+) of records in DRAM$", run.stdout,
                            re.MULTILINE)
        self.assertEqual(len(shares), 1, run.stdout)
        gets, cached = map(float, shares[0])
        self.assertGreater(gets, 0.1)
        self.assertLess(gets, 1)
        self.assertLessEqual(cached, gets)
        self.assertIn("k16-v1024-t1-beyond-pool.json", [path.name for path in self.results.iterdir()])


if __name__ == "__main__":
    BIN_DIR = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
