"""The records of an export's data files, as they were served, from any format.

Each function yields lists of records: a block of a file, or some thousand rows. Memory is needed for one of
them. Nothing is changed, and no lock is taken that a run would wait for.
"""

import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..core.rows import UNKNOWN, row_of
from ..errors import ChatRestError, RequestInvalidError
from .file_names import MILLISECONDS, seconds
from .journal import Block

_CHUNK: Final = 1 << 16
_ROWS: Final = 5_000
_GZIP: Final = 31
"""zlib's number for gzip with the largest window."""


class TimeWindow(NamedTuple):
    """Times in epoch seconds, both included; None is no limit."""

    since: int | None = None
    until: int | None = None

    def holds(self, timestamp: int) -> bool:
        """Return True for a time in the window, whichever its unit, and for an unknown one."""
        if timestamp == UNKNOWN:
            return True
        moment = seconds(timestamp)
        return not (
            (self.since is not None and moment < self.since)
            or (self.until is not None and moment > self.until)
        )

    def within(self, raws: list[bytes]) -> list[bytes]:
        """Return the records that were sent in the window; those that tell no time are among them."""
        if self.since is None and self.until is None:
            return raws
        return [raw for raw in raws if self.holds(row_of(raw).sent_at)]

    def may_hold_rows_of(self, block: Block) -> bool:
        """Return False for a block whose rows were all sent at other times."""
        if block.other or block.since < MILLISECONDS <= block.until:  # times in two units have no order
            return True
        ends_before = self.since is not None and seconds(block.until) < self.since
        begins_after = self.until is not None and seconds(block.since) > self.until
        return not (ends_before or begins_after)


def damaged(path: Path, reason: object) -> ChatRestError:
    """Return the error for a file that cannot be read."""
    return ChatRestError(f"{path} cannot be read: {reason}; `chatrest verify` says what is damaged")


# ── lines ──


def lines(path: Path, name: str, size: int | None) -> Iterator[list[bytes]]:
    """Yield the lines in the first `size` bytes of a file, compressed as the end of its `name` says.

    With None all whole lines, of a file that may be growing. Raises `ChatRestError` for a file that is
    shorter than `size`, or damaged.
    """
    rest = b""
    for data in _unpacked(path, name, size):
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield whole
    if rest and size is not None:
        raise damaged(path, "its last line has no end")


def block_lines(
    path: Path, blocks: Iterable[Block], unpack: Callable[[bytes], bytes]
) -> Iterator[list[bytes]]:
    """Yield the lines of each of these blocks of a file."""
    with path.open("rb") as file:
        for block in blocks:
            file.seek(block.start)
            packed = file.read(block.size)
            try:
                records = unpack(packed).split(b"\n")[:-1]
            except pack_errors() as error:
                raise damaged(path, error) from None
            if len(records) != block.rows:
                raise damaged(
                    path, f"{len(records):,} lines, and not {block.rows:,}, are at byte {block.start:,}"
                )
            yield records


def _chunks(path: Path, size: int | None) -> Iterator[bytes]:
    if size is not None and size < 0:
        raise damaged(path, f"its size is {size:,}")
    with path.open("rb") as file:
        rest = size
        while rest is None or rest:
            chunk = file.read(_CHUNK if rest is None else min(rest, _CHUNK))
            if not chunk:
                break
            rest = None if rest is None else rest - len(chunk)
            yield chunk
    if rest:
        raise damaged(path, f"it has {rest:,} bytes less than were written")


def _unpacked(path: Path, name: str, size: int | None) -> Iterator[bytes]:
    """Return the content of a file: its compressed members follow one another."""
    make: Callable[[], Any]
    if name.endswith(".gz"):
        make = partial(zlib.decompressobj, _GZIP)
    elif name.endswith(".zst"):
        make = _zstd().ZstdDecompressor
    else:
        yield from _chunks(path, size)
        return
    member = make()
    for chunk in _chunks(path, size):
        data = chunk
        while data:
            try:
                content = member.decompress(data)
            except pack_errors() as error:
                raise damaged(path, error) from None
            yield content
            data = member.unused_data if member.eof else b""
            member = make() if member.eof else member


def _zstd() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise RequestInvalidError(
            "these files are compressed with zstd: to read them needs the extra: pip install 'chatrest[zstd]'"
        ) from None
    return zstd


