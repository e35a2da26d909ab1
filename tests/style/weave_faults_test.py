#!/usr/bin/env python3
"""Shows what scripts/weave_faults.py does with edits, and what it refuses."""

import pathlib
import sys
import unittest

from tree_case import TreeCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import weave_faults  # noqa: E402

SOURCE = """// a
#include "log/a.h"

bool Flushes(int line) {
  if (line == 0) return false;
  return Flush(
      line, 8);
}
"""


class WeaveFaultsTest(TreeCase):
    def weave(self, edits):
        self.write("src/log/a.cc", SOURCE)
        self.write("tests/crash/faults/log.txt", "# words\n@ src/log/a.cc\n" + edits)
        return weave_faults.weave_all(self.root)["src/log/a.cc"]

    def refusal(self, edits):
        with self.assertRaises(weave_faults.WeaveError) as caught:
            self.weave(edits)
        return str(caught.exception)

    def test_an_edit_finds_its_place_whatever_the_white_space(self):
        woven = self.weave("- return Flush(line, 8);\n+ return BRAID_MUTANT(kA) || Flush(line, 8);\n")
        self.assertIn("  return BRAID_MUTANT(kA) || Flush(line, 8);\n#line 8 ", woven)
        self.assertIn('#include "sim/faults.h"\n#line 2 ', woven)
        self.assertNotIn("return Flush(", woven)

    def test_the_faults_of_a_file_are_known(self):
        self.weave("- return false;\n+ return BRAID_MUTANT(kA) || BRAID_MUTANT(kB);\n")
        self.assertEqual(weave_faults.faults_in(self.root, {"src/log/a.cc"}), {"kA", "kB"})
        self.assertEqual(weave_faults.faults_in(self.root, {"tests/crash/faults/log.txt"}), {"kA", "kB"})
        self.assertEqual(weave_faults.faults_in(self.root, {"src/log/b.cc"}), set())

    def test_what_has_no_fault_any_more_is_not_woven(self):
        woven = self.root / "woven"
        weave_faults.write_all(woven, {"src/log/a.cc": "1", "src/log/b.h": "2"})
        weave_faults.write_all(woven, {"src/log/a.cc": "3"})
        self.assertEqual([path.name for path in sorted(woven.rglob("*.*"))], ["a.cc"])
        self.assertEqual((woven / "src/log/a.cc").read_text(encoding="utf-8"), "3")

    def test_a_place_that_is_gone_or_there_twice_is_refused(self):
        self.assertIn("tests/crash/faults/log.txt:3: ", self.refusal("- Fence();\n+ ;\n"))
        self.assertIn("is not there any more", self.refusal("- Fence();\n+ ;\n"))
        self.assertIn("is there 2 times", self.refusal("- return\n+ return !\n"))

    def test_what_is_wrong_without_a_fault_is_refused(self):
        refusal = self.refusal("- if (line == 0) return false;\n+ if (BRAID_MUTANT(kA)) return false;\n")
        self.assertIn("it lacks 0, line", refusal)
        self.assertIn("tests/crash/faults/log.txt:3: ", refusal)

    def test_edits_of_one_place_are_to_be_joined(self):
        self.assertIn("join them", self.refusal("- line, 8\n+ 0, 8\n\n- 8)\n+ 9)\n"))

    def test_what_is_no_edit_is_refused(self):
        self.assertIn("begins with none of", self.refusal("return false;\n"))
        self.assertIn("needs lines with '-'", self.refusal("+ return false;\n"))
        self.assertIn("there is no file", self.refusal("\n@ src/log/gone.cc\n- a\n+ b\n"))


if __name__ == "__main__":
    unittest.main()
