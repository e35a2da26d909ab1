#!/usr/bin/env python3
"""Writes a software bill of materials, SPDX 2.3 as JSON, of the library and the command.

sbom.py --library libbraid.so [--command braid] [--out FILE]

What each part is and its licence come from the tables of docs/evidence/dependencies.md, what is loaded from
the built files themselves (readelf), versions from pkg-config. The three must agree: a library that
is loaded and not in a table, or in a table and not loaded, is an error (exit code 1). What a table
calls optional may be missing; then it is not in the bill either."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/evidence/dependencies.md"
FINDERS = ROOT / "cmake" / "BraidDependencies.cmake"
VERSION = ROOT / "include" / "braid" / "version.h"
# What a linker may find that a file does not need after all, by compiler and machine.
OPTIONAL = re.compile(r"^(ld-linux|libm$|libgcc_s)")


@dataclasses.dataclass
class Part:
    """A row of docs/evidence/dependencies.md."""
    package: str     # "libpmem2-dev"
    loads: list      # ["libpmem2"]: what stands before .so; empty for headers only
    licence: str     # an SPDX expression
    section: str     # "library" or "command"
    purpose: str

    @property
    def name(self):
        return self.package.removesuffix("-dev")

    @property
    def optional(self):
        return self.purpose.endswith("; optional")


def stem(soname):
    return re.split(r"\.so\b", soname)[0]


def parts(text):
    """The rows of the tables that have the columns package, loads, licence, purpose."""
    found = []
    section = None
    for line in text.splitlines():
        if line.startswith("## "):
            section = {"## The library (libbraid)": "library", "## The command": "command"}.get(line)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if section is None or len(cells) != 4 or cells[0] == "package" or set(cells[0]) <= {"-"}:
            continue
        loads = [] if cells[1] == "headers only" else [stem(name.strip())
                                                       for name in cells[1].split(",")]
        found.append(Part(cells[0], loads, cells[2], section, cells[3]))
    return found


def loaded(path):
    """The shared objects that a built file asks the loader for, with their versions."""
    text = subprocess.run(["readelf", "--dynamic", "--wide", path], check=True, text=True,
                          capture_output=True).stdout
    return re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", text)


def versions(text):
    """Debian package to the version that pkg-config knows, where it does."""
    found = {}
    for module, package in re.findall(r"braid_require_(?:module\(\w+|package\()\s*(\S+) (\S+)\)", text):
        done = subprocess.run(["pkg-config", "--modversion", module], check=False, text=True,
                              capture_output=True)
        if done.returncode == 0:
            found[package] = done.stdout.strip()
    return found


def disagreements(rows, files):
    """What is loaded and in no table, or in a table and not loaded, as sentences."""
    problems = []
    known = {"library": {name for row in rows if row.section == "library" for name in row.loads},
             "command": {name for row in rows for name in row.loads}}
    for section, sonames in files.items():
        stems = {stem(name) for name in sonames}
        for name in sorted(stems - known[section]):
            problems.append(f"the {section} loads {name}, which docs/evidence/dependencies.md does not list")
        own = {name for row in rows if row.section == section and not row.optional
               for name in row.loads}
        for name in sorted(own - stems):
            if not OPTIONAL.match(name):
                problems.append(f"docs/evidence/dependencies.md lists {name}, which the {section} does not load")
    return problems


def entry(identifier, name, version, licence, **more):
    facts = {"SPDXID": identifier, "name": name, "downloadLocation": "NOASSERTION",
             "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
             "copyrightText": "NOASSERTION", **more}
    if version:
        facts["versionInfo"] = version
    return facts


def document(rows, files, known_versions, version, created):
    packages = []
    relations = []
    for section, title in (("library", "libbraid"), ("command", "braid")):
        if section not in files:
            continue
        own = f"SPDXRef-{title}"
        packages.append(entry(own, title, version, "Apache-2.0",
                              primaryPackagePurpose="LIBRARY" if section == "library" else "APPLICATION"))
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", own))
        for row in rows:
            sonames = sorted(name for name in files[section] if stem(name) in row.loads)
            headers = not row.loads and row.section == section
            if not sonames and not headers:
                continue
            identifier = f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', row.name)}"
            if all(package["SPDXID"] != identifier for package in packages):
                more = {"packageFileName": ", ".join(sonames)} if sonames else {}
                packages.append(entry(identifier, row.name, known_versions.get(row.package),
                                      row.licence, summary=row.purpose, **more))
            relations.append((own, "STATIC_LINK" if headers else "DYNAMIC_LINK", identifier))
    content = json.dumps([packages, relations], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"braid-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "creationInfo": {"created": created, "creators": ["Tool: braid-sbom"]},
        "packages": packages,
        "relationships": [{"spdxElementId": left, "relationshipType": kind,
                           "relatedSpdxElement": right} for left, kind, right in relations],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--command")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    arguments = parser.parse_args()

    rows = parts(arguments.page.read_text(encoding="utf-8"))
    files = {"library": loaded(arguments.library)}
    if arguments.command:
        files["command"] = loaded(arguments.command)
    problems = disagreements(rows, files)
    for problem in problems:
        print(f"sbom.py: {problem}: mend the page or the build", file=sys.stderr)
    if problems or not rows:
        return 1
    version = re.search(r'BRAID_VERSION_STRING "([^"]+)"', VERSION.read_text("utf-8")).group(1)
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds else \
        datetime.datetime.now(datetime.timezone.utc)
    text = json.dumps(document(rows, files, versions(FINDERS.read_text("utf-8")), version,
                               now.strftime("%Y-%m-%dT%H:%M:%SZ")), indent=2) + "\n"
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
