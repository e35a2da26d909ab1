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
    compare.py --condense RESULT.json...          leave only what tables are made of in these files: the
                                                  medians of all runs, without the runs

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
# What the short table shows of the other scenarios: scenario, benchmark, metric, what to call it.
SHORT_UNDER_LOAD = (
    ("sustained", "sustained", "ops_per_second_settled", "ten overwrites, settling counted"),
    ("scan-beside-writer", "readseq-beside-writer", "ops_per_second", "readseq while written"),
    ("scan-beside-writer", "seekrandom-beside-writer", "ops_per_second", "seekrandom while written"),
    ("scan-beside-writer", "ycsb-e-beside-writer", "ops_per_second", "ycsb-e while written"),
    ("scan-beside-writer", "readrandom-beside-writer", "ops_per_second", "readrandom while written"),
)
AT_REST = "at-rest"
SCENARIOS = {
    "scan-at-once": "**At once**: begun as soon as the last put of a load had returned.",
    "scan-beside-writer": "**While written**: at rest, then while one thread puts 100,000 records a second, then while "
                          "it overwrites as fast as it can.",
    "beyond-pool": "**Beyond the pool**: ten times as much data as the pool may hold, the rest in a tier on a "
                   "block device; RocksDB on the same device, with as much DRAM.",
    "sustained": "**Sustained**: filled, then everything overwritten ten times without a pause.",
    "designs": "**The designs**: all with the same memory budget, each at rest after a load; then half of the records "
               "are overwritten by a process that is killed, and the store is opened again.",
}
OPEN_AFTER_KILL = "open-after-kill"
BUSY_SHARE = 0.1  # of the machine, that others had: such a row is marked
BUSY = " †"


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


def scenario_of(result):
    return result["parameters"].get("scenario") or AT_REST


def of_scenario(results, scenario):
    return [result for result in results if scenario_of(result) == scenario]


def busy_mark(entry):
    share = entry.get("busy_share", {}).get("median", 0)
    return BUSY if share >= BUSY_SHARE else ""


def micros(entry):
    """Processor time an operation, or nothing where it was not measured."""
    cost = entry.get("cpu_ns_per_operation", {}).get("median")
    return f" · {short(cost / 1000)} us" if cost else ""


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
    # One run has no spread.
    return (short(rate["median"] / 1000) + (f" ±{spread / 2:.0f} %" if spread else "")
            + busy_mark(entry))


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


def cost_cell(entry, metric="ops_per_second"):
    """Rate, processor time, and whether the machine was busy."""
    if entry is None or metric not in entry:
        return "-"
    return f"{short(entry[metric]['median'] / 1000)}{micros(entry)}{busy_mark(entry)}"


def goal_cell(result, benchmark):
    cells = [f"{'≥' if goal['at_least'] else '≤'} {goal['goal']:.2f} x {goal['peer']}"
             f"{' at rest' if goal['what'].endswith('at rest') else ''}: {verdict(goal)}"
             for goal in result.get("goals", ())
             if goal["benchmark"] == benchmark and goal["what"].startswith("rate")]
    return "; ".join(cells) or "-"


def verdict(goal):
    return "met" if goal["met"] else f"**missed** ({goal['value']:.2f})"


def load_table(results, engines):
    """A row a benchmark: rates with processor time, ratios, the goal."""
    peers = [name for name in engines if name != OWN]
    header = ["benchmark", "key/value", "threads", *engines]
    header += [f"{OWN} / {peer}" for peer in peers] + [f"{OWN} / best", "goal"]
    rows = []
    for result in results:
        seen = set()
        for name, by_engine in rows_of([result]):
            # Loads that only make the data for the next benchmark are shown once.
            if name in seen:
                continue
            seen.add(name)
            medians = {engine: entry["ops_per_second"]["median"]
                       for engine, entry in by_engine.items()}
            rows.append([name, *(cost_cell(by_engine.get(engine)) for engine in engines),
                         *ratio_cells(medians, peers),
                         goal_cell(result, name.split(" | ", maxsplit=1)[0])])
    return table(header, rows)


def number_cell(entry, metric, scale=1.0):
    value = entry.get(metric, {}).get("median")
    return short(value * scale) if value is not None else "-"


