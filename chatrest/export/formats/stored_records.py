"""The records of data files, as they were served, from any format: the one reader of files that others share.

Each function yields lists of records: a block of a file, or some thousand rows. Memory is needed for one of
them. Nothing is changed, and no lock is taken that a run would wait for.

A block is compressed by itself, so that a file can be cut after any of them: a file of such blocks, one after
the other, is a valid `.gz` or `.zst` file.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from ..._core.replies.rows import UNKNOWN, row_of
from ..._core.replies.scanner import read_record
from ..._texts import missing_extra
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ..plan.export_plan import Compress
from ..plan.file_names import MILLISECONDS

_GZIP_LEVEL: Final = 3
"""Level 6 takes twice the time for four fifths of the size. For small files use zstd."""

_GZIP_WINDOW: Final = 31
_ZSTD: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""The module, which is loaded only where it is needed."""
_CHUNK: Final = 1 << 18
_ROWS: Final = 5_000
_DEPTH: Final = 50
"""No documented member is nested as deeply."""
_HIGHEST: Final = (1 << 63) - 1


class Compression(NamedTuple):
    suffix: str
    pack: Callable[[Any], bytes]
    decompressor: Callable[[], Any] | None = None
    """Makes what unpacks one block; None if blocks are not packed."""


def compression(compress: Compress) -> Compression:
    """Return the compression of that name; `RequestInvalidError` where what it needs is not installed."""
    match compress:
        case "none":
            return Compression("", lambda data: data)
        case "gzip":
            pack = partial(gzip.compress, compresslevel=_GZIP_LEVEL, mtime=0)
            return Compression(".gz", pack, partial(zlib.decompressobj, _GZIP_WINDOW))
        case "zstd":
            zstd = zstd_module("compress = 'zstd'")
            return Compression(".zst", zstd.compress, zstd.ZstdDecompressor)


def zstd_module(purpose: str) -> Any:
    """Return the module; `RequestInvalidError` that names the purpose where it is not installed."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise RequestInvalidError(missing_extra(purpose, "zstd")) from None
    return zstd


def pack_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of damaged content, that of zstd only where it is loaded."""
    zstd = (sys.modules[_ZSTD].ZstdError,) if _ZSTD in sys.modules else ()
    return (zlib.error, gzip.BadGzipFile, EOFError, *zstd, *others)


class SourceLines(NamedTuple):
    """Records of one source as lines; `label` is its name in formats that store it."""

    source: int
    rows: int
    lines: bytes
    label: str | None = None

    @property
    def raws(self) -> list[bytes]:
        return self.lines.split(b"\n")[:-1]


def piece_of(raws: list[bytes], source: int = 0, label: str | None = None) -> SourceLines:
    return SourceLines(source, len(raws), b"\n".join([*raws, b""]), label)


class TimeWindow(NamedTuple):
    """Times in epoch milliseconds, both included; None is no limit. A timestamp may be in either unit: one in
    seconds stands for all milliseconds of its second.
    """

    since: int | None = None
    until: int | None = None

    def overlaps(self, first: int, last: int) -> bool:
        return (self.since is None or last >= self.since) and (self.until is None or first <= self.until)

    def may_hold(self, first: int, last: int) -> bool:
        """Return True if a timestamp from `first` to `last` may be in the window; one that is UNKNOWN may."""
        if UNKNOWN in (first, last) or first < MILLISECONDS <= last:  # times in two units have no order
            return True
        return self.overlaps(milliseconds(first), milliseconds(last, end=True))

    def within(self, raws: list[bytes]) -> list[bytes]:
        """Return the records that were sent in the window; those without a time are among them."""
        if self == ALL_TIMES:
            return raws
        times = ((raw, row_of(raw).sent_at) for raw in raws)
        return [raw for raw, time in times if self.may_hold(time, time)]


def milliseconds(timestamp: int, *, end: bool = False) -> int:
    """Return the first millisecond of a timestamp in either unit, or with `end` its last one."""
    return timestamp if timestamp >= MILLISECONDS else timestamp * 1000 + 999 * end


ALL_TIMES: Final = TimeWindow()


def record_members(raw: bytes) -> dict[str, Any]:
    """Return the record's members, as in its page, at any depth; an empty dict for another value."""
    try:
        record = read_record(raw)
    except ReplyUnreadableError:
        return {}
    return record if isinstance(record, dict) else {}


