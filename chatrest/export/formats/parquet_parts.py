"""The Parquet files of an export: made of spools, rewritten where a message has changed, merged where small.

How their content is made and put in place is told in `data_files`. The blocks of a file lie one after the
other: `start` is the number of a block's first row, and `size` is 0.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, final

from ...core.replies.rows import UNKNOWN, Row, row_of
from ...errors import ChatRestError
from ..journal import Block, DataFile, FileState
from ..message_ids import times
from ..plan import Compress
from ..workspace import StoredRow, Workspace
from .block_files import BlockFiles, may_hold
from .data_files import commit_in_place, free_name, take_blocks
from .history import History
from .parquet_files import ParquetWriter, groups, opened, records, within
from .parquet_rows import Piece, Table, grouped, raws_of, tables
from .record_members import clean

SUFFIX: Final = ".parquet"


def whole(file: DataFile) -> FileState:
    """Return the state of a Parquet file that is in place: nothing can be added to it."""
    return "whole"


@final
class ParquetParts:
    """The Parquet files of one export."""

    def __init__(self, workspace: Workspace, compress: Compress, history: History) -> None:
        self._workspace = workspace
        self._journal = workspace.journal
        self._compress = compress
        self._history = history
        self._labels: dict[int, str] = {}

    def scan(self, first: int, last: int, since: int) -> Iterator[StoredRow]:
        """Yield the rows of the blocks that may hold one with such an id or time."""
        for file in self._journal.files("part"):
            blocks = self._journal.blocks(file.number)
            if blocks := [block for block in blocks if may_hold(block, first, last, since)]:
                with self._workspace.content(file) as path:
                    for block, raws in records(path, blocks):
                        yield from (StoredRow(row_of(raw), block.source) for raw in raws)

    def take(self, spool: DataFile, lines: BlockFiles, stem: str) -> None:
        """Make a file of a spool, whose place in the journal it takes; outside of a transaction."""
        journal, workspace = self._journal, self._workspace
        with journal.transaction():
            file = journal.add_file(free_name(workspace, stem, SUFFIX), spool.partition_key, "part")
            made = self._writer(file)
            moved: list[Block] = []
            with made:
                made.add(tables(self._spooled(spool, lines, file, moved)))
            file = file._replace(size=made.size, state="replacing", digest=made.digest)
            journal.keep_file(file)
            journal.add_blocks(moved)
            journal.move_others(spool.number, file.number)
            journal.drop_file(spool.number)
        commit_in_place(workspace, [file], whole)

    def apply_updates(self) -> int:
        """Rewrite the files that hold an older version of a changed message; return how many of these."""
        return sum(self._updated(file) for file in self._journal.files("part"))

    def merge(self, files: Sequence[DataFile]) -> None:
        """Merge files of one partition into the first of them."""
        self._rewrite(files, lambda source: grouped(self._tables(source)))

    # ── from a spool ──

    def _spooled(
        self, spool: DataFile, lines: BlockFiles, file: DataFile, moved: list[Block]
    ) -> Iterator[Piece]:
        """Yield the records of a spool; `moved` gets their blocks, as the file's."""
        start = 0
        for block, packed in lines.packed(spool, self._journal.blocks(spool.number)):
            moved.append(block._replace(file=file.number, start=start, size=0, digest=b""))
            start += block.rows
            yield Piece(self._label(block.source), block.rows, lines.compression.unpack(packed))

    def _label(self, source: int) -> str | None:
        if source and source not in self._labels:
            self._labels = {known.number: clean(str(known.source)) for known in self._journal.sources()}
        return self._labels.get(source)

    # ── rewriting ──

    def _updated(self, file: DataFile) -> int:
        journal, blocks = self._journal, self._journal.blocks(file.number)
        if not any(journal.has_changed(block.first, block.last) for block in blocks):
            return 0
        with self._workspace.content(file):
            if not (changing := self._changing_groups(file)):
                return 0
            update = _Update(self._workspace, self._history, self._label, changing, blocks)
            self._rewrite([file], update.tables, update.blocks)
        return update.count

    def _changing_groups(self, file: DataFile) -> set[int]:
        """Return the row groups that hold a message that has changed."""
        changing: set[int] = set()
        with opened(self._workspace.path(file)) as parquet:
            for group, _, _ in groups(parquet):
                ids = parquet.read_row_group(group, columns=["id"])["id"].to_pylist()
                if self._journal.changed(ids):
                    changing.add(group)
        return changing

    def _rewrite(
        self,
        files: Sequence[DataFile],
        contents: Callable[[Iterator[DataFile]], Iterator[Table]],
        new_blocks: dict[int, Block] | None = None,
    ) -> None:
        """Write what `contents` makes of files into the first of them; the others become empty.

        Costs the reading and writing of the files, and memory for a row group.
        """
        journal, workspace = self._journal, self._workspace
        with journal.transaction():
            with self._writer(files[0]) as made:
                made.add(contents(self._checked(files)))
            joined = _joined(files[0], take_blocks(journal, files))
            journal.add_blocks(joined if new_blocks is None else new_blocks.values())
            replaced = [file._replace(size=0, state="replacing") for file in files]
            replaced[0] = files[0]._replace(size=made.size, state="replacing", digest=made.digest)
            for file in replaced:
                journal.keep_file(file)
            workspace.files.sync()
        self._history.put_in_place()
        commit_in_place(workspace, replaced, whole)

    def _tables(self, files: Iterator[DataFile]) -> Iterator[Table]:
        """Yield the row groups of files."""
        for file in files:
            with opened(self._workspace.path(file)) as parquet:
                for group, _, _ in groups(parquet):
                    yield parquet.read_row_group(group)

    def _checked(self, files: Sequence[DataFile]) -> Iterator[DataFile]:
        """Yield files that are as they were written; each is in its place until the next one."""
        for file in files:
            with self._workspace.content(file) as path:
                with path.open("rb") as parquet:
                    digest = hashlib.file_digest(parquet, "sha256").digest()
                if digest != file.digest:
                    raise ChatRestError(
                        f"{path} is not as it was written; move it elsewhere, and what was in it is read "
                        "again"
                    )
                yield file

    def _writer(self, file: DataFile) -> ParquetWriter:
        self._workspace.make_spool()
        return ParquetWriter(self._workspace, self._workspace.new_path(file), self._compress)