def pack_errors() -> tuple[type[Exception], ...]:
    """Return the errors of damaged content, that of zstd only where it is loaded."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    zstd = (sys.modules[name].ZstdError,) if name in sys.modules else ()
    return (zlib.error, OSError, EOFError, ValueError, *zstd)


# ── Parquet ──


def parquet_rows(path: Path, window: TimeWindow, sources: frozenset[str] | None) -> Iterator[list[bytes]]:
    """Yield the records of a Parquet file; row groups of other times are not read.

    `sources` are values of the column `source_name`; None is any. Raises `RequestInvalidError` where pyarrow
    is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        from .formats.parquet_rows import raws_of
    except ImportError:
        raise RequestInvalidError(
            "these are Parquet files: to read them needs the extra: pip install 'chatrest[parquet]'"
        ) from None
    columns = ["raw", "raw_bytes", *(["source_name"] if sources is not None else [])]
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            groups = [each for each in range(file.num_row_groups) if _may_hold(file, each, window)]
            batches = file.iter_batches(_ROWS, row_groups=groups, columns=columns, use_threads=False)
            for batch in batches if groups else ():
                raws: list[bytes] = raws_of(batch)
                if sources is not None:
                    names = batch["source_name"].to_pylist()
                    raws = [raw for raw, name in zip(raws, names, strict=True) if name in sources]
                yield raws
    except (pa.ArrowException, KeyError) as error:
        raise damaged(path, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged(path, error) from None


def _may_hold(file: Any, group: int, window: TimeWindow) -> bool:
    """Return False where the statistics of a row group say that all its rows were sent at other times."""
    column = file.schema_arrow.get_field_index("sent_at")
    statistics = file.metadata.row_group(group).column(column).statistics if column >= 0 else None
    if statistics is None or not statistics.has_min_max or statistics.null_count != 0:
        return True
    first, last = int(statistics.min.timestamp()), int(statistics.max.timestamp())
    return not (
        (window.since is not None and last < window.since)
        or (window.until is not None and first > window.until)
    )


# ── a database ──

_SELECT: Final = """
SELECT {by}, place, CAST(raw AS BLOB) FROM messages
WHERE {times} AND ({by}, place) > (:edge, :place) AND ({sources}) ORDER BY {by}, place LIMIT :rows
"""
_OF_SOURCES: Final = (
    "source IN (SELECT number FROM sources WHERE source IN (SELECT value FROM json_each(:keys)))"
)
_HIGH: Final = (1 << 63) - 1
_LOW: Final = -_HIGH


class _Range(NamedTuple):
    """Rows of a table, in the order of a column that has an index."""

    by: str
    times: str
    low: int = _LOW
    high: int = _HIGH


def database_rows(path: Path, window: TimeWindow, keys: str | None) -> Iterator[list[bytes]]:
    """Yield the records of a database; `keys` are the keys of sources as a JSON array, None is any.

    It is opened for each batch anew, so that no reader keeps a run from finishing it.
    """
    for rows in _ranges(window):
        sql = _SELECT.format(by=rows.by, times=rows.times, sources="TRUE" if keys is None else _OF_SOURCES)
        values: dict[str, Any] = {"low": rows.low, "high": rows.high, "keys": keys, "rows": _ROWS}
        edge, place = _LOW, _LOW
        while batch := _selected(path, sql, {**values, "edge": edge, "place": place}):
            yield [bytes(raw or b"") for _, _, raw in batch]
            edge, place, _ = batch[-1]


def _ranges(window: TimeWindow) -> Iterator[_Range]:
    """Return the ranges that hold the rows of a window: times are in seconds or milliseconds."""
    if window.since is None and window.until is None:
        yield _Range("place", "TRUE")
        return
    since, until = window.since or 0, _HIGH // 1000 - 1 if window.until is None else window.until
    between = "sent_at BETWEEN :low AND :high"
    yield _Range(
        "sent_at", between, since if window.since is not None else _LOW, min(until, MILLISECONDS - 1)
    )
    yield _Range("sent_at", between, max(since * 1000, MILLISECONDS), until * 1000 + 999)
    yield _Range("place", "sent_at IS NULL")


def _selected(path: Path, sql: str, values: dict[str, Any]) -> list[tuple[int, int, bytes | None]]:
    # A log beside it belongs to a run, which may be under way; without one nothing changes it.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as db:
            return db.execute(sql, values).fetchall()
    except sqlite3.Error as error:
        raise damaged(path, error) from None
