#!/usr/bin/env python3
"""Checks that no class of src/ has grown into several (docs/internals/style.md): at most 800 lines, those of
its definition and of all its member functions in all files together, and at most two mutexes.

    check_classes.py --list   the five largest
"""

import argparse
import bisect
import dataclasses
import pathlib
import re
import sys

from check_limits import CONSTRUCTOR_LIST
from source_text import ROOT, Problem, cpp_files, read, report, without_comments

MAX_CLASS_LINES = 800
MAX_MUTEXES = 2

NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*([\w:]*)\s*$")
CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*|alignas\s*\([^)]*\)\s*|[A-Z][A-Z_]+"
                   r"(?:\([^)]*\))?\s+)*((?:\w+::)*\w+)\s*(?:<[^{}]*>)?\s*(?:final\s*)?(?::(?!:)|$)")
# What a member function defined outside of its class is called, before its parameters.
MEMBER = re.compile(r"((?:\w+(?:<[^<>{}()]*>)?::)+)(?:~?\w+|operator\s*\S+?|operator\s*\(\s*\))\s*\(")
TEMPLATE = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
MUTEX = re.compile(r"^(?:mutable\s+)?(?:(?:braid::)?base::)?Mutex\s+(\w+)"
                   r"(?:\s*\[[^\]]*\])?(?:\s+BRAID_\w+\s*\([^)]*\))*\s*(?:\{\s*\}|=[^;]*)?\s*$")
LABEL = re.compile(r"^\s*(?:(?:public|private|protected)\s*:\s*)*")
DIRECTIVE = re.compile(r"(?m)^[ \t]*#(?:\\\n|[^\n])*")
# Parentheses of a function, not of an attribute in front of a name, as in "class BRAID_X(y) Name".
PARAMETERS = re.compile(r"\)\s*(?:(?:const|noexcept|override|final)\b\s*)*$|\boperator\b|\)\s*:")
ASSIGNMENT = re.compile(r"(?<![=!<>+\-*/])=$")
MARK = re.compile(r"[{}();]")


@dataclasses.dataclass
class Class:
    """What was found of a class, and where its definition is."""
    name: str
    path: str = ""
    line: int = 0
    lines: int = 0
    methods: int = 0
    mutexes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Scope:
    kind: str  # namespace, class, function or block
    name: str
    line: int
    head: str


class Finder:
    """Finds the classes of one file, and the definitions of their members outside of them."""

    def __init__(self, path, code, classes, members):
        self.path = path
        self.code = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), code)
        self.ends = [m.start() for m in re.finditer("\n", self.code)]
        self.classes = classes
        self.members = members  # (namespace, class, lines) of each definition outside a class
        self.scopes = []  # one an open brace
        self.start = 0  # of the declaration that is being read
        self.parens = 0

    def line(self, offset):
        return bisect.bisect_left(self.ends, offset) + 1

    def run(self):
        for match in MARK.finditer(self.code):
            mark, at = match.group(), match.start()
            if mark == "(":
                self.parens += 1
            elif mark == ")":
                self.parens -= 1
            elif mark == "{":
                self.open(at)
            elif mark == "}":
                self.close(at)
            elif self.parens == 0:
                self.declare(at)
                self.start = at + 1

    def where(self):
        """The names around, from the outermost in."""
        return "::".join(scope.name for scope in self.scopes if scope.name)

    def head(self, at):
        text = TEMPLATE.sub(" ", self.code[self.start:at])
        return LABEL.sub("", text).strip()

    def first_line(self, at):
        text = self.code[self.start:at]
        return self.line(self.start + LABEL.match(text).end() if text.strip() else at)

    def inside(self, kind):
        return bool(self.scopes) and self.scopes[-1].kind == kind

    def kind_of(self, head):
        """What the brace behind `head` begins, and its name."""
        space = NAMESPACE.match(head)
        if space or head.startswith('extern "'):
            return "namespace", space.group(1) if space else ""
        found = None if PARAMETERS.search(head) else CLASS.search(head)
        if found and not head.startswith("enum"):
            return "class", found.group(1)
        if CONSTRUCTOR_LIST.search(head) and re.search(r"[\w>]$", head):
            return "block", ""  # a member's braces in a constructor's list, not yet the body
        if "(" in head and not ASSIGNMENT.search(head):
            return "function", ""
        return "block", ""

    def open(self, at):
        outer = not self.scopes or self.scopes[-1].kind in ("namespace", "class")
        head = self.head(at) if outer and self.parens == 0 else ""
        kind, name = self.kind_of(head)
        if kind == "function" and self.inside("class"):
            self.classes[self.where()].methods += 1
        self.scopes.append(Scope(kind, name, self.first_line(at) if kind != "block" else 0, head))
        if kind == "class":
            found = self.classes.setdefault(self.where(), Class(self.where()))
            if not found.path:
                found.path, found.line = str(self.path), self.scopes[-1].line
        if kind != "block":
            self.start = at + 1

    def close(self, at):
        if not self.scopes:
            return
        scope = self.scopes[-1]
        lines = self.line(at) - scope.line + 1
        if scope.kind == "class":
            self.classes[self.where()].lines += lines
        self.scopes.pop()
        if scope.kind == "function" and not self.inside("class"):
            member = MEMBER.search(scope.head)
            if member:
                names = re.sub(r"<[^<>]*>", "", member.group(1)).rstrip(":")
                self.members.append((self.where(), names, lines))
        if scope.kind != "block":
            self.start = at + 1

    def declare(self, at):
        if not self.inside("class"):
            return
        head = self.head(at)
        found = self.classes[self.where()]
        mutex = MUTEX.match(head)
        if mutex:
            found.mutexes.append(mutex.group(1))
        elif "(" in head:
            found.methods += 1


def owner(classes, around, names):
    """The class that a definition in the namespace `around` belongs to, if it is known."""
    spaces = around.split("::") if around else []
    for depth in range(len(spaces), -1, -1):
        found = classes.get("::".join(spaces[:depth] + [names]))
        if found:
            return found
    return None


def find(root):
    """All classes of src/, by their full names, with the lines of all their definitions."""
    classes, members = {}, []
    for path in cpp_files(root, "src"):
        if not path.name.endswith("_test.cc"):
            code = without_comments(read(root, path), keep_strings=False)
            Finder(path, code, classes, members).run()
    for around, names, lines in members:
        found = owner(classes, around, names)
        if found:
            found.lines += lines
            found.methods += 1
    return classes


def check(root):
    problems = []
    for name, found in find(root).items():
        if found.methods and found.lines > MAX_CLASS_LINES:
            problems.append(Problem(
                found.path, found.line,
                f"{name} has {found.lines} lines over all its files (limit {MAX_CLASS_LINES}): move "
                "one of its tasks, with the members that only this task uses, to a class of its own"))
        if len(found.mutexes) > MAX_MUTEXES:
            problems.append(Problem(
                found.path, found.line,
                f"{name} has {len(found.mutexes)} mutexes ({', '.join(found.mutexes)}; limit "
                f"{MAX_MUTEXES}): give each group of members under one lock to a class that has "
                "this lock"))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--list", action="store_true", help="print the five largest classes")
    arguments = parser.parse_args()
    if arguments.list:
        for found in sorted(find(arguments.root).values(), key=lambda c: -c.lines)[:5]:
            print(f"{found.lines:5} lines {len(found.mutexes)} mutexes  {found.name} "
                  f"({found.path}:{found.line})")
        return 0
    return report(check(arguments.root), "classes")


if __name__ == "__main__":
    sys.exit(main())
