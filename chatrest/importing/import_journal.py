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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, final

from ..errors import RequestInvalidError
from ..storage import JournalFile, Layout
from .entities import Kind
from .input_files import LinePosition
from .result import FileResult, LineNote

_SCHEMA: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files(number INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
    line INTEGER NOT NULL DEFAULT 0, offset INTEGER NOT NULL DEFAULT 0, digest BLOB NOT NULL DEFAULT x'',
    open_line INTEGER NOT NULL DEFAULT 0, open_offset INTEGER NOT NULL DEFAULT 0,
    open_digest BLOB NOT NULL DEFAULT x'', imported INTEGER NOT NULL DEFAULT 0,
    existing INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0);
CREATE TABLE refused(file INTEGER, line INTEGER, key TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY(file, line)) WITHOUT ROWID
"""
_REMEDY: Final = (
    "with another journal the import begins again; messages that are there already are then refused, and all "
    "else is imported once more"
)
_LAYOUT: Final = Layout("import", _SCHEMA, 1, 0x63_72_69_6D, remedy=_REMEDY, damage=RequestInvalidError)
_OMITTED: Final = (
    "CREATE TABLE IF NOT EXISTS omitted(what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID"
)


class FileState(NamedTuple):
    """The part of a file that is settled."""

    settled: LinePosition
    """The end of the last line whose outcome is known."""
    open: LinePosition
    """The end of a batch that may have been sent; line 0 for none."""


@final
class ImportJournal(JournalFile):
    """The journal of one import: the same app, and the same files in the same order.

    Raises as `JournalFile`, and `RequestInvalidError` where it is of another import.
    """

    def __init__(self, path: Path, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        super().__init__(path, _LAYOUT, lambda db: _begin(db, app, files))
        try:
            with self.transaction():
                self._db.execute(_OMITTED)  # a journal of an earlier version has none
            self._check_same(app, files)
        except BaseException:
            self.close()
            raise

    def _check_same(self, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        [(known,)] = self._all("SELECT value FROM meta WHERE name = 'app'")
        if known != app:
            raise RequestInvalidError(
                f"{self.path} is the journal of an import into {known}, and this one goes into {app}: "
                "use a journal of its own"
            )
        rows = self._all("SELECT name, kind FROM files ORDER BY number")
        if rows != [*map(tuple, files)]:
            names = ", ".join(f"{name} ({kind})" for name, kind in rows[:5]) + (", …" if rows[5:] else "")
            raise RequestInvalidError(
                f"{self.path} is the journal of an import of {names}: "
                "import the same files again, or use a journal of its own"
            )

    def state(self, file: int) -> FileState:
        """Return how far a file is settled; `file` is its number from 0."""
        [row] = self._all(
            "SELECT line, offset, digest, open_line, open_offset, open_digest FROM files WHERE number = ?",
            file + 1,
        )
        settled, begun = LinePosition(*row[:3]), LinePosition(*row[3:])
        return FileState(settled, begun if begun.line > settled.line else LinePosition())

    def begin(self, file: int, end: LinePosition) -> None:
        """Note that the lines up to `end` are about to be sent; it is on the disk afterwards.

        A position further on, of a larger batch that may have been sent, stays.
        """
        with self.transaction():
            self._db.execute(
                "UPDATE files SET open_line = ?, open_offset = ?, open_digest = ? "
                "WHERE number = ? AND open_line < ?",
                (*end, file + 1, end.line),
            )

    def finish(
        self,
        file: int,
        end: LinePosition,
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
        with self.transaction():
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
        rows = self._all(
            "SELECT name, kind, line, imported, existing, skipped, refused FROM files ORDER BY number"
        )
        return tuple(FileResult(**dict(zip(FileResult.__struct_fields__, row, strict=True))) for row in rows)

    def refused(self) -> tuple[LineNote, ...]:
        """Return the lines that were refused, in the order of files and lines."""
        rows = self._all(
            """SELECT name, refused.line, code, message, key FROM refused
            JOIN files ON number = file ORDER BY file, refused.line"""
        )
        return tuple(
            LineNote(file=name, line=line, code=code, message=message, key=key)
            for name, line, code, message, key in rows
        )

    def omissions(self) -> Counter[str]:
        """Return what the settled lines hold and no import takes."""
        return Counter(dict(self._all("SELECT what, count FROM omitted")))


def _begin(db: sqlite3.Connection, app: str, files: Sequence[tuple[str, Kind]]) -> None:
    db.execute("INSERT INTO meta VALUES('app', ?)", (app,))
    db.executemany("INSERT INTO files(name, kind) VALUES(?, ?)", files)


def _text(text: str) -> str:
    """Return a text that SQLite can hold: a lone surrogate becomes an escape."""
    return text.encode(errors="backslashreplace").decode()
