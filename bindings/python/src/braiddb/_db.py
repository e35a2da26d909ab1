"""DB and PrefixedDB: plyvel's faces of what the module _core does."""

from __future__ import annotations

import atexit
import json
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Optional, Union

from . import _core
from ._core import Iterator, RawIterator, SharedResources, Snapshot, WriteBatch
from ._errors import Error
from ._options import Path, Value, file_system_name, settings

_Comparator = Callable[[bytes, bytes], int]

# LevelDB's names for what braid has too.
_PROPERTIES = {
    b"leveldb.stats": b"braid.stats",
    b"leveldb.approximate-memory-usage": b"braid.approximate-memory-usage",
}
_FILES_AT_LEVEL = b"leveldb.num-files-at-level"
_LEVELS_OF_LEVELDB = 7


class DB(_core.Database):
    """A database. All calls may come from any thread, close() included."""

    __slots__ = ()

    def __init__(
        self,
        name: Path,
        *,
        create_if_missing: bool = False,
        error_if_exists: bool = False,
        paranoid_checks: Optional[bool] = None,
        write_buffer_size: Optional[int] = None,
        max_open_files: Optional[int] = None,
        lru_cache_size: Optional[int] = None,
        block_size: Optional[int] = None,
        block_restart_interval: Optional[int] = None,
        max_file_size: Optional[int] = None,
        compression: Union[str, bytes, None] = "snappy",
        bloom_filter_bits: int = 0,
        comparator: Optional[_Comparator] = None,
        comparator_name: Optional[bytes] = None,
        read_only: bool = False,
        design: str = "braid",
        options: Optional[Mapping[str, Value]] = None,
        resources: Optional[SharedResources] = None,
    ) -> None:
        path, given = file_system_name(name)
        by_name = settings(
            paranoid_checks=paranoid_checks,
            write_buffer_size=write_buffer_size,
            max_open_files=max_open_files,
            lru_cache_size=lru_cache_size,
            block_size=block_size,
            block_restart_interval=block_restart_interval,
            max_file_size=max_file_size,
            compression=compression,
            bloom_filter_bits=bloom_filter_bits,
            comparator=comparator,
            comparator_name=comparator_name,
            read_only=read_only,
            options=options,
        )
        super().__init__(path, given, by_name, bool(create_if_missing), bool(error_if_exists), design,
                         comparator, comparator_name, resources)
        _open_databases.add(self)

    def __repr__(self) -> str:
        closed = " (closed)" if self.closed else ""
        return f"<braiddb.DB with name {self.name!r}{closed} at {id(self):#x}>"

    def __enter__(self) -> DB:
        return self

    def __exit__(
        self,
        exc_type: Optional[type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[TracebackType],
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self.iterator()

    def raw_iterator(
        self, *, verify_checksums: Optional[bool] = False, fill_cache: Optional[bool] = True
    ) -> RawIterator:
        """A cursor with the calls of the store's own; it starts nowhere."""
        return _core.raw_iterator(self)

    def snapshot(self) -> Snapshot:
        """The state of this moment, for reads; close it when it is no longer needed."""
        return _core.snapshot(self, b"")

    def write_batch(self, *, transaction: bool = False, sync: Optional[bool] = False) -> WriteBatch:
        """An empty list of updates that write() applies together. As a context manager it is
        written at the end; a transaction is dropped when an exception ends the block."""
        return _core.write_batch(self, b"", bool(transaction), bool(sync))

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        return PrefixedDB(db=self, prefix=prefix)

    def get_property(self, name: bytes) -> Optional[bytes]:
        """A property as text, None if it is unknown. LevelDB's names are known too."""
        if not isinstance(name, bytes):
            raise TypeError(f"'name' must be bytes, not {type(name).__name__}")
        if name.startswith(_FILES_AT_LEVEL):
            return self._tables_at_level(name[len(_FILES_AT_LEVEL):])
        if name == b"leveldb.sstables":
            return self._table_text()
        return self._property(_PROPERTIES.get(name, name))

    def _tables_at_level(self, level: bytes) -> Optional[bytes]:
        if not level.isdigit() or int(level) >= _LEVELS_OF_LEVELDB:
            return None
        now = self.statistics()
        tables = {0: now["l0_tables"], 1: 1 if now["l1_entries"] else 0}
        return b"%d" % tables.get(int(level), 0)

    def _table_text(self) -> bytes:
        now = self.statistics()
        return (
            "--- level 0 ---\n{l0_tables} tables with {l0_entries} entries\n"
            "--- level 1 ---\n{l1_entries} entries\n"
        ).format(**now).encode()

    def compact_range(
        self,
        *,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        progress: Optional[Callable[[float], Optional[bool]]] = None,
    ) -> None:
        """Flushes and merges what holds keys from `start` to before `stop`, collects garbage, and
        waits for it. `progress` is called with the share done, 0 to 1, some twenty times a second;
        False cancels, as an exception and Ctrl-C do. What was done by then stays."""
        for bound in (start, stop):
            if bound is not None and not isinstance(bound, bytes):
                raise TypeError("'start' and 'stop' must be bytes or None")
        self._compact(start, stop, progress)

    def approximate_size(self, start: bytes, stop: bytes) -> int:
        return self.approximate_sizes((start, stop))[0]

    def approximate_sizes(self, *ranges: tuple[bytes, bytes]) -> list[int]:
        """Bytes of the keys and values in each range; exact up to 16,384 entries a range."""
        for start, stop in ranges:
            if not isinstance(start, bytes) or not isinstance(stop, bytes):
                raise TypeError("Start and stop of range must be byte strings")
        return self._approximate_sizes(list(ranges))

    def checkpoint(self, target: Path) -> None:
        """Writes the state of this moment to a new pool at `target`, while reads and writes go on."""
        self._checkpoint(file_system_name(target)[0])


# Closed at the end of the program, so that the next open has nothing to recover.
_open_databases: weakref.WeakSet[DB] = weakref.WeakSet()


def _all_open() -> list[DB]:
    while True:
        try:
            return list(_open_databases)
        except RuntimeError:  # another thread has opened one meanwhile
            pass


@atexit.register
def _close_all() -> None:
    errors = []
    for database in _all_open():
        try:
            database.close()
        except Error as error:
            errors.append(error)
    if errors:
        raise errors[0]


class PrefixedDB:
    """The keys of a database that begin with a prefix, without it."""

    __slots__ = ("_db", "_prefix", "__weakref__")

    def __init__(self, *, db: DB, prefix: bytes) -> None:
        if not isinstance(db, DB):
            raise TypeError(f"'db' must be a DB, not {type(db).__name__}")
        if not isinstance(prefix, bytes):
            raise TypeError(f"'prefix' must be bytes, not {type(prefix).__name__}")
        self._db = db
        self._prefix = prefix

    def __repr__(self) -> str:
        return f"<braiddb.PrefixedDB with prefix {self._prefix!r} at {id(self):#x}>"

    @property
    def db(self) -> DB:
        return self._db

    @property
    def prefix(self) -> bytes:
        return self._prefix

    def get(
        self,
        key: bytes,
        default: Any = None,
        *,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Any:
        return self._db.get(self._prefix + key, default)

    def multi_get(self, keys: Iterable[bytes], default: Any = None) -> list[Any]:
        return self._db._multi_get(self._prefix, keys, default)

    def put(self, key: bytes, value: Any, *, sync: bool = False) -> None:
        self._db.put(self._prefix + key, value, sync=sync)

    def put_if_absent(self, key: bytes, value: Any, *, sync: bool = False) -> bool:
        return self._db.put_if_absent(self._prefix + key, value, sync=sync)

    def compare_and_swap(self, key: bytes, expected: Any, value: Any, *, sync: bool = False) -> bool:
        return self._db.compare_and_swap(self._prefix + key, expected, value, sync=sync)

    def delete(self, key: bytes, *, sync: bool = False) -> None:
        self._db.delete(self._prefix + key, sync=sync)

    def delete_range(self, start: bytes, stop: Optional[bytes], *, sync: bool = False) -> int:
        """Deletes the keys from `start` to before `stop`; None: all behind `start`."""
        end = _behind(self._prefix) if stop is None else self._prefix + stop
        return self._db.delete_range(self._prefix + start, end, sync=sync)

    def write_batch(self, *, transaction: bool = False, sync: Optional[bool] = False) -> WriteBatch:
        return _core.write_batch(self._db, self._prefix, bool(transaction), bool(sync))

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self.iterator()

    def iterator(
        self,
        *,
        reverse: bool = False,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: Optional[bytes] = None,
        include_key: bool = True,
        include_value: bool = True,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Iterator[Any]:
        return self._db._iterator(
            self._prefix,
            bool(reverse),
            start,
            stop,
            bool(include_start),
            bool(include_stop),
            prefix,
            bool(include_key),
            bool(include_value),
        )

    def snapshot(self) -> Snapshot:
        return _core.snapshot(self._db, self._prefix)

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        return PrefixedDB(db=self._db, prefix=self._prefix + prefix)


def _behind(prefix: bytes) -> Optional[bytes]:
    """The first key behind all that begin with `prefix`; None if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def repair_db(
    name: Path,
    *,
    paranoid_checks: Optional[bool] = None,
    write_buffer_size: Optional[int] = None,
    max_open_files: Optional[int] = None,
    lru_cache_size: Optional[int] = None,
    block_size: Optional[int] = None,
    block_restart_interval: Optional[int] = None,
    max_file_size: Optional[int] = None,
    compression: Union[str, bytes, None] = "snappy",
    bloom_filter_bits: int = 0,
    comparator: Optional[_Comparator] = None,
    comparator_name: Optional[bytes] = None,
    design: str = "braid",
    options: Optional[Mapping[str, Value]] = None,
    new_tier: Optional[Path] = None,
) -> str:
    """Salvages what is intact of a pool that is not open into a new pool in its place. The damaged
    one is kept, at the path that is returned: remove it when you have what you want. A tier of it,
    `tier.path` of the options, is read as well; with `new_tier`, a folder that is empty or not there
    yet, the new pool has one of its own, and needs `pool.max_bytes`."""
    by_name = settings(
        paranoid_checks=paranoid_checks,
        write_buffer_size=write_buffer_size,
        max_open_files=max_open_files,
        lru_cache_size=lru_cache_size,
        block_size=block_size,
        block_restart_interval=block_restart_interval,
        max_file_size=max_file_size,
        compression=compression,
        bloom_filter_bits=bloom_filter_bits,
        comparator=comparator,
        comparator_name=comparator_name,
        options=options,
    )
    return os.fsdecode(
        _core.repair(
            file_system_name(name)[0],
            by_name,
            design,
            comparator,
            comparator_name,
            None if new_tier is None else file_system_name(new_tier)[0],
        )
    )


def destroy_db(name: Path) -> None:
    """Removes a pool with everything in it. Refuses a directory that is no pool and one that is
    open; a missing one is no error."""
    _core.destroy(file_system_name(name)[0])


def restore_db(
    checkpoint: Path,
    target: Path,
    *,
    design: str = "braid",
    options: Optional[Mapping[str, Value]] = None,
) -> None:
    """Makes a new pool at `target` of a checkpoint, or of any pool that is not open, and verifies
    all of it."""
    _core.restore(
        file_system_name(checkpoint)[0],
        file_system_name(target)[0],
        settings(options=options),
        design,
    )


def inspect_db(name: Path) -> dict[str, Any]:
    """The facts of a pool, without opening or changing it: the fields of `braid info --json`. Among
    them `media_class`; `power_loss` ("kept", "gone": ordinary memory, "as_host", "unknown") and
    `promise`, what an acknowledged write survives; and for each of the `regions` its `device`, with
    the `provider` of its memory, `bad_blocks` and `dirty_shutdowns`."""
    facts: dict[str, Any] = json.loads(_core.inspect(file_system_name(name)[0]))
    return facts
