"""NDJSON: the service's exact bytes, a record a line, in a file a source or a file a month.

A message that has changed takes the place of its older version in a new file, which then takes the place of
the old one; the older version goes to the history.
"""

from collections.abc import Iterator
from typing import Final, final

from ...core.rows import Row
from ..disk import sync_folder
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import ids_of
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, MissingIds, StoredRow, Workspace
from .block_files import BlockFiles, block_of, lines_of
from .compression import compression
from .history import History
from .recovery import new_of, repaired


@final
class NdjsonSink:
    """The sink of `ndjson`."""

    upserts: Final = False

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        assert plan.compress is not None
        assert plan.partition is not None
        packed = compression(plan.compress)
        self._workspace = workspace
        self._lines = BlockFiles(workspace, packed, role="part", partition=plan.partition)
        self._history = History(workspace, packed)

    def recover(self) -> list[MissingIds]:
        """Cuts torn ends, and finishes what was being put into place."""
        self._history.recover()
        return repaired(self._workspace, self._lines)

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows: all of them are new."""
        self._lines.add(number, source, rows)
        return len(rows)

    def flush(self) -> None:
        """Writes, and syncs."""
        self._lines.flush()
        self._workspace.files.sync()

    def rollback(self) -> None:
        """Forgets what was not committed."""
        self._lines.rollback()
        self._history.rollback()

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """The rows of the blocks that may hold one."""
        yield from stored_lines(self._workspace, self._lines, first, last, since)

    def written_ids(self) -> IdSet:
        """As the blocks tell."""
        return self._workspace.journal.ids_in_blocks()

    def counts(self) -> dict[int, int]:
        """As the blocks tell."""
        return self._workspace.journal.rows(["part"])

    def apply_updates(self) -> int:
        """Rewrites the files that hold an older version of a changed message."""
        if not self._workspace.journal.has_changed(0, LAST):
            return 0
        return sum(self._amended(part) for part in self._workspace.journal.files("part"))

    def maintain(self) -> None:
        """Nothing: its files are always as they should be."""

    def finish(self) -> None:
        """Nothing: its files are always as they should be."""

    def close(self) -> None:
        """Nothing: its files are the workspace's."""

    def _amended(self, part: DataFile) -> int:
        """Makes a file anew, if it holds a message that has changed; how many it holds."""
        if not self._has_changed(part):
            return 0
        path = self._workspace.folder / part.name
        with self._workspace.journal.transaction():
            size, count = self._made_anew(part)
            self._workspace.journal.keep_file(part._replace(size=size, state="replacing"))
        self._workspace.files.rollback(path)
        self._workspace.disk.replace(new_of(path), path)
        sync_folder(self._workspace.disk, self._workspace.folder)
        with self._workspace.journal.transaction():
            self._workspace.journal.keep_file(part._replace(size=size, state=self._lines.state_at(size)))
        self._lines.rollback()
        return count

    def _has_changed(self, part: DataFile) -> bool:
        """Whether a file holds a message that has changed. The ids of its blocks tell only that it may."""
        journal = self._workspace.journal
        blocks = journal.blocks(part.number)
        some = [block for block in blocks if journal.has_changed(block.first, block.last)]
        return any(
            journal.changed(row.id for row in self._lines.rows(packed))
            for _, packed in (self._lines.packed(part, some) if some else ())
        )

    def _made_anew(self, part: DataFile) -> tuple[int, int]:
        """Writes the new content beside the file, a block at a time; its size, and how many have changed."""
        journal, new = self._workspace.journal, new_of(self._workspace.folder / part.name)
        self._workspace.disk.remove(new)
        size = count = 0
        blocks = journal.blocks(part.number)
        journal.replace_blocks(part.number, ())
        for block, packed in self._lines.packed(part, blocks):
            packed, its = self._renewed(block, packed, size)
            count += its
            self._workspace.files.write(new, size, packed)
            size += len(packed)
        self._workspace.files.sync()
        self._workspace.files.rollback(new)
        return size, count

    def _renewed(self, block: Block, packed: bytes, start: int) -> tuple[bytes, int]:
        """A block's bytes as they are to be, and how many of its messages have changed."""
        journal = self._workspace.journal
        rows = self._lines.rows(packed) if journal.has_changed(block.first, block.last) else []
        changed = journal.changed(row.id for row in rows)
        if not changed:
            journal.add_blocks([block._replace(start=start)])
            return packed, 0
        self._history.add([(block.source, row) for row in rows if row.id in changed])
        rows = [changed.get(row.id, row) for row in rows]
        packed = self._lines.compression.pack(lines_of(rows))
        journal.add_blocks([block_of(block.file, start, packed, block.source, rows, ids_of(rows))])
        journal.applied(changed)
        return packed, len(changed)


def stored_lines(
    workspace: Workspace, lines: BlockFiles, first: int, last: int, since: int
) -> Iterator[StoredRow]:
    """The rows of those blocks of growing files that may hold what is asked for."""
    for part in workspace.journal.files(lines.role):
        blocks = [
            block for block in workspace.journal.blocks(part.number) if may_hold(block, first, last, since)
        ]
        for block, packed in lines.packed(part, blocks) if blocks else ():
            for row in lines.rows(packed):
                yield StoredRow(row, block.source)


def may_hold(block: Block, first: int, last: int, since: int) -> bool:
    """Whether a block may have a row with an id from `first` to `last`, sent at `since` or later."""
    return bool(block.other) or (block.last >= first and block.first <= last and block.until >= since)
