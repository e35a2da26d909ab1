#!/usr/bin/env python3
"""Shows that check_links.py finds dead links and lets living ones be."""

import unittest

import check_links
from tree_case import TreeCase


class LinksTest(TreeCase):
    def offences(self):
        return self.places(check_links.check(self.root))

    def test_a_dead_link_is_an_offence(self):
        self.write("README.md", "# a\n[x](docs/a.md) and [y](docs/b.md#part)\n")
        self.write("docs/a.md", "[up](../README.md)\n[dead](README.md)\n")
        self.assertEqual(self.offences(), ["README.md:2", "docs/a.md:2"])

    def test_links_to_the_web_to_headings_and_in_code_are_left_alone(self):
        self.write("README.md", "[w](https://a.example/b) [h](#top)\n```\n[i](j)\n```\n")
        self.assertEqual(self.offences(), [])

    def test_a_page_that_a_comment_names_must_be_there(self):
        self.write("src/base/a.h", "// see docs/a.md.\n// (docs/b.md draws it)\n// docs/internals/designs/\n")
        self.write("docs/a.md", "x\n")
        self.assertEqual(self.offences(), ["src/base/a.h:2", "src/base/a.h:3"])
        self.write("docs/b.md", "x\n")
        self.write("docs/internals/designs/README.md", "x\n")
        self.assertEqual(self.offences(), [])

    def test_a_decision_may_be_named_by_its_number(self):
        self.write("src/base/a.h", "// docs/internals/decisions/0004\n// docs/internals/decisions/0005\n")
        self.write("docs/internals/decisions/0004-links.md", "x\n")
        self.assertEqual(self.offences(), ["src/base/a.h:2"])

    def test_paths_of_other_trees_are_left_alone(self):
        self.write("src/base/a.h", "// ../other/docs/a.md\n// https://a.example/docs/a.md\n")
        self.assertEqual(self.offences(), [])


if __name__ == "__main__":
    unittest.main()
