"""The results side by side, as a text table or as a page's."""

import collections
import re
import statistics

from comparison import jobs

COLUMNS = ("splits by", "containers", "node-local", "bytes read remotely", "job time", "of default",
           "CPU", "of default", "two at once: slowdown of each")


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def summary(results, job, mode):
    """Medians of one job under one mode; None when it was not run."""
    runs = [run for run in results["runs"] if run["job"] == job and run["mode"] == mode]
    if not runs:
        return None
    return {key: median([run.get(key) for run in runs])
            for key in ("job_s", "cpu_s", "containers", "maps", "local_maps")} | {
                "remote": median([remote_share(run) for run in runs]), "runs": len(runs)}


def remote_share(run):
    """The part of its input that a job read over the network; None if it is not known.

    By the DataNodes' account of reads. Runs that were kept before there was one have counters: jobs
    whose splits braid-hadoop made count bytes; with a split a block, Hadoop's own counters tell the
    maps that did not run where their block was.
    """
    if "read_remote" in run:
        read = run["read_remote"] + run["read_local"]
        return run["read_remote"] / read if read else None
    if "remote_bytes" in run or "local_bytes" in run:
        remote, local = run.get("remote_bytes", 0), run.get("local_bytes", 0)
        return remote / (remote + local) if remote + local else None
    if run["mode"] == "default" and run.get("maps"):
        return 1 - run.get("local_maps", 0) / run["maps"]
    return None


def slowdowns(results, job, mode):
    """The medians of how much longer each job took beside the other than alone."""
    if job not in results["pair"]:
        return None
    alone = summary(results, job, mode)
    places = [place for place, name in enumerate(results["pair"]) if name == job]
    times = [pair["job_s"][place] for pair in results["together"] if pair["mode"] == mode
             for place in places]
    return median(times) / alone["job_s"] if times and alone else None


def ratio(results, job, mode, base, key):
    """The median over the rounds of what one way took, as a multiple of another's in that round."""
    found = {}
    for run in results["runs"]:
        if run["job"] == job and run["mode"] in (mode, base):
            found.setdefault(run["round"], {})[run["mode"]] = run[key]
    return median([times[mode] / times[base] for times in found.values()
                   if mode in times and base in times])


def outputs_differ(results):
    """The jobs, with modes, whose output is not that of the others."""
    first, wrong = {}, []
    for run in results["runs"]:
        if first.setdefault(run["job"], run["output"]) != run["output"]:
            wrong.append(f"{run['job']} ({run['mode']})")
    return wrong


def auto_plans(results):
    """What auto chose, as its log line says it, of each job's first run."""
    plans = {}
    for run in results["runs"]:
        if run["mode"] == "auto" and run.get("plan"):
            plans.setdefault(run["job"], run["plan"])
    return plans


def auto_against_best(results):
    """Of each job: auto's time over the best of the other ways that need no tuning of JVMs."""
    ratios = {}
    for job in jobs.JOBS:
        times = {mode: summary(results, job, mode) for mode in jobs.POLICIES}
        others = {mode: facts["job_s"] for mode, facts in times.items() if facts and mode != "auto"}
        if times["auto"] and others:
            best = min(others, key=others.get)
            ratios[job] = (ratio(results, job, "auto", best, "job_s"), best)
    return {job: found for job, found in ratios.items() if found[0] is not None}


def _of_default(results, job, mode, key):
    value = ratio(results, job, mode, "default", key)
    return "-" if value is None else f"{value:.2f}"


def rows(results, job):
    for mode in jobs.MODES:
        facts = summary(results, job, mode)
        if not facts:
            continue
        slow = slowdowns(results, job, mode)
        yield (mode, f"{facts['containers']:.0f}",
               "-" if mode == "uber" else f"{facts['local_maps'] or 0:.0f} of {facts['maps']:.0f}",
               "-" if facts["remote"] is None else f"{100 * facts['remote']:.0f} %",
               f"{facts['job_s']:.1f} s", _of_default(results, job, mode, "job_s"),
               f"{facts['cpu_s']:.0f} s", _of_default(results, job, mode, "cpu_s"),
               f"{slow:.2f}" if slow else "-")


