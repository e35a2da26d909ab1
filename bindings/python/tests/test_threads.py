"""Many threads at one database, at one iterator, and at the end of the program."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import braiddb


def run_all(*calls):
    """Runs the calls side by side; raises the first exception."""
    errors = []

    def guarded(call):
        try:
            call()
        except BaseException as error:  # told below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_write_and_read_side_by_side(db):
    def work(name):
        for i in range(500):
            key = b"%d-%d" % (name, i)
            db.put(key, key)
            assert db.get(key) == key

    run_all(*[lambda name=name: work(name) for name in range(4)])
    assert len(list(db)) == 2000


def test_threads_share_an_iterator_without_losing_entries(db):
    with db.write_batch() as batch:
        for i in range(5000):
            batch.put(b"%05d" % i, b"%05d" % i)
    it = db.iterator()
    seen = [[] for _ in range(4)]
    run_all(*[lambda mine=mine: mine.extend(it) for mine in seen])
    assert all(key == value for mine in seen for key, value in mine)
    assert sorted(key for mine in seen for key, _ in mine) == [b"%05d" % i for i in range(5000)]


def test_a_batch_may_be_changed_while_it_is_written(db):
    batch = db.write_batch()
    stop = threading.Event()

    def change():
        i = 0
        while not stop.is_set():
            batch.put(b"%d" % i, b"v" * 100)
            i += 1
            if i % 100 == 0:
                batch.clear()

    def write():
        try:
            for _ in range(200):
                batch.write()
        finally:
            stop.set()

    run_all(change, write)
    assert all(value == b"v" * 100 for _, value in db)
    db.verify()


def test_a_value_that_changes_while_it_is_put_is_stored_whole(db):
    value = bytearray(100_000)
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for i in range(0, len(value), 1000):
                value[i] = (value[i] + 1) % 256

    def put():
        try:
            for i in range(200):
                db.put(b"%d" % i, value)
        finally:
            stop.set()

    run_all(change, put)
    assert len([value for _, value in db]) == 200
    db.verify()


def test_close_ends_all_threads_with_an_error(path):
    db = braiddb.DB(path, create_if_missing=True)
    for i in range(1000):
        db.put(b"%04d" % i, b"v")
    ended = []

    def until_closed(call):
        try:
            while True:
                call()
        except braiddb.ClosedError:
            ended.append(True)

    snapshot = db.snapshot()

    def close():
        time.sleep(0.2)
        db.close()

    run_all(close, *[lambda call=call: until_closed(call) for call in (
        lambda: db.put(b"k", b"v"), lambda: db.get(b"0001"), lambda: list(db),
        lambda: db.multi_get([b"0001"] * 50), lambda: list(snapshot.iterator(reverse=True)),
        lambda: list(db.iterator(include_value=False)))])
    assert len(ended) == 6


def test_other_threads_run_during_a_long_call(db):
    turns = 0
    done = threading.Event()
    started = threading.Event()

    def count():
        nonlocal turns
        started.set()
        while not done.wait(0.0001):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    started.wait()
    within = 0
    # A call that keeps the others out lets none have its turn however long it takes; how long one
    # must take for ten of them depends on the machine.
    for part in range(6):
        with db.write_batch() as batch:
            for i in range(20000 << part):
                batch.put(b"%d-%07d" % (part, i), b"v" * 100)
        before = turns
        db.compact_range()
        db.verify()
        within = turns - before
        if within > 10:
            break
    done.set()
    thread.join()
    assert within > 10


def run_program(text, path):
    """Runs a program that ends by itself; returns what it has printed."""
    program = subprocess.run([sys.executable, "-c", textwrap.dedent(text), path], timeout=120,
                             capture_output=True, text=True)
    assert program.returncode == 0, program.stderr
    return program.stdout


PREAMBLE = """
    import gc, os, sys, threading, time
    import braiddb
    db = braiddb.DB(sys.argv[1], create_if_missing=True)
    for i in range(1000):
        db.put(b"%04d" % i, b"v" * 50)
"""


def test_threads_that_run_on_at_the_end_of_the_program_do_no_harm(path):
    for _ in range(5):
        out = run_program(PREAMBLE + """
    def forever():
        while True:
            try:
                for _ in db: pass
                db.put(b"k", b"v"); db.get(b"k")
            except braiddb.ClosedError:
                pass
    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.1)
    print("end")
    """, path)
        assert out == "end\n"


def test_the_end_of_the_program_closes_in_order(path):
    run_program(PREAMBLE + "    kept = db.iterator(); next(kept)\n", path)
    with braiddb.DB(path) as db:
        assert db.statistics()["clean_open"] == 1
        assert len(list(db)) == 1000


def test_a_killed_program_loses_nothing(path):
    program = subprocess.Popen([sys.executable, "-c", textwrap.dedent(PREAMBLE + """
    print("ready", flush=True)
    time.sleep(60)
    """), path], stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    with braiddb.DB(path) as db:
        assert db.statistics()["clean_open"] == 0
        assert len(list(db)) == 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_do_no_harm_to_what_its_parent_has_open(path):
    out = run_program(PREAMBLE + """
    it, raw, snapshot = db.iterator(), db.raw_iterator(), db.snapshot()
    batch = db.write_batch()
    next(it); raw.seek_to_first()
    child = os.fork()
    if child == 0:
        refused = 0
        calls = [lambda: db.get(b"k"), lambda: db.put(b"k", b""), lambda: next(it), raw.key,
                 lambda: snapshot.get(b"k"), batch.write, db.snapshot]
        for call in calls:
            try:
                call()
            except braiddb.ClosedError as error:
                refused += "fork" in str(error)
        del it, raw, snapshot, batch
        gc.collect()
        db.close()
        del db
        gc.collect()
        sys.exit(0 if refused == len(calls) else 1)
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
    db.put(b"after", b"")
    assert len(list(db)) == 1001 and next(it)[0] == b"0001" and raw.key() == b"0000"
    db.verify()
    print("sound")
    """, path)
    assert out == "sound\n"