class _Update:
    """A file with newer versions of its messages, on the way to its new content."""

    def __init__(
        self,
        workspace: Workspace,
        history: History,
        label: Callable[[int], str | None],
        changing: set[int],
        blocks: list[Block],
    ) -> None:
        self._workspace = workspace
        self._history = history
        self._label = label
        self._changing = changing
        self.blocks: dict[int, Block] = {block.start: block for block in blocks}
        self.count: int = 0

    def tables(self, files: Iterator[DataFile]) -> Iterator[Table]:
        """Yield the row groups of a file as they are to be; the older versions go to the history."""
        for file in files:
            with opened(self._workspace.path(file)) as parquet:
                for group, start, _ in groups(parquet):
                    table = parquet.read_row_group(group)
                    if group not in self._changing:
                        yield table
                        continue
                    older: list[tuple[int, Row]] = []
                    yield from tables(self._newer(table, start, older))
                    self._history.add(older)
                    self._workspace.journal.applied(row.id for _, row in older)
                    self.count += len(older)

    def _newer(self, table: Table, start: int, older: list[tuple[int, Row]]) -> Iterator[Piece]:
        """Yield the records of a row group as they are now; `older` gets those that they were."""
        ids, raws = table["id"].to_pylist(), raws_of(table)
        changed = self._workspace.journal.changed(ids)
        for block, rows in within(list(self.blocks.values()), start, len(ids)):
            pairs = list(zip(ids[rows], raws[rows], strict=True))
            older += [(block.source, row_of(raw)) for key, raw in pairs if key in changed]
            self.blocks[block.start] = _widened(block, [changed[key] for key, _ in pairs if key in changed])
            raws_now = [bytes(changed[key].raw) if key in changed else raw for key, raw in pairs]
            yield Piece(self._label(block.source), len(pairs), b"\n".join([*raws_now, b""]))


def _joined(file: DataFile, blocks: list[list[Block]]) -> Iterator[Block]:
    """Yield the blocks of several files as those of one that has all their rows."""
    start = 0
    for block in chain.from_iterable(blocks):
        yield block._replace(file=file.number, start=start)
        start += block.rows


def _widened(block: Block, rows: list[Row]) -> Block:
    """Return the block with the times of rows that are in it now."""
    known = [time for time in (block.since, block.until, *times(rows)[:2]) if time != UNKNOWN]
    return block._replace(since=min(known, default=UNKNOWN), until=max(known, default=UNKNOWN))
