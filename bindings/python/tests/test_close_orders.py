"""Whatever is closed, dropped or collected first, and by which thread: an error at most, no crash.

Each order makes a database with objects that hang on it and then uses, closes and drops them at
random. A crash would end the test run."""

import gc
import os
import random
import threading

import pytest

import braiddb

ORDERS = int(os.environ.get("BRAID_PYTHON_ORDERS", "10000"))
SMALL = {"pool.chunk_bytes": "16K", "pool.initial_bytes": "256K", "memtable.bytes": "4K"}
EXPECTED = (braiddb.ClosedError, braiddb.IteratorInvalidError, StopIteration)


class Knot:
    """In a circle with what it holds, so that only the garbage collector lets it go."""

    def __init__(self, held):
        self.held = held
        self.circle = self

    def __del__(self):
        try:
            self.held.close() if hasattr(self.held, "close") else self.held.clear()
        except braiddb.Error:
            pass


def make(dice, db, parts):
    """One more object that hangs on the database, or on one that does."""
    snapshots = [part for part in parts if isinstance(part, braiddb.Snapshot)]
    source = dice.choice(snapshots + [db, db.prefixed_db(b"p")])
    kinds = ["iterator", "reverse", "raw", "snapshot", "batch", "prefix", "knot"]
    kind = dice.choice(kinds)
    if kind == "iterator":
        return source.iterator(start=b"1", include_start=dice.random() < 0.5)
    if kind == "reverse":
        return source.iterator(reverse=True, prefix=b"0")
    if kind == "raw":
        return (db if isinstance(source, braiddb.PrefixedDB) else source).raw_iterator()
    if kind == "snapshot":
        return db.snapshot()
    if kind == "batch":
        return db.write_batch(transaction=dice.random() < 0.5)
    if kind == "prefix":
        return db.prefixed_db(b"p")
    return Knot(dice.choice([db.snapshot, db.iterator, db.raw_iterator, db.write_batch])())


def use(dice, part):
    """One call of it."""
    key = b"%d" % dice.randrange(30)
    if isinstance(part, (braiddb.DB, braiddb.PrefixedDB)):
        dice.choice([lambda: part.get(key), lambda: part.put(key, key * dice.randrange(200)),
                     lambda: part.delete(key), lambda: part.multi_get([key, b"x"]),
                     lambda: next(iter(part)), lambda: part.delete_range(key, key + b"9")])()
    elif isinstance(part, braiddb.Snapshot):
        dice.choice([lambda: part.get(key), lambda: next(iter(part))])()
    elif isinstance(part, braiddb.Iterator):
        dice.choice([lambda: next(part), part.prev, lambda: part.seek(key), part.seek_to_stop])()
    elif isinstance(part, braiddb.RawIterator):
        dice.choice([part.seek_to_first, part.seek_to_last, part.next, part.prev, part.item,
                     lambda: part.seek(key)])()
    elif isinstance(part, braiddb.WriteBatch):
        dice.choice([lambda: part.put(key, key), lambda: part.append(part), part.write,
                     part.clear, lambda: part.delete(key)])()


def act(dice, parts):
    """Uses, closes or drops one of the parts."""
    doing = dice.randrange(10)
    try:
        part = dice.choice(parts)
        if doing < 6:
            use(dice, part)
        elif doing < 8:
            if hasattr(part, "close") and (not isinstance(part, braiddb.DB) or dice.random() < 0.3):
                part.close()
        elif len(parts) > 1:
            parts.remove(part)
    except EXPECTED:
        pass
    except (ValueError, IndexError):  # another thread has removed it, or the last one, before
        pass


def one_order(seed, path):
    """Makes a database and what hangs on it, acts, and drops all."""
    dice = random.Random(seed)
    # Threads of the store's own make an open ten times as slow.
    options = dict(SMALL, background_threads=dice.random() < 0.2)
    db = braiddb.DB(path, create_if_missing=True, options=options)
    for i in range(dice.randrange(20)):
        db.put(b"%d" % i, b"v" * dice.randrange(100))
    parts = [db]
    for _ in range(dice.randrange(1, 12)):
        parts.append(make(dice, db, parts))
    del db
    if dice.random() < 0.25:
        threads = [threading.Thread(target=lambda d=random.Random(dice.random()):
                                    [act(d, parts) for _ in range(10)])
                   for _ in range(dice.randrange(2, 4))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for _ in range(dice.randrange(30)):
            act(dice, parts)
    dice.shuffle(parts)
    while parts:
        parts.pop()
    if dice.random() < 0.1:
        gc.collect()


def test_random_orders(tmp_path):
    gc.freeze()  # what the test's own collections need not look at
    first = int(os.environ.get("BRAID_PYTHON_SEED", "1"))
    for seed in range(first, first + ORDERS):
        path = str(tmp_path / f"pool{seed % 8}")
        try:
            one_order(seed, path)
        except braiddb.BusyError:
            # A knot that is not collected yet still holds the pool.
            gc.collect()
            one_order(seed, path)
        except BaseException as error:
            pytest.fail(f"{error!r}; again: BRAID_PYTHON_SEED={seed} BRAID_PYTHON_ORDERS=1 "
                        "pytest -k random_orders")
