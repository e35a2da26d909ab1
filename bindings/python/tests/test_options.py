"""plyvel's options: which of them do something here, and which are refused."""

import threading

import pytest

import braiddb
from braiddb._options import settings


def test_options_that_braid_has_are_mapped():
    found = dict(settings(paranoid_checks=True, write_buffer_size=1 << 20, lru_cache_size=2 << 30))
    assert found == {"verify_on_open": "full", "memtable.bytes": "1048576",
                     "memory_budget_bytes": str(2 << 30)}
    assert dict(settings(lru_cache_size=1000)) == {"memory_budget_bytes": str(1 << 30)}
    assert dict(settings(paranoid_checks=False, read_only=True)) == {"read_only": "true"}


def test_options_of_files_and_blocks_do_nothing():
    assert settings(max_open_files=10, block_size=4096, block_restart_interval=16, max_file_size=1,
                    compression=None, bloom_filter_bits=10) == []
    assert settings(compression="snappy") == settings(compression=b"snappy") == []


@pytest.mark.parametrize("name", ["write_buffer_size", "lru_cache_size", "max_open_files",
                                  "block_size", "block_restart_interval", "max_file_size",
                                  "bloom_filter_bits"])
def test_sizes_are_checked_though_they_do_nothing(path, name):
    with pytest.raises(TypeError, match=name):
        braiddb.DB(path, create_if_missing=True, **{name: "large"})
    with pytest.raises(ValueError, match=name):
        braiddb.DB(path, create_if_missing=True, **{name: -1})


def test_other_compressions_are_refused(path):
    with pytest.raises(ValueError, match="snappy"):
        braiddb.DB(path, compression="zstd")
    with pytest.raises(TypeError, match="compression"):
        braiddb.DB(path, compression=1)


def reversed_order(a, b):
    return (a < b) - (a > b)


def test_a_comparator_orders_keys(path):
    arguments = dict(create_if_missing=True, comparator=reversed_order,
                     comparator_name=b"a-name-of-more-than-23-characters")
    with braiddb.DB(path, **arguments) as db:
        for key in (b"b", b"a", b"c"):
            db.put(key, key)
        assert list(db) == [(b"c", b"c"), (b"b", b"b"), (b"a", b"a")]
        assert list(db.iterator(start=b"b", include_value=False)) == [b"b", b"a"]
        assert list(db.iterator(reverse=True, include_value=False)) == [b"a", b"b", b"c"]
        with db.write_batch() as batch:
            batch.delete_range(b"c", b"a")
            batch.put(b"d", b"d")
        assert dict(db) == {b"d": b"d", b"a": b"a"}
    for other in (dict(create_if_missing=True),
                  dict(arguments, comparator_name=b"a-name-of-more-than-23-letters")):
        with pytest.raises(braiddb.InvalidArgumentError, match="a-name"):
            braiddb.DB(path, **other)
    kept = braiddb.repair_db(path, comparator=reversed_order,
                             comparator_name=b"a-name-of-more-than-23-characters")
    assert kept.endswith(".damaged-1")
    with braiddb.DB(path, **arguments) as db:
        assert list(db.iterator(include_value=False)) == [b"d", b"a"]


def test_what_a_comparator_raises_ends_the_call(path):
    def careful(a, b):
        if b"bad" in (a, b):
            raise KeyError("no such key")
        return (a > b) - (a < b)

    with braiddb.DB(path, create_if_missing=True, comparator=careful,
                    comparator_name=b"careful") as db:
        db.put(b"k", b"v")
        with pytest.raises(braiddb.Error, match="no such key"):
            db.put(b"bad", b"v")
        with pytest.raises(braiddb.Error, match="no such key"):
            list(db.iterator(start=b"bad"))
        db.put(b"l", b"v")
        assert list(db.iterator(include_value=False)) == [b"k", b"l"]
    with braiddb.DB(path, comparator=lambda a, b: "no number", comparator_name=b"careful") as db:
        with pytest.raises(braiddb.Error, match="careful"):
            db.put(b"m", b"v")


def test_threads_compare_side_by_side(path):
    with braiddb.DB(path, create_if_missing=True, comparator=reversed_order,
                    comparator_name=b"reversed") as db:
        def work(name):
            for i in range(200):
                db.put(b"%s%03d" % (name, i), name)
                assert db.get(b"%s%03d" % (name, i)) == name
                assert next(db.iterator())

        threads = [threading.Thread(target=work, args=(name,)) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keys = list(db.iterator(include_value=False))
        assert keys == sorted(keys, reverse=True) and len(keys) == 600


def test_options_by_name(path):
    with braiddb.DB(path, create_if_missing=True, design="listdb",
                    options={"memtable.bytes": "1M", "pool.chunk_bytes": 65536,
                             "compaction.gc_live_ratio": 0.25, "background_threads": False}) as db:
        assert db.statistics()["design"] == "listdb"


@pytest.mark.parametrize("options, message", [
    ({"memtable.bites": 1}, "memtable.bites"),
    ({"compaction.kind": "origami"}, "zipper"),
    ({"memtable.bytes": 1}, "1024"),
    ({"pool.max_bytes": "many"}, "pool.max_bytes"),
])
def test_options_that_are_wrong_are_refused_by_name(path, options, message):
    with pytest.raises(braiddb.InvalidArgumentError, match=message):
        braiddb.DB(path, create_if_missing=True, options=options)


def test_names_and_values_of_other_types(path):
    with pytest.raises(TypeError, match="names of options"):
        braiddb.DB(path, options={b"memtable.bytes": 1})
    with pytest.raises(TypeError, match="memtable.bytes"):
        braiddb.DB(path, options={"memtable.bytes": None})


@pytest.mark.parametrize("limit, first", [("16M", 16 << 20), (1 << 30, 64 << 20), (0, 64 << 20),
                                          ("1G", 64 << 20)])
def test_a_small_limit_makes_a_small_pool(limit, first):
    assert dict(settings(options={"pool.max_bytes": limit}))["pool.initial_bytes"] == str(first)


def test_an_unknown_design_names_those_there_are(path):
    with pytest.raises(braiddb.InvalidArgumentError, match="braid"):
        braiddb.DB(path, create_if_missing=True, design="origami")
