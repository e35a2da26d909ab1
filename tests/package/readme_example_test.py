#!/usr/bin/env python3
"""The C++ example of the README is examples/readme.cc to the letter, and does what it says; the user
guide lists the verbs of the command:
readme_example_test.py <source directory> <built example>"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR, EXAMPLE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])


class ReadmeExampleTest(unittest.TestCase):
    def test_the_readme_shows_exactly_the_example(self):
        readme = (SOURCE_DIR / "README.md").read_text(encoding="utf-8")
        example = (SOURCE_DIR / "examples" / "readme.cc").read_text(encoding="utf-8")
        blocks = re.findall(r"```cpp\n(.*?)```", readme, re.DOTALL)
        self.assertEqual(blocks, [example],
                         "copy examples/readme.cc into the one ```cpp block of README.md")

    def test_the_example_prints_what_the_readme_says(self):
        readme = (SOURCE_DIR / "README.md").read_text(encoding="utf-8")
        shown = re.search(r"It prints:\n\n```text\n(.*?)```", readme, re.DOTALL)
        self.assertIsNotNone(shown, "README.md no longer says what the example prints")
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            for _ in range(2):  # the second run opens what the first one left
                done = subprocess.run([EXAMPLE], cwd=folder, text=True, capture_output=True,
                                      stdin=subprocess.DEVNULL, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, shown.group(1))

    def test_the_user_guide_lists_exactly_the_verbs_of_the_command(self):
        guide = (SOURCE_DIR / "docs/guide/user-guide.md").read_text(encoding="utf-8")
        verbs = guide[:guide.index("## Exit codes")]
        header = (SOURCE_DIR / "tools" / "verb.h").read_text(encoding="utf-8")
        listed = re.findall(r"^\| `(\w+)[^`|]*` \|", verbs, re.MULTILINE)
        declared = [name.lower() for name in re.findall(r" Make(\w+)Verb\(\);", header)]
        self.assertEqual(listed, declared, "the table of verbs in docs/guide/user-guide.md and tools/verb.h differ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
