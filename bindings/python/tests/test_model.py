"""Random operations on a database and on a dict, which must agree (hypothesis)."""

import os
import shutil
import tempfile

import hypothesis
import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import braiddb

LONG = os.environ.get("BRAID_TEST_SIZE", "push") != "push"

# Few bytes, so that keys meet each other and each other's prefixes.
KEYS = st.lists(st.sampled_from([b"\0", b"a", b"b", b"\xff"]), max_size=4).map(b"".join)
# The largest has an extent of its own, since it is longer than half a chunk.
VALUES = st.one_of(st.binary(max_size=20),
                   st.sampled_from([0, 5000, 40_000]).map(lambda size: b"v" * size))
BOUNDS = st.one_of(st.none(), KEYS)
UPDATES = st.lists(st.tuples(KEYS, st.one_of(st.none(), VALUES)), max_size=6)
RANGES = st.fixed_dictionaries({}, optional={"start": KEYS, "stop": KEYS,
                                             "include_start": st.booleans(),
                                             "include_stop": st.booleans(),
                                             "reverse": st.booleans()})
STEPS = st.lists(st.one_of(st.sampled_from(["next", "prev", "start", "stop"]), KEYS), max_size=12)


def in_range(model, start=None, stop=None, include_start=True, include_stop=False, reverse=False):
    """The entries that an iterator shows, in order of keys."""
    def inside(key):
        after_start = start is None or (key >= start if include_start else key > start)
        before_stop = stop is None or (key <= stop if include_stop else key < stop)
        return after_start and before_stop

    return [(key, model[key]) for key in sorted(model) if inside(key)]


class Gap:
    """An iterator as it should be: it stands in a gap between entries, and a step passes one."""

    def __init__(self, entries, reverse):
        self.entries = entries
        self.reverse = reverse
        self.at = len(entries) if reverse else 0

    def step(self, name):
        forward = (name == "next") != self.reverse
        if self.at == (len(self.entries) if forward else 0):
            return None
        self.at += 1 if forward else -1
        return self.entries[self.at - 1 if forward else self.at]

    def seek(self, key):
        self.at = sum(1 for entry in self.entries if entry[0] < key)


def walk(it, gap, steps):
    """Both take the steps; what they return must agree."""
    for step in steps:
        if step == "start":
            it.seek_to_start()
            gap.at = 0
        elif step == "stop":
            it.seek_to_stop()
            gap.at = len(gap.entries)
        elif isinstance(step, bytes):
            it.seek(step)
            gap.seek(step)
        else:
            try:
                got = next(it) if step == "next" else it.prev()
            except StopIteration:
                got = None
            assert got == gap.step(step), (step, steps)


