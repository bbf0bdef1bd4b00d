"""Reads an export's parts back, some records at a time: their ids, and what is wrong with them.

A record counts as what the export took it for: what has no id is told apart by its bytes.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from ...core.decode import REFUSED
from ...core.lenient import read_record
from ...core.rows import row_of
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ..message_ids import key_of

_BATCH: Final = 10_000
_SHOWN: Final = 40


class Batch(NamedTuple):
    """Some records."""

    records: int
    ids: list[str]
    """What tells each of them from all others."""
    fault: str | None
    """What is wrong with the first one that is not right."""


class _Identified(Struct, gc=False):
    id: str


_LINES: Final = msgspec.json.Decoder(_Identified)


def lines(data: bytes) -> Batch:
    """The records of whole lines."""
    try:
        ids = [line.id for line in _LINES.decode_lines(data)]
    except REFUSED:
        return _patiently(data)
    if not all(ids) or len(ids) != data.count(b"\n") or not data.endswith(b"\n"):
        return _patiently(data)
    return Batch(len(ids), ids, None)


def _patiently(data: bytes) -> Batch:
    found, fault = list[str](), None
    each = data.splitlines()
    for count, line in enumerate(each, start=1):
        key = identity(line)
        if key is not None:
            found.append(key)
        else:
            fault = fault or f"line {count:,} is no JSON record: {line[:_SHOWN]!r}"
    if not data.endswith(b"\n"):
        fault = fault or "the last line has no end"
    return Batch(len(each), found, fault)


def identity(raw: bytes) -> str | None:
    """What tells a record from all others; None where it is no JSON record."""
    try:
        # As it was taken from its page: records are read there that are nested too deeply to be read whole.
        members = read_record(raw)
    except ReplyUnreadableError:
        return None
    return key_of(row_of(raw, members)) if raw == raw.strip() else None


def parquet(path: Path) -> Iterator[Batch]:
    """The records of a Parquet file; `RequestInvalidError` where pyarrow is not installed."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]

        from ..formats.parquet_rows import raws_of
        from ..formats.parquet_files import opened
    except ImportError:
        raise RequestInvalidError(
            "these are Parquet files: to read them needs the extra: pip install 'chatrest[parquet]'"
        ) from None
    try:
        with opened(path) as file:
            for batch in file.iter_batches(_BATCH, columns=["id", "raw", "raw_bytes"], use_threads=False):
                yield _told(batch["id"].to_pylist(), raws_of(batch))
    except (pa.ArrowException, ChatRestError, KeyError, ValueError) as error:
        yield Batch(0, [], f"it cannot be read ({error})")


def database(path: Path) -> Iterator[Batch]:
    """The records of a database; what SQLite itself finds to be wrong with it comes first."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            db.text_factory = _text
            [found] = db.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                yield Batch(0, [], f"SQLite finds: {found}")
            rows = db.execute("SELECT id, raw FROM messages ORDER BY rowid")
            while some := rows.fetchmany(_BATCH):
                yield _told([str(key) for key, _ in some], [_bytes(raw) for _, raw in some])
    except sqlite3.Error as error:
        yield Batch(0, [], f"it cannot be read ({error})")


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(raw: bytes | str | None) -> bytes:
    return raw.encode(errors="surrogateescape") if isinstance(raw, str) else raw or b""


def _told(ids: list[str], raws: list[bytes]) -> Batch:
    """Records that stand beside their ids."""
    found = lines(b"\n".join([*raws, b""]))
    if found.ids == ids and found.records == len(ids):
        return found
    for key, raw in zip(ids, raws, strict=True):
        if (its := identity(raw)) != key:
            return Batch(len(ids), ids, f"beside the id {key} stands the record of {its or 'no message'}")
    return Batch(len(ids), ids, None)
