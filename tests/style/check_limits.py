#!/usr/bin/env python3
"""Checks the sizes and the tidiness of our sources (docs/internals/style.md):

files of at most 1,000 lines, functions of at most 70 (or a '// Long: reason' right above), lines of
at most 100 columns, recipes of at most 150 lines, no parked code, no open ends, a head in each file.
"""

import argparse
import dataclasses
import pathlib
import re
import sys

from source_text import ROOT, Problem, cpp_files, read, report, without_comments

MAX_FILE_LINES = 1000
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100
MAX_RECIPE_LINES = 150

CPP_FOLDERS = ("include", "src", "tools", "bench", "tests", "fuzz", "examples", "bindings")
# Where every file needs a head; elsewhere the headers do, and a .cc may lean on its own.
ALL_HEADS_FOLDERS = {"include", "src"}
HEADER_HEADS_FOLDERS = {"tools", "bench", "tests"}
OTHER_SUFFIXES = {".java", ".py"}
OTHER_FOLDERS = ("hadoop", "bindings", "tests", "scripts")

PARKED = re.compile(r"^\s*#\s*if\s+0\b")
OPEN_END = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
REASON = re.compile(r"^\s*//+ Long: \S")

CONTAINER = re.compile(r"^(?:export\s+|inline\s+)*(?:namespace|extern\s*\"|class|struct|union|enum)\b")
CONTROL = re.compile(r"^(?:if|for|while|switch|do|else|try|catch)\b")
CONSTRUCTOR_LIST = re.compile(r"\)\s*(?:noexcept\s*(?:\([^()]*\))?\s*)?:(?!:)")


@dataclasses.dataclass
class Function:
    first_line: int
    last_line: int


class FunctionFinder:
    """Finds function bodies by their braces: a block outside any function whose head has a
    parameter list. Takes code without comments and without the contents of strings."""

    def __init__(self, code):
        # Preprocessor lines are not code; both arms of an #if must balance their braces.
        self.code = re.sub(r"(?m)^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                           code)
        self.functions = []
        self.scopes = []  # one entry an open brace: "container", "function", "init" or "block"
        self.head_start = 0

    def find(self):
        starts = []
        parens = 0
        for at, char in enumerate(self.code):
            if char == "(":
                parens += 1
            elif char == ")":
                parens -= 1
            elif char == "{":
                kind = self.kind_of(self.code[self.head_start:at], parens)
                self.scopes.append(kind)
                if kind == "function":
                    starts.append(self.first_line(at))
                if kind != "init":
                    self.head_start = at + 1
            elif char == "}" and self.scopes:
                kind = self.scopes.pop()
                if kind == "function":
                    self.functions.append(Function(starts.pop(), self.line(at)))
                if kind != "init":
                    self.head_start = at + 1
            elif char == ";" and parens == 0:
                self.head_start = at + 1
        return self.functions

    def kind_of(self, head, parens):
        text = re.sub(r"^(?:\s|public:|private:|protected:)+", "", head)
        text = re.sub(r"^template\s*<[^{;]*?>\s*(?=class|struct|union)", "", text)
        if any(scope in ("function", "block") for scope in self.scopes):
            return "block"
        if "init" in self.scopes or parens > 0:
            return "init"
        if CONTAINER.match(text) and "(" not in re.sub(r"(?:alignas|__attribute__)\s*\(.*?\)", "", text):
            return "container"
        if re.search(r"(?<![=!<>])=\s*$", text) or "(" not in text or CONTROL.match(text):
            return "init"
        if CONSTRUCTOR_LIST.search(text) and re.search(r"[\w>]\s*$", text):
            return "init"  # a member's braces in a constructor's list, not yet the body
        return "function"

    def line(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def first_line(self, brace):
        head = self.code[self.head_start:brace]
        blank = len(head) - len(re.sub(r"^(?:\s|public:|private:|protected:)+", "", head))
        return self.line(self.head_start + blank)


def has_reason(lines, first_line):
    """Whether the comment right above line `first_line` (counted from 1) gives a reason."""
    above = first_line - 2
    while above >= 0 and lines[above].lstrip().startswith("//"):
        if REASON.match(lines[above]):
            return True
        above -= 1
    return False


def check_functions(path, text, lines):
    for function in FunctionFinder(without_comments(text, keep_strings=False)).find():
        length = function.last_line - function.first_line + 1
        if length > MAX_FUNCTION_LINES and not has_reason(lines, function.first_line):
            yield Problem(str(path), function.first_line,
                          f"a function of {length} lines (limit {MAX_FUNCTION_LINES}): take a step "
                          "out and name it, or put '// Long: <reason>' on the line above")


def check_lines(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield Problem(str(path), number,
                          f"{len(line)} columns (limit {MAX_COLUMNS}): run 'make format', or break it")
        if PARKED.match(line):
            yield Problem(str(path), number, "parked code: delete it, git remembers")
        if OPEN_END.search(line):
            yield Problem(str(path), number, "an open end: do it, or write it down as an issue")


def check_length(path, lines):
    if len(lines) > MAX_FILE_LINES:
        yield Problem(str(path), MAX_FILE_LINES + 1,
                      f"{len(lines)} lines (limit {MAX_FILE_LINES}): split it by what its parts do")
    is_recipe = path.parts[:2] == ("src", "design") and not path.name.endswith("_test.cc")
    if is_recipe and len(lines) > MAX_RECIPE_LINES:
        yield Problem(str(path), MAX_RECIPE_LINES + 1,
                      f"a recipe of {len(lines)} lines (limit {MAX_RECIPE_LINES}): move the "
                      "algorithm to the folder of its step")


def check_head(path, text):
    needs_head = (path.parts[0] in ALL_HEADS_FOLDERS and not path.name.endswith("_test.cc")) or (
        path.parts[0] in HEADER_HEADS_FOLDERS and path.suffix == ".h")
    if needs_head and not text.startswith(("//", "/*")):
        yield Problem(str(path), 1, "no head: start the file with a comment that says what it is "
                      "for (docs/internals/style.md has the four headings)")


def other_files(root):
    for folder in OTHER_FOLDERS:
        if (root / folder).is_dir():
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in OTHER_SUFFIXES and "build" not in path.parts:
                    yield path.relative_to(root)


def check(root):
    problems = []
    for path in cpp_files(root, *CPP_FOLDERS):
        text = read(root, path)
        lines = text.splitlines()
        problems += check_length(path, lines)
        problems += check_lines(path, lines)
        problems += check_functions(path, text, lines)
        problems += check_head(path, text)
    for path in other_files(root):
        lines = read(root, path).splitlines()
        problems += check_length(path, lines)
        problems += [p for p in check_lines(path, lines) if "open end" in p.text]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "limits")


if __name__ == "__main__":
    sys.exit(main())
