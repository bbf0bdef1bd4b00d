"""Typed reads of the journal, for all who read it: the run, the verification, the dry run, the reader of an
export. A value that cannot be one of its column is an `UnreadableError` that names the journal.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from ...core.paging.intervals import Interval, merge
from ...core.replies.rows import Row, row_of
from ...core.requests.endpoint import Pairs
from ...storage import FAULTS, JournalFile, UnreadableError, sql_in
from ..id_set import IdSet
from ..message_ids import number
from ..ownership import Source
from .records import Block, Count, DataFile, DeletedId, OtherId, Recheck, Role, SourceState, State
from .schema import FACTS, LAYOUT

T = TypeVar("T")

_DAMAGE: Final = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, UnicodeDecodeError)
_WRITTEN: Final = "SELECT ids FROM blocks JOIN files ON number = file WHERE role <> 'history'"


class JournalReader(JournalFile):
    """A journal, open for reading; raises as `JournalFile`."""

    def __init__(self, path: Path, begin: Mapping[str, str] | None = None) -> None:
        """Open a journal without changing it; for writing where `begin`, the meta of a new one, is given."""
        meta = () if begin is None else begin.items()
        insert = "INSERT INTO meta VALUES(?, ?)"
        super().__init__(path, LAYOUT, None if begin is None else lambda db: db.executemany(insert, meta))

    def facts(self) -> str:
        """Return a SHA-256 of all rows in the order of their keys: a changed value gives another one.

        The generation is left out, as each opening changes it.
        """
        digest = hashlib.sha256()
        for sql in FACTS:
            for row in self._rows(sql, tuple[Any, ...]):
                digest.update(msgspec.msgpack.encode(row))
        return digest.hexdigest()

    # ── meta and sources ──

    def __getitem__(self, name: str) -> str | None:
        """A value of meta; None where there is none."""
        row = self._first("SELECT value FROM meta WHERE name = ?", tuple[str], name)
        return None if row is None else row[0]

    def sources(self) -> list[SourceState]:
        """All sources, in the order of their numbers."""
        sql = "SELECT number, key, state, error, by_time, proven, asked FROM sources ORDER BY number"
        rows = list(self._rows(sql, tuple[int, str, State, str | None, bool, Count, bool]))
        try:
            return [SourceState(number, Source.parse(key), *rest) for number, key, *rest in rows]  # type: ignore[arg-type]
        except _DAMAGE as error:
            raise UnreadableError(f"{self.path} is damaged: {error}") from None

    def sources_of(self, numbers: Iterable[int]) -> dict[int, Source]:
        """The sources of these numbers, without those that there are not; the others are not read."""
        rows = sql_in(self._db, "SELECT number, key FROM sources WHERE number IN", set(numbers))
        return {number: Source.parse(key) for number, key in self._typed(rows, tuple[int, str])}

    def source_of(self, partition_key: str) -> int:
        """The number of the source that a file belongs to; 0 where it belongs to none."""
        row = self._first("SELECT number FROM sources WHERE key = ?", tuple[int], partition_key)
        return 0 if row is None else row[0]

    def intervals(self, source: int) -> list[Interval]:
        """The ids of a source that were read."""
        sql = "SELECT first, last, position FROM covered WHERE source = ?"
        rows = self._rows(sql, tuple[int, int, str], source)
        return merge(Interval(first, last, position_of(text, last)) for first, last, text in rows)

    # ── ids ──

    def seen(self, source: int) -> IdSet:
        """The ids that the list of a source has shown."""
        rows = self._rows("SELECT ids FROM seen WHERE source = ?", tuple[IdSet], source)
        return IdSet.union(ids for (ids,) in rows)

    def all_seen(self) -> IdSet:
        """The ids that any list has shown."""
        return IdSet.union(ids for (ids,) in self._rows("SELECT ids FROM seen", tuple[IdSet]))

    def ids_in_blocks(self) -> IdSet:
        """The ids of all blocks of messages: what the files hold."""
        return IdSet.union(ids for (ids,) in self._rows(_WRITTEN, tuple[IdSet]))

    def shown(self) -> IdSet:
        """The ids that the service has shown in the recheck that is under way."""
        return IdSet.union(ids for (ids,) in self._rows("SELECT ids FROM shown", tuple[IdSet]))

    def other_ids(self) -> Iterator[OtherId]:
        """The ids that are no numbers, one row for each source that saw one."""
        return self._rows("SELECT key, source, file FROM other_ids ORDER BY key, source", OtherId)

    def sources_of_other_ids(self) -> set[int]:
        """Return the sources that have shown an id that is no number."""
        return {source for (source,) in self._rows("SELECT DISTINCT source FROM other_ids", tuple[int])}

    def other_ids_written(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys that are in a file."""
        sql = "SELECT key FROM other_ids WHERE file IS NOT NULL AND key IN"
        return {key for (key,) in self._typed(sql_in(self._db, sql, keys), tuple[str])}

    def other_ids_seen(self, source: int, keys: Iterable[str]) -> set[str]:
        """Those of these keys that the list of a source has shown."""
        rows = self._typed(
            sql_in(self._db, "SELECT key, source FROM other_ids WHERE key IN", keys), tuple[str, int]
        )
        return {key for key, number in rows if number == source}

    def other_ids_unwritten(self) -> list[tuple[str, int]]:
        """The ids that are no numbers, and in no file, each with a source that saw it."""
        sql = """SELECT key, source FROM other_ids AS seen WHERE NOT EXISTS
            (SELECT 1 FROM other_ids AS written WHERE written.key = seen.key AND file IS NOT NULL)"""
        return list(self._rows(sql, tuple[str, int]))

    # ── files ──

    def files(self, role: Role | None = None) -> list[DataFile]:
        """The files, in the order in which they were made."""
        sql = """SELECT number, name, partition_key, role, size, state, digest FROM files
            WHERE ? IS NULL OR role = ? ORDER BY number"""
        return list(self._rows(sql, DataFile, role, role))

    def open_file(self, partition_key: str, role: Role) -> DataFile | None:
        """The file that more of this is added to."""
        sql = """SELECT number, name, partition_key, role, size, state, digest FROM files
            WHERE partition_key = ? AND role = ? AND state = 'open' ORDER BY number DESC LIMIT 1"""
        return self._first(sql, DataFile, partition_key, role)

    def has_file(self, name: str) -> bool:
        """Return whether a file has this name, in capitals or not: some systems do not tell them apart."""
        return self._first("SELECT 1 FROM files WHERE name = ?", tuple[int], name) is not None

    def blocks(self, file: int) -> list[Block]:
        """The blocks of a file, in order."""
        return list(self._rows("SELECT * FROM blocks WHERE file = ? ORDER BY start", Block, file))

    def rows(self, roles: Iterable[Role]) -> dict[int, int]:
        """Return the count of rows of each source in the blocks of files; 0 is for those of no source."""
        sql = """SELECT source, sum(rows) FROM blocks JOIN files ON number = file
            WHERE role IN (SELECT value FROM json_each(?)) GROUP BY source"""
        return dict(self._rows(sql, tuple[int, int], msgspec.json.encode(list(roles)).decode()))

    # ── reading again ──

    def rechecks(self) -> dict[int, Recheck]:
        """The sources that are read again, by their number; those that are done, too, until all are."""
        sql = "SELECT source, since, after, until, position FROM rechecks"
        return {
            source: Recheck(since, after, until, position_of(text, after))
            for source, since, after, until, text in self._rows(sql, tuple[int, int, int, int, str])
        }

    def changed(self, ids: Iterable[str]) -> dict[str, Row]:
        """The changed messages among these."""
        rows = sql_in(self._db, "SELECT id, raw FROM changed WHERE id IN", ids)
        return {key: row_of(raw) for key, raw in self._typed(rows, tuple[str, bytes])}

    def has_changed(self, first: int, last: int) -> bool:
        """Return whether a message has changed whose id lies from `first` to `last`, or is no number."""
        sql = "SELECT 1 FROM changed WHERE number BETWEEN ? AND ? OR number IS NULL LIMIT 1"
        return self._first(sql, tuple[int], first, last) is not None

    def waiting(self) -> Iterator[Row]:
        """The changed messages that have not taken their places yet."""
        for (raw,) in self._rows("SELECT raw FROM changed", tuple[bytes]):
            yield row_of(raw)

    def deleted(self, *, missing: bool = False) -> list[DeletedId]:
        """Return the ids that the service does not show any more; with `missing` those not on disk either."""
        sql = "SELECT id, source, noticed, missing FROM deleted WHERE missing = ?"
        return sorted(self._rows(sql, DeletedId, int(missing)), key=_order)

    # ── values ──

    def _first(self, sql: str, kind: type[T], *values: Any) -> T | None:
        return next(self._rows(sql, kind, *values), None)

    def _rows(self, sql: str, kind: type[T], *values: Any) -> Iterator[T]:
        with self._errors():
            rows = self._db.execute(sql, values)
        return self._typed(rows, kind)

    def _typed(self, rows: Iterator[Any], kind: type[T]) -> Iterator[T]:
        try:
            for row in rows:
                yield msgspec.convert(row, kind, strict=False, dec_hook=_read_value)
        except FAULTS as error:
            raise self._failure(error) from None
        except _DAMAGE as error:
            raise UnreadableError(f"{self.path} is damaged: {error}") from None


def _read_value(kind: type, value: Any) -> Any:
    if kind is IdSet and isinstance(value, bytes):
        return IdSet.from_bytes(value)
    raise ValueError(f"{type(value).__name__} in the place of {kind.__name__}")


def position_of(text: str, last: int) -> Pairs:
    """The position after an id; none where the journal was edited, and it would leave something out."""
    try:
        position = msgspec.json.decode(text, type=tuple[tuple[str, str], ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    named = number(dict(position).get("id", ""))
    return () if named is None or named > last else position


def _order(deleted: DeletedId) -> tuple[int, str]:
    return number(deleted.id) or 0, deleted.id
