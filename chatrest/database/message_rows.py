"""The messages of an export as rows: for a database, and to find them by sender, conversation and time.

A database holds Unicode without zero bytes. In a record, each half of a surrogate pair, each zero
byte and each byte that is not UTF-8 becomes U+FFFD, in `raw` and in the columns alike, and is counted.
"""

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import filterfalse, islice
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from .._cloud.address import is_address
from ..export import read_raw
from ..export.formats.columns import MESSAGE_COLUMNS, MessageReader

_Match: TypeAlias = tuple[bytes, int | None, int | None]
"""A record, its time and its number."""

COLUMNS: Final = tuple(each for each in MESSAGE_COLUMNS if each.kind in ("text", "integer", "time"))
"""The columns of `messages`; nested values are only in `raw`."""
NAMES: Final = tuple(column.name for column in COLUMNS)
_REPLACEMENT: Final = "\ufffd".encode()
_ESCAPES: Final = re.compile(
    rb"(\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u0000|\\u[dD][89a-fA-F]..|\0", re.DOTALL
)
"""What no database holds; the group has what only looks like it."""
_READER: Final = MessageReader(COLUMNS)
_ROWS_AT_ONCE: Final = 500
"""Rows of a table that are inserted together."""


def batched(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    remaining = iter(raws)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        yield batch


def clean_records(raws: list[bytes]) -> tuple[list[bytes], int]:
    """Return records that a database can hold, and how many characters were replaced in them."""
    count = 0

    def replacement(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match[1] is not None:
            return match[1]
        count += 1
        return _REPLACEMENT

    lines = b"\n".join(raws)
    if b"\\u" in lines or b"\0" in lines:
        raws = _ESCAPES.sub(replacement, lines).split(b"\n")
    try:
        for raw in filterfalse(bytes.isascii, raws):
            raw.decode()
    except UnicodeDecodeError:
        before = b"".join(raws).count(_REPLACEMENT)
        raws = [raw.decode(errors="replace").encode() for raw in raws]
        count += b"".join(raws).count(_REPLACEMENT) - before
    return raws, count


def message_values(raws: list[bytes]) -> list[Sequence[Any]]:
    values = _READER.read(b"\n".join(raws), len(raws))
    return [values[name] for name in NAMES]


def database_beside(out: str | PathLike[str]) -> Path | None:
    if isinstance(out, str) and is_address(out):
        return None
    folder = Path(out).resolve()
    return folder.with_name(f"{folder.name}.sqlite")


def find_raw(
    out: str | PathLike[str],
    *,
    senders: Collection[str] = (),
    conversations: Collection[str] = (),
    since: int | None = None,
    until: int | None = None,
    sources: Sequence[str] = (),
    by_time: bool = False,
) -> Iterator[bytes]:
    """Yield the records of the messages that match, by time or in the order of the files.

    `since` and `until` are epoch seconds, both included; an empty choice is all. Raises as `read_raw`.
    """

    def matches(records: Iterator[bytes]) -> Iterator[_Match]:
        for raws in batched(records):
            values = dict(zip(NAMES, message_values(clean_records(raws)[0]), strict=True))
            members = (values[name] for name in ("sender", "conversation_id", "sent_at", "number"))
            for raw, sender, conversation, sent_at, number in zip(raws, *members, strict=True):
                is_of_sender = not senders or sender in senders
                if is_of_sender and (not conversations or conversation in conversations):
                    yield raw, sent_at, number

    chosen = matches(read_raw(out, since=since, until=until, source=sources or None))
    return _sorted(chosen) if by_time else (raw for raw, _, _ in chosen)


def _sorted(matches: Iterable[_Match]) -> Iterator[bytes]:
    with closing(sqlite3.connect("", isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN")
        db.execute("CREATE TABLE matches(position INTEGER PRIMARY KEY, raw BLOB, sent_at, number)")
        db.executemany("INSERT INTO matches(raw, sent_at, number) VALUES(?, ?, ?)", matches)
        rows = db.execute("SELECT raw FROM matches ORDER BY sent_at NULLS LAST, number NULLS LAST, position")
        yield from (raw for (raw,) in rows)