def text_table(results, job):
    lines = [COLUMNS, *rows(results, job)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return "\n".join("  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def page_table(results, job):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * (len(COLUMNS) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows(results, job)]
    return "\n".join(lines)


def everything(results, table):
    """All jobs under headings, by text_table or page_table."""
    parts = []
    for job in jobs.JOBS:
        if any(run["job"] == job for run in results["runs"]):
            counts = sorted({summary(results, job, mode)["runs"] for mode in jobs.MODES
                             if summary(results, job, mode)})
            how = "one run each" if counts == [1] else f"medians of {counts[0]} to {counts[-1]} runs"
            parts.append(f"{job} ({how})\n\n{table(results, job)}\n")
    notes = [f"- {job}, auto: {plan}." for job, plan in auto_plans(results).items()]
    notes += [f"- {job}: auto took {ratio:.2f} times as long as the best of the others ({best})."
              for job, (ratio, best) in auto_against_best(results).items()]
    return "\n".join(parts + notes)


def short_table(results):
    """One table of all jobs: containers, job time and processor time."""
    ran = [job for job in jobs.JOBS if any(run["job"] == job for run in results["runs"])]
    lines = ["| splits by | " + " | ".join(f"{job}: containers | time | CPU" for job in ran) + " |",
             "|---" + "|---:" * (3 * len(ran)) + "|"]
    for mode in jobs.MODES:
        cells = [cell for job in ran for cell in _short_cells(results, job, mode)]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {mode} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short_cells(results, job, mode):
    facts = summary(results, job, mode)
    if not facts:
        return "-", "-", "-"
    return f"{facts['containers']:.0f}", f"{facts['job_s']:.1f} s", f"{facts['cpu_s']:.0f} s"


def setting(results):
    """What was measured, where, in a sentence."""
    machine = results["machine"]
    rounds = max(run["round"] for run in results["runs"])
    loads = sorted(run["load"] for run in results["runs"])
    return (f"{_skew(results)}A text of {results['size'] >> 20} MB in "
            f"{-(-results['size'] // results['block'])} blocks "
            f"of {results['block'] / 2**20:g} MB, {results['replication']} replicas; "
            f"{results['nodes']} workers with {results['slots']} slots each; "
            f"{machine['cpus']} cores, {machine['memory_gb']} GB; {rounds} "
            f"{'round' if rounds == 1 else 'rounds'}{_processors(results)}. "
            f"The load average was {loads[0]:.0f} to "
            f"{loads[-1]:.0f}, that of the cluster itself included.")


def _processors(results):
    """How many rounds ran on which, where there were several; one that moved counts for the last."""
    cpu_of = {run["round"]: run.get("cpu", results["machine"].get("cpu")) for run in results["runs"]}
    found = collections.Counter(cpu_of[number] for number in sorted(cpu_of))
    if len(found) == 1:
        return ""
    return ": " + ", ".join(f"{count} on {cpu}" for cpu, count in found.items())


def _skew(results):
    skew = results.get("skew", "none")
    if skew == "node" and results["throttled"]:
        some, every, counted = (sum(column) for column in zip(*results["throttled"]))
        # Runs that were ended early could not ask the kernel.
        rounds = max(run["round"] for run in results["runs"])
        where = f" (counted in {counted} of the rounds)" if counted < rounds else ""
        return (f"One worker, {results['slow']}, was held at {results['slow_cores']:g} of a core by its "
                f"cgroup, where {results['machine']['cpus'] / results['nodes']:g} fall to each: it had "
                f"used up its time in {some} of {every} tenths of a second in which it ran{where}. ")
    if skew == "node":  # what was ended before it could ask the kernel
        return (f"One worker, {results['slow']}, was held at {results['slow_cores']:g} of a core by its "
                f"cgroup, where {results['machine']['cpus'] / results['nodes']:g} fall to each. ")
    if skew == "data":
        return "Records were of uneven cost, by a coefficient of variation of 1.5 from block to block. "
    return ""


def renewed(page, results):
    """A page's text with what stands between its marks, <!-- measured: WHAT --> or
    <!-- measured: WHAT SKEW --> and <!-- measured: end -->, made anew; results are by skew."""
    made = {"setting": setting, "short": short_table,
            "all": lambda results: everything(results, page_table)}
    return re.sub(
        r"(<!-- measured: (\w+)(?: (node|data))? -->\n).*?(<!-- measured: end -->)",
        lambda match: f"{match[1]}{made[match[2]](results[match[3] or 'none'])}\n{match[4]}", page,
        flags=re.S)
