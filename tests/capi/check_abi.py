#!/usr/bin/env python3
"""Holds the C API's three descriptions against each other:

the functions that include/braid/c.h declares, the list in abi_symbols.txt, and, given a library, the
braid_* symbols that it exports. A name that leaves the list breaks clients; a new one must be
written there. With a LevelDB header it also checks that every function LevelDB has is there with the
same arguments, and that leveldb_names.h maps it.

Usage: check_abi.py [--library libbraid.so] [--leveldb-header leveldb/c.h] [--nm nm]
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "include" / "braid" / "c.h"
LIST = HERE / "abi_symbols.txt"
NAMES = HERE / "leveldb_names.h"

# Types of leveldb/c.h that none of its functions takes.
UNUSED_LEVELDB_TYPES = {"filelock_t", "randomfile_t", "seqfile_t", "writablefile_t"}


def declarations(text):
    """The text without comments and preprocessor lines."""
    return re.sub(r"(?m)^\s*#[^\n]*", "", re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S))


def prototypes(header, prefix, export):
    """Name (without prefix) to prototype, with parameter names and the prefix removed."""
    text = declarations(header.read_text())
    found = {}
    for declaration in re.findall(export + r"\s+([^;]+);", text):
        name = re.search(r"\b" + prefix + r"(\w+)\s*\(", declaration).group(1)
        found[name] = normalized(declaration, prefix)
    return found


def normalized(declaration, prefix):
    """A prototype in one spelling: no parameter names, no white space, no prefix."""
    text = re.sub(r"\b" + prefix + r"(\w+)", r"\1", declaration)
    head, parameters = text.split("(", 1)
    # A callback keeps its place and types: void (*put)(void*, ...) becomes void(*)(void*,...).
    parameters = re.sub(r"\(\s*\*\s*\w+\s*\)", "(*)", parameters)
    parameters = re.sub(r"([\w*]+[\s*]+)\b(?!const\b)(\w+)(?=\s*[,)])", drop_name, parameters)
    return re.sub(r"\s+", "", head) + "(" + re.sub(r"\s+", "", parameters)


def drop_name(match):
    """Drops a parameter's name but not the only word of its type, as in `const char`."""
    types = {"char", "int", "void", "size_t", "uint8_t", "uint64_t"}
    return match.group(0) if match.group(2) in types else match.group(1)


def exported(library, nm):
    out = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True,
                         text=True).stdout
    names = (line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip())
    return {name for name in names if name.startswith("braid_")}


def compare(problems, left, left_name, right, right_name):
    for name in sorted(left - right):
        problems.append(f"{name}: in {left_name}, not in {right_name}")
    for name in sorted(right - left):
        problems.append(f"{name}: in {right_name}, not in {left_name}")


def check_leveldb(problems, ours, leveldb_header):
    theirs = prototypes(leveldb_header, "leveldb_", "LEVELDB_EXPORT")
    if len(theirs) < 50:
        problems.append(f"{leveldb_header}: only {len(theirs)} functions understood")
    for name, prototype in sorted(theirs.items()):
        if name not in ours:
            problems.append(f"leveldb_{name}: has no braid_{name}")
        elif ours[name] != prototype:
            problems.append(f"braid_{name}: {ours[name]} is not LevelDB's {prototype}")
    mapped = dict(re.findall(r"#define braid_(\w+) leveldb_(\w+)", NAMES.read_text()))
    for name, target in sorted(mapped.items()):
        if name != target:
            problems.append(f"{NAMES.name}: braid_{name} is mapped to leveldb_{target}")
    named = set(re.findall(r"\bleveldb_(\w+)", declarations(leveldb_header.read_text())))
    compare(problems, set(mapped), NAMES.name, named - UNUSED_LEVELDB_TYPES, str(leveldb_header))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library")
    parser.add_argument("--leveldb-header", type=pathlib.Path)
    parser.add_argument("--nm", default="nm")
    arguments = parser.parse_args()

    problems = []
    ours = prototypes(HEADER, "braid_", "BRAID_C_EXPORT")
    declared = {"braid_" + name for name in ours}
    lines = [line.strip() for line in LIST.read_text().splitlines()]
    listed = [line for line in lines if line and not line.startswith("#")]
    if listed != sorted(set(listed)):
        problems.append(f"{LIST.name}: not sorted, or a name is there twice")
    compare(problems, declared, "c.h", set(listed), LIST.name)
    if arguments.library:
        compare(problems, exported(arguments.library, arguments.nm), arguments.library,
                set(listed), LIST.name)
    if arguments.leveldb_header:
        check_leveldb(problems, ours, arguments.leveldb_header)

    for problem in problems:
        print(f"not ok - {problem}")
    print(f"{len(declared)} functions, {len(problems)} problems")
    return 1 if problems or not declared else 0


if __name__ == "__main__":
    sys.exit(main())
