#!/usr/bin/env python3
"""Shows that check_asserts.py counts what is an assertion, and nothing else."""

import unittest

import check_asserts
from tree_case import TreeCase


class AssertsTest(TreeCase):
    def offences(self):
        return self.places(check_asserts.check(self.root))

    def test_twenty_in_a_thousand_lines_are_enough_and_nineteen_are_not(self):
        self.write("src/log/a.cc", "BRAID_CHECK(a);\n" * 20 + "\n" * 980)
        self.assertEqual(self.offences(), [])
        self.write("src/log/a.cc", "BRAID_CHECK(a);\n" * 19 + "\n" * 981)
        self.assertEqual(self.offences(), ["src/log:1"])

    def test_a_part_of_an_assertion_is_rounded_up(self):
        self.write("src/log/a.cc", "BRAID_CHECK(a);\n" * 20 + "\n" * 981)
        self.assertEqual(self.offences(), ["src/log:1"])

    def test_the_files_of_a_folder_count_together(self):
        self.write("src/pool/a.h", "static_assert(sizeof(A) == 8);\n" * 10)
        self.write("src/pool/b.cc", "  BRAID_DCHECK(b);\n" * 10 + "\n" * 980)
        self.assertEqual(check_asserts.count(self.root, "pool"), (20, 1000))
        self.assertEqual(self.offences(), [])

    def test_tests_comments_strings_and_other_macros_do_not_count(self):
        self.write("src/index/a_test.cc", "BRAID_CHECK(a);\n" * 100)
        self.write("src/index/a.cc", "// BRAID_CHECK(a);\n/* static_assert(b); */\n"
                                     'const char* a = "BRAID_CHECK(";\nBRAID_CHECKED(a);\n')
        self.assertEqual(check_asserts.count(self.root, "index"), (0, 4))

    def test_folders_that_keep_no_data_are_left_alone(self):
        self.write("src/capi/a.cc", "int a;\n" * 1000)
        self.assertEqual(self.offences(), [])


if __name__ == "__main__":
    unittest.main()
