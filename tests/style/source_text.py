"""Reading C and C++ sources for the style checks: files, code without comments, problems."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP_SUFFIXES = {".cc", ".h", ".c"}

# A comment, or a literal that may hold something that looks like one.
_TOKEN = re.compile(
    r"""
    (?P<line_comment>//(?:\\\n|[^\n])*)
  | (?P<block_comment>/\*.*?\*/)
  | (?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    """One offence: where it is, what is wrong and what to do."""

    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def cpp_files(root, *folders):
    """All C and C++ files below the folders of `root`, in a stable order, as relative paths."""
    found = []
    for folder in folders:
        base = root / folder
        if base.is_dir():
            found += [p for p in base.rglob("*") if p.suffix in CPP_SUFFIXES and p.is_file()]
    return sorted(path.relative_to(root) for path in found)


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def _blank(text):
    """The same lines, without what stands in them."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text, keep_strings=True):
    """The code alone. Lines and columns stay where they were."""

    def replace(match):
        if match.lastgroup in ("line_comment", "block_comment"):
            return _blank(match.group())
        if keep_strings:
            return match.group()
        # The quotes stay, so that the text still reads as an expression.
        body = match.group()
        return body[0] + _blank(body[1:-1]) + body[-1]

    return _TOKEN.sub(replace, text)


def report(problems, name):
    """Prints the problems, or that there are none; returns the exit code."""
    for problem in sorted(problems):
        print(problem)
    if problems:
        print(f"{name}: {len(problems)} problem(s)")
        return 1
    print(f"{name}: clean")
    return 0