class Store(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="model-")
        self.path = os.path.join(self.folder, "pool")
        self.model = {}
        self.snapshots = []  # with what each must show
        self.iterators = []

    @initialize(background=st.booleans(), memtable=st.sampled_from(["2K", "64K", "64M"]))
    def open(self, background, memtable):
        self.options = {"memtable.bytes": memtable, "background_threads": background,
                        "pool.chunk_bytes": "64K", "pool.initial_bytes": "1M"}
        self.db = braiddb.DB(self.path, create_if_missing=True, options=self.options)

    @rule(key=KEYS, value=VALUES, sync=st.booleans())
    def put(self, key, value, sync):
        self.db.put(key, value, sync=sync)
        self.model[key] = value

    @rule(key=KEYS)
    def delete(self, key):
        self.db.delete(key)
        self.model.pop(key, None)

    @rule(updates=UPDATES, prefix=KEYS, dropped=st.booleans())
    def batch(self, updates, prefix, dropped):
        try:
            with self.db.prefixed_db(prefix).write_batch(transaction=True) as batch:
                for key, value in updates:
                    batch.delete(key) if value is None else batch.put(key, value)
                if dropped:
                    raise InterruptedError
        except InterruptedError:
            return
        for key, value in updates:
            if value is None:
                self.model.pop(prefix + key, None)
            else:
                self.model[prefix + key] = value

    @rule(start=KEYS, stop=BOUNDS)
    def delete_range(self, start, stop):
        gone = [key for key in self.model if start <= key and (stop is None or key < stop)]
        assert self.db.delete_range(start, stop) == len(gone)
        for key in gone:
            del self.model[key]

    @rule(key=KEYS, value=VALUES, expected=st.one_of(st.none(), VALUES), right=st.booleans())
    def compare_and_swap(self, key, value, expected, right):
        there = self.model.get(key)
        if right:
            expected = there
        assert self.db.compare_and_swap(key, expected, value) == (expected == there)
        if expected == there:
            self.model[key] = value

    @rule(key=KEYS, value=VALUES)
    def put_if_absent(self, key, value):
        assert self.db.put_if_absent(key, value) == (key not in self.model)
        self.model.setdefault(key, value)

    @rule(records=st.lists(st.tuples(KEYS, VALUES), max_size=6))
    def ingest(self, records):
        self.db.ingest(records)
        self.model.update(records)

    @rule(keys=st.lists(KEYS, max_size=5))
    def read(self, keys):
        assert [self.db.get(key) for key in keys] == [self.model.get(key) for key in keys]
        assert self.db.multi_get(keys) == [self.model.get(key) for key in keys]

    @rule(where=RANGES, steps=STEPS)
    def walk_in_a_range(self, where, steps):
        gap = Gap(in_range(self.model, **where), where.get("reverse", False))
        walk(self.db.iterator(**where), gap, steps)
        shown = list(self.db.iterator(**where))
        assert shown == (gap.entries[::-1] if gap.reverse else gap.entries)

    @rule(prefix=KEYS, inner=st.one_of(st.none(), KEYS), reverse=st.booleans(), steps=STEPS)
    def walk_below_a_prefix(self, prefix, inner, reverse, steps):
        below = prefix + (inner or b"")
        entries = [(key[len(prefix):], value) for key, value in in_range(self.model)
                   if key.startswith(below)]
        it = self.db.prefixed_db(prefix).iterator(prefix=inner, reverse=reverse)
        walk(it, Gap(entries, reverse), steps)

    @rule(where=RANGES)
    def walk_below_a_prefix_in_a_range(self, where):
        below = {key[1:]: value for key, value in self.model.items() if key[:1] == b"a"}
        shown = list(self.db.prefixed_db(b"a").iterator(**where))
        expected = in_range(below, **where)
        assert shown == (expected[::-1] if where.get("reverse") else expected)

    @rule(prefix=st.sampled_from([b"", b"a"]))
    def take_snapshot(self, prefix):
        snapshot = self.db.prefixed_db(prefix).snapshot() if prefix else self.db.snapshot()
        shown = {key[len(prefix):]: value for key, value in self.model.items()
                 if key.startswith(prefix)}
        self.snapshots = self.snapshots[-3:] + [(snapshot, shown)]

    @rule(reverse=st.booleans())
    def take_iterator(self, reverse):
        gap = Gap(in_range(self.model), reverse)
        self.iterators = self.iterators[-3:] + [(self.db.iterator(reverse=reverse), gap)]

    @rule(steps=STEPS, key=KEYS)
    def look_at_old_states(self, steps, key):
        for it, gap in self.iterators:
            walk(it, gap, steps)
        for snapshot, shown in self.snapshots:
            assert dict(snapshot) == shown
            assert snapshot.get(key) == shown.get(key)
            walk(snapshot.iterator(reverse=True), Gap(in_range(shown), True), steps)

    @rule()
    def compact(self):
        self.db.compact_range()

    @rule()
    def reopen(self):
        self.snapshots.clear()
        self.iterators.clear()
        self.db.close()
        self.db = braiddb.DB(self.path, options=self.options)

    @invariant()
    def all_is_there(self):
        if hasattr(self, "db"):
            assert list(self.db) == sorted(self.model.items())

    def teardown(self):
        if hasattr(self, "db"):
            self.db.verify()
            self.db.close()
        shutil.rmtree(self.folder)


class TestStore(Store.TestCase):
    settings = hypothesis.settings(
        max_examples=1000 if LONG else 40, stateful_step_count=40, deadline=None, database=None,
        print_blob=True, suppress_health_check=list(hypothesis.HealthCheck))
