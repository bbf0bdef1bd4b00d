"""The state of an import: its journal, and the result that is read from it.

The journal has how far each file is settled, and the request that may be under way.

SQLite, held by one process at a time. `begin` is on the disk before a batch is sent, and `finish` after its
outcomes are known; both in one transaction each. A batch that was begun and not finished may have been sent:
it is sent again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from .._storage import JournalFile, Layout
from .._texts import name_list
from ..errors import RequestInvalidError
from .import_records import Kind
from .input_lines import LinePosition

INVALID: Final = "invalid"
NO_OUTCOME: Final = "no outcome"
SKIPPED: Final = "skipped"
_MAX_OMISSIONS: Final = 100
_SCHEMA: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files(number INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
    line INTEGER NOT NULL DEFAULT 0, offset INTEGER NOT NULL DEFAULT 0, digest BLOB NOT NULL DEFAULT x'',
    open_line INTEGER NOT NULL DEFAULT 0, open_offset INTEGER NOT NULL DEFAULT 0,
    open_digest BLOB NOT NULL DEFAULT x'', imported INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0);
CREATE TABLE refused(file INTEGER, line INTEGER, key TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY(file, line)) WITHOUT ROWID;
CREATE TABLE omitted(what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID
"""
_REMEDY: Final = (
    "with another journal the import begins again; messages that are there already are then refused, and all "
    "else is imported again"
)
_LAYOUT: Final = Layout("import", _SCHEMA, 1, 0x63_72_69_6D, remedy=_REMEDY, damage=RequestInvalidError)


class LineNote(Struct, frozen=True, kw_only=True):
    """A line that was not imported. `code` is the service's, or one of these.

    | code        | meaning                                                                            |
    |-------------|------------------------------------------------------------------------------------|
    | `invalid`   | the line is not a record that can be imported; it was not sent                     |
    | `no outcome`| the reply does not mention the record                                              |
    | `skipped`   | a stored record that no import can make again: an action, a call, a deleted one    |
    """

    file: str
    line: int
    """From 1."""
    code: str
    message: str
    key: str = ""
    """The uid, guid, member id or muid; empty if the line has none."""

    @property
    def is_skipped(self) -> bool:
        """True for a line that was left out without being an error."""
        return self.code == SKIPPED

    def __str__(self) -> str:
        key = f" ({self.key})" if self.key else ""
        return f"{self.file}:{self.line}{key}: {self.code}: {self.message}"


class FileResult(Struct, frozen=True, kw_only=True):
    """The counts of one file. A line is in one of them, or empty."""

    file: str
    kind: Kind
    lines: int = 0
    imported: int = 0
    """Records that the service has accepted, also those of an interrupted request that was sent again and had
    arrived the first time; in a dry run, records that would be sent."""
    skipped: int = 0
    refused: int = 0


class Omission(Struct, frozen=True):
    """Something that lines of the files hold and no import takes."""

    description: str
    """Such as `deleted messages`, or `the member 'new' of users` for one that this library does not know."""
    count: int
    """The number of records that hold it."""


class ImportResult(Struct, frozen=True, kw_only=True):
    """The state of an import over all runs with its journal, or the result of a check."""

    files: tuple[FileResult, ...]
    refused: tuple[LineNote, ...]
    dry_run: bool = False
    not_carried: tuple[Omission, ...] = ()
    """What the files hold and no import takes, the most frequent first: an app's copy is without it."""

    @property
    def imported(self) -> int:
        """The records that the service has, of all files."""
        return sum(file.imported for file in self.files)

    @property
    def skipped(self) -> int:
        """The lines that were left out without being an error."""
        return sum(file.skipped for file in self.files)

    @property
    def ok(self) -> bool:
        """True if nothing was refused."""
        return not any(file.refused for file in self.files)


