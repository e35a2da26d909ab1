#!/usr/bin/env python3
"""Checks the words of comments, messages and pages (docs/internals/style.md): those of LevelDB, RocksDB, SQLite
and LMDB, in sentences that read as if they had been written in English. Looks at src, include, tools,
README.md and the pages of docs/; decisions, designs, figures and the changelog stay as written."""

import argparse
import bisect
import dataclasses
import pathlib
import re
import sys

from source_text import ROOT, Problem, read, report

FOLDERS = ("include", "src", "tools")
SUFFIXES = {".h", ".cc", ".c", ".md"}
PAGES = ("README.md", "docs/*.md", "docs/start/*.md", "docs/guide/*.md", "docs/internals/*.md",
         "docs/evidence/*.md", "scripts/site/pages/**/*.md")

# What a line of a comment begins with.
_MARK = re.compile(r"[ \t]*(?:///<|///|//|\*(?!/))?[ \t]*")


@dataclasses.dataclass(frozen=True)
class Rule:
    """A banned phrase, and what to write for it. `pages`: only in include/, tools/ and pages. `guide`:
    only in what a new user reads first: README.md, docs/start and docs/guide, written by hand."""
    pattern: re.Pattern
    advice: str
    pages: bool = False
    guide: bool = False


def rule(pattern, advice, pages=False, guide=False):
    return Rule(re.compile(pattern), advice, pages, guide)


_BE = r"(?:is|are|was|were|be|been|being)"
_WHO_VERBS = (r"(?:asks?|asked|builds|calls|changes|comes|counts|finds|follows|holds|links|loads|looks|"
              r"needs|opens|reads|relies|replaces|sees|takes|uses|waited|waits|wants|watches|writes)")
_ENTRY = r"(?:entry|entries|puts?|deletes?|versions?|original|originals|copy|copies|nodes?|bytes)"
_OTHERS = (r"(?:(?:a|an|the|its|their|this|that|another|other|one|many|busy|concurrent|running) )*"
           r"(?:writers?|readers?|process|processes|handles?|programs?|threads?|merges?|flushes|others|"
           r"lookups?|calls?)\b")

