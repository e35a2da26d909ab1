"""A test case with a small source tree of its own, for the self-tests of the style checks."""

import pathlib
import tempfile
import unittest


class TreeCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def places(self, problems):
        return [f"{problem.path}:{problem.line}" for problem in sorted(problems)]
