"""The files that messages link to: a journal of each link and the outcome of its file.

SQLite in `attachments/journal.sqlite`, one transaction a step: a link is added when its message is read, and
`note` follows after the file is on the disk under its final name. A kill between the two costs one download.

| state     | meaning                                                        | next run             |
|-----------|----------------------------------------------------------------|----------------------|
| new       | not fetched yet                                                | fetches it           |
| stored    | the file is in the folder, with this size and SHA-256          | nothing              |
| gone      | the server does not have it any more (404, 410)                | nothing              |
| too_large | larger than `max_bytes` was (`bytes` is that limit)            | with a larger limit  |
| refused   | the address is not allowed                                     | looks again          |
| failed    | any other failure                                              | fetches it           |
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import urlsplit

from ..._storage import JournalFile, Layout
from ...errors import ChatRestError
from ..formats.stored_records import clean
from ..plan.id_set import IdSet

NAME: Final = "journal.sqlite"
AttachmentState: TypeAlias = Literal["new", "stored", "gone", "too_large", "refused", "failed"]
_EXTENSION: Final = re.compile(r"[a-z0-9]{1,10}", re.ASCII)
_SCHEMA: Final = """
CREATE TABLE attachments(message TEXT NOT NULL, position INTEGER NOT NULL, url TEXT NOT NULL,
    path TEXT NOT NULL, name TEXT, mime_type TEXT, extension TEXT, state TEXT NOT NULL, file TEXT,
    bytes INTEGER, sha256 TEXT, error TEXT, checked_at INTEGER,
    PRIMARY KEY(message, position),
    CHECK(state IN ('new', 'stored', 'gone', 'too_large', 'refused', 'failed')),
    CHECK(typeof(position) = 'integer' AND typeof(bytes) IN ('integer', 'null')),
    CHECK(state != 'stored' OR (typeof(file) = 'text' AND typeof(sha256) = 'text')));
CREATE TABLE searched(ids BLOB NOT NULL);
CREATE INDEX by_state ON attachments(state);
CREATE INDEX by_path ON attachments(path)
"""
_REMEDY: Final = "move it away, and the next run fetches the files again"
_LAYOUT: Final = Layout("export", _SCHEMA, version=1, application=0x63_72_61_74, remedy=_REMEDY)
_BATCH: Final = 1000
_UNTRIED: Final = """SELECT rowid FROM attachments WHERE rowid > 0 AND (state IN ('new', 'refused')
    OR (state = 'too_large' AND bytes < ?))"""
_FAILED: Final = "SELECT rowid FROM attachments WHERE rowid > 0 AND state = 'failed'"
_LINK: Final = "SELECT message, position, url, name, mime_type, extension FROM attachments WHERE rowid = ?"
_STORED: Final = """SELECT rowid, file, bytes, sha256 FROM attachments
    WHERE state = 'stored' AND rowid > ? ORDER BY rowid LIMIT ?"""
_ERRORS: Final = """SELECT error, count(*) FROM attachments WHERE state = 'failed' GROUP BY error
    ORDER BY 2 DESC, 1 LIMIT ?"""
ERRORS_SHOWN: Final = 5
_ALL: Final = """SELECT message AS messageId, position, url, name, mime_type AS mimeType, extension, state,
    file, bytes, sha256, error, checked_at AS checkedAt FROM attachments
    ORDER BY length(message), message, position"""


class Link(NamedTuple):
    """The address of a file of a message, at its position among the message's files."""

    message: str
    position: int
    url: str
    name: str | None = None
    mime_type: str | None = None
    extension: str | None = None


def links_of(record: Mapping[str, Any]) -> Iterator[Link]:
    """Yield the links of a message's record.

    A media message without attachments has the address of its file in `url`.
    """
    message, data = text_or_none(record.get("id")), record.get("data")
    if not isinstance(data, dict):
        return
    attachments = data.get("attachments")
    if not attachments and record.get("category") == "message":
        attachments = [data]
    for position, each in enumerate(attachments if message and isinstance(attachments, list) else ()):
        if isinstance(each, dict) and (url := text_or_none(each.get("url"))):
            name, mime_type, extension = map(text_or_none, map(each.get, ("name", "mimeType", "extension")))
            yield Link(message or "", position, url, name, mime_type, extension)


def stored_name(sha256: str, link: Link) -> str:
    """Return the path of a file below `attachments/`: the hash of its content, and its extension."""
    suffixes = (link.extension or "", PurePosixPath(urlsplit(link.url).path).suffix[1:])
    extension = next((each.lower() for each in suffixes if _EXTENSION.fullmatch(each.lower())), "")
    return f"files/{sha256[:2]}/{sha256}{f'.{extension}' if extension else ''}"


def is_page(link: Link) -> bool:
    """Return True if a link may lead to an HTML page, by what is said of the file."""
    kinds = (link.mime_type or "", link.extension or "")
    return not any(kinds) or any("htm" in kind.lower() for kind in kinds)


