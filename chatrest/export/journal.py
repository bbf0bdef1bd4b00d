"""The journal: what of an export is safe. SQLite, in the export's folder, held by one process at a time.

| table     | holds                                                                                     |
|-----------|-------------------------------------------------------------------------------------------|
| meta      | the plan, the app, the newest run, by name                                                |
| sources   | every list that is read; the number is its rank among users                               |
| covered   | per source the intervals of ids that are safe, each with the place that the list goes on from |
| parts     | the files, and how much of each is committed: what is behind that is torn                 |
| frames    | per part, one after the other: which messages of which source, and the hash of the bytes  |
| deferred  | ids that a source left to another one, as 64-bit numbers                                  |
| balance   | sums over the ids left to others, and over those written for others (`settle`)            |
| strays    | ids that were written outside of the rule of ownership                                    |
| rechecks  | what is to be read again, and how far that has come                                       |
| changed   | messages that were found to have changed, before they take their places in the parts      |
| vanished  | ids that the service showed once, and does not show any more                              |

A page is committed in one transaction: its rows' frames, what it covers, what it left to others. Everything
that is in the journal is on the disk; what is on the disk and not in the journal never happened.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import msgspec

from ..core.rows import Row, row_of
from ..errors import RequestInvalidError
from .ids import number
from .sources import Source
from .spans import Span, merged

NAME: Final = "journal.sqlite"
_VERSION: Final = 1
_MASK: Final = (1 << 62) - 1
_SETTINGS: Final = """
PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;
"""
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources(number INTEGER PRIMARY KEY, source TEXT UNIQUE NOT NULL, state TEXT NOT NULL,
    error TEXT);
CREATE TABLE covered(source INTEGER, first INTEGER, last INTEGER NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY(source, first)) WITHOUT ROWID;
CREATE TABLE parts(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL COLLATE NOCASE, bucket TEXT NOT NULL,
    role TEXT NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL, digest BLOB);
CREATE TABLE frames(part INTEGER, start INTEGER, size INTEGER NOT NULL, source INTEGER NOT NULL,
    rows INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, since INTEGER NOT NULL,
    until INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY(part, start)) WITHOUT ROWID;
CREATE INDEX frames_of_source ON frames(source, last);
CREATE TABLE deferred(source INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    ids BLOB NOT NULL);
CREATE TABLE balance(name TEXT PRIMARY KEY, ids INTEGER, sum INTEGER, squares INTEGER) WITHOUT ROWID;
INSERT INTO balance VALUES('open', 0, 0, 0), ('settled', 0, 0, 0);
CREATE TABLE strays(id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE rechecks(source INTEGER PRIMARY KEY, since INTEGER NOT NULL, after INTEGER NOT NULL,
    until INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE changed(id TEXT PRIMARY KEY, number INTEGER, raw BLOB NOT NULL);
CREATE INDEX changed_numbers ON changed(number);
CREATE TABLE vanished(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, noticed INTEGER NOT NULL);
PRAGMA user_version={_VERSION};
COMMIT;
"""

State: TypeAlias = Literal["open", "failed", "gone"]
"""open: walked, or to be walked; failed: the service refused it; gone: it is not listed any more."""
Role: TypeAlias = Literal["part", "spool", "history"]


class Known(NamedTuple):
    """A source as the journal knows it."""

    number: int
    source: Source
    state: State
    error: str | None


class Part(NamedTuple):
    """A file of the export."""

    number: int
    name: str
    """Below the export's folder."""
    bucket: str
    """What is in it: a source's key, or a month."""
    role: Role
    size: int
    """How many of its bytes are committed."""
    state: str
    """open: more may be added; whole: no more; replacing: its new content is in `name.new`."""
    digest: bytes | None
    """SHA-256 of a file that is written in one go; one that grows has a hash a frame."""


class Frame(NamedTuple):
    """Some rows of one source, one after the other in one part."""

    part: int
    start: int
    size: int
    source: int
    rows: int
    first: int
    last: int
    since: int
    until: int
    digest: bytes


