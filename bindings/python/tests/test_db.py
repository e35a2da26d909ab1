"""The calls of DB, WriteBatch, Snapshot and PrefixedDB that plyvel's own tests don't reach."""

import array
import ctypes
import gc
import json
import os
import pathlib
import weakref

import pytest

import braiddb


def fill(db, count):
    with db.write_batch() as batch:
        for i in range(count):
            batch.put(b"%06d" % i, b"value %d" % i)


def test_what_was_put_is_there_after_a_reopen(path):
    with braiddb.DB(path, create_if_missing=True) as db:
        db.put(b"key", b"value")
        db.put(b"", b"of the empty key")
        db.put(b"empty", b"")
    with braiddb.DB(path) as db:
        assert dict(db) == {b"": b"of the empty key", b"empty": b"", b"key": b"value"}


@pytest.mark.parametrize("make", [str, os.fsencode, pathlib.Path])
def test_a_path_may_be_text_bytes_or_a_path(tmp_path, make):
    given = make(str(tmp_path / "pool"))
    with braiddb.DB(given, create_if_missing=True) as db:
        assert db.name == os.fspath(given)


def test_a_path_with_a_zero_byte_is_refused():
    with pytest.raises(ValueError, match="null"):
        braiddb.DB(b"a\0b", create_if_missing=True)


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), memoryview(b"ab"), array.array("B", b"ab")])
def test_values_are_anything_with_a_buffer(db, value):
    db.put(b"k", value)
    assert db.get(b"k") == b"ab"
    assert db.compare_and_swap(b"k", value, bytearray(b"cd"))
    assert db.get(b"k") == b"cd"


def calling_buffer(call):
    """An object with the bytes b"v" that makes a call when it is asked for them, as one with a
    __buffer__ may since Python 3.12: older ones know such classes in C only. What the call raises
    is kept: a function of ctypes can't pass it on."""
    text = ctypes.create_string_buffer(b"v", 1)

    class Slot(ctypes.Structure):
        _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]

    class Spec(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int),
                    ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
                    ("slots", ctypes.POINTER(Slot))]

    get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)

    @get_buffer
    def answer(self, view, flags):
        try:
            call()
        except braiddb.Error as error:
            RAISED.append(error)
        fill = ctypes.pythonapi.PyBuffer_FillInfo
        fill.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t,
                         ctypes.c_int, ctypes.c_int]
        return fill(view, self, text, 1, 1, flags)

    bf_getbuffer, tpflags_default = 1, 1 << 18
    slots = (Slot * 2)(Slot(bf_getbuffer, ctypes.cast(answer, ctypes.c_void_p)), Slot(0, None))
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype = ctypes.py_object
    made = make(ctypes.byref(Spec(b"tests.Calling", object.__basicsize__, 0, tpflags_default,
                                  slots)))()
    CALLING.append((answer, slots, text))  # they must outlive the type
    return made


CALLING = []
RAISED = []


def test_a_value_may_call_the_batch_it_goes_to(db):
    batch = db.write_batch()
    for i in range(1000):
        batch.put(b"old %d" % i, b"of a batch that is cleared")
    batch.put(b"k", calling_buffer(batch.clear))
    assert len(batch) == 1
    batch.put(b"w", calling_buffer(batch.write))
    batch.write()
    assert dict(db) == {b"k": b"v", b"w": b"v"}


def test_a_value_may_close_the_database_it_goes_to(db):
    batch = db.write_batch()
    with pytest.raises(braiddb.ClosedError):
        batch.put(b"k", calling_buffer(db.close))


@pytest.mark.parametrize("call", [
    lambda db, value: db.put(b"k", value),
    lambda db, value: db.put_if_absent(b"k", value),
    lambda db, value: db.compare_and_swap(b"k", b"w", value),
])
def test_a_call_whose_value_closes_the_database_is_refused(db, call):
    with pytest.raises(braiddb.ClosedError):
        call(db, calling_buffer(db.close))


def test_a_value_can_not_close_the_database_that_ingests_it(db):
    RAISED.clear()
    assert db.ingest([(b"k", calling_buffer(db.close))]) == 1
    assert [type(error) for error in RAISED] == [braiddb.InvalidArgumentError]
    assert dict(db) == {b"k": b"v"}


@pytest.mark.parametrize("value", ["text", 1, None, object()])
def test_other_values_are_type_errors_and_change_nothing(db, value):
    with pytest.raises(TypeError):
        db.put(b"k", value)
    with pytest.raises(TypeError):
        db.write_batch().put(b"k", value)
    assert db.get(b"k") is None


