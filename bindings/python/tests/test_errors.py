"""Each kind of error: its class, its bases, and what it says."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import braiddb


@pytest.mark.parametrize(
    "error, bases",
    [
        (braiddb.IOError, (braiddb.Error, OSError)),
        (braiddb.CorruptionError, (braiddb.Error,)),
        (braiddb.IteratorInvalidError, (braiddb.Error,)),
        (braiddb.NotFoundError, (braiddb.IOError, FileNotFoundError)),
        (braiddb.OutOfSpaceError, (braiddb.IOError,)),
        (braiddb.BusyError, (braiddb.IOError,)),
        (braiddb.InvalidArgumentError, (braiddb.Error, ValueError)),
        (braiddb.NotSupportedError, (braiddb.Error, NotImplementedError)),
        (braiddb.ClosedError, (braiddb.Error, RuntimeError)),
        (braiddb.OutOfMemoryError, (braiddb.Error, MemoryError)),
    ],
)
def test_classes(error, bases):
    for base in bases:
        assert issubclass(error, base)


def test_a_missing_pool_is_not_found(path):
    with pytest.raises(braiddb.NotFoundError, match="no pool at " + path):
        braiddb.DB(path)
    with pytest.raises(FileNotFoundError):
        braiddb.DB(path, read_only=True)
    assert not os.path.lexists(path)


def test_an_existing_pool_is_no_new_one(db, path):
    with pytest.raises(braiddb.InvalidArgumentError, match="already"):
        braiddb.DB(path, create_if_missing=True, error_if_exists=True)


def test_a_directory_with_other_files_is_no_pool(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for call in (lambda: braiddb.DB(tmp_path, create_if_missing=True),
                 lambda: braiddb.destroy_db(tmp_path)):
        with pytest.raises(braiddb.InvalidArgumentError, match="not a braid pool"):
            call()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_open_pool_is_busy_and_names_the_process(db, path):
    for call in (lambda: braiddb.DB(path), lambda: braiddb.destroy_db(path),
                 lambda: braiddb.repair_db(path)):
        with pytest.raises(braiddb.BusyError):
            call()
    script = f"""
import braiddb
try:
    braiddb.DB({path!r})
except braiddb.IOError as error:
    print(type(error).__name__, error)
