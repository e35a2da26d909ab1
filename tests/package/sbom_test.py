#!/usr/bin/env python3
"""The bill of materials (scripts/sbom.py) lists what the built files load, all of it and nothing
else, and what it lists has a licence: sbom_test.py <source directory> <libbraid.so> <braid>"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR, LIBRARY, COMMAND = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
SCRIPT = SOURCE_DIR / "scripts" / "sbom.py"
PAGE = SOURCE_DIR / "docs/evidence/dependencies.md"


def sbom(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, "--library", LIBRARY, "--command", COMMAND,
                           *arguments], text=True, capture_output=True, check=False)


def loads(path):
    """Asked of objdump, where the script asks readelf."""
    text = subprocess.run(["objdump", "-p", path], check=True, text=True, capture_output=True).stdout
    return set(re.findall(r"^\s*NEEDED\s+(\S+)$", text, re.MULTILINE))


class BillOfMaterialsTest(unittest.TestCase):
    def setUp(self):
        done = sbom()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.document = json.loads(done.stdout)
        self.packages = {package["SPDXID"]: package for package in self.document["packages"]}

    def related(self, identifier, kind):
        return [relation["relatedSpdxElement"] for relation in self.document["relationships"]
                if relation["spdxElementId"] == identifier and relation["relationshipType"] == kind]

    def test_it_lists_exactly_the_libraries_that_are_loaded(self):
        for path, identifier in ((LIBRARY, "SPDXRef-libbraid"), (COMMAND, "SPDXRef-braid")):
            listed = set()
            for package in self.related(identifier, "DYNAMIC_LINK"):
                listed.update(self.packages[package]["packageFileName"].split(", "))
            # A package is listed once, with what the first of the two loads of it.
            runtime = re.compile(r"^(libm|libgcc_s|ld-linux.*)\.so")
            self.assertEqual({name for name in listed if not runtime.match(name)},
                             {name for name in loads(path) if not runtime.match(name)})

    def test_it_has_what_spdx_asks_for(self):
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(self.document["dataLicense"], "CC0-1.0")
        self.assertEqual(self.document["SPDXID"], "SPDXRef-DOCUMENT")
        self.assertTrue(self.document["creationInfo"]["creators"])
        self.assertEqual(self.related("SPDXRef-DOCUMENT", "DESCRIBES"),
                         ["SPDXRef-libbraid", "SPDXRef-braid"])
        for identifier, package in self.packages.items():
            self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")
            for field in ("name", "downloadLocation", "licenseDeclared", "licenseConcluded"):
                self.assertTrue(package[field], f"{identifier}: {field}")
        for relation in self.document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], self.packages)

    def test_what_is_found_by_pkg_config_has_a_version(self):
        for name in ("libpmem2", "libxxhash", "liburcu", "libfmt"):
            self.assertRegex(self.packages[f"SPDXRef-{name}"]["versionInfo"], r"^\d+\.\d+")

    def test_a_library_that_is_loaded_and_not_written_down_is_an_error(self):
        self.expect_error(re.sub(r"(?m)^\| libpmem2-dev .*\n", "", PAGE.read_text(encoding="utf-8")),
                          "loads libpmem2, which docs/evidence/dependencies.md does not list")

    def test_a_library_that_is_written_down_and_not_loaded_is_an_error(self):
        page = PAGE.read_text(encoding="utf-8")
        row = "| libzzz-dev | libzzz.so.1 | MIT | nothing |\n"
        self.expect_error(page.replace("| libxxhash-dev ", row + "| libxxhash-dev ", 1),
                          "lists libzzz, which the library does not load")

    def test_a_library_that_is_optional_may_be_missing(self):
        page = PAGE.read_text(encoding="utf-8")
        row = "| libzzz-dev | libzzz.so.1 | MIT | nothing; optional |\n"
        done = self.with_page(page.replace("| libfmt-dev ", row + "| libfmt-dev ", 1))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("libzzz", done.stdout)

    def with_page(self, page):
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            path = pathlib.Path(folder) / "dependencies.md"
            path.write_text(page, encoding="utf-8")
            return sbom("--page", path)

    def expect_error(self, page, message):
        done = self.with_page(page)
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