def sustained_table(results):
    """A row a store: what each run of ten overwrites was."""
    header = ["key/value", "threads", "store", "puts, settling counted", "fill", "first to slowest overwrite",
              "p99.99, us / longest, ms", "us of processor a put", "bytes a live byte, at rest / at most",
              "bytes flushed a byte put", "settling, s"]
    rows = []
    for result in results:
        parameters = result["parameters"]
        for entry in result["summary"]:
            if not entry.get("rounds"):
                continue
            rates = [one["ops_per_second"] / 1000 for one in entry["rounds"]]
            rows.append([
                f"{parameters['key_size']}/{parameters['value_size']}", str(parameters["threads"]), entry["engine"],
                number_cell(entry, "ops_per_second_settled", 1e-3) + busy_mark(entry), short(rates[0]),
                f"{short(rates[1])} to {short(min(rates[1:]))}" if rates[1:] else "-",
                f"{number_cell(entry, 'p99_99_ns', 1e-3)} / {number_cell(entry, 'max_ns', 1e-6)}",
                number_cell(entry, "cpu_ns_per_operation", 1e-3),
                f"{number_cell(entry, 'rest_bytes_per_live_byte')} / "
                f"{number_cell(entry, 'peak_bytes_per_live_byte')}",
                number_cell(entry, "flushed_bytes_per_byte_put"), number_cell(entry, "settle_seconds")])
    return table(header, rows)


def design_rows(results, engines, cell):
    """A row for each benchmark: what `cell` makes of the summary of each store."""
    return [[name, *(cell(by_engine[engine]) if engine in by_engine else "-" for engine in engines)]
            for name, by_engine in rows_of(results)
            if not name.startswith(OPEN_AFTER_KILL)]


def open_rows(results, engines):
    """Milliseconds that an open takes after a kill."""
    return [[name, *(f"{short(1e3 / by_engine[engine]['ops_per_second']['median'])} ms" if engine in by_engine else "-"
                     for engine in engines)]
            for name, by_engine in rows_of(results) if name.startswith(OPEN_AFTER_KILL)]


def design_tables(results):
    engines = engines_of(results)
    header = ["benchmark", "key/value", "threads", *engines]

    def only(benchmarks, rows):
        return [row for row in rows if row[0].split(" | ", maxsplit=1)[0] in benchmarks]

    def written(entry):
        return number_cell(entry, "flushed_bytes_per_byte_put")

    def tail(entry):
        return (f"{number_cell(entry, 'p99_ns', 1e-3)} / {number_cell(entry, 'p99_99_ns', 1e-3)} / "
                f"{number_cell(entry, 'max_ns', 1e-6)}")

    def memory(entry):
        return number_cell(entry, "anonymous_bytes", 1 / (1 << 20))

    return [*table(header, design_rows(results, engines, cost_cell) + open_rows(results, engines)), "",
            "p99 and p99.99 in microseconds / longest in milliseconds.", "",
            *table(header, design_rows(results, engines, tail)), "",
            "Bytes flushed or written for each byte put, what is written until the store has settled counted in.", "",
            *table(header, only(("fillrandom", "overwrite", "ycsb-a"), design_rows(results, engines, written))), "",
            "MiB of DRAM that no file backs, the benchmark's own included, behind the last read.", "",
            *table(header, only(("ycsb-c",), design_rows(results, engines, memory)))]


def goal_table(results):
    rows = []
    for result in results:
        parameters = result["parameters"]
        for goal in result.get("goals", ()):
            rows.append([goal["what"] + (f", beside {goal['peer']}" if goal["peer"] else ""),
                         f"{parameters['key_size']}/{parameters['value_size']}", str(parameters["threads"]),
                         f"{goal['value']:.2f}", f"{'≥' if goal['at_least'] else '≤'} {goal['goal']:.2f}",
                         "met" if goal["met"] else "**missed**"])
    rows.sort(key=lambda row: row[0])
    return table(["goal", "key/value", "threads", "seen", "wanted", ""], rows)


