#!/usr/bin/env python3
"""Weaves the seeded faults into copies of the sources, for the crashsim build.

The product has nothing of them: what is done wrong, and where, stands in tests/crash/faults/*.txt.

    @ src/log/log_reader.cc
    - if (entry == nullptr) return false;
    + if (entry == nullptr) return false;
    + if (BRAID_MUTANT(kEntryChecksumNotVerified)) return entry->sequence() != 0;

Lines with '-' are found in the file named last, whatever the white space between their words, and give
way to those with '+'. They must be there exactly once; give more of what stands around them until they
are. An empty line ends an edit; a line with '#' is a comment. The words of what gives way must come
again in what takes its place, so that nothing is wrong unless a fault is asked for.

    weave_faults.py --out DIR    write DIR/src/... for each file that has edits; leave what is up to date
    weave_faults.py --list       the files that have edits
    weave_faults.py --check      only whether every edit finds its place
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAULTS = pathlib.Path("tests/crash/faults")
INCLUDE = '#include "sim/faults.h"\n'
NAME = re.compile(r"BRAID_MUTANT\((k\w+)\)")
WORD = re.compile(r"\w+")


@dataclasses.dataclass
class Edit:
    source: str  # the file that says so, and the line
    file: str
    old: str
    new: str

    def names(self):
        return set(NAME.findall(self.new))


class WeaveError(Exception):
    pass


def parse(path, text):
    """The edits of one file of faults."""
    edits, file, old, new, begin = [], None, [], [], 0

    def end():
        if not old and not new:
            return
        where = f"{path}:{begin}"
        if file is None:
            raise WeaveError(f"{where}: no '@ file' stands before the edit")
        if not "".join(old).strip():
            raise WeaveError(f"{where}: an edit needs lines with '-', so that its place can be found")
        edits.append(Edit(where, file, "\n".join(old), "\n".join(new)))
        old.clear()
        new.clear()

    for number, line in enumerate(text.splitlines(), 1):
        kind, rest = line[:1], line[2:]
        if kind in ("", "@"):
            end()
            file = rest.strip() if kind == "@" else file
        elif kind == "-":
            if new:
                end()
            begin = begin if old else number
            old.append(rest)
        elif kind == "+":
            begin = begin if old or new else number
            new.append(rest)
        elif kind != "#":
            raise WeaveError(f"{path}:{number}: begins with none of '@ - + #': {line}")
    end()
    return edits


def read_edits(root):
    edits = []
    for path in sorted((root / FAULTS).glob("*.txt")):
        edits += parse(path.relative_to(root), path.read_text(encoding="utf-8"))
    return edits


def without_space(text):
    """The text without white space, and where each of its characters stands in `text`."""
    places = [i for i, c in enumerate(text) if not c.isspace()]
    return "".join(text[i] for i in places), places


def place_of(edit, squeezed, places):
    wanted = without_space(edit.old)[0]
    found = squeezed.count(wanted)
    if found != 1:
        what = "is not there any more" if found == 0 else f"is there {found} times"
        raise WeaveError(f"{edit.source}: what this edit replaces {what} in {edit.file}:\n{edit.old}\n"
                         "Say in the file of faults where the fault is now, or, when the code it spoils "
                         "is gone, remove it there, from src/sim/faults.h and from the table of mutants.")
    begin = squeezed.index(wanted)
    return places[begin], places[begin + len(wanted) - 1] + 1


def check_words(edit):
    """What a fault does wrong is added; a word that is left out would be missing in every run."""
    new = re.sub(r"(=|\breturn)\s*BRAID_MUTANT", r"\1 false BRAID_MUTANT", edit.new)  # in its place
    left_out = collections.Counter(WORD.findall(edit.old)) - collections.Counter(WORD.findall(new))
    if left_out:
        raise WeaveError(f"{edit.source}: without the fault the code is another one than {edit.file}: it "
                         f"lacks {', '.join(sorted(left_out))}. Keep them, with BRAID_MUTANT beside them.")


def weave(path, text, edits):
    """`text` with all edits made, and directives that keep the numbers of its lines."""
    squeezed, places = without_space(text)
    spans = sorted((*place_of(edit, squeezed, places), edit) for edit in edits)
    for (_, end, one), (begin, _, other) in zip(spans, spans[1:]):
        if begin < end:
            raise WeaveError(f"{other.source}: it changes what {one.source} changes, too; join them")
    woven, at = [], 0
    for begin, end, edit in spans:
        check_words(edit)
        newline = text.find("\n", end)
        newline = len(text) if newline < 0 else newline
        woven += [text[at:begin], edit.new.strip(), text[end:newline + 1],
                  f'#line {text.count(chr(10), 0, newline + 1) + 1} "{path}"\n']
        at = newline + 1
        # What stands on the rest of a line belongs to no other edit.
        if any(end < other[0] < newline for other in spans):
            raise WeaveError(f"{edit.source}: another edit begins on its last line; join them")
    woven.append(text[at:])
    body = "".join(woven)
    head = re.search(r"^#(pragma once|include)", body, re.MULTILINE)
    begin = body.find("\n", head.start()) + 1 if head.group(1) == "pragma once" else head.start()
    line = text.count("\n", 0, text.index(head.group(0))) + (2 if head.group(1) == "pragma once" else 1)
    return body[:begin] + INCLUDE + f'#line {line} "{path}"\n' + body[begin:]


def weave_all(root):
    """The woven text of each file that has edits."""
    by_file = {}
    for edit in read_edits(root):
        by_file.setdefault(edit.file, []).append(edit)
    texts, problems = {}, []
    for file, edits in sorted(by_file.items()):
        path = root / file
        if not path.is_file():
            problems.append(f"{edits[0].source}: there is no file {file}")
            continue
        try:
            texts[file] = weave(path, path.read_text(encoding="utf-8"), edits)
        except WeaveError as error:
            problems.append(str(error))
    if problems:
        raise WeaveError("\n".join(problems))
    return texts


def faults_in(root, files):
    """The names of the faults whose edits are in one of `files`, sources or files of faults."""
    return {name for edit in read_edits(root)
            if edit.file in files or edit.source.rsplit(":", 1)[0] in files for name in edit.names()}


def write_all(folder, texts):
    """What is woven, and nothing else: a header that has no fault any more must not be found here."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for file, text in texts.items():
        path = folder / file
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=pathlib.Path)
    what.add_argument("--list", action="store_true")
    what.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    try:
        if arguments.list:
            print("\n".join(sorted({edit.file for edit in read_edits(arguments.root)})))
            return 0
        texts = weave_all(arguments.root)
    except WeaveError as error:
        print(f"weave_faults: {error}", file=sys.stderr)
        return 1
    if arguments.out:
        write_all(arguments.out, texts)
    if arguments.check:
        print(f"faults: {sum(len(e.names()) for e in read_edits(arguments.root))} find their places")
    return 0


if __name__ == "__main__":
    sys.exit(main())
