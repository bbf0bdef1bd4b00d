"""The tables of a store's journal, and their queries.

| table     | holds                                                                                    |
|-----------|------------------------------------------------------------------------------------------|
| meta      | values by name                                                                           |
| files     | every file: its permanent name, the committed bytes of a segment, the hash of a sealed file |
| blocks    | per file the rows of each source: how many, their ids and times                          |
| seen      | per source the ids that its list has shown                                               |
| names     | ids that are not numbers: each has the next number, which represents it in all sets      |

What is `seen` and in no block is missing. All writes are made inside of a `transaction`. The meta is read
once.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..._storage import JournalFile, Layout, sql_in
from ..plan.id_set import NAMES, IdSet
from ..plan.message_ids import PageIds, number

NAME: Final = "journal.sqlite"
SCHEMA: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files(number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    stem TEXT NOT NULL, state TEXT NOT NULL, size INTEGER NOT NULL, sha256 BLOB, successor INTEGER);
CREATE INDEX files_of_stem ON files(stem);
CREATE TABLE blocks(number INTEGER PRIMARY KEY, file INTEGER NOT NULL, source INTEGER NOT NULL,
    rows INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, ids BLOB NOT NULL);
CREATE INDEX blocks_of_file ON blocks(file);
CREATE TABLE seen(number INTEGER PRIMARY KEY, source INTEGER NOT NULL, ids BLOB NOT NULL);
CREATE INDEX seen_of_source ON seen(source);
CREATE TABLE names(number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL)
"""
REMEDY: Final = (
    "restore it from a backup; without one, and where manifest.json is undamaged, move it out of the folder, "
    "keep it, and export again: a new one is made from the files"
)
"""The way to mend a journal that runs refuse, too."""
LAYOUT: Final = Layout("export", SCHEMA, version=1, application=0x63_72_65_78, remedy=REMEDY)
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""Of bytes, of rows, or an id: one that is negative is damage."""
DAMAGE: Final = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, UnicodeDecodeError)
"""The errors of a value that cannot be one of its column."""
FileState: TypeAlias = Literal["open", "sealing", "sealed", "dropped"]
"""open: a segment; sealing: becomes a file, or is taken into one (`successor`); sealed: immutable;
dropped: replaced, and to be unlinked."""
PORTION: Final = 1000
_FILES: Final = "SELECT number, name, stem, state, size, sha256, successor FROM files"


class StoreFile(NamedTuple):
    number: int
    name: str
    stem: str
    """Its partition: the name without its token and its suffix."""
    state: FileState
    size: Count
    """Bytes of a segment that are committed; all bytes of what is sealed."""
    sha256: bytes | None = None
    successor: int | None = None
    """The file that is being made of this one."""


class StoreBlock(NamedTuple):
    """The rows of one source in one file: their number, their first and last time, their ids."""

    source: Count
    rows: Count
    since: int
    until: int
    ids: IdSet


_MAX_SEEN_ROWS: Final = 8
_NUMBERED_BLOCK: Final = tuple[Count, Count, int, int, IdSet, int]


class StoreJournal(JournalFile):
    """The journal of a folder: for writing, where a new one begins with `begin` as its meta; for reading,
    changing nothing, where that is None. Raises as `JournalFile`.
    """

    layout = LAYOUT

    def __init__(
        self, path: Path, begin: Mapping[str, str] | None = None, *, is_shared: bool = False
    ) -> None:
        insert = "INSERT INTO meta VALUES(?, ?)"
        add = None if begin is None else lambda db: db.executemany(insert, begin.items())
        self._meta: dict[str, str] | None = None
        super().__init__(path, self.layout, add, is_shared=is_shared)

    def __getitem__(self, name: str) -> str | None:
        with self.lock:
            if self._meta is None:
                self._meta = dict(self.rows("SELECT name, value FROM meta", tuple[str, str]))
            return self._meta.get(name)

    def __setitem__(self, name: str, value: str) -> None:
        if self[name] != value:
            self.write("INSERT OR REPLACE INTO meta VALUES(?, ?)", name, value)
            assert self._meta is not None
            self._meta[name] = value

    def _forget(self) -> None:
        self._meta = None

    # ── statements ──

    def write(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Execute a statement that changes something, in a transaction."""
        return self._db.execute(sql, values)

    def write_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        self._db.executemany(sql, values)

    def rows_in(self, sql: str, values: Iterable[str | int]) -> list[Any]:
        """Return the rows of a query that ends in `IN`, for any number of values."""
        with self._held():
            return list(sql_in(self._db, sql, values))

    def ids(self, sql: str, values: Sequence[Any] | None = None) -> IdSet:
        """Return all ids of a query; one that ends in `IN` takes any number of values."""
        with self._held():
            rows = self._db.execute(sql) if values is None else sql_in(self._db, sql, values)
            try:
                return IdSet.union(IdSet.from_bytes(ids) for (ids,) in rows)
            except sqlite3.Error:
                raise
            except DAMAGE as error:
                raise self._damage(f"is damaged: {error}") from None

    def rows(self, sql: str, kind: Any, *values: Any) -> list[Any]:
        """Return the rows of a query; `UnreadableError` for a value that cannot be one of its column."""
        with self._held():
            return list(self.iter_rows(sql, kind, *values))

    def iter_rows(self, sql: str, kind: Any, *values: Any) -> Iterator[Any]:
        """Yield the same, some at a time; write nothing during the iteration."""
        with self._held():
            rows = self._db.execute(sql, values)
        while portion := self._fetched(rows, PORTION):
            try:
                # Of the types of columns msgspec does not know that of ids alone.
                converted = msgspec.convert(
                    portion, list[kind], strict=False, dec_hook=lambda _, value: IdSet.from_bytes(value)
                )
            except DAMAGE as error:
                raise self._damage(f"is damaged: {error}") from None
            yield from converted

    # ── files ──

    def files(self, *states: FileState) -> list[StoreFile]:
        """Return the files in these states, in the order in which they were made; without any, all."""
        # A damaged state would be in no query.
        files = self.rows(f"{_FILES} ORDER BY number", StoreFile)
        return [each for each in files if not states or each.state in states]

    def files_of(self, stem: str) -> list[StoreFile]:
        return self.rows(f"{_FILES} WHERE stem = ? ORDER BY number", StoreFile, stem)

    def file(self, name: str) -> StoreFile | None:
        files = self.rows(f"{_FILES} WHERE name = ?", StoreFile, name)
        return files[0] if files else None

    def note_file(self, file: StoreFile) -> StoreFile:
        """Note the state of a file; one with the number 0 is new, and gets a number."""
        sql = "UPDATE files SET state = ?, size = ?, sha256 = ?, successor = ? WHERE number = ?"
        values = (file.state, file.size, file.sha256, file.successor)
        if file.number:
            self.write(sql, *values, file.number)
        else:
            sql = "INSERT INTO files(state, size, sha256, successor, name, stem) VALUES(?, ?, ?, ?, ?, ?)"
            number = self.write(sql, *values, file.name, file.stem).lastrowid
            assert number is not None
            file = file._replace(number=number)
        return file

    def forget_file(self, number: int) -> None:
        """Remove a file with its blocks: its ids are not written any more."""
        self.write("DELETE FROM blocks WHERE file = ?", number)
        self.write("DELETE FROM files WHERE number = ?", number)

    def clear_successors(self, number: int | None = None) -> None:
        """Note that nothing is made of files, or not that one, any more."""
        self._db.execute(
            "UPDATE files SET successor = NULL WHERE successor = ifnull(?, successor)", (number,)
        )

    # ── blocks ──

    def blocks(self, file: int) -> list[StoreBlock]:
        """Return the blocks of a file, in the order of its rows if it is a segment."""
        return list(self.iter_blocks(file))

    def iter_blocks(self, file: int) -> Iterator[StoreBlock]:
        """Yield the same, some in memory at a time; write nothing during the iteration."""
        sql = "SELECT source, rows, since, until, ids FROM blocks WHERE file = ? ORDER BY number"
        return self.iter_rows(sql, StoreBlock, file)

    def blocks_by_file(self) -> Iterator[tuple[int, Iterator[StoreBlock]]]:
        """Yield the blocks of each file that has any, by its number, in the same way."""
        sql = "SELECT file, source, rows, since, until, ids FROM blocks ORDER BY file"
        rows = self.iter_rows(sql, tuple[int, Count, Count, int, int, IdSet])
        for file, group in groupby(rows, key=itemgetter(0)):
            yield file, (StoreBlock(*row[1:]) for row in group)

    def row_counts(self, stems: Iterable[str]) -> dict[int, int]:
        """Return the count of rows of each source in files whose stems begin so; 0 is for those of none."""
        sql = """SELECT source, sum(rows) FROM blocks JOIN files ON files.number = file
            WHERE stem = ? OR stem LIKE ? || '/%' GROUP BY source"""
        counts: Counter[int] = Counter()
        for stem in stems:
            counts.update(dict(self.rows(sql, tuple[int, int], stem, stem)))
        return dict(counts)

    def add_blocks(self, file: int, blocks: Iterable[StoreBlock]) -> None:
        sql = "INSERT INTO blocks(file, source, rows, since, until, ids) VALUES(?, ?, ?, ?, ?, ?)"
        self.write_many(sql, [(file, *block[:4], block.ids.to_bytes()) for block in blocks])

    def merge_blocks(self, files: Iterable[StoreFile], target: int, times: tuple[int, int, bool]) -> None:
        """Move the blocks of files to another one, joined to one of each source.

        `times` are those of rows that were added to them.
        """
        since, until, is_dated = times
        for file in files:
            if file.number != target:
                self.write("UPDATE blocks SET file = ? WHERE file = ?", target, file.number)
        if until >= 0 or not is_dated:
            sql = "UPDATE blocks SET since = min(since, ?), until = max(until, ?) WHERE file = ?"
            self.write(sql, since, until, target)
        sql = """SELECT source, rows, since, until, ids, number FROM blocks WHERE file = ? AND source IN
            (SELECT source FROM blocks WHERE file = ? GROUP BY source HAVING count(*) > 1)
            ORDER BY source, number"""  # sorted: changes during the iteration do not affect it
        numbered = self.iter_rows(sql, _NUMBERED_BLOCK, target, target)
        for _, group in groupby(numbered, key=itemgetter(0)):
            rows = list(group)
            self.write_many("DELETE FROM blocks WHERE number = ?", [row[-1:] for row in rows])
            self.add_blocks(target, [joint_block([StoreBlock(*row[:-1]) for row in rows])])

    # ── ids ──

    def ids_in(self, files: Iterable[StoreFile]) -> IdSet:
        return self.ids("SELECT ids FROM blocks WHERE file IN", [file.number for file in files])

    def note_seen(self, source: int, ids: IdSet) -> None:
        if ids:
            self._db.execute("INSERT INTO seen(source, ids) VALUES(?, ?)", (source, ids.to_bytes()))

    def seen(self, source: int | None = None) -> IdSet:
        """Return the ids that the list of a source has shown; None is any."""
        if source is None:
            return self.ids("SELECT ids FROM seen")
        return self.ids("SELECT ids FROM seen WHERE source IN", [source])

    def expected_ids(self) -> IdSet:
        """Return the ids that the files are to have."""
        return self.seen()

    def merge_seen(self) -> None:
        """Merge the rows of `seen`, of which each batch leaves one, per source, in a transaction."""
        # A night adds one row to a source: few sources are merged in each.
        sql = "SELECT source FROM seen GROUP BY source HAVING count(*) > ?"
        if not (sources := [source for (source,) in self.rows(sql, tuple[int], _MAX_SEEN_ROWS)]):
            return
        with self.transaction():
            for source in sources:
                ids = self.seen(source)
                self.write("DELETE FROM seen WHERE source = ?", source)
                self.note_seen(source, ids)

    def latest(self) -> int:
        """Return the latest time of all rows; -1 if none has one."""
        [(until,)] = self.rows("SELECT max(until) FROM blocks", tuple[int | None])
        return -1 if until is None else int(until)

    # ── names ──

    def assign_numbers(self, ids: PageIds) -> IdSet:
        """Return the ids of rows as one set; names that are new get their numbers."""
        if not ids.others:
            return ids.numbers
        known = self.numbers_of_names(ids.others)
        if new := [key for key in ids.others if key not in known]:
            [(last,)] = self.rows("SELECT ifnull(max(number), 0) FROM names", tuple[int])
            self.write_many("INSERT INTO names VALUES(?, ?)", enumerate(new, last + 1))
            known |= {key: NAMES + each for each, key in enumerate(new, last + 1)}
        return ids.numbers | IdSet(known.values())

    def numbers_of_names(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the numbers of ids that are texts, by the text; unknown ones are left out."""
        rows = self.rows_in("SELECT key, number FROM names WHERE key IN", keys)
        return {key: NAMES + number for key, number in rows}

    def ids_by_key(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the ids of messages by their texts, without names that are not known."""
        numbers = {key: number(key) for key in keys}
        named = self.numbers_of_names(key for key, each in numbers.items() if each is None)
        return named | {key: each for key, each in numbers.items() if each is not None}

    def keys_of(self, ids: IdSet) -> dict[int, str]:
        """Return the texts of the names in a set, by their numbers."""
        wanted = (each - NAMES for each in ids.names)
        rows = self.rows_in("SELECT number, key FROM names WHERE number IN", wanted)
        return {NAMES + number: key for number, key in rows}

    def texts(self, ids: Iterable[int]) -> list[str]:
        """Return ids as the service has them."""
        known = IdSet(ids)
        names = self.keys_of(known)
        return [names.get(each) or str(each) for each in known]


def joint_block(blocks: list[StoreBlock]) -> StoreBlock:
    return StoreBlock(
        blocks[0].source,
        sum(block.rows for block in blocks),
        min(block.since for block in blocks),
        max(block.until for block in blocks),
        IdSet.union(block.ids for block in blocks),
    )