class Balance(NamedTuple):
    """Of some ids: how many, their sum, and the sum of their squares, modulo 2 ** 62."""

    ids: int = 0
    sum: int = 0
    squares: int = 0

    def plus(self, ids: Iterable[int], sign: int = 1) -> "Balance":
        """With these ids, or without them."""
        numbers = list(ids)
        squares = sum(number * number for number in numbers)
        return Balance(
            self.ids + sign * len(numbers),
            (self.sum + sign * sum(numbers)) & _MASK,
            (self.squares + sign * squares) & _MASK,
        )


@final
class Journal:
    """The journal of one folder. Raises `RequestInvalidError` where it is in use, or no journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = _opened(path)

    def close(self) -> None:
        """Lets go of it; what was not committed never happened."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing; commits at its end."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    # ── meta ──

    def __getitem__(self, name: str) -> str | None:
        found = self._one("SELECT value FROM meta WHERE name = ?", name)
        return None if found is None else str(found[0])

    def __setitem__(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (name, value))

    # ── sources ──

    def add_sources(self, sources: Iterable[Source]) -> None:
        """Those that are not known yet; one that was gone is back."""
        keys = [(source.key,) for source in sources]
        self._db.executemany("INSERT OR IGNORE INTO sources(source, state) VALUES(?, 'open')", keys)
        self._db.executemany("UPDATE sources SET state = 'open' WHERE source = ? AND state = 'gone'", keys)

    def sources(self) -> list[Known]:
        """All of them, in the order of their numbers."""
        rows = self._db.execute("SELECT number, source, state, error FROM sources ORDER BY number")
        return [Known(number, Source.parse(key), *rest) for number, key, *rest in rows]

    def source_of(self, bucket: str) -> int:
        """The number of the source that a file belongs to; 0 where it belongs to none."""
        found = self._one("SELECT number FROM sources WHERE source = ?", bucket)
        return 0 if found is None else int(found[0])

    def mark(self, source: int, state: State, error: str | None = None) -> None:
        """What has become of a source."""
        self._db.execute("UPDATE sources SET state = ?, error = ? WHERE number = ?", (state, error, source))

    # ── what is covered ──

    def spans(self, source: int) -> list[Span]:
        """The intervals of a source."""
        rows = self._db.execute("SELECT first, last, at FROM covered WHERE source = ?", (source,))
        return merged(Span(first, last, _pairs(at)) for first, last, at in rows)

    def cover(self, source: int, after: int, last: int, at: Any) -> None:
        """The ids above `after` up to `last` are safe; the list goes on at `at`."""
        if last <= after:
            return
        first, place = after + 1, msgspec.json.encode(at).decode()
        before = self._one("SELECT first FROM covered WHERE source = ? AND last = ?", source, after)
        behind = self._one("SELECT last, at FROM covered WHERE source = ? AND first = ?", source, last + 1)
        if behind is not None:
            self._db.execute("DELETE FROM covered WHERE source = ? AND first = ?", (source, last + 1))
            last, place = behind
        if before is not None:
            first = before[0]
        self._db.execute("INSERT OR REPLACE INTO covered VALUES(?, ?, ?, ?)", (source, first, last, place))

    def replace_spans(self, source: int, spans: Iterable[Span]) -> None:
        """The intervals of a source, made anew."""
        self._db.execute("DELETE FROM covered WHERE source = ?", (source,))
        rows = [(source, span.first, span.last, msgspec.json.encode(span.at).decode()) for span in spans]
        self._db.executemany("INSERT INTO covered VALUES(?, ?, ?, ?)", rows)

    # ── files ──

    def parts(self, role: Role | None = None) -> list[Part]:
        """The files, in the order in which they were made."""
        rows = self._db.execute(
            "SELECT * FROM parts WHERE ? IS NULL OR role = ? ORDER BY number", (role, role)
        )
        return [Part(*row) for row in rows]

    def open_part(self, bucket: str, role: Role) -> Part | None:
        """The file that more of this is added to."""
        sql = """SELECT * FROM parts WHERE bucket = ? AND role = ? AND state = 'open'
            ORDER BY number DESC LIMIT 1"""
        found = self._one(sql, bucket, role)
        return None if found is None else Part(*found)

    def has_part(self, name: str) -> bool:
        """Whether a file has this name, in capitals or not: some systems do not tell them apart."""
        return self._one("SELECT 1 FROM parts WHERE name = ?", name) is not None

    def add_part(self, name: str, bucket: str, role: Role) -> Part:
        """A new file, empty and open."""
        sql = "INSERT INTO parts(name, bucket, role, size, state) VALUES(?, ?, ?, 0, 'open') RETURNING *"
        return Part(*self._db.execute(sql, (name, bucket, role)).fetchone())

    def keep_part(self, part: Part) -> None:
        """What has become of a file."""
        sql = "UPDATE parts SET size = ?, state = ?, digest = ? WHERE number = ?"
        self._db.execute(sql, (part.size, part.state, part.digest, part.number))

    def drop_part(self, part: int) -> None:
        """A file, and its frames, that are no more."""
        self._db.execute("DELETE FROM frames WHERE part = ?", (part,))
        self._db.execute("DELETE FROM parts WHERE number = ?", (part,))

    def add_frames(self, frames: Iterable[Frame]) -> None:
        """Frames, of parts that are there."""
        self._db.executemany("INSERT INTO frames VALUES(?,?,?,?,?,?,?,?,?,?)", frames)

    def drop_frames(self, part: int, start: int = 0) -> None:
        """The frames of a part from a place on."""
        self._db.execute("DELETE FROM frames WHERE part = ? AND start >= ?", (part, start))

    def frames(self, part: int) -> list[Frame]:
        """A part's frames, in order."""
        rows = self._db.execute("SELECT * FROM frames WHERE part = ? ORDER BY start", (part,))
        return [Frame(*row) for row in rows]

    def rows(self, roles: Iterable[Role]) -> dict[int, int]:
        """How many rows each source has in the frames of some files; 0 is for those of no source."""
        sql = """SELECT source, sum(rows) FROM frames JOIN parts ON parts.number = part
            WHERE role IN (SELECT value FROM json_each(?)) GROUP BY source"""
        return dict(self._db.execute(sql, (msgspec.json.encode(list(roles)).decode(),)).fetchall())

    def has_rows(self, source: int, first: int, last: int) -> bool:
        """Whether a source may have rows on disk with ids from `first` to `last`."""
        sql = "SELECT 1 FROM frames WHERE source IN (?, 0) AND last >= ? AND first <= ? LIMIT 1"
        return self._one(sql, source, first, last) is not None

    # ── what is left to others, and what nobody claims ──

    def defer(self, source: int, ids: list[int]) -> None:
        """Ids that a source leaves to another one."""
        packed = array("q", ids).tobytes()
        self._db.execute("INSERT INTO deferred VALUES(?, ?, ?, ?)", (source, min(ids), max(ids), packed))

    def deferred(self) -> Iterator[tuple[int, int, int, "array[int]"]]:
        """(source, first id, last id, ids), as they were noted."""
        for source, first, last, packed in self._db.execute("SELECT * FROM deferred ORDER BY rowid"):
            ids = array("q")
            ids.frombytes(packed)
            yield source, first, last, ids

    def balance(self, name: str) -> Balance:
        """`open`, as it is now, or `settled`, as it was when all was last found to be there."""
        return Balance(
            *self._db.execute("SELECT ids, sum, squares FROM balance WHERE name = ?", (name,)).fetchone()
        )

    def keep_balance(self, name: str, balance: Balance) -> None:
        """Notes it."""
        sql = "UPDATE balance SET ids = ?, sum = ?, squares = ? WHERE name = ?"
        self._db.execute(sql, (*balance, name))

    def drop_strays(self, first: int, last: int) -> None:
        """Ids that were written outside of the rule, and are lost."""
        sql = "DELETE FROM strays WHERE CAST(id AS INTEGER) BETWEEN ? AND ? OR NOT id GLOB '[0-9]*'"
        self._db.execute(sql, (first, last))

    def has_strays(self) -> bool:
        """Whether any id was written outside of the rule."""
        return self._one("SELECT 1 FROM strays LIMIT 1") is not None

    def stray(self, id: str) -> bool:
        """Notes an id that is written outside of the rule; False where it was already."""
        return self._db.execute("INSERT OR IGNORE INTO strays VALUES(?)", (id,)).rowcount > 0

    def strays(self, ids: list[str]) -> set[str]:
        """Those of these ids that were written outside of the rule."""
        sql = "SELECT id FROM strays WHERE id IN (SELECT value FROM json_each(?))"
        return {found for (found,) in self._db.execute(sql, (msgspec.json.encode(ids).decode(),))}

    # ── reading again ──

    def recheck(self, source: int, since: int, until: int) -> None:
        """A source is to be read again from a time on, up to an id; one that is under way stays so."""
        sql = "INSERT OR IGNORE INTO rechecks VALUES(?, ?, 0, ?, '[]')"
        self._db.execute(sql, (source, since, until))

    def rechecks(self) -> dict[int, tuple[int, int, int, Any]]:
        """By source: since when, after which id, until which id, at which place."""
        rows = self._db.execute("SELECT * FROM rechecks")
        return {source: (since, after, until, _pairs(at)) for source, since, after, until, at in rows}

    def rechecked(self, source: int, last: int, at: Any) -> None:
        """A source was read again up to an id."""
        sql = "UPDATE rechecks SET after = ?, at = ? WHERE source = ?"
        self._db.execute(sql, (last, msgspec.json.encode(at).decode(), source))
        self._db.execute("DELETE FROM rechecks WHERE source = ? AND after >= until", (source,))

    def change(self, rows: Iterable[Row]) -> None:
        """Messages that were found to have changed."""
        values = [(row.id, number(row.id), bytes(row.raw)) for row in rows]
        self._db.executemany("INSERT OR REPLACE INTO changed VALUES(?, ?, ?)", values)

    def changed(self, ids: Iterable[str]) -> dict[str, Row]:
        """The changed messages among these."""
        sql = "SELECT id, raw FROM changed WHERE id IN (SELECT value FROM json_each(?))"
        found = self._db.execute(sql, (msgspec.json.encode(list(ids)).decode(),))
        return {its: row_of(raw) for its, raw in found}

    def has_changed(self, first: int, last: int) -> bool:
        """Whether a message with an id from `first` to `last` has changed, or one without a number for it."""
        sql = "SELECT 1 FROM changed WHERE number BETWEEN ? AND ? OR number IS NULL LIMIT 1"
        return self._one(sql, first, last) is not None

    def applied(self, ids: Iterable[str]) -> None:
        """Changed messages that have taken their places."""
        self._db.executemany("DELETE FROM changed WHERE id = ?", [(each,) for each in ids])

    def vanish(self, source: int, ids: Iterable[int], now: int) -> None:
        """Ids that the service does not show any more."""
        rows = [(each, source, now) for each in ids]
        self._db.executemany("INSERT OR IGNORE INTO vanished VALUES(?, ?, ?)", rows)

    def vanished(self) -> list[int]:
        """The ids that the service does not show any more."""
        return [found for (found,) in self._db.execute("SELECT id FROM vanished ORDER BY id")]

    def _one(self, sql: str, *values: Any) -> Any:
        return self._db.execute(sql, values).fetchone()


def _pairs(at: str) -> Any:
    try:
        return msgspec.json.decode(at, type=tuple[tuple[str, str], ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()  # edited by hand: the id alone is a place, too


def _opened(path: Path) -> sqlite3.Connection:
    # The writer is a thread, one at a time.
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        db.executescript(_SETTINGS)
        [version] = db.execute("PRAGMA user_version").fetchone()
        [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables == 0:
            db.executescript(_SCHEMA)
        elif version != _VERSION:
            raise sqlite3.DatabaseError("it is not an export's journal, or of another version")
        db.executescript("BEGIN EXCLUSIVE; COMMIT")
    except sqlite3.Error as error:
        db.close()
        in_use = "locked" in str(error)
        told = "another export is writing here" if in_use else f"{error}"
        raise RequestInvalidError(f"{path}: {told}") from None
    return db
