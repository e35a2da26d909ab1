#!/usr/bin/env python3
"""Checks that what the texts point to is there: links in Markdown files, and pages below docs/ that
comments and messages name."""

import argparse
import pathlib
import re
import sys

from source_text import CPP_SUFFIXES, ROOT, Problem, read, report

FOLDERS = ("", "docs", "include", "src", "tools", "bench", "tests", "fuzz", "examples", "scripts",
           "bindings", "hadoop")
SUFFIXES = CPP_SUFFIXES | {".md", ".py", ".sh", ".java", ".cmake"}

MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGE = re.compile(r"(?<![\w/.])docs/[\w/.-]*\w(?:\.md)?")


def files(root):
    """Our text files: those at the top, and everything below the folders named above."""
    for folder in FOLDERS:
        base = root / folder
        if base.is_dir():
            for path in base.glob("*") if folder == "" else base.rglob("*"):
                if path.is_file() and path.suffix in SUFFIXES:
                    yield path.relative_to(root)


def is_there(path):
    """Whether the path is there, or for a numbered page (docs/internals/decisions/0004) one of that number."""
    numbered = re.fullmatch(r"\d{4}", path.name)
    return path.exists() or (numbered is not None and any(path.parent.glob(f"{path.name}-*.md")))


def check_file(root, path):
    text = read(root, path)
    found = [(match.start(), match.group(), root) for match in PAGE.finditer(text)]
    if path.suffix == ".md":
        prose = CODE_BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block.group()), text)
        found = [(match.start(1), match.group(1), (root / path).parent)
                 for match in MARKDOWN_LINK.finditer(prose)]
    for start, target, base in found:
        if re.match(r"[a-z]+:|#", target):
            continue
        if not is_there(base / target.split("#")[0]):
            line = text.count("\n", 0, start) + 1
            yield Problem(str(path), line, f"'{target}' is not there: write it, or point elsewhere")


def check(root):
    problems = []
    for path in files(root):
        if path.parts[:2] != ("tests", "style"):
            problems += check_file(root, path)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "links")


if __name__ == "__main__":
    sys.exit(main())
