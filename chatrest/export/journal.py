"""The journal: what of an export is safe. SQLite, in the export's folder, held by one process at a time.

| table     | holds                                                                                     |
|-----------|-------------------------------------------------------------------------------------------|
| meta      | the plan, the app, the newest run, by name                                                |
| sources   | every list that is read; the number is its rank among users                               |
| covered   | per source the intervals of ids that are safe, each with the place that the list goes on from |
| parts     | the files, and how much of each is committed: what is behind that is torn                 |
| blocks    | per part, one after the other: which messages of which source, and the hash of the bytes  |
| deferred  | ids that a source left to another one, as 64-bit numbers                                  |
| balance   | two numbers: are the ids left to others those that were written for others? (`settle`)    |
| strays    | ids that were written outside of the rule of ownership                                    |
| rechecks  | what is to be read again, and how far that has come                                       |
| changed   | messages that were found to have changed, before they take their places in the parts      |
| vanished  | ids that the service showed once, and does not show any more; some are lost with a file    |

A page is committed in one transaction: its rows' blocks, what it covers, what it left to others. Everything
that is in the journal is on the disk; what is on the disk and not in the journal never happened.
"""

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import msgspec

from ..core.rows import Row, row_of
from ..errors import RequestInvalidError
from .message_ids import number
from .ownership import Source
from .spans import Span, merged
from .sql_in import sql_in

NAME: Final = "journal.sqlite"
_VERSION: Final = 1
_PRIME: Final = (1 << 127) - 1
_POINT: Final = 0x5A3C_91E7_04D8_6B2F_C91D_77E3_2A85_40F6
"""Drawn once: no id is it."""
_SETTINGS: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;"
_SCHEMA: Final = f"""
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources(number INTEGER PRIMARY KEY, source TEXT UNIQUE NOT NULL, state TEXT NOT NULL,
    error TEXT);
CREATE TABLE covered(source INTEGER, first INTEGER, last INTEGER NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY(source, first)) WITHOUT ROWID;
CREATE TABLE parts(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    partition_key TEXT NOT NULL, role TEXT NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL, digest BLOB);
CREATE TABLE blocks(part INTEGER, start INTEGER, size INTEGER NOT NULL, source INTEGER NOT NULL,
    rows INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, since INTEGER NOT NULL,
    until INTEGER NOT NULL, digest BLOB NOT NULL, loose INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(part, start)) WITHOUT ROWID;
CREATE INDEX frames_of_source ON blocks(source, last);
CREATE TABLE deferred(source INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    ids BLOB NOT NULL);
CREATE TABLE balance(name TEXT PRIMARY KEY, ids INTEGER NOT NULL, product TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO balance VALUES('open', 0, '1'), ('settled', 0, '1');
CREATE TABLE strays(id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE rechecks(source INTEGER PRIMARY KEY, since INTEGER NOT NULL, after INTEGER NOT NULL,
    until INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE changed(id TEXT PRIMARY KEY, number INTEGER, raw BLOB NOT NULL);
CREATE INDEX changed_numbers ON changed(number);
CREATE TABLE vanished(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, noticed INTEGER NOT NULL,
    lost INTEGER NOT NULL DEFAULT 0);
PRAGMA user_version={_VERSION};
"""

State: TypeAlias = Literal["open", "failed", "gone", "lost"]
"""open: walked, or to be walked; failed: the service refused it; gone: it is not listed any more; lost: some
of what was written of it is not on disk any more, and has yet to be read again."""
Role: TypeAlias = Literal["part", "spool", "history"]


class SourceState(NamedTuple):
    """A source as the journal knows it."""

    number: int
    source: Source
    state: State
    error: str | None


class DataFile(NamedTuple):
    """A file of the export."""

    number: int
    name: str
    """Below the export's folder."""
    partition_key: str
    """What is in it: a source's key, or a month."""
    role: Role
    size: int
    """How many of its bytes are committed."""
    state: str
    """open: more may be added; whole: no more; replacing: its new content is in `name.new`."""
    digest: bytes | None
    """SHA-256 of a file that is written in one go; one that grows has a hash a block."""


class Block(NamedTuple):
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
    loose: int = 0
    """2 where any of the rows has no number for an id, 1 where any tells no time."""


