#!/usr/bin/env python3
"""Copies the pages of the repository to where MkDocs takes them from: stage.py SOURCE TARGET.

TARGET/pages gets docs/, and the pages outside of it that the site has, at their own paths. Links between
pages stay relative; a link to a public header leads to its reference, one to another source file to a page
that shows the file. Pictures of docs/pictures are put into their pages, so that they follow the light or
dark colours that a reader has chosen.
TARGET/mkdocs.yml is scripts/site/mkdocs.yml with its patterns of pages written out.
"""

import os
import pathlib
import re
import shutil
import sys

OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md",
           "bindings/python/README.md", "bindings/java/README.md",
           "bindings/java/kafka/README.md", "bindings/java/rheakv/README.md", "hadoop/README.md")
OUTSIDE_FOLDERS = ("hadoop/docs",)
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".java": "java",
             ".toml": "toml", ".json": "json"}
# Of headers that are mostly one class, its page; of the others that of the file.
REFERENCES = {"db": "classbraid_1_1DB", "options": "structbraid_1_1Options",
              "transaction": "classbraid_1_1Transaction", "key_order": "classbraid_1_1KeyOrder",
              "statistics": "structbraid_1_1Statistics"}

FENCE = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
ITEM = re.compile(r"(?P<indent> *)(?P<marker>[-*] +|\d+\. +)")
STYLE = re.compile(r"<style>\n(.*?)</style>\n", re.DOTALL)


class BadPage(Exception):
    """A page that can't become one of the site; the message says why."""


def site_path(path):
    """Where a page of the repository is in the site; None: it has no page of its own."""
    if path in ("README.md", "docs/README.md"):
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in OUTSIDE or any(path.startswith(folder + "/") for folder in OUTSIDE_FOLDERS):
        return path
    return None


class Site:
    def __init__(self, source, target):
        self.source = source
        self.pages = target / "pages"
        self.style = None
        self.shown = set()  # source files that a page links to

    def write(self, path, text):
        file = self.pages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def page(self, path):
        """Stages the Markdown page at `path` of the repository."""
        text = (self.source / path).read_text(encoding="utf-8")
        self.write(site_path(path), self.body(path, indented_for_mkdocs(text)))

    def body(self, path, text):
        """The text with its links and pictures as the site has them. Code stays as it is."""
        parts = FENCE.split(text)
        for number in range(0, len(parts), 2):
            parts[number] = LINK.sub(lambda link: self.link(path, link), parts[number])
        return "".join(parts)

    def link(self, path, link):
        target = link.group("target")
        if re.match(r"[a-z]+:|#", target):
            return link.group()
        place, _, anchor = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), place))
        if link.group("image") and there.startswith("docs/pictures/"):
            return self.picture(there, link.group("text"))
        file = self.source / there
        if not file.exists():
            raise BadPage(f"{path}: the link to '{target}' leads nowhere")
        if file.is_dir() and (file / "README.md").exists():
            there += "/README.md"
        header = re.fullmatch(r"include/braid/(\w+)\.h", there)
        if header:
            return self.reference(path, header.group(1), link.group("text"))
        found = site_path(there)
        if found is None or (self.source / there).is_dir():
            found = self.show(there)
        relative = os.path.relpath(found, os.path.dirname(site_path(path)) or ".")
        return (f"{link.group('image')}[{link.group('text')}]"
                f"({relative}{'#' + anchor if anchor else ''})")

    def reference(self, path, header, text):
        """A link to Doxygen's page of a public header, which is made after MkDocs has run."""
        language = "c" if header == "c" else "cpp"
        place = f"api/{language}/{REFERENCES.get(header, header.replace('_', '__') + '_8h')}.html"
        return f'<a href="{os.path.relpath(place, os.path.dirname(site_path(path)) or ".")}">{text}</a>'

    def show(self, path):
        """The page that shows a source file, or lists a folder; made once."""
        page = f"source/{path}.md"
        if page in self.shown:
            return page
        self.shown.add(page)
        file = self.source / path
        head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
        if file.is_dir():
            names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in file.iterdir())
            text = "\n".join(f"- `{name}`" for name in names)
        else:
            code = file.read_text(encoding="utf-8", errors="replace")
            fence = "`" * 8
            text = f"{fence}{LANGUAGES.get(file.suffix, 'text')}\n{code.rstrip()}\n{fence}"
        self.write(page, head + text + "\n")
        return page

    def picture(self, path, alt):
        """The drawing itself, without the style that all pictures share and the site has once."""
        if not alt:
            raise BadPage(f"{path} is shown without a text for those who can't see it")
        text = (self.source / path).read_text(encoding="utf-8")
        style = STYLE.search(text)
        if style is None or self.style not in (None, style.group(1)):
            raise BadPage(f"{path}: its style is not that of the other pictures")
        self.style = style.group(1)
        drawing = STYLE.sub("", text).replace('role="img"', f'role="img" aria-label="{alt}"').strip()
        drawing = re.sub(r"<title>.*?</title>\n", "", drawing)
        return f'<figure class="braid-picture" data-search-exclude>\n{drawing}\n</figure>'

    def pictures_css(self):
        """The shared style, for drawings inside pages and for the reader's choice of colours."""
        if self.style is None:
            return ""
        light, _, dark = self.style.partition("@media (prefers-color-scheme: dark) {")
        rules = [(".braid-picture svg ", light),
                 ("[data-md-color-scheme=slate] .braid-picture svg ", dark.rstrip().removesuffix("}"))]
        return "".join(f"{scope}{selector.strip()} {{{body}}}\n" for scope, text in rules
                       for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text))