def clean(value: Any, depth: int = _DEPTH) -> Any:
    """Return a JSON value that any file can hold.

    Texts have U+FFFD for each half of a surrogate pair. Numbers beyond 64 bits, and what is nested too
    deeply, are None.
    """
    match value:
        case str() if value.isascii():
            return value
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list() if depth:
            return [clean(item, depth - 1) for item in value]
        case dict() if depth:
            return {clean(key): clean(item, depth - 1) for key, item in value.items()}
        case bool() | float():
            return value
        case int() if -_HIGHEST <= value <= _HIGHEST:
            return value
    return None


def damage_error(path: Path, reason: object) -> ChatRestError:
    return ChatRestError(f"{path} cannot be read: {reason}; `chatrest verify` says what is damaged")


def compress_of(name: str) -> Compress:
    compressed: dict[str, Compress] = {".gz": "gzip", ".zst": "zstd"}
    return compressed.get(PurePath(name).suffix, "none")


def line_batches(path: Path, name: str, size: int | None) -> Iterator[list[bytes]]:
    """Yield the lines in the first `size` bytes of a file, compressed as the end of its `name` says.

    With None all whole lines, of a file that may be growing. Raises `ChatRestError` for a file that is
    shorter than `size`, or damaged.
    """
    rest = b""
    for data in _unpacked(path, compress_of(name), size):
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield whole
    if rest and size is not None:
        raise damage_error(path, "its last line has no end")


def _unpacked(path: Path, compress: Compress, size: int | None) -> Iterator[bytes]:
    """Yield the content of a file, whose compressed members follow one another."""
    make = compression(compress).decompressor
    if make is None:
        yield from _chunks(path, size)
        return
    member, is_whole = make(), True
    for data in _chunks(path, size):
        while data:
            try:
                yield member.decompress(data)
            except pack_errors(OSError, ValueError) as error:
                raise damage_error(path, error) from None
            is_whole, data = member.eof, member.unused_data if member.eof else b""
            member = make() if is_whole else member
    if size is not None and not is_whole:
        raise damage_error(path, "its last part has no end")


def _chunks(path: Path, size: int | None) -> Iterator[bytes]:
    left = sys.maxsize if size is None else size
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            left -= len(chunk)
            yield chunk
    if size is not None and left:
        raise damage_error(path, f"it has {left:,} bytes less than were written")


def record_batches(
    path: Path, name: str, size: int | None, window: TimeWindow = ALL_TIMES
) -> Iterator[list[bytes]]:
    """Yield the records of a file, whose format its `name` says; where that is cheap, of a time alone."""
    if name.endswith(".parquet"):
        return (raws for raws, _ in parquet_batches(path, (), window))
    return line_batches(path, name, size)


def parquet_batches(
    path: Path, columns: Sequence[str] = (), window: TimeWindow = ALL_TIMES
) -> Iterator[tuple[list[bytes], list[list[Any]]]]:
    """Yield the records of a Parquet file with the values of further columns; not row groups of other times.

    Raises `RequestInvalidError` where pyarrow is not installed, and `ChatRestError` for a damaged file.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise RequestInvalidError(missing_extra("reading Parquet files", "parquet")) from None
    names = ["raw", "raw_bytes", *columns]
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            groups = [each for each in range(file.num_row_groups) if _may_hold(file, each, window)]
            batches = file.iter_batches(_ROWS, row_groups=groups, columns=names, use_threads=False)
            for batch in batches if groups else ():
                yield raws_of(batch, pa.binary()), [batch[name].to_pylist() for name in columns]
    except (pa.ArrowException, KeyError) as error:
        raise damage_error(path, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise damage_error(path, error) from None


def raws_of(batch: Any, binary: Any) -> list[bytes]:
    """Return the exact records of the columns `raw` and `raw_bytes`; `binary` is Arrow's type of bytes."""
    texts: list[bytes] = batch["raw"].cast(binary).to_pylist()
    exact = batch["raw_bytes"]
    if exact.null_count == len(exact):
        return texts
    return [text if raw is None else raw for text, raw in zip(texts, exact.to_pylist(), strict=True)]


def _may_hold(file: Any, group: int, window: TimeWindow) -> bool:
    """Return False if the statistics of a row group say that all its rows were sent at other times."""
    column = file.schema_arrow.get_field_index("sent_at")
    statistics = file.metadata.row_group(group).column(column).statistics if column >= 0 else None
    if statistics is None or not statistics.has_min_max or statistics.null_count != 0:
        return True
    first, last = (int(time.timestamp()) for time in (statistics.min, statistics.max))
    return window.overlaps(first * 1000, last * 1000 + 999)
