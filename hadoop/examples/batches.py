#!/usr/bin/env python3
"""Items of work for processes that take seconds to start: how many items should each process get?

  batches.py --jar braid-hadoop-0.1.0.jar [--workers 8] [--items 160] [--start 2] [--seed 1]

Starts real processes, as many at once as there are workers: each first sleeps, as if it loaded a
model, then works on its items, whose costs vary. What is compared: a process an item, batches of
fixed sizes, equal batches in 1.7 waves (as Tez makes them), and what `plan` chooses. The costs that
the planner is told are off by a fifth, as estimates are; one worker in four is slower than it knows.
Processes sleep instead of computing, so that the comparison is right on a machine with few cores.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

WORK = """
import sys, time
time.sleep(float(sys.argv[1]))
for seconds in sys.argv[2:]:
    time.sleep(float(seconds))
"""


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", required=True, help="braid-hadoop's jar, or its classes")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--items", type=int, default=160)
    parser.add_argument("--start", type=float, default=2, help="seconds that a process needs")
    parser.add_argument("--slow", type=float, default=1.5, help="times as slow: every fourth worker")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def planned(options, items, *more):
    """The batches that the planner makes, the longest first."""
    command = ["java", "-cp", options.jar, "io.braid.hadoop.Main", "plan", "--items", items,
               "--workers", str(options.workers), "--start-seconds", str(options.start),
               "--item-spread", "0.2", "--json", *more]
    made = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [batch["items"] for batch in made["batches"]], made["reason"]


def fixed(names, size):
    return [names[at:at + size] for at in range(0, len(names), size)]


def run(options, batches, seconds):
    """How long it takes until all batches are done."""
    waiting = iter(batches)
    lock = threading.Lock()
    failed = []

    def work(worker):
        slowness = options.slow if worker % 4 == 3 else 1
        while True:
            with lock:
                batch = next(waiting, None)
            if batch is None:
                return
            words = [str(options.start), *(str(seconds[name] * slowness) for name in batch)]
            if subprocess.run([sys.executable, "-I", "-S", "-c", WORK, *words],
                              check=False).returncode:
                failed.append(batch)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(options.workers)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"{len(failed)} processes failed")
    return time.monotonic() - begun


def main():
    options = parse(sys.argv[1:])
    draw = random.Random(options.seed)
    told = {f"item-{n}": draw.lognormvariate(-1.2, 0.7) for n in range(options.items)}
    true = {name: cost * draw.lognormvariate(0, 0.2) for name, cost in told.items()}
    names = list(told)
    with tempfile.TemporaryDirectory() as folder:
        items = pathlib.Path(folder, "items")
        items.write_text("".join(f"{cost:.4f} {name}\n" for name, cost in told.items()))
        ways = [("a process an item", fixed(names, 1)),
                ("batches of 5", fixed(names, 5)), ("batches of 20", fixed(names, 20)),
                ("equal, 1.7 waves", planned(options, items, "--policy", "waves")[0])]
        batches, reason = planned(options, items)
        ways.append(("plan", batches))
    least = sum(true.values()) / options.workers
    print(f"{options.items} items, {sum(true.values()):.0f} s of work, {options.workers} workers, "
          f"{options.start:g} s to start a process\nplan: {reason}\n")
    print(f"{'batches':<20} {'processes':>9} {'seconds':>8} {'of the work alone':>18}")
    for name, batches in ways:
        taken = run(options, batches, true)
        print(f"{name:<20} {len(batches):>9} {taken:>8.1f} {taken / least:>18.2f}", flush=True)


if __name__ == "__main__":
    main()
