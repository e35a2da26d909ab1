#!/usr/bin/env python3
"""Shows that scripts/count_tests.py counts ctest's and Maven's results alike, and takes nothing that
did not run for a pass."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import count_tests  # noqa: E402


def counted(*documents, step=False):
    """The exit code and the output for such XML documents."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, document in enumerate(documents):
            paths.append(pathlib.Path(folder, f"{number}.xml"))
            paths[-1].write_text(f"<testsuite>{document}</testsuite>")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = count_tests.main((["--step"] if step else []) + [str(path) for path in paths])
        return code, out.getvalue().splitlines()


class CountTests(unittest.TestCase):
    def test_ctest_results(self):
        code, lines = counted('<testcase name="a" classname="a" status="run"/>'
                              '<testcase name="b" classname="b" status="fail"><failure/></testcase>')
        self.assertEqual((code, lines), (1, ["FAILED b", "1 passed, 1 failed"]))

    def test_a_program_that_is_missing_is_a_failure(self):
        code, lines = counted('<testcase name="a" classname="a" status="notrun">'
                              '<skipped message="Unable to find executable"/></testcase>')
        self.assertEqual((code, lines), (1, ["FAILED a (did not run)", "0 passed, 1 failed"]))

    def test_skipped_by_choice(self):
        code, lines = counted('<testcase name="a" status="notrun">'
                              '<skipped message="SKIP_RETURN_CODE=77"/></testcase>'
                              '<testcase name="b" status="run"/>')
        self.assertEqual((code, lines), (0, ["1 skipped", "1 passed, 0 failed"]))

    def test_maven_results(self):
        code, lines = counted('<testcase name="plans" classname="io.PlanTest"/>'
                              '<testcase name="fails" classname="io.PlanTest"><failure/></testcase>'
                              '<testcase name="throws" classname="io.PlanTest"><error/></testcase>'
                              '<testcase name="waits" classname="io.PlanTest"><skipped/></testcase>')
        self.assertEqual(code, 1)
        self.assertEqual(lines, ["FAILED io.PlanTest.fails", "FAILED io.PlanTest.throws",
                                 "1 skipped", "1 passed, 2 failed"])

    def test_what_a_failure_said(self):
        said = "[ RUN      ] A.b\n" + "\n".join(f"line {i}" for i in range(20))
        _, lines = counted('<testcase name="A.b" status="fail">'
                           f'<failure message="">{said}</failure></testcase>'
                           '<testcase name="script" status="fail"><failure message=""/>'
                           '<system-out>it broke</system-out></testcase>')
        self.assertEqual(lines, ["FAILED A.b", *(f"  line {i}" for i in range(8)), "  ...",
                                 "  line 17", "  line 18", "  line 19",
                                 "FAILED script", "  it broke", "0 passed, 2 failed"])

    def test_both_together_in_one_line(self):
        _, lines = counted('<testcase name="plans" classname="io.PlanTest"/>',
                           '<testcase name="a" classname="a" status="run"/>', step=True)
        self.assertEqual(lines, ["2 passed, 0 failed, 0 skipped"])

    def test_names_of_many_failures_are_said_at_the_end(self):
        cases = "".join(f'<testcase name="{name}" status="fail"><failure/></testcase>'
                        for name in "abcd")
        _, lines = counted(cases)
        self.assertEqual(lines[-2:], ["failed: a, b, c, d", "0 passed, 4 failed"])

    def test_what_a_script_said_last(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "step.log")
            log.write_text("\n".join(f"line {i} \x07" for i in range(20)))
            report = pathlib.Path(folder, "step.xml")
            count_tests.record(str(report), "step", "1", str(log))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                count_tests.main([str(report)])
        self.assertEqual(out.getvalue().splitlines(),
                         ["FAILED step", f"  see {log}", *(f"  line {i} ?" for i in range(12, 20)),
                          "0 passed, 1 failed"])

    def test_a_script_without_a_log(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "step.xml")
            count_tests.record(str(report), "step", "1", "it was not built")
            self.assertEqual(count_tests.in_short([report]), "0 passed, 1 failed, 0 skipped")

    def test_nothing_ran(self):
        self.assertEqual(counted("")[0], 1)


if __name__ == "__main__":
    unittest.main()
