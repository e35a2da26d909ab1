#!/usr/bin/env python3
"""Hadoop's WordCount, Grep and Sort under each way of making input splits, side by side.

  demo.py [--size 256M | --size quick] [--skew none | node | data]

Starts a cluster of its own (cluster.sh), writes a text in small blocks, runs the jobs in turns,
checks that all outputs are equal, prints tables, and removes everything. Job time is what a user
waits, from the start of the client to the end of the job; CPU is that of all daemons and containers,
their start-up included. Times on a busy machine vary: --runs 3 gives medians of interleaved runs.

With --skew node one worker is held by its cgroup at half a core, or at half of what falls to each
worker where that is less; with --skew data some of the text's
records cost Grep far more than others. There are nine rounds of Grep then, under each way alone and
beside a second one.
"""

import sys

sys.dont_write_bytecode = True  # noqa: E402  the source folder stays as it is

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time

from comparison import history, jobs, report, text
from comparison.cluster import Cluster, Failure
from comparison.runs import Runner

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES, REPLICATION = 4, 2
SLOTS = 2  # of a worker
BLOCKS = 64  # of the text, unless blocks would be smaller than 1 MB
TOGETHER = ("also", "only", "no")
QUICK = {"size": 32 << 20, "block": 2 << 20, "jobs": ["wordcount"], "together": "no",
         "modes": list(jobs.POLICIES)}
SLOW = f"node{NODES}"  # not the first, which has a slot more for the application master
# What it is left: half a core, or half of a worker's share where there are few.
SLOW_CORES = min(0.5, os.cpu_count() / NODES / 2)
SKEWED = {"jobs": ["grep"], "runs": 9}
RESULTS = {skew: ROOT / "hadoop/docs" / name for skew, name in {
    "none": "measurements.json", "node": "measurements-node.json",
    "data": "measurements-data.json"}.items()}
PAGES = (ROOT / "hadoop/README.md", ROOT / "hadoop/docs/measurements.md")
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
started = time.monotonic()


def say(words):
    print(f"[{time.monotonic() - started:4.0f}s] {words}", flush=True)


def bytes_of(words):
    match = re.fullmatch(r"(\d+)([MG])", words)
    if not match:
        raise argparse.ArgumentTypeError(f"'{words}' is no size: write 256M, 1G or quick")
    return int(match[1]) << {"M": 20, "G": 30}[match[2]]


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="256M", help="of the text: 256M, 1G..., or quick")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="of the text (%(default)s)")
    parser.add_argument("--skew", default="none", choices=list(RESULTS), help="what is uneven")
    parser.add_argument("--runs", type=int, help="rounds over all jobs (1; with skew 9, quick 1)")
    parser.add_argument("--jobs", help="which of " + ",".join(jobs.JOBS) + " (with skew grep)")
    parser.add_argument("--modes", help="which ways, by ';': " + "; ".join(jobs.MODES))
    parser.add_argument("--slots", type=int, default=SLOTS,
                        help="containers that run at once on a worker (%(default)s)")
    parser.add_argument("--together", choices=TOGETHER,
                        help="two jobs at once: also, only these, or no (also; quick no)")
    parser.add_argument("--jar", type=pathlib.Path, help="braid-hadoop's, instead of building it")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--json", type=pathlib.Path,
                        help="write all results to this file; more runs of the same text are added")
    parser.add_argument("--tables", action="store_true",
                        help="put hadoop/docs/measurements*.json into the pages that show them")
    options = parser.parse_args(arguments)
    try:
        settle(options)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    return options


