#!/usr/bin/env python3
"""Checks a built site: check.py FOLDER. Every link and every picture, script and style of its pages leads to
a file that is there, and nothing is loaded from elsewhere, so that the site works without a network."""

import html.parser
import pathlib
import sys
import urllib.parse

LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}
NO_LOADS = ("canonical", "next", "prev", "alternate")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []  # (what a reference is for, the reference)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("href", "src"):
            if not values.get(name):
                continue
            loads = (tag, name) in LOADS and values.get("rel") not in NO_LOADS
            self.found.append(("loads" if loads else "links to", values[name]))


def problems(root):
    for file in sorted(root.rglob("*.html")):
        page = Page()
        page.feed(file.read_text(encoding="utf-8", errors="replace"))
        name = file.relative_to(root)
        for use, reference in page.found:
            parts = urllib.parse.urlsplit(reference)
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                if use == "loads":
                    yield f"{name}: {use} '{reference}', which is not of the site"
                continue
            path = urllib.parse.unquote(parts.path)
            if not path:
                continue
            place = root / path.lstrip("/") if path.startswith("/") else file.parent / path
            if not place.exists():
                yield f"{name}: {use} '{reference}', which is not there"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1])
    found = sorted(set(problems(root)))
    for problem in found[:40]:
        print(problem, file=sys.stderr)
    if found:
        print(f"site: {len(found)} problem(s)", file=sys.stderr)
        return 1
    print(f"site: {len(list(root.rglob('*.html')))} pages, every link leads to a file, nothing is loaded "
          "from elsewhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
