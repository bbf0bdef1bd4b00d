"""Find messages of an export by sender, conversation and time."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from .._cloud.address import is_address
from ..export import read_raw
from .database_rows import NAMES, batched, clean_records, message_values

_Match: TypeAlias = tuple[bytes, int | None, int | None]
"""A record, its time and its number."""


def database_beside(out: str | PathLike[str]) -> Path | None:
    """Return the path of the database beside an export; None for an object store."""
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
