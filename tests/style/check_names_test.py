#!/usr/bin/env python3
"""Shows that check_names.py finds tests and faults that are not there and lets the others be."""

import unittest

import check_names
from tree_case import TreeCase


class NamesTest(TreeCase):
    def setUp(self):
        super().setUp()
        for page in check_names.PAGES + check_names.FAULT_PAGES:
            self.write(page, "x\n")
        for path, name in zip(check_names.FAULTS, ("kWoven", "kSite")):
            self.write(path, f"enum class E {{\n  kNone = 0,\n  {name},  ///< a fault\n}};\n")
        self.write("tests/a_test.cc",
                   "TEST(OneTest, Works) {}\nTEST_P(TwoTest,\n       IsLong) {}\n")

    def offences(self):
        return self.places(check_names.check(self.root))

    def test_tests_that_are_there_are_found_in_suites_of_all_kinds(self):
        self.write("docs/evidence/features.md", "`OneTest`, `OneTest.Works`, `TwoTest.IsLong`\n")
        self.assertEqual(self.offences(), [])

    def test_a_missing_test_and_a_missing_suite_are_offences(self):
        self.write("docs/evidence/features.md", "`OneTest.Fails`\n\n`ThreeTest`\n")
        self.write("docs/guide/limitations.md", "`TwoTest.Works`\n")
        self.assertEqual(self.offences(),
                         ["docs/evidence/features.md:1", "docs/evidence/features.md:3", "docs/guide/limitations.md:1"])

    def test_a_fault_that_is_not_there_is_an_offence(self):
        self.write("docs/evidence/testing.md", "`kWoven` and `kSite`, `keys`\n`kGone`\n")
        self.assertEqual(self.offences(), ["docs/evidence/testing.md:2"])

    def test_other_words_in_backquotes_are_left_alone(self):
        self.write("docs/evidence/features.md", "`Options`, `test`, `tests/capi`, OneTest.Fails\n")
        self.assertEqual(self.offences(), [])


if __name__ == "__main__":
    unittest.main()
