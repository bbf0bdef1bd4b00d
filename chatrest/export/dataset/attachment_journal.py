"""The journal of attachments: each link of a message, and the outcome of each file.

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

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final, get_args

from ...errors import ChatRestError
from ..id_set import IdSet
from .attachment_links import Link

NAME: Final = "journal.sqlite"
State: TypeAlias = Literal["new", "stored", "gone", "too_large", "refused", "failed"]
_APPLICATION: Final = 0x63_72_61_74
_SCHEMA: Final = (
    """CREATE TABLE attachments(message TEXT NOT NULL, position INTEGER NOT NULL, url TEXT NOT NULL,
        path TEXT NOT NULL, name TEXT, mime_type TEXT, extension TEXT, state TEXT NOT NULL DEFAULT 'new',
        file TEXT, bytes INTEGER, sha256 TEXT, error TEXT, checked_at INTEGER,
        PRIMARY KEY(message, position),
        CHECK(state IN ('new', 'stored', 'gone', 'too_large', 'refused', 'failed')),
        CHECK(typeof(position) = 'integer' AND typeof(bytes) IN ('integer', 'null')),
        CHECK(state != 'stored' OR (typeof(file) = 'text' AND typeof(sha256) = 'text')))""",
    "CREATE TABLE searched(ids BLOB NOT NULL)",
    "CREATE INDEX by_state ON attachments(state)",
    "CREATE INDEX by_path ON attachments(path)",
    f"PRAGMA application_id={_APPLICATION}",
)
_BATCH: Final = 1000
_PENDING: Final = """SELECT rowid, message, position, url, name, mime_type, extension FROM attachments
    WHERE rowid > ? AND (state IN ('new', 'refused', 'failed') OR (state = 'too_large' AND bytes < ?))
    ORDER BY rowid LIMIT ?"""
_STORED: Final = """SELECT rowid, file, bytes, sha256 FROM attachments
    WHERE state = 'stored' AND rowid > ? ORDER BY rowid LIMIT ?"""
_ALL: Final = """SELECT message, position, url, name, mime_type, extension, state, file, bytes, sha256, error,
    checked_at FROM attachments ORDER BY length(message), message, position"""
_MEMBERS: Final = (
    "messageId", "position", "url", "name", "mimeType", "extension", "state", "file", "bytes", "sha256",
    "error", "checkedAt",
)  # fmt: skip


class FetchResult(NamedTuple):
    """The outcome of a link."""

    state: State
    file: str | None = None
    """Below `attachments/`."""
    bytes: int | None = None
    sha256: str | None = None
    error: str | None = None


class StoredFile(NamedTuple):
    """A file that is in the folder."""

    number: int
    file: str
    bytes: int
    sha256: str


@final
class AttachmentJournal:
    """The open journal. Raises `ChatRestError` where it is damaged, OSError where the disk fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        if path.is_symlink():
            raise ChatRestError(f"{path} is a symbolic link, and may lead out of the folder; remove it")
        with self._errors():
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the journal."""
        self._db.close()

    def add(self, links: Iterable[Link]) -> None:
        """Add links, or change those that are known; a file is fetched again for another path or name.

        The query of an address may hold a signature that differs each time.
        """
        rows = [(*link, link.url.partition("?")[0]) for link in links]
        with self._errors(), self._transaction():
            self._db.executemany(
                """INSERT INTO attachments(message, position, url, name, mime_type, extension, path)
                VALUES(?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT(message, position) DO UPDATE SET url = excluded.url, name = excluded.name,
                mime_type = excluded.mime_type, extension = excluded.extension, path = excluded.path,
                state = CASE WHEN path = excluded.path AND name IS excluded.name THEN state ELSE 'new' END""",
                rows,
            )

    def pending(self, max_bytes: int) -> Iterator[Link]:
        """Yield the links to fetch, each once, also those that are added or noted meanwhile."""
        place = 0
        while True:
            rows = self._rows(_PENDING, place, max_bytes, _BATCH)
            for _, *values in rows:
                yield Link(*values)
            if len(rows) < _BATCH:
                return
            place = rows[-1][0]

    def stored_as(self, link: Link) -> FetchResult | None:
        """Return the file that was fetched from the same address for another message."""
        rows = self._rows(
            "SELECT file, bytes, sha256 FROM attachments WHERE path = ? AND url = ? AND state = 'stored'",
            link.url.partition("?")[0], link.url,
        )  # fmt: skip
        return FetchResult("stored", *rows[0]) if rows else None

    def note(self, link: Link, fetched: FetchResult, checked_at: int) -> None:
        """Note the outcome of a link; it is on the disk afterwards."""
        with self._errors():
            self._db.execute(
                """UPDATE attachments SET state = ?, file = ?, bytes = ?, sha256 = ?, error = ?,
                checked_at = ? WHERE message = ? AND position = ?""",
                (*fetched, checked_at, link.message, link.position),
            )

    def stored(self) -> Iterator[StoredFile]:
        """Yield the files that the journal takes for stored."""
        place = 0
        while True:
            rows = self._rows(_STORED, place, _BATCH)
            for row in rows:
                yield StoredFile(*row)
            if len(rows) < _BATCH:
                return
            place = rows[-1][0]

    def reset(self, number: int) -> None:
        """Note that a stored file is not there: it is fetched again."""
        with self._errors():
            self._db.execute("UPDATE attachments SET state = 'new' WHERE rowid = ?", (number,))

    def searched(self) -> IdSet:
        """Return the ids of the messages whose links are here; none where that is damaged."""
        rows = self._rows("SELECT ids FROM searched")
        try:
            return IdSet.from_bytes(rows[0][0]) if rows else IdSet()
        except (ValueError, TypeError):
            return IdSet()

    def set_searched(self, ids: IdSet) -> None:
        """Note the ids of the messages whose links are here."""
        with self._errors(), self._transaction():
            self._db.execute("DELETE FROM searched")
            self._db.execute("INSERT INTO searched VALUES(?)", (ids.to_bytes(),))

    def counts(self) -> dict[str, int]:
        """Return the count of links by their state; `ChatRestError` for a state that none of ours is."""
        counts = dict(self._rows("SELECT state, count(*) FROM attachments GROUP BY state"))
        if wrong := counts.keys() - get_args(State):
            raise ChatRestError(
                f"{self._path} is damaged: a link of it has the state {min(map(repr, wrong))}"
            )
        return counts

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all links as records of the table `attachments`, by message and position."""
        with self._errors():
            for row in self._db.execute(_ALL):
                values = zip(_MEMBERS, row, strict=True)
                yield {name: value for name, value in values if value is not None}

    def _open(self) -> None:
        [application] = self._db.execute("PRAGMA application_id").fetchone()
        [tables] = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and tables:
            raise sqlite3.DatabaseError("it is not a journal of attachments")
        [state] = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        self._db.execute("PRAGMA synchronous=FULL")
        if not tables:
            with self._transaction():
                for statement in _SCHEMA:
                    self._db.execute(statement)

    def _rows(self, sql: str, *values: object) -> list[Any]:
        with self._errors():
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let one thread in, and replace the errors of SQLite."""
        try:
            with self._lock:
                yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self._path}: {error}") from None
        except sqlite3.Error as error:
            raise ChatRestError(
                f"{self._path} is damaged ({error}): move it away, and the next run fetches the files again"
            ) from None
