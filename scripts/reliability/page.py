"""The report of a run as a page: its table, and the curves of stores that grow old."""

import html

from reliability import report
from reliability.parse import AGEING_MEASURES
from reliability.run import duration

TITLES = {"pool": ("pool", "MiB", 1 << 20), "dram": ("DRAM", "MiB", 1 << 20),
          "op": ("an operation", "µs", 1), "p99.9": ("p99.9 of operations", "µs", 1),
          "seek": ("seek to the first key", "µs", 1)}
# Told apart without colours, too: by dashes.
LOOKS = {"braid": ("#1f6fb4", ""), "braid, inline": ("#1f6fb4", "5 3"),
         "listdb, inline": ("#c8571b", "2 2"), "nvskiplist, inline": ("#3b8a3e", "8 2 2 2")}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 210, 130, 42, 22, 20
STYLE = """body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1120px;
  padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse } th, td { border-bottom: 1px solid #ddd; padding: .25em .7em;
  text-align: left; vertical-align: top } td.n { text-align: right; white-space: nowrap }
.failed { color: #b00020; font-weight: 600 } svg text { font: 10px system-ui, sans-serif }
svg { margin: 2px } h2 { margin-top: 2em } .key span { margin-right: 1.5em }"""


def kind_of(name):
    """'Queue_braid_inline': the pattern, and who was run."""
    pattern, _, rest = name.partition("_")
    return pattern, rest.replace("_inline", ", inline")


def nice_top(most):
    """The end of an axis: the next of 1, 2, 5, 10 ..."""
    step = 1e-3
    while True:
        for factor in (1, 2, 5):
            if most <= step * factor:
                return step * factor
        step *= 10


def number(value):
    return f"{value:g}"


def chart(measure, lines):
    """One measure of one pattern; `lines`: the values of each kind, a tenth of the operations
    after the other."""
    title, unit, scale = TITLES[measure]
    top = nice_top(max((value for values in lines.values() for value in values), default=1) / scale
                   or 1)
    plot_width, plot_height = WIDTH - LEFT - 8, HEIGHT - TOP - BOTTOM
    parts = [f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title} in {unit}">',
             f'<text x="{LEFT}" y="13" font-weight="600">{title}, {unit}</text>']
    for share in (0, 0.5, 1):
        y = TOP + plot_height * (1 - share)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">'
                     f'{number(top * share)}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 5}">first</text>'
                 f'<text x="{WIDTH - 8}" y="{HEIGHT - 5}" text-anchor="end">last tenth</text>')
    for kind, values in sorted(lines.items()):
        color, dashes = LOOKS.get(kind, ("#777", ""))
        step = plot_width / max(len(values) - 1, 1)
        points = " ".join(f"{LEFT + i * step:.1f},{TOP + plot_height * (1 - v / scale / top):.1f}"
                          for i, v in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8" '
                     f'stroke-dasharray="{dashes}"><title>{html.escape(kind)}</title></polyline>')
    return "".join(parts) + "</svg>"


def key(kinds):
    spans = []
    for kind in sorted(kinds):
        color, dashes = LOOKS.get(kind, ("#777", ""))
        spans.append(f'<span><svg width="34" height="10"><line x1="0" x2="34" y1="6" y2="6" '
                     f'stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}"/></svg> '
                     f"{html.escape(kind)}</span>")
    return f'<p class="key">{"".join(spans)}</p>'


def ageing(curves):
    """A row of charts for each pattern."""
    patterns, kinds = {}, set()
    for name, curve in curves.items():
        pattern, kind = kind_of(name)
        kinds.add(kind)
        for measure in AGEING_MEASURES:
            patterns.setdefault(pattern, {}).setdefault(measure, {})[kind] = curve[measure]
    parts = ["<h2>Stores that grow old</h2>",
             "<p>Each pattern keeps about 10,000 live records all the time. From left to right: what "
             "each tenth of its operations has found. A flat line does not age. Processor time, "
             "not time on the wall; “inline” is without background threads, so that an operation "
             "does the flushes and merges it causes. A queue's consumer passes what "
             "it has deleted until it is merged, in a large memtable some tenths later.</p>",
             key(kinds)]
    for pattern, measures in sorted(patterns.items()):
        parts.append(f"<h3>{html.escape(pattern)}</h3><div>")
        parts += [chart(measure, measures[measure]) for measure in AGEING_MEASURES]
        parts.append("</div>")
    return "".join(parts)


def rows(facts):
    for row in facts["stages"]:
        counts = ", ".join(f"{name} {value:,}" for name, value in row["counts"].items() if value)
        failed = ' class="failed"' if row["failures"] else ""
        if row["skipped"] and not row["done"]:
            yield (f"<tr><td>{html.escape(row['title'])}</td><td class=n>skipped</td><td></td>"
                   f"<td></td><td></td><td>{html.escape(row['skipped'])}</td></tr>")
            continue
        done = f"{row['done']:,} {row['unit']}"
        yield (f"<tr><td>{html.escape(row['title'])}</td><td class=n>{html.escape(done)}</td>"
               f"<td class=n>{report.percent(row['share'])}</td>"
               f"<td class=n><span{failed}>{row['failures']}</span></td>"
               f"<td class=n>{duration(row['seconds'])}</td><td>{html.escape(counts)}</td></tr>")


def compose(facts):
    """The whole page; nothing in it is loaded from elsewhere."""
    machine = facts["machine"]
    curves = {}
    for row in facts["stages"]:
        curves.update(row.get("curves", {}))
    about = (f"Size {facts['size']}, ended {facts['ended'][:10]}, revision "
             f"{', '.join(facts['revisions'])}; {machine['cpu']}, {machine['cores']} cores, "
             f"{machine['kernel']}, {machine['compiler']}.")
    return ("<!doctype html>\n<html lang=en><meta charset=utf-8><title>braid: reliability</title>"
            f"<style>{STYLE}</style><h1>braid: reliability</h1><p>{html.escape(about)}</p>"
            "<table><tr><th>stage</th><th>done</th><th>of the target</th><th>failures</th>"
            f"<th>time</th><th>among them</th></tr>{''.join(rows(facts))}</table>"
            f"{ageing(curves) if curves else ''}</html>\n")