def settle(options):
    """Turns the options' words into lists and numbers."""
    quick = options.size == "quick"
    options.bytes = QUICK["size"] if quick else bytes_of(options.size)
    options.block = QUICK["block"] if quick else max(1 << 20, options.bytes // options.blocks)
    options.block -= options.block % 512  # HDFS wants a multiple of its checksums' chunks
    options.together = options.together or (QUICK["together"] if quick else "also")
    skewed = options.skew != "none"
    usual = SKEWED["jobs"] if skewed else QUICK["jobs"] if quick else list(jobs.JOBS)
    options.jobs = options.jobs.split(",") if options.jobs else usual
    if options.runs is None:
        options.runs = SKEWED["runs"] if skewed and not quick else 1
    if options.runs < 1:
        raise argparse.ArgumentTypeError("there must be a round at least: --runs 1")
    if options.slots < 1:
        raise argparse.ArgumentTypeError("a worker must have a slot at least: --slots 1")
    chosen = options.modes.split(";") if options.modes else QUICK["modes"] if quick else jobs.MODES
    options.modes = [mode.strip() for mode in chosen]
    for given, known in ((options.jobs, jobs.JOBS), (options.modes, jobs.MODES)):
        for name in given:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no '{name}': use {'; '.join(known)}")


def build_jar(folder):
    """braid-hadoop's jar, without running its tests (make hadoop-test does)."""
    log = folder / "maven.log"
    with open(log, "wb") as stream:
        done = subprocess.run(
            ["mvn", "-B", "-q", "-f", ROOT / "hadoop/pom.xml", "-pl", "core", "package",
             "-DskipTests"], stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, check=False)
    jars = [path for path in (ROOT / "hadoop/core/target").glob("braid-hadoop-*.jar")
            if not re.search(r"-(sources|javadoc|tests|cli)\.jar$", path.name)]
    if done.returncode != 0 or not jars:
        raise Failure(f"braid-hadoop can't be built:\n{log.read_text()[-2000:]}")
    return shutil.copy(jars[0], folder / "braid-hadoop.jar")


def write_text(cluster, size, stretch, folder):
    path = folder / "text"
    with open(path, "wb") as stream:
        text.write(stream, size, stretch=stretch)
    cluster.run("hdfs", "dfs", "-mkdir", "-p", "/in", "/out")
    cluster.run("hdfs", "dfs", "-put", path, "/in/text")
    path.unlink()


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"cpus": os.cpu_count(), "cpu": cpu[1] if cpu else platform.machine(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "kernel": platform.release().split("-")[0]}


def in_turn(modes, turn):
    """Each round begins with another way."""
    first = turn % len(modes)
    return modes[first:] + modes[:first]


def measure(options, cluster, runner, results):
    """The rounds. Results are kept after each run, so that a run that is cut short counts."""
    pair = results["pair"]
    counted = results["together"] if options.together == "only" else results["runs"]
    rounds = max((run["round"] for run in counted), default=0)
    for turn in range(rounds, rounds + options.runs):
        for job in options.jobs if options.together != "only" else ():
            # Who comes first finds the machine in another state.
            for name in in_turn(options.modes, turn):
                if late(options):
                    return
                facts = runner.alone(job, jobs.MODES[name])
                facts |= {"round": turn + 1, "load": round(os.getloadavg()[0], 1),
                          "cpu": machine()["cpu"]}
                results["runs"].append(facts)
                keep(options, results)
                say(f"{job}, {name}: {facts['job_s']:.1f} s, {facts['containers']} containers, "
                    f"CPU {facts['cpu_s']:.0f} s, load {facts['load']:.0f}")
        for name in in_turn(options.modes, turn) if options.together != "no" else ():
            if late(options):
                return
            times = runner.together(*pair, jobs.MODES[name])
            results["together"].append({"mode": name, "job_s": times, "round": turn + 1})
            keep(options, results)
            say(f"{' beside '.join(pair)}, {name}: {times[0]:.1f} and {times[1]:.1f} s")


def late(options):
    return time.monotonic() - started > options.minutes * 60


def keep(options, results):
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def conclude(results, untrue):
    """Prints the tables; the exit code. What history told wrong is given."""
    print("\n" + report.everything(results, report.text_table))
    wrong = report.outputs_differ(results)
    if wrong:
        print("\nFAILED: other outputs than under the first way: " + ", ".join(wrong))
        return 1
    print(f"\nchecked: the outputs of all {len(results['runs'])} runs are equal, job by job")
    if untrue:
        print("\nFAILED: the history command says other than the JobHistoryServer:\n"
              + "\n".join(untrue))
        return 1
    return 0


def demonstrate(options, cluster, folder):
    results = begun(options)
    if not set(results["pair"]) <= set(options.jobs):
        options.together = "no"
    needs_jar = any(jobs.MODES[mode].input_format == jobs.COALESCING for mode in options.modes)
    jar = options.jar
    if needs_jar and not jar:
        say("building braid-hadoop")
        jar = build_jar(folder)
    cluster.start()
    results["network"] = cluster.network()
    say(f"writing a text of {options.bytes >> 20} MB in blocks of {options.block >> 10} KB")
    write_text(cluster, options.bytes, options.block if options.skew == "data" else 0, folder)
    if options.skew == "node":
        cluster.limit(SLOW, SLOW_CORES)
    say(f"{len(options.jobs) * len(options.modes) * options.runs} runs of "
        f"{', '.join(options.jobs)} under {len(options.modes)} ways")
    runner = Runner(cluster, jar, "/in/text", options.bytes, 1800)
    earlier = len(results["runs"])
    measure(options, cluster, runner, results)
    if options.skew == "node":
        rounds = {run["round"] for run in results["runs"][earlier:]}
        results["throttled"].append([*cluster.throttled(SLOW), len(rounds)])
        keep(options, results)
    untrue = []
    ids = [run["job_id"] for run in results["runs"][earlier:]]
    if jar and ids:
        untrue = history.differences(cluster, jar, ids)
        if not untrue:
            say(f"the history command says of {len(ids)} jobs what the JobHistoryServer says")
    return conclude(results, untrue)


def begun(options):
    """Results without runs, or those of the file to which runs are to be added."""
    results = {
        "size": options.bytes, "block": options.block, "nodes": NODES, "slots": options.slots,
        "replication": REPLICATION, "machine": machine(), "skew": options.skew,
        "pair": ["wordcount", "grep"] if options.skew == "none" else ["grep", "grep"],
        "runs": [], "together": []}
    if options.skew == "node":
        results |= {"slow": SLOW, "slow_cores": SLOW_CORES, "throttled": []}
    if options.json and options.json.exists():
        earlier = json.loads(options.json.read_text())
        for key in ("size", "block", "nodes", "slots", "replication", "skew"):
            if earlier.get(key, "none") != results[key]:
                raise Failure(f"{options.json} has runs of another {key} ({earlier.get(key)}): "
                              "name another file")
        # Ratios are taken within rounds, so that another processor of the same size will do.
        for key in ("cpus", "memory_gb"):
            if earlier["machine"][key] != results["machine"][key]:
                raise Failure(f"{options.json} has runs of a machine with other {key} "
                              f"({earlier['machine'][key]}): name another file")
        return earlier
    return results


def interrupted(number, _frame):
    raise Failure(f"ended by signal {number}")


def main(arguments):
    options = parse(arguments)
    if options.tables:
        results = {skew: json.loads(path.read_text())
                   for skew, path in RESULTS.items() if path.exists()}
        for page in PAGES:
            page.write_text(report.renewed(page.read_text(), results))
        return 0
    for number in ENDING:
        signal.signal(number, interrupted)
    cluster = Cluster(f"demo{os.getpid()}", NODES, options.slots, options.block)
    with tempfile.TemporaryDirectory(prefix="braid-hadoop-demo-",
                                     dir=os.environ.get("BRAID_TMP")) as folder:
        os.chmod(folder, 0o755)
        try:
            return demonstrate(options, cluster, pathlib.Path(folder))
        except Failure as failure:
            print(f"demo: FAILED: {failure}", file=sys.stderr)
            return 1
        finally:
            for number in ENDING:
                signal.signal(number, signal.SIG_IGN)
            cluster.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