def list_omissions(counts: Mapping[str, int]) -> tuple[Omission, ...]:
    """Return omissions, the most frequent first; from the 101st on, the rarer ones are counted as one."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rare_count = sum(count for _, count in ordered[_MAX_OMISSIONS:])
    listed = [Omission(description, count) for description, count in ordered[:_MAX_OMISSIONS]]
    return (*listed, *([Omission("other members", rare_count)] if rare_count else []))


class FileState(NamedTuple):
    settled: LinePosition
    """The end of the last line whose outcome is known."""
    begun: LinePosition
    """The end of a batch that may have been sent; line 0 for none."""


class ImportJournal(JournalFile):
    """The journal of one import: of one app, and of the same files, or more of them than before.

    Raises `RequestInvalidError` for the journal of another app, of other files, or of a running import.
    """

    def __init__(self, path: Path, app: str, files: Sequence[tuple[str, Kind]]) -> None:
        super().__init__(path, _LAYOUT, lambda db: db.execute("INSERT INTO meta VALUES('app', ?)", (app,)))
        try:
            with self.transaction():
                [(stored_app,)] = self._all("SELECT value FROM meta WHERE name = 'app'")
                if stored_app != app:
                    raise RequestInvalidError(
                        f"{self.path} is the journal of an import into {stored_app}, and this one goes into "
                        f"{app}: use another journal"
                    )
                self._numbers = self._add_files(files)
        except BaseException:
            self.close()
            raise

    def _add_files(self, files: Sequence[tuple[str, Kind]]) -> list[int]:
        """Return the numbers of the files, and add new ones; files of one name are told apart by order."""
        stored, numbers = self._all("SELECT number, name, kind FROM files ORDER BY number"), list[int]()
        unmatched: dict[tuple[str, str], list[int]] = {}
        for number, name, kind in reversed(stored):
            unmatched.setdefault((name, kind), []).append(number)
        for file in files:
            sql = "INSERT INTO files(name, kind) VALUES(?, ?)"
            same_name = unmatched.get(file)
            numbers.append(same_name.pop() if same_name else self._db.execute(sql, file).lastrowid or 0)
        if any(unmatched.values()):
            names = name_list([f"{name} ({kind})" for _, name, kind in stored], 5)
            raise RequestInvalidError(
                f"{self.path} is the journal of an import of {names}: "
                "import the same files again, or use another journal"
            )
        return numbers

    def state(self, file: int) -> FileState:
        [row] = self._all(
            "SELECT line, offset, digest, open_line, open_offset, open_digest FROM files WHERE number = ?",
            self._numbers[file],
        )
        settled, begun = LinePosition(*row[:3]), LinePosition(*row[3:])
        return FileState(settled, begun if begun.line > settled.line else LinePosition())

    def begin(self, file: int, end: LinePosition) -> None:
        """Note that the lines up to `end` are about to be sent; it is on the disk afterwards."""
        with self.transaction():
            self._db.execute(
                "UPDATE files SET open_line = ?, open_offset = ?, open_digest = ? "
                "WHERE number = ? AND open_line < ?",
                (*end, self._numbers[file], end.line),
            )

    def finish(
        self,
        file: int,
        end: LinePosition,
        notes: Iterable[LineNote],
        omissions: Mapping[str, int] = MappingProxyType({}),
        *,
        imported: int = 0,
    ) -> None:
        """Note the outcomes of the lines up to `end`; it is on the disk afterwards."""
        refused = [note for note in notes if not note.is_skipped]
        skipped = sum(note.is_skipped for note in notes)
        file = self._numbers[file]
        values = [(file, n.line, _text(n.key), _text(n.code), _text(n.message)) for n in refused]
        with self.transaction():
            self._db.executemany("INSERT INTO refused VALUES(?, ?, ?, ?, ?)", values)
            self._db.execute(
                """UPDATE files SET line = ?, offset = ?, digest = ?, imported = imported + ?,
                skipped = skipped + ?, refused = refused + ? WHERE number = ?""",
                (*end, imported, skipped, len(refused), file),
            )
            self._db.executemany(
                "INSERT INTO omitted VALUES(?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(_text(what), count) for what, count in omissions.items()],
            )

    def results(self) -> tuple[FileResult, ...]:
        rows = self._all("SELECT number, name, kind, line, imported, skipped, refused FROM files")
        counts = {number: values for number, *values in rows}
        fields = FileResult.__struct_fields__
        return tuple(FileResult(**dict(zip(fields, counts[n], strict=True))) for n in self._numbers)

    def refused(self) -> tuple[LineNote, ...]:
        rows = self._all(
            """SELECT number, name, refused.line, code, message, key FROM refused
            JOIN files ON number = file ORDER BY refused.line"""
        )
        order = {number: index for index, number in enumerate(self._numbers)}
        return tuple(
            LineNote(file=name, line=line, code=code, message=message, key=key)
            for _, name, line, code, message, key in sorted(rows, key=lambda row: order[row[0]])
        )

    def omissions(self) -> Counter[str]:
        return Counter(dict(self._all("SELECT what, count FROM omitted")))


def _text(text: str) -> str:
    """Return a text that SQLite can hold: a lone surrogate becomes an escape."""
    return text.encode(errors="backslashreplace").decode()
