#!/usr/bin/env python3
"""The C++ example of the README is examples/readme.cc to the letter, and does what it says; the user
guide lists the verbs of the command, and the commands of pages of docs/ that need no more than it do what
they say:
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
        shown = re.search(r"It prints `(.*?)` and, in a line of its own, `(.*?)`\.", readme)
        self.assertIsNotNone(shown, "README.md no longer says what the example prints")
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            for _ in range(2):  # the second run opens what the first one left
                done = subprocess.run([EXAMPLE], cwd=folder, text=True, capture_output=True,
                                      stdin=subprocess.DEVNULL, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.splitlines(), list(shown.groups()))

    def run_shell(self, text, folder):
        """Runs the lines in the folder, with the built command first on the path; returns their output."""
        environment = dict(os.environ, PATH=f"{EXAMPLE.parent}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-ec", text], cwd=folder, env=environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, text + done.stderr)
        return done.stdout

    @unittest.skipUnless(os.access(EXAMPLE.parent / "braid", os.X_OK), "the command is not built")
    def test_the_commands_of_the_first_steps_print_what_the_page_says(self):
        page = (SOURCE_DIR / "docs/start/first-steps.md").read_text(encoding="utf-8")
        part = page[page.index("## A pool, by the command"):]
        block = re.search(r"```sh\n(.*?)```", part, re.DOTALL).group(1)
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            printed = self.run_shell(block, folder).split()
        for line in block.splitlines():
            shown = re.search(r"braid (?:get|scan) .*# (.*)", line)
            if shown:
                self.assertIn(" ".join(shown.group(1).split()), " ".join(printed), line)

    @unittest.skipUnless(os.access(EXAMPLE.parent / "braid", os.X_OK), "the command is not built")
    @unittest.skipUnless(os.path.exists("/var/lib/dpkg/status"), "not a Debian")
    def test_the_commands_of_the_page_on_loading_work(self):
        page = (SOURCE_DIR / "docs/guide/loading.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory(dir=os.environ.get("BRAID_TMP")) as folder:
            (pathlib.Path(folder) / "users.jsonl").write_text('{"id": 7, "name": "Ada"}\n')
            self.run_shell("braid put old.pool a b", folder)
            for block in blocks:
                self.run_shell(block, folder)
            self.assertEqual(self.run_shell("braid get new.pool a", folder), "b\n")
            self.assertIn("Ada", self.run_shell("braid get users.pool user/7", folder))

    def test_the_user_guide_lists_exactly_the_verbs_of_the_command(self):
        guide = (SOURCE_DIR / "docs/guide/user-guide.md").read_text(encoding="utf-8")
        verbs = guide[:guide.index("## Exit codes")]
        header = (SOURCE_DIR / "tools" / "verb.h").read_text(encoding="utf-8")
        listed = re.findall(r"^\| `(\w+)[^`|]*` \|", verbs, re.MULTILINE)
        declared = [name.lower() for name in re.findall(r" Make(\w+)Verb\(\);", header)]
        self.assertEqual(listed, declared, "the table of verbs in docs/guide/user-guide.md and tools/verb.h differ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
