"""The part of braiddb that is written in C++. Use the names of braiddb; what begins with _ is for it."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Literal, Optional, TypeVar, Union, final, overload

from typing_extensions import Buffer, Self

_T = TypeVar("_T")
_TEntry = TypeVar("_TEntry", covariant=True)

version: str

@final
class SharedResources:
    def __init__(self, *, memory_budget: int = ..., background_threads: int = ...) -> None: ...
    def usage(self) -> dict[str, int]: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: Optional[type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[TracebackType],
    ) -> None: ...

class Database:
    def __init__(
        self,
        path: bytes,
        name: object,
        settings: list[tuple[str, str]],
        create_if_missing: bool,
        error_if_exists: bool,
        design: str,
        comparator: Optional[Callable[[bytes, bytes], int]] = ...,
        comparator_name: Optional[bytes] = ...,
        resources: Optional[SharedResources] = ...,
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def name(self) -> Any: ...
    def close(self) -> None: ...
    def put(self, key: bytes, value: Buffer, *, sync: Optional[bool] = ...) -> None: ...
    def delete(self, key: bytes, *, sync: Optional[bool] = ...) -> None: ...
    def delete_range(
        self, start: bytes, stop: Optional[bytes], *, sync: Optional[bool] = ...
    ) -> int: ...
    def compare_and_swap(
        self, key: bytes, expected: Optional[Buffer], value: Buffer, *, sync: Optional[bool] = ...
    ) -> bool: ...
    def put_if_absent(self, key: bytes, value: Buffer, *, sync: Optional[bool] = ...) -> bool: ...
    def flush(self) -> None: ...
    def statistics(self) -> dict[str, Any]: ...
    def verify(self) -> dict[str, int]: ...
    def ingest(
        self, records: Iterable[tuple[Buffer, Buffer]], *, sorted: Optional[bool] = ...
    ) -> int: ...
    @overload
    def get(
        self,
        key: bytes,
        default: None = ...,
        *,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Optional[bytes]: ...
    @overload
    def get(
        self,
        key: bytes,
        default: _T,
        *,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Union[bytes, _T]: ...
    @overload
    def multi_get(self, keys: Iterable[bytes], default: None = ...) -> list[Optional[bytes]]: ...
    @overload
    def multi_get(self, keys: Iterable[bytes], default: _T) -> list[Union[bytes, _T]]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[True] = ...,
        include_value: Literal[True] = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[tuple[bytes, bytes]]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[True] = ...,
        include_value: Literal[False],
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[bytes]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[False],
        include_value: Literal[True] = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[bytes]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[False],
        include_value: Literal[False],
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[None]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: bool = ...,
        include_value: bool = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[Any]: ...
    def _property(self, name: bytes, /) -> Optional[bytes]: ...
    def _approximate_sizes(self, ranges: list[tuple[bytes, bytes]], /) -> list[int]: ...
    def _compact(
        self,
        start: Optional[bytes],
        stop: Optional[bytes],
        progress: Optional[Callable[[float], Optional[bool]]],
    ) -> None: ...
    def publish_statistics(self, on: bool = ...) -> None: ...
    def set_background_limit(self, bytes_per_second: int) -> None: ...
    def expire_before(
        self, prefix: bytes, time: int, *, sync: Optional[bool] = ...
    ) -> int: ...
    def _checkpoint(self, target: bytes, /) -> None: ...
    def _multi_get(self, prefix: bytes, keys: Iterable[bytes], default: Any, /) -> list[Any]: ...
    def _iterator(
        self,
        db_prefix: bytes,
        reverse: bool,
        start: Optional[bytes],
        stop: Optional[bytes],
        include_start: bool,
        include_stop: bool,
        prefix: Optional[bytes],
        include_key: bool,
        include_value: bool,
        /,
    ) -> Iterator[Any]: ...

@final
class WriteBatch:
    def put(self, key: bytes, value: Buffer) -> None: ...
    def delete(self, key: bytes) -> None: ...
    def delete_range(self, start: Optional[bytes] = ..., stop: Optional[bytes] = ...) -> None: ...
    def clear(self) -> None: ...
    def write(self) -> None: ...
    def append(self, source: WriteBatch) -> None: ...
    def approximate_size(self) -> int: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

@final
class Snapshot:
    @overload
    def get(
        self,
        key: bytes,
        default: None = ...,
        *,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Optional[bytes]: ...
    @overload
    def get(
        self,
        key: bytes,
        default: _T,
        *,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Union[bytes, _T]: ...
    @overload
    def multi_get(self, keys: Iterable[bytes], default: None = ...) -> list[Optional[bytes]]: ...
    @overload
    def multi_get(self, keys: Iterable[bytes], default: _T) -> list[Union[bytes, _T]]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[True] = ...,
        include_value: Literal[True] = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[tuple[bytes, bytes]]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[True] = ...,
        include_value: Literal[False],
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[bytes]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[False],
        include_value: Literal[True] = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[bytes]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: Literal[False],
        include_value: Literal[False],
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[None]: ...
    @overload
    def iterator(
        self,
        *,
        reverse: Optional[bool] = ...,
        start: Optional[bytes] = ...,
        stop: Optional[bytes] = ...,
        include_start: Optional[bool] = ...,
        include_stop: Optional[bool] = ...,
        prefix: Optional[bytes] = ...,
        include_key: bool = ...,
        include_value: bool = ...,
        verify_checksums: Optional[bool] = ...,
        fill_cache: Optional[bool] = ...,
    ) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[tuple[bytes, bytes]]: ...
    def raw_iterator(
        self, *, verify_checksums: Optional[bool] = ..., fill_cache: Optional[bool] = ...
    ) -> RawIterator: ...
    def close(self) -> None: ...
    def release(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> Literal[False]: ...

@final
class Iterator(Generic[_TEntry]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _TEntry: ...
    def prev(self) -> _TEntry: ...
    def seek_to_start(self) -> None: ...
    def seek_to_stop(self) -> None: ...
    def seek(self, target: bytes) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> Literal[False]: ...

@final
class RawIterator:
    def valid(self) -> bool: ...
    def seek_to_first(self) -> None: ...
    def seek_to_last(self) -> None: ...
    def refresh(self) -> None: ...
    def seek(self, target: bytes) -> None: ...
    def seek_for_prev(self, target: bytes) -> None: ...
    def next(self) -> None: ...
    def prev(self) -> None: ...
    def key(self) -> bytes: ...
    def value(self) -> bytes: ...
    def item(self) -> tuple[bytes, bytes]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        type: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> Literal[False]: ...

def write_batch(
    database: Database, prefix: bytes, transaction: bool, sync: bool, /
) -> WriteBatch: ...
def snapshot(database: Database, prefix: bytes, /) -> Snapshot: ...
def raw_iterator(database: Database, /) -> RawIterator: ...
def destroy(path: bytes, /) -> None: ...
def repair(
    path: bytes,
    settings: list[tuple[str, str]],
    design: str,
    comparator: Optional[Callable[[bytes, bytes], int]] = ...,
    comparator_name: Optional[bytes] = ...,
    new_tier: Optional[bytes] = ...,
) -> bytes: ...
def restore(
    checkpoint: bytes, target: bytes, settings: list[tuple[str, str]], design: str, /
) -> None: ...
def inspect(path: bytes, /) -> str: ...
def time_key(prefix: bytes, time: int, rest: bytes = ...) -> bytes: ...
def time_of_key(prefix: bytes, key: bytes) -> Optional[int]: ...
