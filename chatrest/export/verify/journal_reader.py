"""The journal as a witness: what it tells of an export, read without changing anything.

A journal that is closed has no `-wal` file beside it: it is read as a file that nobody writes, and nothing is
made beside it. One that is being written has, and is locked; one whose run was killed has, and is not.
"""

import sqlite3
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar, final

import msgspec

from ...core.intervals import Interval, merge
from ...errors import ChatRestError
from ..journal import NAME, Block, DataFile
from ..manifest import PartEntry, SourceEntry, entry_of
from ..ownership import Source
from ..plan import Plan

T = TypeVar("T")

_VERSION = 1
_DAMAGE = (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError, OverflowError)
_FRAMES = "SELECT * FROM blocks WHERE part = ? ORDER BY start"


class InUseError(ChatRestError):
    """The export is being written."""


class UnreadableError(ChatRestError):
    """The journal is damaged, or none."""


class Left(NamedTuple):
    """Ids that a source left to other ones."""

    source: int
    ids: "array[int]"


@final
class JournalReader:
    """A journal, open for reading; used with `with`. Its methods raise `UnreadableError`."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        mode = "mode=ro" if path.with_name(f"{NAME}-wal").exists() else "immutable=1"
        try:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=0)
        except sqlite3.Error as error:
            raise UnreadableError(f"it cannot be read ({error})") from None
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def _open(self) -> None:
        try:
            [version] = self._db.execute("PRAGMA user_version").fetchone()
        except _DAMAGE as error:
            if "locked" in str(error):
                raise InUseError("an export is being written here") from None
            raise UnreadableError(f"it cannot be read ({error})") from None
        if version != _VERSION:
            raise UnreadableError("it is not an export's journal, or of another version")
        self._names = {number: str(source) for number, source, *_ in self._sources()}

    # ── what it tells ──

    def plan(self) -> Plan | None:
        """The plan of the export."""
        found = list(self._rows("SELECT value FROM meta WHERE name = 'plan'", tuple[str]))
        try:
            return Plan.parse(found[0][0]) if found else None
        except _DAMAGE as error:  # what a plan refuses is a ValueError as well
            raise UnreadableError(f"its plan cannot be read ({error})") from None

    def name(self, source: int) -> str:
        """A source's name; 0 is none, and has none."""
        return self._names.get(source, f"source {source}" if source else "")

    def sources(self) -> Iterator[SourceEntry]:
        """The sources, as a manifest has them; the messages are those in blocks."""
        counts = self.counts()
        for number, source, state, error in list(self._sources()):
            spans = [(str(span.first), str(span.last)) for span in self.intervals(number)]
            yield SourceEntry([source.kind, *source.names], state, counts.get(number, 0), spans, error)

    def counts(self) -> dict[int, int]:
        """How many messages each source has in blocks."""
        sql = """SELECT source, sum(rows) FROM blocks JOIN parts ON number = part WHERE role <> 'history'
            GROUP BY source"""
        return dict(self._rows(sql, tuple[int, int]))

    def spans(self, source: int) -> list[Interval]:
        """What a source has covered."""
        rows = self._rows("SELECT first, last FROM covered WHERE source = ?", tuple[int, int], source)
        return merge(Interval(first, last) for first, last in rows)

    def parts(self) -> Iterator[PartEntry]:
        """The parts, as a manifest has them."""
        for part in list(self._rows("SELECT * FROM parts WHERE size > 0 ORDER BY number", DataFile)):
            yield entry_of(part, list(self._rows(_FRAMES, Block, part.number)))

    def blocks(self, name: str) -> list[Block]:
        """The blocks of a part."""
        sql = "SELECT blocks.* FROM blocks JOIN parts ON number = part WHERE name = ? ORDER BY start"
        return list(self._rows(sql, Block, name))

    def left(self) -> Iterator[Left]:
        """What sources left to others."""
        for source, packed in self._rows("SELECT source, ids FROM deferred", tuple[int, bytes]):
            ids = array("q")
            try:
                ids.frombytes(packed)
            except ValueError as error:
                raise UnreadableError(f"it cannot be read ({error})") from None
            yield Left(source, ids)

    def is_settled(self) -> bool:
        """Whether all that was left to others was found to be there, or to be nowhere any more."""
        rows = self._rows("SELECT name, ids, product FROM balance", tuple[str, int, str])
        found = {name: (ids, product) for name, ids, product in rows}
        return found.get("open") == found.get("settled")

    def _sources(self) -> Iterator[tuple[int, Source, str, str | None]]:
        sql = "SELECT number, source, state, error FROM sources ORDER BY number"
        for number, key, state, error in self._rows(sql, tuple[int, str, str, str | None]):
            try:
                source = Source.parse(key)
            except _DAMAGE as fault:
                raise UnreadableError(f"it cannot be read ({fault})") from None
            yield number, source, state, error

    def _rows(self, sql: str, kind: type[T], *values: Any) -> Iterator[T]:
        try:
            for row in self._db.execute(sql, values):
                yield msgspec.convert(row, kind)
        except _DAMAGE as error:
            raise UnreadableError(f"it cannot be read ({error})") from None
