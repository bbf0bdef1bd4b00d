"""Find messages of an export, as a person asks for them: by sender, conversation, text and time."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from .._cloud.address import is_address
from .._secrets import shown
from ..errors import RequestInvalidError
from ..export import read_raw, read_table
from ..export.formats.record_members import read
from .rows import NAMES, batched, clean_records, message_values

_COLUMNS: Final = [NAMES.index(name) for name in ("sender", "conversation_id", "text", "sent_at", "number")]


class MessageFilter(NamedTuple):
    """The messages to find; an empty member asks for all."""

    senders: Collection[str] = ()
    conversations: Collection[str] = ()
    since: int | None = None
    """A timestamp in either unit."""
    until: int | None = None
    search: str = ""
    """A part of the text, in any case."""
    sources: Sequence[str] = ()
    by_time: bool = False


def database_beside(out: str | PathLike[str]) -> Path | None:
    """Return the path of the database beside an export; None for an object store."""
    if isinstance(out, str) and is_address(out):
        return None
    folder = Path(out).resolve()
    return folder.with_name(f"{folder.name}.sqlite")


def find_raw(out: str | PathLike[str], wanted: MessageFilter) -> Iterator[bytes]:
    """Yield the records of messages, by time or in the order in which they came.

    Raises as `read_raw`. Memory for some thousand rows; an order by time takes room on the disk for
    what is found.
    """
    records = read_raw(out, since=wanted.since, until=wanted.until, source=wanted.sources or None)
    matches = _chosen(records, wanted)
    return _sorted(matches) if wanted.by_time else (raw for raw, _, _ in matches)


def _chosen(
    records: Iterable[bytes], wanted: MessageFilter
) -> Iterator[tuple[bytes, int | None, int | None]]:
    """Yield the wanted records with their times and numbers."""
    search = wanted.search.casefold()
    for raws in batched(records):
        values = message_values(clean_records(raws)[0])
        for raw, sender, conversation, text, sent_at, number in zip(
            raws, *(values[place] for place in _COLUMNS), strict=True
        ):
            if (
                (not wanted.senders or sender in wanted.senders)
                and (not wanted.conversations or conversation in wanted.conversations)
                and (not search or search in (text or "").casefold())
            ):
                yield raw, sent_at, number


def _sorted(matches: Iterable[tuple[bytes, int | None, int | None]]) -> Iterator[bytes]:
    with closing(sqlite3.connect("", isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN")
        db.execute("CREATE TABLE found(place INTEGER PRIMARY KEY, raw BLOB, sent_at, number)")
        db.executemany("INSERT INTO found(raw, sent_at, number) VALUES(?, ?, ?)", matches)
        rows = db.execute("SELECT raw FROM found ORDER BY sent_at NULLS LAST, number NULLS LAST, place")
        yield from (raw for (raw,) in rows)


# ── names ──

_TABLES: Final = {"sender": ("users", "uid"), "conversation": ("groups", "guid")}


def ids_of_names(out: str | PathLike[str], kind: str, texts: Sequence[str]) -> list[str]:
    """Return the uids, or ids of conversations, of what a person types: such an id, or a unique name.

    Raises `RequestInvalidError` for a name of several.
    """
    return [_id_of(kind, text, _known(out, kind)) for text in texts]


def _known(out: str | PathLike[str], kind: str) -> list[tuple[str, str, str]]:
    """Return (id, key, name) of the users or groups that the export has."""
    table, key = _TABLES[kind]
    records = map(read, read_table(out, table))
    known = [(str(each.get(key)), str(each.get("name") or "")) for each in records]
    return [(own if kind == "sender" else f"group_{own}", own, name) for own, name in known]


def _id_of(kind: str, text: str, known: list[tuple[str, str, str]]) -> str:
    for own, key, _ in known:
        if text in (own, key):
            return own
    ids = sorted({own for own, _, name in known if name.casefold() == text.casefold()})
    if len(ids) > 1:
        raise RequestInvalidError(
            f"{kind} = {shown(text)}: a name of {', '.join(ids)}; expected one of these ids"
        )
    return ids[0] if ids else text


def near_names(out: str | PathLike[str], kind: str, texts: Sequence[str]) -> list[str]:
    """Return names and ids that are like these texts, such as `'Fatima' (user-007)`."""
    names = {name: own for own, _, name in _known(out, kind) if name}
    folded = {name.casefold(): name for name in names}
    near = [match for text in texts for match in get_close_matches(text.casefold(), folded, n=3)]
    return [f"{folded[each]!r} ({names[folded[each]]})" for each in near]