@pytest.mark.parametrize("key", ["text", bytearray(b"k"), 1, None])
def test_keys_are_bytes(db, key):
    for call in (db.get, db.delete, lambda k: db.put(k, b""), lambda k: db.multi_get([k]),
                 lambda k: db.put_if_absent(k, b""), lambda k: db.write_batch().delete(k),
                 lambda k: db.snapshot().get(k), lambda k: db.iterator().seek(k),
                 lambda k: db.raw_iterator().seek(k)):
        with pytest.raises(TypeError):
            call(key)


def test_flags_are_anything_that_is_true_or_false(db):
    db.put(b"k", b"v", sync=None)
    db.delete(b"k", sync=1)
    assert list(db.iterator(reverse=None, include_key=0)) == []


def test_the_default_is_returned_as_it_is(db):
    missing = object()
    assert db.get(b"k", missing) is missing
    assert db.snapshot().get(b"k", default=missing) is missing
    assert db.multi_get([b"k"], missing) == [missing]


def test_multi_get_keeps_the_order_and_takes_any_iterable(db):
    fill(db, 100)
    keys = [b"000007", b"missing", b"000003", b"000007"]
    expected = [b"value 7", None, b"value 3", b"value 7"]
    assert db.multi_get(keys) == expected
    assert db.multi_get(iter(keys)) == expected
    assert db.multi_get([]) == []
    snapshot = db.snapshot()
    db.delete(b"000007")
    assert snapshot.multi_get(keys) == expected
    assert db.multi_get(keys, default=b"-") == [b"-", b"-", b"value 3", b"-"]
    assert db.prefixed_db(b"0000").multi_get([b"03", b"07"]) == [b"value 3", None]
    assert db.prefixed_db(b"0000").snapshot().multi_get([b"03"]) == [b"value 3"]
    with pytest.raises(TypeError, match="key 1 is not bytes"):
        db.multi_get([b"a", "b"])


def test_delete_range_counts_and_keeps_the_rest(db):
    fill(db, 100)
    assert db.delete_range(b"000010", b"000020") == 10
    assert db.delete_range(b"000010", b"000020") == 0
    assert db.delete_range(b"000090", None) == 10
    assert len(list(db)) == 80
    with pytest.raises(TypeError):
        db.delete_range(b"a")


def test_delete_range_of_a_prefix_stays_within_it(db):
    for key in (b"a1", b"b1", b"b2", b"b3", b"c1", b"\xff\xff1"):
        db.put(key, b"")
    assert db.prefixed_db(b"b").delete_range(b"2", b"3") == 1
    assert db.prefixed_db(b"b").delete_range(b"", None) == 2
    assert db.prefixed_db(b"\xff\xff").delete_range(b"", None) == 1
    assert list(db.iterator(include_value=False)) == [b"a1", b"c1"]


def test_conditional_writes(db):
    assert db.put_if_absent(b"k", b"1") is True
    assert db.put_if_absent(b"k", b"2") is False
    assert db.compare_and_swap(b"k", b"2", b"3") is False
    assert db.compare_and_swap(b"k", b"1", b"3") is True
    assert db.compare_and_swap(b"k", None, b"4") is False
    assert db.compare_and_swap(b"new", None, b"5") is True
    assert dict(db) == {b"k": b"3", b"new": b"5"}
    prefixed = db.prefixed_db(b"p")
    assert prefixed.put_if_absent(b"k", b"1") and not prefixed.put_if_absent(b"k", b"2")
    assert prefixed.compare_and_swap(b"k", b"1", b"2", sync=True)
    assert db.get(b"pk") == b"2"


def test_a_checkpoint_is_the_state_of_its_moment_and_can_be_restored(db, tmp_path):
    fill(db, 1000)
    db.checkpoint(tmp_path / "checkpoint")
    db.delete_range(b"", None)
    braiddb.restore_db(tmp_path / "checkpoint", tmp_path / "restored")
    for name in ("checkpoint", "restored"):
        with braiddb.DB(tmp_path / name, read_only=True) as copy:
            assert len(list(copy)) == 1000
    with pytest.raises(braiddb.InvalidArgumentError, match="checkpoint"):
        db.checkpoint(tmp_path / "checkpoint")


@pytest.mark.parametrize("is_sorted", [True, False])
def test_ingest_takes_an_iterable_of_pairs(db, is_sorted):
    keys = [b"%05d" % i for i in range(5000)]
    records = ((key, bytearray(key)) for key in (keys if is_sorted else reversed(keys)))
    assert db.ingest(records, sorted=is_sorted) == 5000
    assert dict(db) == {key: key for key in keys}
    assert db.ingest([]) == 0


def test_ingest_raises_what_its_records_raise(db):
    def records():
        yield b"a", b""
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        db.ingest(records(), sorted=True)
    with pytest.raises(ValueError, match="pair"):
        db.ingest([(b"a",)])
    with pytest.raises(TypeError):
        db.ingest([(b"a", 1)])
    with pytest.raises(TypeError):
        db.ingest(None)
    with pytest.raises(braiddb.InvalidArgumentError):
        db.ingest([(b"b", b""), (b"a", b"")], sorted=True)
    assert list(db) == []