class Balance(NamedTuple):
    """Ids that were written for others, less those that were left to others, as two numbers.

    `product` is that of (POINT - id) over the former, divided by the same over the latter, modulo a prime: it
    is 1 where both are the same ids, and for others by a chance of less than 2 ** -60.
    """

    ids: int = 0
    product: int = 1

    def plus(self, ids: Iterable[int], sign: int = 1) -> "Balance":
        """With these ids written for others, or with -1 left to others."""
        count, product = 0, 1
        for each in ids:
            product = product * (_POINT - each) % _PRIME
            count += 1
        factor = product if sign > 0 else pow(product, -1, _PRIME)
        return Balance(self.ids + sign * count, self.product * factor % _PRIME)


NEVER: Final = Balance(-1, 0)
"""What no balance is."""


@final
class Journal:
    """The journal of one folder. Raises `RequestInvalidError` where it is in use, or no journal."""

    def __init__(self, path: Path, begin: Mapping[str, str] | None = None) -> None:
        """A new one begins with `begin` as its meta, in one moment: there is never one without a plan."""
        self.path = path
        self._db = _opened(path, begin or {})

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

    def sources(self) -> list[SourceState]:
        """All of them, in the order of their numbers."""
        rows = self._db.execute("SELECT number, source, state, error FROM sources ORDER BY number")
        return [SourceState(number, Source.parse(key), *rest) for number, key, *rest in rows]

    def source_of(self, partition_key: str) -> int:
        """The number of the source that a file belongs to; 0 where it belongs to none."""
        found = self._one("SELECT number FROM sources WHERE source = ?", partition_key)
        return 0 if found is None else int(found[0])

    def mark(self, source: int, state: State, error: str | None = None) -> None:
        """What has become of a source."""
        self._db.execute("UPDATE sources SET state = ?, error = ? WHERE number = ?", (state, error, source))

    # ── what is covered ──

    def spans(self, source: int) -> list[Span]:
        """The intervals of a source."""
        rows = self._db.execute("SELECT first, last, at FROM covered WHERE source = ?", (source,))
        return merged(Span(first, last, _place(at, last)) for first, last, at in rows)

    def cover(self, source: int, after: int, last: int, at: Any) -> None:
        """The ids above `after` up to `last` are safe; the list goes on at `at`."""
        if last <= after:
            return
        near = (source, last + 1, after)
        sql = "SELECT first, last, at FROM covered WHERE source = ? AND first <= ? AND last >= ?"
        found = [Span(first, end, _place(place, end)) for first, end, place in self._db.execute(sql, near)]
        self._db.execute("DELETE FROM covered WHERE source = ? AND first <= ? AND last >= ?", near)
        self._add_spans(source, merged([*found, Span(after + 1, last, at)]))

    def replace_spans(self, source: int, spans: Iterable[Span]) -> None:
        """The intervals of a source, made anew."""
        self._db.execute("DELETE FROM covered WHERE source = ?", (source,))
        self._add_spans(source, spans)

    def _add_spans(self, source: int, spans: Iterable[Span]) -> None:
        rows = [(source, span.first, span.last, json.dumps(span.at)) for span in spans]
        self._db.executemany("INSERT OR REPLACE INTO covered VALUES(?, ?, ?, ?)", rows)

    # ── files ──

    def parts(self, role: Role | None = None) -> list[DataFile]:
        """The files, in the order in which they were made."""
        rows = self._db.execute(
            "SELECT * FROM parts WHERE ? IS NULL OR role = ? ORDER BY number", (role, role)
        )
        return [DataFile(*row) for row in rows]

    def open_part(self, partition_key: str, role: Role) -> DataFile | None:
        """The file that more of this is added to."""
        sql = """SELECT * FROM parts WHERE partition_key = ? AND role = ? AND state = 'open'
            ORDER BY number DESC LIMIT 1"""
        found = self._one(sql, partition_key, role)
        return None if found is None else DataFile(*found)

    def has_part(self, name: str) -> bool:
        """Whether a file has this name, in capitals or not: some systems do not tell them apart."""
        return self._one("SELECT 1 FROM parts WHERE name = ?", name) is not None

    def add_part(self, name: str, partition_key: str, role: Role) -> DataFile:
        """A new file, empty and open."""
        sql = (
            "INSERT INTO parts(name, partition_key, role, size, state) VALUES(?, ?, ?, 0, 'open') RETURNING *"
        )
        return DataFile(*self._db.execute(sql, (name, partition_key, role)).fetchone())

    def keep_part(self, part: DataFile) -> None:
        """What has become of a file."""
        sql = "UPDATE parts SET size = ?, state = ?, digest = ? WHERE number = ?"
        self._db.execute(sql, (part.size, part.state, part.digest, part.number))

    def drop_part(self, part: int) -> None:
        """A file, and its blocks, that are no more."""
        self._db.execute("DELETE FROM blocks WHERE part = ?", (part,))
        self._db.execute("DELETE FROM parts WHERE number = ?", (part,))

    def unreferenced_blocks(self) -> list[Block]:
        """The blocks of parts that are not there: somebody has edited the journal. They are removed."""
        sql = "SELECT * FROM blocks WHERE part NOT IN (SELECT number FROM parts)"
        found = [Block(*row) for row in self._db.execute(sql)]
        self._db.execute("DELETE FROM blocks WHERE part NOT IN (SELECT number FROM parts)")
        return found

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        """Frames, of parts that are there."""
        self._db.executemany("INSERT INTO blocks VALUES(?,?,?,?,?,?,?,?,?,?,?)", blocks)

    def drop_blocks(self, part: int, start: int = 0) -> None:
        """The blocks of a part from a place on."""
        self._db.execute("DELETE FROM blocks WHERE part = ? AND start >= ?", (part, start))

    def blocks(self, part: int) -> list[Block]:
        """A part's blocks, in order."""
        rows = self._db.execute("SELECT * FROM blocks WHERE part = ? ORDER BY start", (part,))
        return [Block(*row) for row in rows]

    def rows(self, roles: Iterable[Role]) -> dict[int, int]:
        """How many rows each source has in the blocks of some files; 0 is for those of no source."""
        sql = """SELECT source, sum(rows) FROM blocks JOIN parts ON parts.number = part
            WHERE role IN (SELECT value FROM json_each(?)) GROUP BY source"""
        return dict(self._db.execute(sql, (msgspec.json.encode(list(roles)).decode(),)).fetchall())

    def has_rows(self, source: int, first: int, last: int) -> bool:
        """Whether a source may have rows on disk with ids from `first` to `last`."""
        sql = "SELECT 1 FROM blocks WHERE source IN (?, 0) AND last >= ? AND first <= ? LIMIT 1"
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
        ids, product = self._one("SELECT ids, product FROM balance WHERE name = ?", name)
        return Balance(ids, int(product))

    def keep_balance(self, name: str, balance: Balance) -> None:
        """Notes it."""
        sql = "UPDATE balance SET ids = ?, product = ? WHERE name = ?"
        self._db.execute(sql, (balance.ids, str(balance.product), name))

    def strays_of(self, first: int, last: int) -> set[str]:
        """The ids in a span that were written outside of the rule, and those without a number."""
        sql = "SELECT id FROM strays WHERE number(id) IS NULL OR number(id) BETWEEN ? AND ?"
        return {found for (found,) in self._db.execute(sql, (first, last))}

    def drop_strays(self, ids: Iterable[str]) -> None:
        """Ids that were written outside of the rule, and are lost."""
        self._db.executemany("DELETE FROM strays WHERE id = ?", [(each,) for each in ids])

    def has_strays(self) -> bool:
        """Whether any id was written outside of the rule."""
        return self._one("SELECT 1 FROM strays LIMIT 1") is not None

    def stray(self, id: str) -> bool:
        """Notes an id that is written outside of the rule; False where it was already."""
        return self._db.execute("INSERT OR IGNORE INTO strays VALUES(?)", (id,)).rowcount > 0

    def strays(self, ids: list[str]) -> set[str]:
        """Those of these ids that were written outside of the rule."""
        return {found for (found,) in sql_in(self._db, "SELECT id FROM strays WHERE id IN", ids)}

    # ── reading again ──

    def recheck(self, source: int, since: int, until: int) -> None:
        """A source is to be read again from a time on, up to an id; one as long that is under way stays."""
        sql = """INSERT INTO rechecks VALUES(?, ?, 0, ?, '[]') ON CONFLICT(source) DO UPDATE
            SET since = excluded.since, after = 0, until = excluded.until, at = '[]'
            WHERE excluded.since < since"""
        self._db.execute(sql, (source, since, until))

    def rechecks(self) -> dict[int, tuple[int, int, int, Any]]:
        """By source: since when, after which id, until which id, at which place."""
        rows = self._db.execute("SELECT * FROM rechecks")
        return {source: (since, after, until, _place(at, after)) for source, since, after, until, at in rows}

    def rechecked(self, source: int, last: int, at: Any) -> None:
        """A source was read again up to an id."""
        sql = "UPDATE rechecks SET after = ?, at = ? WHERE source = ?"
        self._db.execute(sql, (last, json.dumps(at), source))
        self._db.execute("DELETE FROM rechecks WHERE source = ? AND after >= until", (source,))

    def change(self, rows: Iterable[Row]) -> None:
        """Messages that were found to have changed."""
        values = [(row.id, number(row.id), bytes(row.raw)) for row in rows]
        self._db.executemany("INSERT OR REPLACE INTO changed VALUES(?, ?, ?)", values)

    def changed(self, ids: Iterable[str]) -> dict[str, Row]:
        """The changed messages among these."""
        found = sql_in(self._db, "SELECT id, raw FROM changed WHERE id IN", ids)
        return {its: row_of(raw) for its, raw in found}

    def has_changed(self, first: int, last: int) -> bool:
        """Whether a message with an id from `first` to `last` has changed, or one without a number for it."""
        sql = "SELECT 1 FROM changed WHERE number BETWEEN ? AND ? OR number IS NULL LIMIT 1"
        return self._one(sql, first, last) is not None

    def waiting(self) -> Iterator[Row]:
        """The changed messages that have not taken their places yet."""
        for (raw,) in self._db.execute("SELECT raw FROM changed"):
            yield row_of(raw)

    def forget_changed(self) -> None:
        """No message that has changed waits for its place any more."""
        self._db.execute("DELETE FROM changed")

    def applied(self, ids: Iterable[str]) -> None:
        """Changed messages that have taken their places."""
        self._db.executemany("DELETE FROM changed WHERE id = ?", [(each,) for each in ids])

    def mark_deleted(self, source: int, ids: Iterable[int], now: int) -> None:
        """Ids that the service does not show any more."""
        rows = [(each, source, now) for each in ids]
        self._db.executemany("INSERT OR IGNORE INTO vanished(id, source, noticed) VALUES(?, ?, ?)", rows)

    def undelete(self, first: int, last: int, shown: Iterable[int]) -> None:
        """Ids in a span that are shown again."""
        rows = self._db.execute("SELECT id FROM vanished WHERE id BETWEEN ? AND ?", (first, last)).fetchall()
        again = {found for (found,) in rows}.intersection(shown) if rows else ()
        self._db.executemany("DELETE FROM vanished WHERE id = ?", [(each,) for each in again])

    def lose(self, ids: Iterable[int]) -> None:
        """Ids of messages that were in a lost file, and that the service does not show any more."""
        self._db.executemany("UPDATE vanished SET lost = 1 WHERE id = ?", [(each,) for each in ids])

    def vanished(self, *, lost: bool = False) -> list[int]:
        """The ids that the service does not show any more, and that are kept, or lost."""
        rows = self._db.execute("SELECT id FROM vanished WHERE lost = ? ORDER BY id", (int(lost),))
        return [found for (found,) in rows]

    def _one(self, sql: str, *values: Any) -> Any:
        return self._db.execute(sql, values).fetchone()


