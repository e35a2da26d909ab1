"""braid, an embedded, ordered key-value store for persistent memory, with the API of plyvel.

>>> import braiddb
>>> db = braiddb.DB("path", create_if_missing=True)
"""

from ._core import Iterator, RawIterator, SharedResources, Snapshot, WriteBatch
from ._core import time_key, time_of_key
from ._core import version as __version__
from ._db import DB, PrefixedDB, destroy_db, inspect_db, repair_db, restore_db
from ._errors import (
    BusyError,
    ClosedError,
    CorruptionError,
    Error,
    InvalidArgumentError,
    IOError,
    IteratorInvalidError,
    NotFoundError,
    NotSupportedError,
    OutOfMemoryError,
    OutOfSpaceError,
)

# Clients ask for the version of LevelDB to see what its API can do: all of 1.23 is here.
__leveldb_version__ = "1.23"

__all__ = [
    "DB",
    "PrefixedDB",
    "WriteBatch",
    "Snapshot",
    "Iterator",
    "RawIterator",
    "SharedResources",
    "repair_db",
    "destroy_db",
    "restore_db",
    "inspect_db",
    "time_key",
    "time_of_key",
    "Error",
    "IOError",
    "CorruptionError",
    "IteratorInvalidError",
    "NotFoundError",
    "OutOfSpaceError",
    "BusyError",
    "InvalidArgumentError",
    "NotSupportedError",
    "ClosedError",
    "OutOfMemoryError",
    "__leveldb_version__",
    "__version__",
]