def test_ingest_may_not_read_from_its_own_database_but_from_another(db, tmp_path):
    fill(db, 10)
    with pytest.raises(braiddb.InvalidArgumentError, match="same database"):
        db.ingest(db.iterator())
    assert len(list(db)) == 10
    with braiddb.DB(tmp_path / "other", create_if_missing=True) as other:
        assert other.ingest(db.iterator(), sorted=True) == 10
        assert list(other) == list(db)


def test_a_batch_knows_its_length_and_may_be_written_twice(db):
    batch = db.write_batch()
    assert len(batch) == 0 and batch
    batch.put(b"a", b"1")
    batch.delete(b"b")
    assert len(batch) == 2
    batch.append(batch)
    assert len(batch) == 4
    batch.write()
    db.delete(b"a")
    batch.write()
    assert db.get(b"a") == b"1"


def test_a_transaction_is_dropped_by_an_exception_and_written_without(db):
    with pytest.raises(ZeroDivisionError):
        with db.prefixed_db(b"p").write_batch(transaction=True) as batch:
            batch.put(b"a", b"")
            raise ZeroDivisionError
    assert list(db) == []
    with db.prefixed_db(b"p").write_batch(transaction=True, sync=True) as batch:
        batch.put(b"a", b"")
    assert list(db) == [(b"pa", b"")]
    assert len(batch) == 0


def test_sizes_beyond_the_limits_are_refused_by_name(db):
    with pytest.raises(braiddb.InvalidArgumentError, match="131071"):
        db.put(b"k" * 131072, b"")
    with pytest.raises(braiddb.InvalidArgumentError, match="131072"):
        db.write_batch().put(b"k" * 131072, b"")
    with pytest.raises(braiddb.InvalidArgumentError, match="131072"):
        db.prefixed_db(b"p").write_batch().delete(b"k" * 131071)
    db.put(b"k" * 131071, b"largest")
    assert db.get(b"k" * 131071) == b"largest"


def test_large_values(db):
    value = os.urandom(1 << 20) * 3
    db.put(b"large", value)
    assert db.get(b"large") == value
    assert db.multi_get([b"large"]) == [value]
    assert next(db.iterator(include_key=False)) == value