"""
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert told.stdout.startswith("BusyError") and str(os.getpid()) in told.stdout


def damage(pool):
    """Overwrites the middle of every segment."""
    for segment in pathlib.Path(pool).glob("segment-*"):
        with segment.open("r+b") as file:
            file.seek(1 << 20)
            file.write(b"\xa5" * (40 << 20))


def test_a_damaged_pool_is_corruption_and_repair_keeps_it(path, tmp_path):
    with braiddb.DB(path, create_if_missing=True) as db:
        for i in range(1000):
            db.put(b"%04d" % i, b"v" * 100)
    damage(path)
    with pytest.raises(braiddb.CorruptionError, match="segment-000000"):
        with braiddb.DB(path, paranoid_checks=True) as db:
            db.verify()
    kept = braiddb.repair_db(path)
    assert kept.startswith(path) and os.path.isdir(kept)
    with braiddb.DB(path, paranoid_checks=True) as db:
        db.verify()


def test_repair_of_a_sound_pool_loses_nothing(path):
    with braiddb.DB(path, create_if_missing=True) as db:
        db.put(b"a", b"1")
    shutil.rmtree(braiddb.repair_db(path))
    with braiddb.DB(path) as db:
        assert dict(db) == {b"a": b"1"}
    with pytest.raises(braiddb.NotFoundError):
        braiddb.repair_db(path + "-missing")


def test_repair_into_a_tier_names_what_is_missing(path, tmp_path):
    with braiddb.DB(path, create_if_missing=True) as db:
        db.put(b"a", b"1")
    tier = str(tmp_path / "tier")
    with pytest.raises(ValueError, match="pool.max_bytes"):
        braiddb.repair_db(path, new_tier=tier)
    try:
        braiddb.repair_db(path, new_tier=tier, options={"pool.max_bytes": "64M"})
        below = {"tier.path": tier, "pool.max_bytes": "64M"}
    except NotImplementedError as error:  # built without RocksDB
        assert "BRAID_ROCKSDB_TIER" in str(error)
        below = {}
    with braiddb.DB(path, options=below) as db:
        assert dict(db) == {b"a": b"1"}


def test_a_full_pool_is_out_of_space_and_is_read_on(path):
    with braiddb.DB(path, create_if_missing=True, options={"pool.max_bytes": "16M"}) as db:
        with pytest.raises(braiddb.OutOfSpaceError):
            for i in range(10000):
                db.put(b"%05d" % i, os.urandom(10000))
        assert db.get(b"00000") is not None


def test_a_design_that_lacks_something_says_so(path):
    with braiddb.DB(path, create_if_missing=True, design="blackhole") as db:
        with pytest.raises(braiddb.NotSupportedError):
            db.compare_and_swap(b"k", None, b"v")
    braiddb.destroy_db(path)
    with braiddb.DB(path, create_if_missing=True, design="nvskiplist") as db:
        with pytest.raises(NotImplementedError, match="snapshots"):
            db.snapshot()


def test_a_raw_iterator_that_stands_nowhere_is_invalid(db):
    it = db.raw_iterator()
    for call in (it.key, it.value, it.item, it.next, it.prev):
        with pytest.raises(braiddb.IteratorInvalidError, match="does not stand"):
            call()


def test_messages_with_any_bytes(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xfe"
    with pytest.raises(braiddb.NotFoundError, match=r"\\xff\\xfe"):
        braiddb.DB(name)
    with braiddb.DB(name, create_if_missing=True) as db:
        assert db.name == name
    shutil.rmtree(braiddb.repair_db(name))


@pytest.mark.parametrize("call", [
    lambda db: db.get(b"k"),
    lambda db: db.multi_get([b"k"]),
    lambda db: db.put(b"k", b""),
    lambda db: db.delete(b"k"),
    lambda db: db.delete_range(b"a", b"b"),
    lambda db: db.put_if_absent(b"k", b""),
    lambda db: db.compare_and_swap(b"k", None, b""),
    lambda db: db.write_batch(),
    lambda db: db.snapshot(),
    lambda db: db.iterator(),
    lambda db: iter(db),
    lambda db: db.raw_iterator(),
    lambda db: db.prefixed_db(b"p").get(b"k"),
    lambda db: iter(db.prefixed_db(b"p")),
    lambda db: db.get_property(b"braid.stats"),
    lambda db: db.compact_range(),
    lambda db: db.approximate_sizes((b"a", b"b")),
    lambda db: db.flush(),
    lambda db: db.verify(),
    lambda db: db.statistics(),
    lambda db: db.checkpoint("nowhere"),
    lambda db: db.ingest([]),
])
def test_every_call_after_close_is_closed(db, call):
    db.close()
    db.close()
    assert db.closed
    with pytest.raises(braiddb.ClosedError, match="closed"):
        call(db)


def test_objects_of_a_closed_database_are_closed(db):
    db.put(b"k", b"v")
    snapshot, batch, it, raw = db.snapshot(), db.write_batch(), db.iterator(), db.raw_iterator()
    standing = db.iterator()
    standing.seek(b"k")
    raw.seek_to_first()
    db.close()
    for call in (
        lambda: snapshot.get(b"k"), lambda: snapshot.multi_get([b"k"]), snapshot.iterator,
        lambda: iter(snapshot), snapshot.raw_iterator,
        lambda: batch.put(b"k", b""), lambda: batch.delete(b"k"), batch.clear, batch.write,
        lambda: batch.append(batch), batch.approximate_size, batch.__enter__, lambda: len(batch),
        lambda: next(it), it.prev, lambda: it.seek(b"k"), it.seek_to_start, it.seek_to_stop,
        lambda: next(standing), standing.prev,
        raw.valid, raw.key, raw.value, raw.item, raw.next, raw.prev, raw.seek_to_first,
        raw.seek_to_last, lambda: raw.seek(b"k"), lambda: raw.seek_for_prev(b"k"),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    for one in (snapshot, it, raw):
        one.close()
        one.close()


def test_a_closed_iterator_or_snapshot_is_closed_though_the_database_is_open(db):
    with db.iterator() as it, db.raw_iterator() as raw, db.snapshot() as snapshot:
        pass
    snapshot.release()
    for call in (lambda: next(it), it.prev, lambda: it.seek(b""), raw.valid, raw.key,
                 lambda: snapshot.get(b"k"), snapshot.iterator):
        for _ in range(2):
            with pytest.raises(braiddb.ClosedError):
                call()
