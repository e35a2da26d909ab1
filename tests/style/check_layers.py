#!/usr/bin/env python3
"""Checks the rules that keep the folders of src/ apart (docs/internals/style.md, CONTRIBUTING.md):

1. Dependencies point one way, along LAYERS; folders of one layer do not include each other.
2. The names of the designs occur in code only below src/design.
3. Only src/media maps, flushes and fences (and src/sim, which plays the medium).
4. Mutexes are those of src/base/mutex.h, whose use clang checks.
5. A recipe in src/design knows engines by their public headers (DESIGN_INCLUDES) and parts by
   options alone, so that no file outside src/design is changed for one design.
6. Seeded faults are woven in (tests/crash/faults): the sources have none.
"""

import argparse
import pathlib
import re
import sys

from source_text import ROOT, Problem, cpp_files, read, report, without_comments

# From the bottom up. Each folder may include the layers before its own, and itself.
LAYERS = [
    {"base"},
    {"format"},
    {"media"},
    {"sim"},
    {"pool"},
    {"index"},
    {"log", "cache", "engine", "tier"},
    {"memtable", "space"},
    {"level"},
    {"merge"},
    {"compaction"},
    {"flush"},
    {"recovery", "read"},
    {"repair", "write"},
    {"lsm", "leaf", "null"},
    {"design"},
    {"db"},
    {"capi", "tools"},
]
LAYER_OF = {folder: number for number, folders in enumerate(LAYERS) for folder in folders}

# Folders that the store itself must not know.
OUTSIDE = {"tests", "bench", "fuzz", "examples", "support"}

# What a file of src/design may include besides its own folder, base/ and braid/.
DESIGN_INCLUDES = {
    "engine/engine.h",
    "leaf/leaf_engine.h",
    "lsm/lsm_engine.h",
    "media/media.h",
    "null/null_engine.h",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
DESIGN_NAMES = re.compile(r"listdb|zipperdb|novelsm|tlsm|nvskiplist", re.IGNORECASE)
SEAM = re.compile(
    r"\b_mm_(?:clwb|clflush|clflushopt|sfence|stream_\w+)\b"
    r"|\b(?:lib)?pmem2_?\w*\b"
    r"|\b(?:mmap|msync)\s*\("
    r"|\b(?:clwb|clflush|clflushopt|sfence|movnti|movntdq)\b(?=[^\"\n]*\")"
    r"|__builtin_ia32_(?:clwb|clflush\w*|sfence|movnt\w+)"
)
LOCKS = re.compile(r"\bstd::(?:mutex|lock_guard|scoped_lock|condition_variable)\b")
FAULT = re.compile(r"\bBRAID_MUTANT\b")
INLINE_ASM = re.compile(r"\basm\b")


def folder_of(path):
    """The layer folder of a file: src/<folder>/..., or tools."""
    if path.parts[0] == "tools":
        return "tools"
    return path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else None


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_includes(path, code):
    folder = folder_of(path)
    if folder is None:
        return
    if folder not in LAYER_OF:
        yield Problem(str(path), 1, f"folder '{folder}' has no layer: add it to LAYERS in "
                                    "tests/style/check_layers.py, or move the file")
        return
    is_test = path.name.endswith("_test.cc")
    for match in INCLUDE.finditer(code):
        target = match.group(1).split("/")[0] if "/" in match.group(1) else folder
        line = line_of(code, match.start(1))
        if target == folder or target == "braid":
            continue
        if target in LAYER_OF:
            if LAYER_OF[target] > LAYER_OF[folder]:
                yield Problem(str(path), line, f"{folder} must not include {target}, which is "
                              "above it: pass what is needed in from there")
            elif LAYER_OF[target] == LAYER_OF[folder] and not is_test:
                yield Problem(str(path), line, f"{folder} must not include its sibling {target}: "
                              "move the shared part below both, or join them in a layer above")
        elif target in OUTSIDE and not is_test:
            yield Problem(str(path), line, f"{folder} must not include {target}: the store and its "
                          "command do not know tests and benchmarks")


def check_design_includes(path, code):
    if path.parts[:2] != ("src", "design") or path.name.endswith("_test.cc"):
        return
    for match in INCLUDE.finditer(code):
        header = match.group(1)
        if header in DESIGN_INCLUDES or "/" not in header or (
                header.split("/")[0] in ("design", "base", "braid")):
            continue
        yield Problem(str(path), line_of(code, match.start(1)),
                      f"a recipe must not include {header}: choose the part by an option of its "
                      "engine; a new engine goes to DESIGN_INCLUDES in tests/style/check_layers.py")


def check_design_names(path, code):
    if path.parts[:2] == ("src", "design"):
        return
    for match in DESIGN_NAMES.finditer(code):
        yield Problem(str(path), line_of(code, match.start()),
                      f"the design name '{match.group()}' in code outside src/design: name the "
                      "part for what it does and let the recipe choose it")


def check_seam(path, code):
    if path.parts[:2] in (("src", "media"), ("src", "sim")):
        return
    for match in SEAM.finditer(code):
        word = match.group().rstrip("( ")
        line = line_of(code, match.start())
        text = code.splitlines()[line - 1]
        is_bare_instruction = re.fullmatch(r"clwb|clflush\w*|sfence|movnt\w+", word)
        if is_bare_instruction and not INLINE_ASM.search(text):
            continue  # a word in a message, not an instruction
        yield Problem(str(path), line, f"'{word}' outside src/media: say what you mean through "
                      "media/persist.h (persist this range, publish this link)")


def check_locks(path, code):
    if path == pathlib.PurePath("src/base/mutex.h") or path.name.endswith("_test.cc"):
        return
    if path.parts[0] != "src":
        return
    for match in LOCKS.finditer(code):
        yield Problem(str(path), line_of(code, match.start()),
                      f"'{match.group()}': use Mutex, MutexLock, CondVar of base/mutex.h, and say "
                      "with BRAID_GUARDED_BY what is under it")


def check_faults(path, code):
    if path.parts[:2] == ("src", "sim"):
        return
    for match in FAULT.finditer(code):
        yield Problem(str(path), line_of(code, match.start()),
                      "a seeded fault in the product: write it to tests/crash/faults, from where it "
                      "is woven in (docs/internals/crash-simulator.md)")


def check(root):
    problems = []
    for path in cpp_files(root, "src", "include", "tools"):
        code = without_comments(read(root, path))
        # A name in a string is a name in code; an instruction in a string is a message.
        problems += check_includes(path, code)
        problems += check_design_includes(path, code)
        problems += check_design_names(path, code)
        problems += check_seam(path, code)
        problems += check_locks(path, code)
        problems += check_faults(path, code)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    return report(check(parser.parse_args().root), "layers")


if __name__ == "__main__":
    sys.exit(main())
