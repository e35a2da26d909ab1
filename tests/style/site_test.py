#!/usr/bin/env python3
"""Shows that scripts/site stages pages as the site needs them, and that its check finds what a browser would
miss. MkDocs itself is not run."""

import importlib.util
import pathlib
import unittest

from tree_case import TreeCase

ROOT = pathlib.Path(__file__).resolve().parents[2]


def module(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / f"scripts/site/{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


stage = module("stage")
check = module("check")

PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" role="img">
<title>t</title>
<style>
.pm { fill: red }
@media (prefers-color-scheme: dark) {
.pm { fill: blue }
}
</style>
<rect class="pm"/>
</svg>
"""


class StageTest(TreeCase):
    def setUp(self):
        super().setUp()
        self.target = self.root / "build"
        self.site = stage.Site(self.root, self.target)

    def page(self, path, text):
        self.write(path, text)
        self.site.page(path)
        return (self.target / "pages" / stage.site_path(path)).read_text()

    def test_links_between_pages_stay_and_those_to_sources_lead_to_a_page_of_them(self):
        self.write("docs/guide/b.md", "# b\n")
        self.write("CHANGELOG.md", "# c\n")
        self.write("src/a.h", "int a;\n")
        text = self.page("docs/start/a.md",
                         "[b](../guide/b.md#x) [c](../../CHANGELOG.md) [h](../../src/a.h) [w](https://a.example)\n")
        self.assertEqual(text, "[b](../guide/b.md#x) [c](../CHANGELOG.md) [h](../source/src/a.h.md) "
                               "[w](https://a.example)\n")
        self.assertIn("int a;", (self.target / "pages/source/src/a.h.md").read_text())

    def test_a_public_header_is_its_reference(self):
        for header in ("db", "c", "write_batch"):
            self.write(f"include/braid/{header}.h", "//\n")
        text = self.page("docs/a.md", "[d](../include/braid/db.h) [c](../include/braid/c.h) "
                                      "[w](../include/braid/write_batch.h)\n")
        self.assertEqual(text, '<a href="api/cpp/classbraid_1_1DB.html">d</a> <a href="api/c/c_8h.html">c</a> '
                               '<a href="api/cpp/write__batch_8h.html">w</a>\n')

    def test_a_dead_link_ends_it_and_links_in_code_are_none(self):
        with self.assertRaisesRegex(stage.BadPage, "gone.md"):
            self.page("docs/a.md", "[g](gone.md)\n")
        self.assertIn("[g](gone.md)", self.page("docs/a.md", "```\n[g](gone.md)\n```\n"))

    def test_a_picture_is_drawn_in_its_page_and_its_colours_follow_the_scheme(self):
        self.write("docs/pictures/p.svg", PICTURE)
        text = self.page("docs/guide/a.md", "![what it shows](../pictures/p.svg)\n")
        self.assertIn('<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="what it shows">', text)
        self.assertNotIn("<style>", text)
        css = self.site.pictures_css()
        self.assertIn(".braid-picture svg .pm { fill: red }", css)
        self.assertIn("[data-md-color-scheme=slate] .braid-picture svg .pm { fill: blue }", css)

    def test_pictures_share_one_style_and_have_a_text(self):
        self.write("docs/pictures/p.svg", PICTURE)
        self.write("docs/pictures/q.svg", PICTURE.replace("red", "green"))
        with self.assertRaisesRegex(stage.BadPage, "without a text"):
            self.page("docs/a.md", "![](pictures/p.svg)\n")
        with self.assertRaisesRegex(stage.BadPage, "q.svg"):
            self.page("docs/a.md", "![p](pictures/p.svg)\n![q](pictures/q.svg)\n")

    def test_lists_are_indented_by_four_and_begin_behind_a_blank_line(self):
        self.assertEqual(stage.indented_for_mkdocs("so:\n- a\n  b\n  - c\n\nd"),
                         "so:\n\n- a\n    b\n    - c\n\nd")
        self.assertEqual(stage.indented_for_mkdocs("1. a\n\n   ```sh\n   x\n     y\n   ```\n2. b\n"),
                         "1. a\n\n    ```sh\n    x\n      y\n    ```\n2. b\n")

    def test_patterns_of_pages_are_written_out_with_the_readme_first(self):
        for name in ("README", "0001-a", "0002-b"):
            self.write(f"pages/d/{name}.md", "x\n")
        self.assertEqual(stage.expanded("nav:\n  - d/*.md\n", self.root / "pages"),
                         "nav:\n  - d/README.md\n  - d/0001-a.md\n  - d/0002-b.md\n")

    def test_every_picture_of_the_project_can_be_staged(self):
        pictures = sorted((ROOT / "docs/pictures").glob("*.svg"))
        self.assertGreaterEqual(len(pictures), 5)
        site = stage.Site(ROOT, self.target)
        for picture in pictures:
            site.picture(picture.relative_to(ROOT).as_posix(), "text")
        self.assertIn("[data-md-color-scheme=slate] .braid-picture svg .pm {", site.pictures_css())


class CheckTest(TreeCase):
    def problems(self, html):
        self.write("a/b.html", html)
        return list(check.problems(self.root))

    def test_what_is_there_is_fine(self):
        self.write("c.html", "")
        self.assertEqual(self.problems('<a href="../c.html#x">c</a> <a href="#y">y</a> '
                                       '<a href="https://a.example/">w</a>'), [])

    def test_a_link_that_leads_nowhere_is_found(self):
        self.assertEqual(self.problems('<a href="c.html">c</a>'),
                         ["a/b.html: links to 'c.html', which is not there"])

    def test_what_is_loaded_from_elsewhere_is_found(self):
        for html in ('<script src="https://a.example/x.js"></script>', '<img src="//a.example/x.png">',
                     '<link rel="stylesheet" href="https://a.example/x.css">'):
            self.assertEqual(len(self.problems(html)), 1, html)


if __name__ == "__main__":
    unittest.main()