def indented_for_mkdocs(text):
    """The page with lists as MkDocs reads them: four columns a level, a blank line before the first
    item. GitHub takes the width of the marker for a level, and no blank line."""
    lines, levels, in_code, before = [], [], False, ""
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        item = ITEM.match(line) if not in_code else None
        if bare and not in_code:
            while levels and indent < levels[-1]:
                levels.pop()
            starts = item and not levels and not ITEM.match(before) and not before.startswith(" ")
            if starts and before.strip():
                lines.append("")
        shift = 4 * len(levels) - (levels[-1] if levels else 0)
        lines.append(" " * (indent + shift) + bare if bare else "")
        if item:
            levels.append(indent + len(item.group("marker")))
        if bare.startswith("```"):
            in_code = not in_code
        before = line
    return "\n".join(lines)


def expanded(text, pages):
    """mkdocs.yml with each line that has a pattern written out; a README comes first."""
    lines = []
    for line in text.split("\n"):
        match = re.fullmatch(r"( *- )(\S*\*\S*\.md)", line)
        if not match:
            lines.append(line)
            continue
        found = sorted(pages.glob(match.group(2)), key=lambda page: (page.name != "README.md", page))
        lines += [match.group(1) + page.relative_to(pages).as_posix() for page in found
                  if page.relative_to(pages).as_posix() not in text]
    return "\n".join(lines)


def stage(source, target):
    site = Site(source, target)
    shutil.rmtree(site.pages, ignore_errors=True)
    shutil.copytree(source / "scripts/site/pages", site.pages)
    for folder in ("docs", *OUTSIDE_FOLDERS):
        for file in sorted((source / folder).rglob("*")):
            path = file.relative_to(source).as_posix()
            if file.suffix == ".md":
                site.page(path)
            elif file.is_file() and not path.startswith("docs/pictures/"):
                place = site.pages / site_path(path)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
    for path in OUTSIDE:
        site.page(path)
    site.write("assets/pictures.css", site.pictures_css())
    settings = (source / "scripts/site/mkdocs.yml").read_text(encoding="utf-8")
    (target / "mkdocs.yml").write_text(expanded(settings, site.pages), encoding="utf-8")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        stage(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    except BadPage as error:
        print(f"stage.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
