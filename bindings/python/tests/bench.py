"""ns a call, beside plyvel where that is installed: median of rounds that take turns. Of each, the
processor time of the thread that calls, which other programs disturb less, and the ratio of the time
that passed.

bench.py [--rounds N] [--count N] [--folder FOLDER]"""

import argparse
import importlib
import pathlib
import random
import shutil
import statistics
import tempfile
import time


def operations(db, keys, shuffled, value):
    """Name, calls a round, and what to run."""
    batch_of = 1000

    def put():
        for key in shuffled:
            db.put(key, value)

    def get():
        for key in shuffled:
            db.get(key)

    def get_missing():
        for key in shuffled:
            db.get(key[:-1] + b"x")

    def batches():
        for at in range(0, len(shuffled), batch_of):
            with db.write_batch() as batch:
                for key in shuffled[at:at + batch_of]:
                    batch.put(key, value)

    def iterate():
        for _ in db:
            pass

    def iterate_back():
        for _ in db.iterator(reverse=True, include_value=False):
            pass

    def delete():
        for key in shuffled:
            db.delete(key)

    def multi_get():
        for at in range(0, len(shuffled), 100):
            db.multi_get(shuffled[at:at + 100])

    yield "put", put
    yield "get", get
    yield "get of a missing key", get_missing
    yield "put in a batch of 1,000", batches
    yield "next", iterate
    yield "next, backward, keys only", iterate_back
    if hasattr(db, "multi_get"):
        yield "multi_get of 100, a key", multi_get
    yield "delete", delete


def one_round(module, folder, keys, shuffled, value):
    path = pathlib.Path(folder) / f"{module.__name__}.db"
    db = module.DB(str(path), create_if_missing=True)
    taken = {}
    try:
        for name, run in operations(db, keys, shuffled, value):
            before, before_cpu = time.perf_counter_ns(), time.thread_time_ns()
            run()
            passed, used = time.perf_counter_ns() - before, time.thread_time_ns() - before_cpu
            taken[name] = (used / len(keys), passed / len(keys))
    finally:
        db.close()
        shutil.rmtree(path)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--folder", default=None)
    arguments = parser.parse_args()
    modules = [importlib.import_module("braiddb")]
    try:
        modules.append(importlib.import_module("plyvel"))
    except ImportError:
        print("plyvel is not installed: braiddb alone")
    keys = [b"key-%012d" % i for i in range(arguments.count)]
    shuffled = keys[:]
    random.Random(1).shuffle(shuffled)
    value = b"v" * 100
    rounds = {module.__name__: [] for module in modules}
    with tempfile.TemporaryDirectory(prefix="braid-python-bench-", dir=arguments.folder) as folder:
        for _ in range(arguments.rounds):
            for module in modules:
                rounds[module.__name__].append(one_round(module, folder, keys, shuffled, value))
    print(f"{arguments.count} keys of 16 bytes, values of 100; medians of {arguments.rounds} rounds")
    print_table(rounds)


def print_table(rounds):
    ours, *others = rounds
    columns = [f"{module}, ns" for module in rounds]
    columns += [column for other in others for column in (f"to {other}", "elapsed")]
    print("| call | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name in rounds[ours][0]:
        used = {module: statistics.median(taken[name][0] for taken in every)
                for module, every in rounds.items() if name in every[0]}
        passed = {module: statistics.median(taken[name][1] for taken in every)
                  for module, every in rounds.items() if name in every[0]}
        row = [f"{used[module]:,.0f}" if module in used else "" for module in rounds]
        for other in others:
            for times in (used, passed):
                row.append(f"{times[ours] / times[other]:.2f}" if other in times else "")
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
