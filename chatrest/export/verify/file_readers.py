"""Read the files of an export, some records at a time: their keys, and the first fault among them.

A record has the key that the export gave it: one without an id has a hash of its bytes.
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
    """Records that were read together."""

    records: int
    ids: list[str]
    """Their keys: what tells each record from all others."""
    fault: str | None
    """The fault of the first record that is damaged; None where none is."""


class _Identified(Struct, gc=False):
    id: str


_LINES: Final = msgspec.json.Decoder(_Identified)


def lines(data: bytes) -> Batch:
    """Return the records of whole lines."""
    try:
        ids = [line.id for line in _LINES.decode_lines(data)]
    except REFUSED:
        return _lenient_lines(data)
    if not all(ids) or len(ids) != data.count(b"\n") or not data.endswith(b"\n"):
        return _lenient_lines(data)
    return Batch(len(ids), ids, None)


def _lenient_lines(data: bytes) -> Batch:
    keys, fault = list[str](), None
    records = data.splitlines()
    for count, line in enumerate(records, start=1):
        key = record_key(line)
        if key is not None:
            keys.append(key)
        else:
            fault = fault or f"line {count:,} is no JSON record: {line[:_SHOWN]!r}"
    if not data.endswith(b"\n"):
        fault = fault or "the last line has no end"
    return Batch(len(records), keys, fault)


def record_key(raw: bytes) -> str | None:
    """Return what tells a record from all others; None where it is no JSON record."""
    try:
        # As it was taken from its page: records are read there that are nested too deeply to be read whole.
        members = read_record(raw)
    except ReplyUnreadableError:
        return None
    return key_of(row_of(raw, members)) if raw == raw.strip() else None


def parquet(path: Path) -> Iterator[Batch]:
    """Yield the records of a Parquet file; `RequestInvalidError` where pyarrow is not installed."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]

        from ..formats.parquet_files import opened
        from ..formats.parquet_rows import raws_of
    except ImportError:
        raise RequestInvalidError(
            "these are Parquet files: to read them needs the extra: pip install 'chatrest[parquet]'"
        ) from None
    try:
        with opened(path) as file:
            for batch in file.iter_batches(_BATCH, columns=["id", "raw", "raw_bytes"], use_threads=False):
                yield _compared(batch["id"].to_pylist(), raws_of(batch))
    except (pa.ArrowException, ChatRestError, KeyError, ValueError) as error:
        yield Batch(0, [], f"it cannot be read ({error})")


def database(path: Path) -> Iterator[Batch]:
    """Yield the records of a database; what SQLite itself finds to be damaged comes first."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            db.text_factory = _text
            [finding] = db.execute("PRAGMA integrity_check(1)").fetchone()
            if finding != "ok":
                yield Batch(0, [], f"SQLite finds: {finding}")
            cursor = db.execute("SELECT id, raw FROM messages ORDER BY rowid")
            while rows := cursor.fetchmany(_BATCH):
                yield _compared([str(key) for key, _ in rows], [_bytes(raw) for _, raw in rows])
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second where SQLite repeats damaged bytes
        yield Batch(0, [], f"it cannot be read ({error})")


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(raw: bytes | str | None) -> bytes:
    return raw.encode(errors="surrogateescape") if isinstance(raw, str) else raw or b""


def _compared(keys: list[str], raws: list[bytes]) -> Batch:
    """Return records whose keys are beside them, after a comparison of the two."""
    batch = lines(b"\n".join([*raws, b""]))
    if batch.ids == keys and batch.records == len(keys):
        return batch
    for key, raw in zip(keys, raws, strict=True):
        if (other := record_key(raw)) != key:
            return Batch(len(keys), keys, f"beside the id {key} is the record of {other or 'no message'}")
    return Batch(len(keys), keys, None)
