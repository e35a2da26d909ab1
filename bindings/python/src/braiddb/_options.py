"""From the arguments of plyvel.DB to options of braid by name (docs/guide/options.md of the project)."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Value = Union[str, int, float, bool]

_DEFAULT_BUDGET = 1 << 30


def file_system_name(name: Path) -> tuple[bytes, str | bytes]:
    """The path as the system takes it, and as it was given."""
    try:
        given = os.fspath(name)
    except TypeError:
        raise TypeError(
            f"'name' must be a string, bytes or a path, not {type(name).__name__}"
        ) from None
    try:
        return os.fsencode(given), given
    except UnicodeEncodeError as error:
        raise ValueError(f"the file system has no such name: {error}") from None


def _size(name: str, value: Any) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"'{name}' must be an integer, not {type(value).__name__}") from None
    if size < 0:
        raise ValueError(f"'{name}' must not be negative")
    return size


def _check_comparator(comparator: Any, comparator_name: Any) -> None:
    if (comparator is None) != (comparator_name is None):
        raise ValueError("'comparator' and 'comparator_name' must be specified together")
    if comparator is None:
        return
    if not isinstance(comparator_name, bytes):
        raise TypeError("'comparator_name' must be bytes")
    if not callable(comparator):
        raise TypeError("'comparator' must be callable")


def _check_compression(compression: Any) -> None:
    if isinstance(compression, bytes):
        compression = compression.decode("utf-8", "replace")
    if compression is None:
        return
    if not isinstance(compression, str):
        raise TypeError("'compression' must be None or a string")
    if compression != "snappy":
        raise ValueError("'compression' must be None or 'snappy'")


def _text(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(
        f"option '{name}' must be a string, a number or a bool, not {type(value).__name__}"
    )


def settings(
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
    comparator: Any = None,
    comparator_name: Optional[bytes] = None,
    read_only: bool = False,
    options: Optional[Mapping[str, Value]] = None,
) -> list[tuple[str, str]]:
    """Names and values for the store; what is in `options` counts more. Arguments that tune files
    and blocks, which braid doesn't have, are checked and have no effect."""
    found: dict[str, str] = {}
    for name, value in (
        ("max_open_files", max_open_files),
        ("block_size", block_size),
        ("block_restart_interval", block_restart_interval),
        ("max_file_size", max_file_size),
        ("bloom_filter_bits", bloom_filter_bits),
    ):
        if value is not None:
            _size(name, value)
    _check_compression(compression)
    _check_comparator(comparator, comparator_name)
    if paranoid_checks:
        found["verify_on_open"] = "full"
    if write_buffer_size is not None:
        found["memtable.bytes"] = str(_size("write_buffer_size", write_buffer_size))
    if lru_cache_size is not None:
        found["memory_budget_bytes"] = str(
            max(_size("lru_cache_size", lru_cache_size), _DEFAULT_BUDGET)
        )
    if read_only:
        found["read_only"] = "true"
    for name, given in (options or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"the names of options are strings, not {type(name).__name__}")
        found[name] = _text(name, given)
    if "pool.max_bytes" in found and "pool.initial_bytes" not in found:
        # A small limit must not fail for the size that a new pool has by default.
        found["pool.initial_bytes"] = _first_size(found["pool.max_bytes"])
    return list(found.items())


_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}
_DEFAULT_INITIAL = 64 << 20


def _first_size(limit: str) -> str:
    digits = limit.rstrip("KMGT")
    if not digits.isdigit() or len(limit) - len(digits) > 1:
        return str(_DEFAULT_INITIAL)  # the store will say what is wrong with the limit
    size = int(digits) << _UNITS.get(limit[len(digits):], 0)
    return str(min(size, _DEFAULT_INITIAL) if size else _DEFAULT_INITIAL)
