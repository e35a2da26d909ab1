#!/usr/bin/env python3
"""Runs one small figure from the measurement to the page: figures_test.py BIN_DIR.

What is checked: the JSON says what the page needs, verdicts follow from their checks, a second run
measures nothing again, nothing stays behind, and a picture comes out where matplotlib is there.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN_DIR = None
FIGURE = "listdb-36"


def python_with(module):
    """A Python that has the module, or None. Debian's need not be the first on the path."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        try:
            found = subprocess.run([candidate, "-c", f"import {module}"], capture_output=True)
        except OSError:
            continue
        if found.returncode == 0:
            return candidate
    return None


class FiguresTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="braid-figures-",
                                                  dir=os.environ.get("BRAID_TMP"))
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.scratch = self.root / "scratch"
        self.scratch.mkdir()
        self.results = self.root / "results"

    def run_program(self, *arguments):
        done = subprocess.run(
            [str(BIN_DIR / "braid-figures"), "--out", str(self.results), "--dir",
             str(self.scratch), *arguments], capture_output=True, text=True, timeout=300)
        return done

    def run_script(self, python, name, *arguments):
        done = subprocess.run([python, "-B", str(ROOT / "bench" / "figures" / name), *arguments],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def measure(self):
        done = self.run_program("--figure", FIGURE, "--scale", "0.005")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, json.loads((self.results / f"{FIGURE}.json").read_text(encoding="utf-8"))

    def test_a_figure_is_measured_judged_drawn_and_put_on_a_page(self):
        done, figure = self.measure()
        self.assertEqual(figure["schema"], "braid-figure/1")
        self.assertEqual(figure["state"], "measured", done.stdout)
        self.assertGreater(figure["panels"][0]["series"][0]["y"][0], 0)
        self.assertEqual(figure["parameters"]["scale"], 0.005)
        for key in ("claim", "title", "section", "setting"):
            self.assertTrue(figure[key], key)
        for check in figure["checks"]:
            self.assertEqual(bool(check["reason"]),
                             check["verdict"] in ("agrees in part", "does not agree"))
        labels = [run["label"] for run in figure["runs"]]
        self.assertIn("braid (no cache)", labels)
        self.assertEqual(list(self.scratch.iterdir()), [], "data was left behind")

        again, _ = self.measure()
        self.assertIn("there already", again.stdout)

        pictures = self.root / "page"
        python = python_with("matplotlib")
        if python is not None:
            self.run_script(python, "plot.py", str(self.results), "--out", str(pictures))
            self.assertTrue((pictures / f"{FIGURE}.svg").read_text(encoding="utf-8").strip())
            self.assertEqual((pictures / f"{FIGURE}.png").read_bytes()[1:4], b"PNG")
        page = pictures / "README.md"
        self.run_script(sys.executable, "page.py", str(self.results), "--pictures", str(pictures),
                        "--out", str(page))
        text = page.read_text(encoding="utf-8")
        self.assertIn(f"## {FIGURE}", text)
        self.assertIn(figure["verdict"], text)
        self.assertEqual(f"({FIGURE}.svg)" in text, python is not None)

    def test_a_figure_that_is_not_there_is_refused_with_a_hint(self):
        done = self.run_program("--figure", "listdb-1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--list", done.stderr)

    def test_a_wrong_emulation_is_refused_before_anything_runs(self):
        done = self.run_program("--emulate-pmem", "speed=3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("write_ns", done.stderr)

    def test_a_page_without_figures_is_refused(self):
        self.results.mkdir()
        done = subprocess.run(
            [sys.executable, "-B", str(ROOT / "bench" / "figures" / "page.py"), str(self.results),
             "--pictures", str(self.results), "--out", str(self.root / "README.md")],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("braid-figures", done.stderr)


if __name__ == "__main__":
    BIN_DIR = pathlib.Path(sys.argv.pop(1))
    unittest.main()