def text_or_none(value: Any) -> str | None:
    """Return a text that a database can hold; ids may be numbers."""
    if type(value) is int:
        return str(value)
    return clean(value) if isinstance(value, str) and value else None


class FetchResult(NamedTuple):
    """The outcome of fetching a link; for `too_large`, `bytes` is the limit that was passed."""

    state: AttachmentState
    file: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    error: str | None = None


class AttachmentJournal(JournalFile):
    """The open journal, for one thread after the other; raises as `JournalFile`."""

    def __init__(self, path: Path) -> None:
        if path.is_symlink():
            raise ChatRestError(f"{path} is a symbolic link, and may lead out of the folder; remove it")
        super().__init__(path, _LAYOUT, lambda _: None)

    def add(self, links: Iterable[Link]) -> None:
        """Add links, or change those that are known; a file is fetched again for another path or name.

        The query of an address may hold a signature that differs each time.
        """
        rows = [(*link, link.url.partition("?")[0]) for link in links]
        with self.transaction():
            self._db.executemany(
                """INSERT INTO attachments(message, position, url, name, mime_type, extension, path, state)
                VALUES(?, ?, ?, ?, ?, ?, ?, 'new')
                ON CONFLICT(message, position) DO UPDATE SET url = excluded.url, name = excluded.name,
                mime_type = excluded.mime_type, extension = excluded.extension, path = excluded.path,
                state = iif(path = excluded.path AND name IS excluded.name, state, 'new')""",
                rows,
            )

    def pending(self, max_bytes: int) -> Iterator[Link]:
        """Yield the links to fetch, each once: those that have failed before come last.

        Else those that fail for good would keep all others waiting, run after run. Memory: the numbers of all
        of them, as bitmaps.
        """
        untried, failed = self._numbers(_UNTRIED, max_bytes), self._numbers(_FAILED)
        for number in chain(untried, failed):
            yield Link(*self._all(_LINK, number)[0])

    def _numbers(self, sql: str, *values: int) -> IdSet:
        return IdSet(number for (number,) in self._portions(self._execute(sql, *values)))

    def stored_as(self, link: Link) -> FetchResult | None:
        """Return the file that was fetched from the same address for another message."""
        rows = self._all(
            "SELECT file, bytes, sha256 FROM attachments WHERE path = ? AND url = ? AND state = 'stored'",
            link.url.partition("?")[0], link.url,
        )  # fmt: skip
        return FetchResult("stored", *rows[0]) if rows else None

    def note(self, link: Link, fetched: FetchResult, checked_at: int) -> None:
        """Note the outcome of a link; it is on the disk afterwards."""
        with self.transaction():
            self._db.execute(
                """UPDATE attachments SET state = ?, file = ?, bytes = ?, sha256 = ?, error = ?,
                checked_at = ? WHERE message = ? AND position = ?""",
                (*fetched, checked_at, link.message, link.position),
            )

    def stored(self) -> Iterator[tuple[int, str, int, str]]:
        """Yield the number, the name, the size and the SHA-256 of each link whose file is noted as stored."""
        number = 0
        while rows := self._all(_STORED, number, _BATCH):
            yield from rows
            number = rows[-1][0]

    def reset(self, number: int) -> None:
        """Note that a stored file is not there: it is fetched again."""
        with self.transaction():
            self._db.execute("UPDATE attachments SET state = 'new' WHERE rowid = ?", (number,))

    def searched(self) -> IdSet:
        """Return the ids of the messages whose links are here; none where that is damaged."""
        rows = self._all("SELECT ids FROM searched")
        try:
            return IdSet.from_bytes(rows[0][0]) if rows else IdSet()
        except (ValueError, TypeError):
            return IdSet()

    def set_searched(self, ids: IdSet) -> None:
        with self.transaction():
            self._db.execute("DELETE FROM searched")
            self._db.execute("INSERT INTO searched VALUES(?)", (ids.to_bytes(),))

    def counts(self) -> dict[str, int]:
        """Return the count of links by their state; `ChatRestError` for an unknown state."""
        counts = dict(self._all("SELECT state, count(*) FROM attachments GROUP BY state"))
        if wrong := counts.keys() - get_args(AttachmentState):
            raise ChatRestError(
                f"{self.path} is damaged: one of its links has the state {min(map(repr, wrong))}"
            )
        return counts

    def errors(self) -> dict[str, int]:
        return {str(error): count for error, count in self._all(_ERRORS, ERRORS_SHOWN)}

    def records(self) -> Iterator[dict[str, Any]]:
        rows = self._execute(_ALL)
        names = [column[0] for column in rows.description]
        for row in self._portions(rows):
            yield {name: value for name, value in zip(names, row, strict=True) if value is not None}

    def _execute(self, sql: str, *values: int) -> sqlite3.Cursor:
        with self._held():
            return self._db.execute(sql, values)

    def _portions(self, rows: sqlite3.Cursor) -> Iterator[Any]:
        while portion := self._fetched(rows, _BATCH):
            yield from portion