def test_compact_range_tells_and_can_be_cancelled(db):
    for i in range(2000):
        db.put(b"%06d" % i, b"x" * 100)
    shares = []
    db.compact_range(start=b"000100", stop=b"000200", progress=shares.append)
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
    db.put(b"a", b"b")
    with pytest.raises(braiddb.Error, match="cancelled"):
        db.compact_range(progress=lambda share: False)

    def fail(share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        db.compact_range(progress=fail)
    with pytest.raises(braiddb.InvalidArgumentError):
        db.compact_range(progress=lambda share: db.get(b"a"))
    db.set_background_limit(1 << 20)
    db.compact_range()
    db.set_background_limit(0)
    assert db.get(b"a") == b"b"


def test_statistics_are_published_until_the_close(db):
    file = pathlib.Path(str(db.name) + ".stats.json")
    db.publish_statistics()
    assert json.loads(file.read_text())["pid"] == os.getpid()
    db.publish_statistics(False)
    assert not file.exists()
    db.publish_statistics()
    db.close()
    assert not file.exists()


def test_what_is_over_expires(db):
    for time in range(100):
        db.put(braiddb.time_key(b"cpu.", time, b"host"), b"1")
    assert db.expire_before(b"cpu.", 40) == 40
    assert db.expire_before(b"cpu.", 40) == 0
    keys = list(db.iterator(prefix=b"cpu.", include_value=False))
    assert [braiddb.time_of_key(b"cpu.", key) for key in keys] == list(range(40, 100))
    assert braiddb.time_of_key(b"mem.", keys[0]) is None


def test_a_raw_iterator_is_refreshed(db):
    db.put(b"a", b"1")
    with db.raw_iterator() as it:
        db.put(b"b", b"2")
        it.seek(b"b")
        assert not it.valid()
        it.refresh()
        it.seek(b"b")
        assert it.value() == b"2"


def test_facts_of_a_pool_are_read_without_opening_it(db):
    facts = braiddb.inspect_db(db.name)
    assert facts["in_use"] and facts["power_loss"] in ("kept", "gone", "as_host", "unknown")
    assert facts["regions"][0]["device"]["bad_blocks"] == []
    with pytest.raises(braiddb.NotFoundError):
        braiddb.inspect_db(db.name + "-missing")


def test_statistics_and_properties_tell_of_the_same(db):
    fill(db, 10)
    now = db.statistics()
    assert now["batches"] == 1 and now["design"] == "braid"
    assert now["latency_batch_count"] == 1
    assert 0 < now["latency_batch_p50_nanos"] <= now["latency_batch_max_nanos"]
    assert now["log_bytes"] > 0 and now["l1_bytes"] == 0
    assert json.loads(db.get_property(b"braid.stats.json"))["batches"] == 1
    assert db.get_property(b"leveldb.stats") == db.get_property(b"braid.stats")
    assert int(db.get_property(b"leveldb.approximate-memory-usage")) > 0
    db.flush()
    db.compact_range()
    assert db.get_property(b"leveldb.num-files-at-level0") == b"0"
    assert db.get_property(b"leveldb.num-files-at-level1") == b"1"
    assert db.get_property(b"leveldb.num-files-at-level6") == b"0"
    assert db.get_property(b"leveldb.num-files-at-level7") is None
    assert db.get_property(b"leveldb.num-files-at-levelx") is None
    assert b"10 entries" in db.get_property(b"leveldb.sstables")


def test_sizes_of_ranges(db):
    with db.write_batch() as batch:
        for i in range(1000):
            batch.put(b"%03d" % i, b"v" * 97)
    assert db.approximate_size(b"100", b"200") == 100 * 100
    assert db.approximate_sizes((b"", b"500"), (b"500", b"\xff")) == [50000, 50000]
    assert db.approximate_size(b"b", b"a") == 0


def test_verify_counts(db):
    fill(db, 100)
    assert db.verify()["live_entries"] == 100


def test_a_pool_opened_to_read_takes_no_writes(path):
    braiddb.DB(path, create_if_missing=True).close()
    with braiddb.DB(path, read_only=True) as first, braiddb.DB(path, read_only=True):
        with pytest.raises(braiddb.NotSupportedError, match="read"):
            first.put(b"a", b"")


def test_objects_may_be_referred_to_weakly(db):
    kept = [db.snapshot(), db.iterator(), db.raw_iterator(), db.write_batch(), db.prefixed_db(b"p")]
    references = [weakref.ref(one) for one in kept]
    assert [reference() for reference in references] == kept
    kept.clear()
    gc.collect()
    assert [reference() for reference in references] == [None] * 5
    assert weakref.ref(db)() is db


def test_what_is_shown(db, path):
    assert repr(db).startswith(f"<braiddb.DB with name {path!r} at 0x")
    assert repr(db.prefixed_db(b"p")).startswith("<braiddb.PrefixedDB with prefix b'p' at 0x")
    db.close()
    assert "(closed)" in repr(db)


def test_a_prefix_of_a_prefix(db):
    inner = db.prefixed_db(b"a").prefixed_db(b"b")
    inner.put(b"c", b"")
    assert list(db) == [(b"abc", b"")] and list(inner) == [(b"c", b"")]
    assert inner.prefix == b"ab" and inner.db is db
    with pytest.raises(AttributeError):
        inner.prefix = b"x"
    with pytest.raises(TypeError):
        braiddb.PrefixedDB(db=None, prefix=b"a")
    with pytest.raises(TypeError):
        db.prefixed_db("a")


def test_a_batch_deletes_a_range_in_its_order(db):
    for key in (b"a", b"b", b"c", b"d"):
        db.put(key, b"old")
    with db.write_batch() as batch:
        batch.put(b"b1", b"gone")
        batch.delete_range(b"b", b"d")
        batch.put(b"c", b"new")
        assert len(batch) == 3
    assert dict(db) == {b"a": b"old", b"c": b"new", b"d": b"old"}
    with db.write_batch() as batch:
        batch.delete_range(stop=b"c")
        batch.delete_range(start=b"d")
    assert dict(db) == {b"c": b"new"}


def test_a_range_of_a_prefixed_batch_stays_within_its_prefix(db):
    for key in (b"a", b"p", b"p1", b"p\xff\xff", b"q"):
        db.put(key, b"v")
    with db.prefixed_db(b"p").write_batch() as batch:
        batch.delete_range()
        batch.put(b"2", b"v")
    assert list(db.iterator(include_value=False)) == [b"a", b"p2", b"q"]
    with pytest.raises(braiddb.InvalidArgumentError):
        db.write_batch().delete_range(b"k" * (1 << 20))
    with pytest.raises(TypeError):
        db.write_batch().delete_range("text")


def test_a_design_without_atomic_batches_refuses_ranges_in_them(path):
    with braiddb.DB(path, create_if_missing=True, design="nvskiplist") as db:
        batch = db.write_batch()
        batch.delete_range(b"a", b"b")
        with pytest.raises(braiddb.NotSupportedError, match="range"):
            batch.write()
        with pytest.raises(braiddb.NotSupportedError, match="snapshots"):
            db.snapshot()