RULES = (
    rule(r"\b[Aa]new\b", "say 'again', or name what happens: rebuilt, reopened, reused, restarted"),
    rule(r"\b[Ww]hoever\b", "name the subject: a reader, a caller, the thread that ..."),
    rule(rf"\b{_BE} told\b", "say who learns what: 'the caller gets', 'reports', 'is notified'; for "
         "'can't be told from' say 'can't be distinguished from'"),
    rule(r"\bbe it\b", "say 'even if', or 'whether ... or ...'"),
    rule(r"\b[a-z]+ of now\b", "say 'current': the current tables"),
    rule(r"\| [Ww]ho(?:se)? (?!\|)[^|]*\|", "a table cell names its topic: 'Monitoring with Prometheus'"),
    rule(rf"(?:[.;:,] |^|- )[Ww]ho {_WHO_VERBS}\b(?![^.;]*\?)",
         "name the subject: 'a reader that ...', 'callers that ...'"),
    rule(r"\b[Mm]arks? of death\b", "say 'tombstone' of a delete, 'obsolete mark' of an entry"),
    rule(r"\bdead (?!links?\b|process|writer|reader|thread|owner|code)\w+|\b(?:is|are|was|were) dead\b",
         "say 'obsolete'"),
    rule(rf"\b{_ENTRY} (?:that |which )?(?:has |have )?(?:dies?|died|dying)\b",
         "say 'becomes obsolete'"),
    rule(r"\b(?:re|un)?arrang(?:e[sd]?|ing|ements?)\b", "say 'recluster', or 'order'"),
    rule(rf"\b[Bb]eside {_OTHERS}|\bread(?:s|ing)? beside\b|\bgo(?:es)? on beside\b",
         "say 'concurrent reader', 'concurrently', 'while another process writes'"),
    rule(r"\bmakes? none\b", "say 'never creates one'"),
    rule(r"\bown affair\b", "say who decides it: 'readers apply their own timeout'"),
    rule(r"\b[Nn]othing is waited for\b", "say 'block only on ...', or 'nothing blocks'"),
    rule(r"\bbut for (?:a|an|the|those|that|what|one)\b|[,;] but for\b", "say 'except'"),
    rule(r"\bfor ever\b", "say 'forever'"),
    rule(r"\bnotwithstanding\b", "say 'whatever ... says', or 'despite'"),
    rule(r"\bworth while\b", "say 'pays off'"),
    rule(r"\bwhat is the matter\b", "say 'what is wrong'"),
    rule(r"\bhangs? on (?:the|its|a|which|what|how)\b", "say 'depends on'"),
    rule(r"\bwithout a look\b", "say 'without reading', or 'without checking'"),
    rule(r"\b(?:bring|brings|brought|bringing) about\b", "say 'cause' or 'produce'"),
    rule(r"\bin vain\b", "say what failed: 'its wait timed out'"),
    rule(r"\b(?:get|gets|holds?|gives?|takes?) none but\b", "say 'only'"),
    rule(r"\bmend(?:s|ed|ing)?\b", "say 'repair' or 'fix'"),
    rule(r"\bno half of one\b", "say 'is never left half-written'"),
    rule(r"\bstands? (?:twice|on an?|on the|on no|before|behind|in (?:double )?quotes|in the line|there|"
         r"nowhere|beside|together|against)\b", "say 'is'", pages=True),
    rule(r"\b[Pp]ower cuts?\b", "say 'power loss'", guide=True),
    rule(r"\b[Tt]ells? (?:of|what|how|which|all|whether)\b", "say 'shows', 'reports' or 'lists'",
         guide=True),
    rule(r"\b[Ss]omebody\b", "name the subject: a process, a reader", guide=True),
    rule(r"\b(?:go|goes|went) on\b(?! [a-z]*ing\b)", "say 'continues', 'still works' or 'resumes'",
         guide=True),
    rule(r"\b(?:is|are) no (?:pool|terminal|string|number|key|store)s?\b", "say 'is not a ...'",
         guide=True),
    rule(r"\bpast (?:the )?log\b", "say 'bypassing the log'", guide=True),
    rule(r"\bfor itself\b", "say 'exclusive access'", guide=True),
    rule(r"\b[Bb]eside (?:it|the|a|that|them|its)\b", "say 'next to', or 'besides'", guide=True),
    rule(r"\b[Mm]akes? (?:a|the|no|any) (?:new )?(?:pool|database|table)\b", "say 'creates'", guide=True),
    rule(r"\b[Ss]tands?\b(?! for\b)", "say 'is', or 'appears'", guide=True),
    rule(r"\b(?:names|words) of (?:its|their|one's) own\b", "say 'its own names'", guide=True),
    rule(r"\bhowever it ends\b|\bhalf a backup\b|\bin the making\b", "say what happens", guide=True),
)

# Made by the command, from texts of the sources.
GENERATED = {"docs/guide/options.md", "docs/guide/metrics.md"}


def is_guide(path):
    name = path.as_posix()
    return name not in GENERATED and (name == "README.md" or
                                      name.startswith(("docs/start/", "docs/guide/")))


def files(root):
    found = []
    for folder in FOLDERS:
        found += [p for p in (root / folder).rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    for pattern in PAGES:
        found += root.glob(pattern)
    return sorted(path.relative_to(root) for path in found)


def flat(text):
    """The text as one line, paragraphs and split strings joined, and where each line begins in it."""
    pieces, begins, length = [], [], 0
    for line in text.split("\n"):
        piece = line[_MARK.match(line).end():]
        if piece.startswith('"') and pieces and pieces[-1].endswith('" '):
            pieces[-1] = pieces[-1][:-2]  # a string over two lines: its blank is before the quote
            length -= 2
            piece = piece[1:]
        begins.append(length)
        pieces.append(piece.rstrip() + " ")
        length += len(pieces[-1])
    return "".join(pieces), begins


def check_text(path, text):
    line, begins = flat(text)
    is_page = path.parts[0] != "src"
    for banned in RULES:
        if (banned.pages and not is_page) or (banned.guide and not is_guide(path)):
            continue
        for match in banned.pattern.finditer(line):
            words = match.group().strip(" .;:,|-")
            number = bisect.bisect_right(begins, match.start() + match.group().index(words))
            yield Problem(str(path), number, f"'{words}': {banned.advice}")


def check(root):
    problems = []
    for path in files(root):
        problems += check_text(path, read(root, path))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "words")


if __name__ == "__main__":
    sys.exit(main())
