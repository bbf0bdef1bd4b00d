"""The journal of an import: how far each file is settled, and the request that may be under way.

SQLite, held by one process at a time.

| table   | holds                                                                                   |
|---------|-----------------------------------------------------------------------------------------|
| meta    | the app                                                                                 |
| files   | per file: its kind, the settled lines with a digest, the end of the open batch, counts  |
| refused | the lines that were refused, with code and message                                      |
| omitted | what the settled lines hold and no import takes, with its count                         |

`begin` is on the disk before a batch is sent, and `finish` after its outcomes are known; both in one
transaction each. A batch that was begun and not finished may have been sent: it is sent again.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, final

from ..errors import RequestInvalidError
from .entities import Kind
from .input_files import Position
from .result import FileResult, LineNote

_APPLICATION: Final = 0x63_72_69_6D
_VERSION: Final = 1
_SCHEMA: Final = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE files(number INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
        line INTEGER NOT NULL DEFAULT 0, offset INTEGER NOT NULL DEFAULT 0, digest BLOB NOT NULL DEFAULT x'',
        open_line INTEGER NOT NULL DEFAULT 0, open_offset INTEGER NOT NULL DEFAULT 0,
        open_digest BLOB NOT NULL DEFAULT x'', imported INTEGER NOT NULL DEFAULT 0,
        existing INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE refused(file INTEGER, line INTEGER, key TEXT NOT NULL, code TEXT NOT NULL,
        message TEXT NOT NULL, PRIMARY KEY(file, line)) WITHOUT ROWID""",
    f"PRAGMA application_id={_APPLICATION}",
    f"PRAGMA user_version={_VERSION}",
)
_OMITTED: Final = (
    "CREATE TABLE IF NOT EXISTS omitted(what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID"
)


class FileState(NamedTuple):
    """The part of a file that is settled."""

    settled: Position
    """The end of the last line whose outcome is known."""
    open: Position
    """The end of a batch that may have been sent; line 0 for none."""


@final
class ImportJournal:
    """The journal of one import: the same app, and the same files in the same order.

    Raises `RequestInvalidError` if another process has it, if it is damaged or no journal of an import, or if
    it is of another import; `OSError` if the disk fails.
    """

    def __init__(self, path: Path, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        self._path = path
        with self._errors():
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            with self._errors():
                self._open(app, files)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the journal, so that another process can open it."""
        self._db.close()

    def _open(self, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        [own] = db.execute("PRAGMA application_id").fetchone()
        [version] = db.execute("PRAGMA user_version").fetchone()
        [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (tables or version) and (own, version) != (_APPLICATION, _VERSION):
            raise RequestInvalidError(f"{self._path} is not the journal of an import, or of another version")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        with self._transaction():
            if not tables:
                self._create(app, files)
            db.execute(_OMITTED)  # a journal of an earlier version has none
        [state] = db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        self._check_same(app, files)

    def _create(self, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        for statement in _SCHEMA:
            self._db.execute(statement)
        self._db.execute("INSERT INTO meta VALUES('app', ?)", (app,))
        self._db.executemany("INSERT INTO files(name, kind) VALUES(?, ?)", files)

    def _check_same(self, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        [known] = self._db.execute("SELECT value FROM meta WHERE name = 'app'").fetchone()
        if known != app:
            raise RequestInvalidError(
                f"{self._path} is the journal of an import into {known}, and this one goes into {app}: "
                "use a journal of its own"
            )
        rows = self._db.execute("SELECT name, kind FROM files ORDER BY number").fetchall()
        if rows != [*map(tuple, files)]:
            names = ", ".join(f"{name} ({kind})" for name, kind in rows[:5]) + (", …" if rows[5:] else "")
            raise RequestInvalidError(
                f"{self._path} is the journal of an import of {names}: "
                "import the same files again, or use a journal of its own"
            )

    def state(self, file: int) -> FileState:
        """Return how far a file is settled; `file` is its number from 0."""
        [row] = self._rows(
            "SELECT line, offset, digest, open_line, open_offset, open_digest FROM files WHERE number = ?",
            file + 1,
        )
        settled, begun = Position(*row[:3]), Position(*row[3:])
        return FileState(settled, begun if begun.line > settled.line else Position())

    def begin(self, file: int, end: Position) -> None:
        """Note that the lines up to `end` are about to be sent; it is on the disk afterwards.

        A position further on, of a larger batch that may have been sent, stays.
        """
        with self._errors(), self._transaction():
            self._db.execute(
                "UPDATE files SET open_line = ?, open_offset = ?, open_digest = ? "
                "WHERE number = ? AND open_line < ?",
                (*end, file + 1, end.line),
            )

    def finish(
        self,
        file: int,
        end: Position,
        notes: Iterable[LineNote],
        omissions: Mapping[str, int] = MappingProxyType({}),
        *,
        imported: int = 0,
        existing: int = 0,
    ) -> None:
        """Note the outcomes of the lines up to `end`; it is on the disk afterwards."""
        refused = [note for note in notes if not note.is_skipped]
        skipped = sum(note.is_skipped for note in notes)
        values = [(file + 1, n.line, _text(n.key), _text(n.code), _text(n.message)) for n in refused]
        with self._errors(), self._transaction():
            self._db.executemany("INSERT INTO refused VALUES(?, ?, ?, ?, ?)", values)
            self._db.execute(
                """UPDATE files SET line = ?, offset = ?, digest = ?, imported = imported + ?,
                existing = existing + ?, skipped = skipped + ?, refused = refused + ? WHERE number = ?""",
                (*end, imported, existing, skipped, len(refused), file + 1),
            )
            self._db.executemany(
                "INSERT INTO omitted VALUES(?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(_text(what), count) for what, count in omissions.items()],
            )

    def results(self) -> tuple[FileResult, ...]:
        """Return the counts of all files."""
        rows = self._rows(
            "SELECT name, kind, line, imported, existing, skipped, refused FROM files ORDER BY number"
        )
        return tuple(FileResult(**dict(zip(FileResult.__struct_fields__, row, strict=True))) for row in rows)

    def refused(self) -> tuple[LineNote, ...]:
        """Return the lines that were refused, in the order of files and lines."""
        rows = self._rows(
            """SELECT name, refused.line, code, message, key FROM refused
            JOIN files ON number = file ORDER BY file, refused.line"""
        )
        return tuple(
            LineNote(file=name, line=line, code=code, message=message, key=key)
            for name, line, code, message, key in rows
        )

    def omissions(self) -> Counter[str]:
        """Return what the settled lines hold and no import takes."""
        return Counter(dict(self._rows("SELECT what, count FROM omitted")))

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
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
        """Replace the errors of SQLite by those of this class."""
        try:
            yield
        except sqlite3.Error as error:
            failure = _failure(self._path, error)
        else:
            return
        raise failure


def _failure(path: Path, error: sqlite3.Error) -> Exception:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF  # the primary one
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return RequestInvalidError(f"{path}: another import is writing here")
    if isinstance(error, sqlite3.OperationalError):
        return OSError(f"{path}: {error}")
    return RequestInvalidError(
        f"{path} is damaged, or not the journal of an import ({error}): with another journal the import "
        "begins anew; messages that are there already are then refused, and all else is imported once more"
    )


def _text(text: str) -> str:
    """Return a text that SQLite can hold: a lone surrogate becomes an escape."""
    return text.encode(errors="backslashreplace").decode()
