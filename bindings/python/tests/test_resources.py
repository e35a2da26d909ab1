"""SharedResources: one memory budget and one set of threads for several databases."""

import os

import pytest

import braiddb


def fill(db, count=2000):
    for i in range(count):
        db.put(b"%08d" % i, b"value")


def test_databases_share_a_budget_and_give_it_back(path):
    with braiddb.SharedResources(memory_budget=64 << 20, background_threads=3) as resources:
        first = braiddb.DB(path, create_if_missing=True, resources=resources)
        second = braiddb.DB(path + "2", create_if_missing=True, resources=resources)
        fill(first)
        fill(second)
        usage = resources.usage()
        assert usage["memory_budget_bytes"] == 64 << 20
        assert usage["databases"] == 2
        statistics = second.statistics()
        assert statistics["shared_budget_bytes"] == 64 << 20
        assert statistics["shared_databases"] == 2
        assert statistics["memory_bytes"] < statistics["shared_memory_bytes"] <= 64 << 20
        assert 0 < usage["memory_bytes"] <= 64 << 20
        assert 1 <= usage["threads"] <= 4
        second.close()
        assert resources.usage()["databases"] == 1
        assert first.statistics()["memory_budget_bytes"] == 64 << 20
    # What is closed is of no use for another open; those that are open go on.
    fill(first)
    with pytest.raises(braiddb.ClosedError):
        resources.usage()
    with pytest.raises(braiddb.ClosedError):
        braiddb.DB(path + "2", resources=resources)
    first.close()


def test_what_makes_no_sense_is_refused(path):
    with pytest.raises(braiddb.InvalidArgumentError, match="memory_budget_bytes"):
        braiddb.SharedResources(memory_budget=1000)
    with pytest.raises(braiddb.InvalidArgumentError, match="background_threads"):
        braiddb.SharedResources(background_threads=2)
    with pytest.raises(TypeError):
        braiddb.SharedResources(memory_budget=-1)
    with pytest.raises(TypeError):
        braiddb.DB(path, create_if_missing=True, resources="all")
    small = braiddb.SharedResources(memory_budget=1 << 20)
    with braiddb.DB(path, create_if_missing=True, resources=small):
        with pytest.raises(braiddb.InvalidArgumentError, match="raise memory_budget_bytes"):
            braiddb.DB(path + "2", create_if_missing=True, resources=small)


def test_a_child_makes_its_own(path):
    resources = braiddb.SharedResources(memory_budget=16 << 20, background_threads=3)
    with braiddb.DB(path, create_if_missing=True, resources=resources) as db:
        fill(db)
        child = os.fork()
        if child == 0:
            try:
                braiddb.DB(path + "2", create_if_missing=True, resources=resources)
            except braiddb.InvalidArgumentError:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        fill(db)
