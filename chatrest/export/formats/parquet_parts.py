"""The Parquet files of an export, its parts: made of spools, made anew where a message has changed, repaired.

| when                                    | the journal has            | `repair` then                       |
|-----------------------------------------|----------------------------|-------------------------------------|
| before the new file is begun            | the spool                  |                                     |
| while it is made, renamed into place    | the spool, a part, "open"  | removes the part: it is made again  |
| its blocks are the part's, in one step  | the part, "whole"          | removes what is left of the spool   |
| a part is made anew                     | the part, "whole"          | removes the new file                |
| the new one is whole, not in place      | the part, "replacing"      | puts it into place                  |

The blocks of a part lie one after the other: `start` is the number of a block's first row, and `size` is 0.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

from ...core.rows import UNKNOWN, Row, row_of
from ...errors import ChatRestError
from ..disk import sync_folder
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import ids_of, number, times
from ..plan import Compress
from ..workspace import LAST, MissingIds, StoredRow, Workspace, missing_with
from .block_files import BlockFiles, block_of, free_name
from .history import History
from .ndjson import may_hold
from .parquet_columns import Piece, Table, raws_of
from .parquet_files import ParquetWriter, groups, opened, records, within
from .recovery import between, new_of

SUFFIX: Final = ".parquet"


@final
class ParquetParts:
    """All of them."""

    def __init__(self, workspace: Workspace, compress: Compress, history: History) -> None:
        self._workspace = workspace
        self._journal = workspace.journal
        self._compress = compress
        self._history = history
        self._labels: dict[int, str] = {}

    def recover(self) -> list[MissingIds]:
        """Removes what never came to be, puts into place what waits for it; what is not there is lost."""
        return [lost for part in self._journal.files("part") for lost in self._repaired(part)]

    def scan(self, first: int, last: int, since: int) -> Iterator[StoredRow]:
        """The rows of the blocks that may hold what is asked for."""
        for part in self._journal.files("part"):
            blocks = self._journal.blocks(part.number)
            if blocks := [block for block in blocks if may_hold(block, first, last, since)]:
                for block, raws in records(self._path(part), blocks):
                    yield from (StoredRow(row_of(raw), block.source) for raw in raws)

    def take(self, spool: DataFile, lines: BlockFiles, name: str) -> None:
        """Makes a part of a spool, whose place in the journal it takes."""
        journal, blocks, moved = self._journal, self._journal.blocks(spool.number), list[Block]()
        if not blocks:
            with journal.transaction():
                journal.drop_file(spool.number)
            return
        part = self._begun(spool.partition_key, name)
        with ParquetWriter(self._workspace, new_of(self._path(part)), self._compress) as made:
            made.add_rows(self._spooled(spool, blocks, lines, part, moved))
        self._put(part)
        with journal.transaction():
            journal.keep_file(part._replace(size=made.size, state="whole", digest=made.digest))
            journal.add_blocks(moved)
            journal.move_others(spool.number, part.number)
            journal.drop_file(spool.number)

    def apply_updates(self) -> int:
        """Makes the parts anew that hold an older version of a changed message; how many of these."""
        if not self._journal.has_changed(0, LAST):
            return 0
        return sum(self._amended(part) for part in self._journal.files("part"))

    # ── from a spool ──

    def _begun(self, partition_key: str, name: str) -> DataFile:
        """A part, in the journal: from here on, whatever lies at its place is nobody's."""
        with self._journal.transaction():
            if (begun := self._journal.open_file(partition_key, "part")) is not None:
                return begun
            return self._journal.add_file(free_name(self._journal, name, SUFFIX), partition_key, "part")

    def _spooled(
        self, spool: DataFile, blocks: list[Block], lines: BlockFiles, part: DataFile, moved: list[Block]
    ) -> Iterator[Piece]:
        """The records of a spool; `moved` gets their blocks, as the part's."""
        start = 0
        for block, packed in lines.packed(spool, blocks):
            raws = lines.compression.unpack(packed).splitlines()
            its = block._replace(file=part.number, start=start, size=0, rows=len(raws), digest=b"")
            moved.append(its)
            start += len(raws)
            yield Piece(self._label(block.source), raws)

    def _label(self, source: int) -> str | None:
        if source and source not in self._labels:
            self._labels = {known.number: str(known.source) for known in self._journal.sources()}
        return self._labels.get(source)

    # ── with what has changed ──

    def _amended(self, part: DataFile) -> int:
        journal, blocks = self._journal, self._journal.blocks(part.number)
        if not any(journal.has_changed(block.first, block.last) for block in blocks):
            return 0
        if not (changing := self._changing(part)):
            return 0
        with journal.transaction():
            made, count = self._made_anew(part, blocks, changing)
            part = part._replace(size=made.size, state="replacing", digest=made.digest)
            journal.keep_file(part)
        self._put(part)
        with journal.transaction():
            journal.keep_file(part._replace(state="whole"))
        return count

    def _changing(self, part: DataFile) -> set[int]:
        """The row groups that hold a message that has changed."""
        found: set[int] = set()
        with opened(self._path(part)) as file:
            for group, _, _ in groups(file):
                ids = file.read_row_group(group, columns=["id"])["id"].to_pylist()
                if self._journal.changed(ids):
                    found.add(group)
        return found

    def _made_anew(
        self, part: DataFile, blocks: list[Block], changing: set[int]
    ) -> tuple[ParquetWriter, int]:
        """Writes the new file, and the older versions to the history; inside of a transaction."""
        path, count, anew = self._path(part), 0, {block.start: block for block in blocks}
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").digest() != part.digest:
                raise ChatRestError(
                    f"{path} is not as it was written; move it elsewhere, and what was in it is read again"
                )
        with opened(path) as file, ParquetWriter(self._workspace, new_of(path), self._compress) as made:
            for group, start, _ in groups(file):
                table = file.read_row_group(group)
                if group not in changing:
                    made.add(table)
                    continue
                old: list[tuple[int, Row]] = []
                made.add_rows(self._newer(table, start, anew, old))
                self._history.add(old)
                self._journal.applied(row.id for _, row in old)
                count += len(old)
        self._journal.replace_blocks(part.number, anew.values())
        self._workspace.files.sync()
        return made, count

    def _newer(
        self, table: Table, start: int, anew: dict[int, Block], old: list[tuple[int, Row]]
    ) -> Iterator[Piece]:
        """The records of a row group as they are now; `old` gets those that they were, `anew` the blocks."""
        ids, raws = table["id"].to_pylist(), raws_of(table)
        changed = self._journal.changed(ids)
        for block, some in within(list(anew.values()), start, len(ids)):
            its = list(zip(ids[some], raws[some], strict=True))
            old += [(block.source, row_of(raw)) for key, raw in its if key in changed]
            anew[block.start] = _widened(block, [changed[key] for key in ids[some] if key in changed])
            news = [bytes(changed[key].raw) if key in changed else raw for key, raw in its]
            yield Piece(self._label(block.source), news)

    # ── on the disk ──

    def _repaired(self, part: DataFile) -> list[MissingIds]:
        path = self._path(part)
        if part.state == "replacing":
            if new_of(path).exists():
                self._put(part)
            part = part._replace(state="whole")
            self._journal.keep_file(part)
        self._workspace.disk.remove(new_of(path))
        if part.state == "whole" and path.exists() and path.stat().st_size == part.size:
            self._tell(part)
            return []
        lost = [missing_with(block) for block in self._journal.blocks(part.number)]
        self._workspace.disk.remove(path)
        self._journal.drop_file(part.number)
        return lost

    def _tell(self, part: DataFile) -> None:
        """Somebody has cut blocks out of the journal: their rows are there, and tell of themselves."""
        with opened(self._path(part)) as file:
            rows = file.metadata.num_rows
        source = self._journal.source_of(part.partition_key)
        for gap in _untold(self._journal.blocks(part.number), rows):
            start = gap.start
            for _, raws in records(self._path(part), [gap]):
                found = sorted(map(row_of, raws), key=lambda row: number(row.id) or 0)
                told = block_of(part.number, start, b"", source, found, ids_of(found))._replace(digest=b"")
                self._journal.add_blocks([told])
                start += len(raws)

    def _put(self, part: DataFile) -> None:
        path = self._path(part)
        self._workspace.disk.replace(new_of(path), path)
        sync_folder(self._workspace.disk, self._workspace.folder)

    def _path(self, part: DataFile) -> Path:
        return self._workspace.folder / part.name


def _widened(block: Block, rows: list[Row]) -> Block:
    """The block, with the times of rows that are in it now."""
    known = [time for time in (block.since, block.until, *times(rows)) if time != UNKNOWN]
    return block._replace(since=min(known, default=UNKNOWN), until=max(known, default=UNKNOWN))


def _untold(blocks: list[Block], rows: int) -> list[Block]:
    """The rows between blocks, and behind the last one, as blocks of which nothing else is known."""
    told = ((block.start, block.rows) for block in blocks)
    return [
        Block(0, start, 0, 0, end - start, 0, 0, UNKNOWN, UNKNOWN, b"", IdSet())
        for start, end in between(told, rows)
    ]
