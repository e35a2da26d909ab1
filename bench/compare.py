#!/usr/bin/env python3
"""Prints the results of braid-compare as Markdown: rates, ratios, tails.

    compare.py RESULT.json...                     print the tables
    compare.py --update FILE.md RESULT.json...    put them between the marks in FILE.md
    compare.py --update-short FILE.md RESULT.json...
                                                  the same with a short table: a few benchmarks, 16-byte
                                                  keys, 100-byte values, the most threads
    compare.py --check ...                        write nothing: exit code 1 when a file that
                                                  --update or --update-short names would change
    compare.py --marks ...                        only see that the files named have their marks
    compare.py --against OLD.json NEW.json...     also compare with an earlier result

The marks in FILE.md are the lines '<!-- results: begin -->' and '<!-- results: end -->'.
Exit code 2 when a file is no result of braid-compare, or has not these marks, once, in this order.
"""

import argparse
import json
import os
import sys

BEGIN = "<!-- results: begin -->"
END = "<!-- results: end -->"
OWN = "braid"
SHORT_SIZES = (16, 100)  # key and value bytes of the short table
# Its rows: where braid is ahead, and where it is not.
SHORT_BENCHMARKS = ("fillrandom", "readrandom", "readseq", "seekrandom", "ycsb-a", "ycsb-e")


class UsageError(Exception):
    """Something the caller can put right; the message says how."""


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"can't read {path}: {error}") from error
    if not isinstance(result, dict) or result.get("schema") != "braid-compare/1":
        raise UsageError(f"{path} is no result of braid-compare: make one with --json")
    return result