def _place(at: str, last: int) -> Any:
    """The place after an id; none where the journal was edited, and the place would leave something out."""
    try:
        place = msgspec.json.decode(at, type=tuple[tuple[str, str], ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    its = number(dict(place).get("id", ""))
    return () if its is None or its > last else place


def _opened(path: Path, begin: Mapping[str, str]) -> sqlite3.Connection:
    db: sqlite3.Connection | None = None
    try:
        # The writer is a thread, one at a time.
        db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        db.create_function("number", 1, number, deterministic=True)
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        [version] = db.execute("PRAGMA user_version").fetchone()
        [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        is_new = version == 0 and tables == 0
        if not is_new and version != _VERSION:  # nothing of it was touched
            raise sqlite3.DatabaseError("it is not an export's journal, or of another version")
        db.executescript(_SETTINGS)
        if is_new:
            _begin(db, begin)
        db.executescript("BEGIN EXCLUSIVE; COMMIT")
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        raise _refusal(path, error) from None
    return db


def _refusal(path: Path, error: sqlite3.Error) -> Exception:
    """What a user is told: whose fault it is that it cannot be opened."""
    if "locked" in str(error):
        return RequestInvalidError(f"{path}: another export is writing here")
    if isinstance(error, sqlite3.OperationalError) and "unable to open" not in str(error):
        return OSError(f"{path}: {error}")  # such as a disk that is full
    return RequestInvalidError(f"{path}: {error}")


def _begin(db: sqlite3.Connection, begin: Mapping[str, str]) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.executemany("INSERT INTO meta VALUES(?, ?)", begin.items())
    db.execute("COMMIT")