def render_scenarios(results):
    lines = []
    for scenario, title in SCENARIOS.items():
        chosen = of_scenario(results, scenario)
        if not chosen:
            continue
        lines += [f"{title} Thousands of operations a second · processor time an operation of the whole process; medians."
                  f" {volume(chosen)}.", ""]
        if scenario == "sustained":
            lines += [*sustained_table(chosen), "", *goal_table(chosen), ""]
        elif scenario == "designs":
            lines += [*design_tables(chosen), ""]
        else:
            lines += [*load_table(chosen, engines_of(chosen)), ""]
    return lines


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
                     f"{parameters['num']:,} records, "
                     f"{parameters['runs']} run{'s' if parameters['runs'] > 1 else ''}")
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
    quiet = of_scenario(results, AT_REST)
    lines = []
    if quiet:
        engines = engines_of(quiet)
        lines += [f"Thousands of operations a second, medians; half the spread of the runs behind ±. "
                  f"{volume(quiet)}.", "", *rate_table(quiet, engines), "",
                  "p99.99 in microseconds / longest in milliseconds, medians.", "",
                  *tail_table(quiet, engines), ""]
    lines += render_scenarios(results)
    if any(BUSY in line for line in lines):
        lines += [f"{BUSY.strip()} other processes, or the hypervisor, had a tenth of the machine or more: no evidence.", ""]
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
    quiet = of_scenario(results, AT_REST)
    return (render_short_quiet(quiet) if quiet else "") + render_short_under_load(results, bool(quiet))


def runs_text(runs):
    return "one run" if runs == 1 else f"medians of {runs} interleaved runs"


def caption(chosen, engines):
    """What the numbers of these results belong to."""
    parameters, machine = chosen[0]["parameters"], chosen[0]["machine"]
    threads = parameters["threads"]
    amounts = {}
    for result in chosen:
        amounts.setdefault(result["parameters"]["runs"], []).append(f"{result['parameters']['num']:,}")
    commits = list(dict.fromkeys(result["machine"]["commit"] for result in chosen if result["machine"].get("commit")))
    parts = [f"{runs_text(runs)}: {', '.join(dict.fromkeys(volumes))} records" for runs, volumes in amounts.items()]
    return (f"{threads} thread{'s' if threads > 1 else ''} on {machine['cores']} cores, "
            f"{'; '.join(parts)} of {parameters['key_size']} + {parameters['value_size']} bytes on "
            f"{machine['filesystem']}"
            + (f"; {OWN} issues real cache-line flushes, as on persistent memory"
               if OWN in engines and parameters["force_media_class"] == "cache_line" else "")
            + (f"; commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}" if commits else ""))


def render_short_under_load(results, behind):
    """Rows of the scenarios in which the store is written, where they were measured."""
    chosen, rows = [], []
    for scenario, benchmark, metric, name in SHORT_UNDER_LOAD:
        measured = of_scenario(results, scenario)
        for result in short_results(measured) if measured else []:
            by_engine = {entry["engine"]: entry for entry in result["summary"]
                         if entry["benchmark"] == benchmark and metric in entry}
            if by_engine:
                chosen += [result] if result not in chosen else []
                rows.append((name, metric, by_engine))
    if not rows:
        return ""
    engines = engines_of(chosen)
    peers = [engine for engine in engines if engine != OWN]
    lines = [""] if behind else []
    lines += [f"While it is written: thousands of operations a second · processor time an operation, background "
              f"included. {caption(chosen, engines)}.", ""]
    cells = []
    for name, metric, by_engine in rows:
        medians = {engine: entry[metric]["median"] for engine, entry in by_engine.items()}
        cells.append([name, *(cost_cell(by_engine.get(engine), metric) for engine in engines),
                      ratio_cells(medians, peers)[-1]])
    lines += table(["", *engines, f"{OWN} / best other"], cells)
    if any(BUSY in cell for row in cells for cell in row):
        lines += ["", f"{BUSY.strip()} the machine was busy with other work: no evidence."]
    return "\n".join(lines) + "\n"


def render_short_quiet(results):
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
    notes = dict.fromkeys(f" {name}: {engine['caveat']}." for result in chosen
                          for name, engine in result["engines"].items() if engine.get("caveat"))
    lines = [f"Thousands of operations a second with {caption(chosen, engines)}.{''.join(notes)}", "",
             *table(header, [[name, *row] for name, row in rows.items()])]
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


def condensed(result):
    """The result without its runs, as text with a line for each row of its summary."""
    kept = {key: value for key, value in result.items() if key != "runs"}
    parts = []
    for key, value in kept.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row, sort_keys=True) for row in value)
            parts.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


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
    parser.add_argument("--condense", action="store_true")
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
        if arguments.condense:
            for path, result in zip(arguments.results, results):
                replace(path, condensed(result))
            return 0
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