def short(number):
    """Three significant digits, thousands separated."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def label(result, entry):
    parameters = result["parameters"]
    return (f"{entry['benchmark']} | {parameters['key_size']}/{parameters['value_size']}"
            f" | {parameters['threads']}")


def engines_of(results):
    engines = []
    for result in results:
        engines += [name for name in result["parameters"]["engines"] if name not in engines]
    return sorted(engines, key=lambda name: name != OWN)


def rows_of(results):
    """Yields (label, {engine: summary entry}) in the order of the files and benchmarks."""
    for result in results:
        rows = {}
        for entry in result["summary"]:
            rows.setdefault(entry["position"], {})[entry["engine"]] = entry
        for position in sorted(rows):
            by_engine = rows[position]
            yield label(result, next(iter(by_engine.values()))), by_engine


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def rate_cell(entry):
    if entry is None:
        return "-"
    rate = entry["ops_per_second"]
    spread = (rate["max"] - rate["min"]) / rate["median"] * 100 if rate["median"] else 0
    return f"{short(rate['median'] / 1000)} ±{spread / 2:.0f} %"


def rate_table(results, engines):
    peers = [name for name in engines if name != OWN]
    header = ["benchmark", "key/value", "threads", *engines]
    if OWN in engines:
        header += [f"{OWN} / {peer}" for peer in peers] + [f"{OWN} / best"]
    rows = []
    for name, by_engine in rows_of(results):
        row = [name, *(rate_cell(by_engine.get(engine)) for engine in engines)]
        if OWN in engines:
            medians = {engine: entry["ops_per_second"]["median"]
                       for engine, entry in by_engine.items()}
            row += ratio_cells(medians, peers)
        rows.append(row)
    return table(header, rows)


def ratio_cells(medians, peers):
    own = medians.get(OWN)
    known = [medians[peer] for peer in peers if medians.get(peer)]
    cells = [f"{own / medians[peer]:.2f}" if own and medians.get(peer) else "-" for peer in peers]
    return cells + [f"**{own / max(known):.2f}**" if own and known else "-"]


def tail_table(results, engines):
    rows = []
    for name, by_engine in rows_of(results):
        cells = []
        for engine in engines:
            entry = by_engine.get(engine)
            cells.append("-" if entry is None else
                         f"{short(entry['p99_99_ns']['median'] / 1e3)} / "
                         f"{short(entry['max_ns']['median'] / 1e6)}")
        rows.append([name, *cells])
    return table(["benchmark", "key/value", "threads", *engines], rows)


def facts(results):
    """One line for each distinct machine and store: what the numbers belong to."""
    lines = []
    for result in results:
        machine, parameters = result["machine"], result["parameters"]
        commit = machine.get("commit")
        lines.append(f"- {machine['processor']}, {machine['cores']} cores, {machine['kernel']}, "
                     f"{machine['compiler']}, {machine['build']} build, files on "
                     f"{machine['filesystem']}"
                     + (f", class {parameters['force_media_class']} forced for braid"
                        if parameters["force_media_class"] else "")
                     + (f", commit {commit}" if commit else ""))
        for name, engine in result["engines"].items():
            note = f". {engine['caveat']}" if engine.get("caveat") else ""
            # LMDB's map size grows with the records; it is not worth a line each time.
            settings = engine["parameters"].split(", map ")[0]
            lines.append(f"- {name} {engine['version']}: {settings}{note}")
    return list(dict.fromkeys(lines))


def volume(results):
    parts = []
    for result in results:
        parameters = result["parameters"]
        parts.append(f"{parameters['key_size']}/{parameters['value_size']}: "
                     f"{parameters['num']:,} records, {parameters['runs']} runs")
    return "; ".join(dict.fromkeys(parts))


def against_table(old, results):
    before = {(name, engine): entry["ops_per_second"]["median"]
              for name, by_engine in rows_of(old) for engine, entry in by_engine.items()}
    rows = []
    for name, by_engine in rows_of(results):
        for engine, entry in by_engine.items():
            reference = before.get((name, engine))
            if reference:
                now = entry["ops_per_second"]["median"]
                rows.append([name, engine, short(reference / 1000), short(now / 1000),
                             f"{now / reference:.2f}"])
    return table(["benchmark", "key/value", "threads", "store", "before", "now", "ratio"], rows)


def render(results, old):
    engines = engines_of(results)
    lines = [f"Thousands of operations a second, medians; half the spread of the runs behind ±. "
             f"{volume(results)}.", "", *rate_table(results, engines), "",
             "p99.99 in microseconds / longest in milliseconds, medians.", "",
             *tail_table(results, engines), ""]
    if old:
        lines += ["Against the earlier result, thousands of operations a second.", "",
                  *against_table(old, results), ""]
    return "\n".join(lines + facts(results)) + "\n"


def short_results(results):
    """Of the results with the usual sizes, or else of all, those with the most threads."""
    def sizes(result):
        return result["parameters"]["key_size"], result["parameters"]["value_size"]
    usual = [result for result in results if sizes(result) == SHORT_SIZES] or results
    usual = [result for result in usual if sizes(result) == sizes(usual[0])]
    threads = max(result["parameters"]["threads"] for result in usual)
    return [result for result in usual if result["parameters"]["threads"] == threads]


def render_short(results):
    chosen = short_results(results)
    engines = engines_of(chosen)
    peers = [name for name in engines if name != OWN]
    compares = OWN in engines and peers
    versions = {name: engine["version"] for result in chosen
                for name, engine in result["engines"].items()}
    rows = {}
    for name, by_engine in rows_of(chosen):
        if name.split(" | ", maxsplit=1)[0] not in SHORT_BENCHMARKS:
            continue
        medians = {engine: entry["ops_per_second"]["median"] for engine, entry in by_engine.items()}
        row = [short(medians[engine] / 1000) if engine in medians else "-" for engine in engines]
        if compares:
            row.append(ratio_cells(medians, peers)[-1])
        # A benchmark that several files have fills the store of the second: the first counts.
        rows.setdefault(name.split(" | ", maxsplit=1)[0], row)
    header = ["", *(f"{name} {versions.get(name, '')}".strip() for name in engines)]
    if compares:
        header.append(f"{OWN} / best other")
    parameters, machine = chosen[0]["parameters"], chosen[0]["machine"]
    threads = parameters["threads"]
    volumes = ", ".join(dict.fromkeys(f"{result['parameters']['num']:,}" for result in chosen))
    lines = [f"Thousands of operations a second with {threads} thread{'s' if threads > 1 else ''} on "
             f"{machine['cores']} cores, "
             + (f"medians of {parameters['runs']} interleaved runs: " if parameters["runs"] > 1
                else "one run: ") +
             f"{volumes} records of {parameters['key_size']} + {parameters['value_size']} bytes on "
             f"{machine['filesystem']}"
             + (f"; {OWN} issues real cache-line flushes, as on persistent memory"
                if parameters["force_media_class"] == "cache_line" else "")
             + (f"; commit {machine['commit']}" if machine.get("commit") else "") + ".", "",
             *table(header, [[name, *row] for name, row in rows.items()])]
    notes = dict.fromkeys(f"{name}: {engine['caveat']}." for result in chosen
                          for name, engine in result["engines"].items() if engine.get("caveat"))
    if notes:
        lines += ["", *notes]
    return "\n".join(lines) + "\n"


def updated(path, text):
    """The document at `path` as it is, and with `text` between its marks."""
    try:
        with open(path, encoding="utf-8") as file:
            document = file.read()
    except OSError as error:
        raise UsageError(f"can't read {path}: {error}") from error
    lines = document.split("\n")
    if lines.count(BEGIN) != 1 or lines.count(END) != 1 or lines.index(BEGIN) > lines.index(END):
        raise UsageError(f"{path} needs the lines '{BEGIN}' and '{END}', each once and in this "
                         "order, to put the results between")
    head, tail = lines[:lines.index(BEGIN) + 1], lines[lines.index(END):]
    return document, "\n".join(head) + "\n" + text + "\n".join(tail)


def replace(path, document):
    # A full disk must not cost the rest of the document.
    scratch = f"{path}.new"
    try:
        with open(scratch, "w", encoding="utf-8") as file:
            file.write(document)
        os.replace(scratch, path)
    except OSError as error:
        raise UsageError(f"can't write {path}: {error}") from error


def apply(targets, check):
    """`targets`: paths and what belongs between their marks. False when a check fails."""
    # All marks are looked for before anything is written.
    documents = [(path, *updated(path, text)) for path, text in targets]
    current = True
    for path, before, after in documents:
        if before == after:
            continue
        if check:
            print(f"compare.py: {path} does not have the table of these results: "
                  "leave out --check to write it", file=sys.stderr)
            current = False
        else:
            replace(path, after)
    return current


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", metavar="RESULT.json")
    parser.add_argument("--update", action="append", default=[], metavar="FILE.md")
    parser.add_argument("--update-short", action="append", default=[], metavar="FILE.md")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--marks", action="store_true")
    parser.add_argument("--against", action="append", default=[], metavar="OLD.json")
    arguments = parser.parse_args()
    try:
        if arguments.marks:
            for path in arguments.update + arguments.update_short:
                updated(path, "")
            return 0
        if not arguments.results:
            raise UsageError("no results are named: make some with 'make bench'")
        results = [load(path) for path in arguments.results]
        text = render(results, [load(path) for path in arguments.against])
        targets = [(path, text) for path in arguments.update]
        if arguments.update_short:
            brief = render_short(results)
            targets += [(path, brief) for path in arguments.update_short]
        if not arguments.check:
            print(text, end="")
        return 0 if apply(targets, arguments.check) else 1
    except UsageError as error:
        print(f"compare.py: {error}", file=sys.stderr)
    except (KeyError, TypeError, ValueError) as error:
        print(f"compare.py: a result lacks what braid-compare writes: {error!r}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
