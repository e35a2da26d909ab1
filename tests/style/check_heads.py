#!/usr/bin/env python3
"""Checks the comments that the files of src/ and include/ begin with (docs/internals/style.md):

1. A head begins with "Purpose:".
2. Thread safety, Locks, Invariants, Persistence and Source each begin a line of their own.
3. Invariants are a list, one numbered item a line, without gaps.
4. A header that declares a mutex or an atomic member says what its thread safety is.
5. No paragraph has more than 12 lines: a proof is a page of docs/internals/.
"""

import argparse
import pathlib
import re
import sys

from source_text import ROOT, Problem, cpp_files, read, report, without_comments

FOLDERS = ("include", "src")
MAX_PARAGRAPH_LINES = 12

NAMES = r"(?:Thread safety|Locks|Invariants?|Persistence|Source)"
# A part: its name, perhaps more ("Locks, in the order they may be taken", "Thread safety,
# invariants, persistence"), a colon.
PART = re.compile(rf"{NAMES}\b(?:[,( ][^.:;]*)?:")
RUN_ON = re.compile(rf"(?<=[.;)] ){NAMES}\b(?:[,( ][^.:;]{{0,80}})?:")
LIST_HEADING = re.compile(r"Invariants(?P<continued> \(.*\))?:$")
REFERENCE = re.compile(r"Invariants?: (?:none|see|those of)\b|Invariants, ")
ITEM = re.compile(r"(?P<indent> +)(?P<number>\d+)\. ")
ANY_ITEM = re.compile(r" *(?:\d+\.|-) ")
SHARED = re.compile(r"^[^()\n]*\b(?:std::atomic(?:_\w+)?(?:<[^;=]*>)?|(?:base::)?Mutex)\s+\w+"
                    r"(?:\s*\[[^\]]*\])?(?:\s+BRAID_\w+\([^)]*\))?\s*(?:[;={]|$)", re.MULTILINE)


def head_of(text):
    """The lines of the first comment, without the marks in front of them."""
    lines = []
    if text.startswith("/*"):
        for line in text[:text.find("*/")].splitlines():
            lines.append(re.sub(r"^(?:/\*| \*) ?", "", line))
        return lines
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^// ?", "", line))
    return lines


def check_parts(path, head):
    """Parts that begin in the middle of a line, and names that a line end cuts in two."""
    joined = " ".join(line.strip() for line in head)
    starts, at = [], 0
    for line in head:
        starts.append(at)
        at += len(line.strip()) + 1
    for match in RUN_ON.finditer(joined):
        if match.start() not in starts:
            number = sum(1 for start in starts if start <= match.start())
            name = match.group().rstrip(":")
            yield Problem(str(path), number,
                          f"'{name}' in the middle of a paragraph: begin a line of the head with it")


def check_invariants(path, head):
    at = 0
    while at < len(head):
        line = head[at]
        at += 1
        if not re.match(r"Invariants?\b[^.;]*:", line) or REFERENCE.match(line):
            continue
        heading = LIST_HEADING.match(line)
        if not heading:
            yield Problem(str(path), at, "invariants in a sentence: put 'Invariants:' alone on its "
                          "line, and below it one item a line, '//   1. text'")
            continue
        expected, indent = None, 0
        while at < len(head) and head[at].startswith(" "):
            item = ITEM.match(head[at])
            # A number in the continuation of an item is text: it is indented more than the items.
            if item and (expected is None or len(item["indent"]) < indent):
                number = int(item["number"])
                if expected is None:
                    expected = number if heading["continued"] else 1
                    indent = item.end()
                if number != expected:
                    yield Problem(str(path), at + 1, f"invariant {number} follows {expected - 1}: "
                                  "number them without gaps, from 1 (or say where the others are: "
                                  "'Invariants (1 to 6 are those of x.h):')")
                expected = number + 1
                indent = item.end()
            elif expected is None:
                yield Problem(str(path), at + 1, "an invariant without a number: '//   1. text'")
                expected = 1
            elif len(head[at]) - len(head[at].lstrip()) < indent:
                yield Problem(str(path), at + 1, "a line between invariants: indent it to the text "
                              f"of its item ({indent} columns), or give it a number")
            at += 1
        if expected is None:
            yield Problem(str(path), at, "'Invariants:' without a list: number them, '//   1. text'")
        elif at < len(head) and head[at].strip() and not PART.match(head[at]):
            yield Problem(str(path), at + 1, "text behind the list of invariants: indent it to its "
                          "item, or put an empty line ('//') before it")


def check_paragraphs(path, head):
    start = 0
    for at in range(1, len(head) + 1):
        ends = at == len(head) or not head[at].strip() or PART.match(head[at]) or (
            ANY_ITEM.match(head[at]))
        if not ends:
            continue
        length = at - start
        if length > MAX_PARAGRAPH_LINES:
            yield Problem(str(path), start + 1,
                          f"a paragraph of {length} lines (limit {MAX_PARAGRAPH_LINES}): make it a "
                          "list, or move the argument to a page of docs/internals/ and name that")
        start = at + 1 if at < len(head) and not head[at].strip() else at


def check_head(path, text):
    head = head_of(text)
    if not head:
        return  # check_limits.py asks for one
    if not head[0].startswith("Purpose: "):
        yield Problem(str(path), 1, "the head does not begin with 'Purpose: ': say first, in a "
                      "sentence or two, what the file is for")
    yield from check_parts(path, head)
    if text.startswith("/*"):
        return
    yield from check_invariants(path, head)
    yield from check_paragraphs(path, head)
    if path.suffix == ".h" and not any(line.startswith("Thread safety") for line in head):
        shared = SHARED.search(without_comments(text, keep_strings=False))
        if shared:
            yield Problem(str(path), 1, f"no 'Thread safety:' in the head of a header with "
                          f"'{' '.join(shared.group().split())}': say who may call what at the "
                          "same time")


def check(root):
    problems = []
    for path in cpp_files(root, *FOLDERS):
        if not path.name.endswith("_test.cc"):
            problems += check_head(path, read(root, path))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "heads")


if __name__ == "__main__":
    sys.exit(main())
