"""NDJSON: the service's exact bytes, a record a line.

A message that has changed takes the place of its older version: the file is rewritten (`data_files`), and the
older version goes to the history. Small files of one partition are merged in the same way.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from ...core.replies.rows import Row, lines_of
from ..file_names import STEM, partition_folder, partition_rows
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import PageIds, ids_of
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, StoredRow, Workspace
from .block_files import LARGEST, LARGEST_OBJECT, BlockFiles, block_of
from .compression import compression
from .data_files import commit_in_place, small_groups, sweep_spool, take_blocks
from .history import History
from .recovery import recover_blocks


@final
class NdjsonSink:
    """The sink of `ndjson`."""

    upserts: Final = False

    def __init__(self, plan: Plan, workspace: Workspace, *, largest: int = LARGEST) -> None:
        assert plan.compress is not None
        assert plan.partition is not None
        packed = compression(plan.compress)
        self._workspace = workspace
        self._partition = plan.partition
        self._largest = largest = min(largest, LARGEST if workspace.remote is None else LARGEST_OBJECT)
        self._files = BlockFiles(workspace, packed, role="part", largest=largest)
        self._history = History(workspace, packed)

    def recover(self) -> None:
        """Drop from the journal what is not on disk, and finish what was being put in place."""
        self._history.recover()
        recover_blocks(self._workspace, self._files)
        sweep_spool(self._workspace)

    def written_ids(self) -> IdSet:
        """Return the ids of all blocks."""
        return self._workspace.journal.ids_in_blocks()

    def add(self, number: int, source: Source, rows: list[Row], ids: PageIds | None = None) -> int:
        """Take rows; return how many: all of them are new."""
        for key, part in partition_rows(self._partition, source, rows).items():
            self._files.add(
                key,
                f"{partition_folder(self._partition, key)}/{STEM}",
                number,
                part,
                ids if part is rows else None,
            )
        return len(rows)

    def flush(self) -> None:
        """Write, and sync."""
        self._files.flush()
        self._workspace.files.sync()

    def rollback(self) -> None:
        """Forget what was not committed."""
        self._files.rollback()
        self._history.rollback()

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield the rows of the blocks that may hold one."""
        return self._files.scan(first, last, since)

    def counts(self) -> dict[int, int]:
        """Return the numbers of messages from the blocks."""
        return self._workspace.journal.rows(["part"])

    def maintain(self) -> None:
        """Give new files their names."""
        self._files.put_in_place()

    def apply_updates(self) -> int:
        """Rewrite the files that hold an older version of a changed message."""
        self.maintain()
        if not self._workspace.journal.has_changed(0, LAST):
            return 0
        return sum(self._updated(file) for file in self._workspace.journal.files("part"))

    def compact(self, least: int, begin: Callable[[], None]) -> int:
        """Merge the small files of each partition that has at least so many; return how many are gone."""
        self.maintain()
        groups = list(small_groups(self._workspace.journal.files("part"), self._largest, least))
        if groups:
            begin()
        for group in groups:
            self._rewritten(group, frozenset())
        return sum(map(len, groups)) - len(groups)

    def finish(self) -> None:
        """Give new files their names."""
        self.maintain()
        sweep_spool(self._workspace)

    def close(self) -> None:
        """Do nothing: the files are the workspace's."""

    # ── rewriting ──

    def _updated(self, file: DataFile) -> int:
        """Rewrite a file, if it holds a message that has changed; return how many it holds."""
        journal = self._workspace.journal
        blocks = [b for b in journal.blocks(file.number) if journal.has_changed(b.first, b.last)]
        if not blocks:
            return 0
        with self._workspace.content(file):
            changed = frozenset(
                block.start
                for block, packed in self._files.packed(file, blocks)
                if journal.changed(row.id for row in self._files.rows(packed))
            )
            return self._rewritten([file], changed) if changed else 0

    def _rewritten(self, files: Sequence[DataFile], changed: frozenset[int]) -> int:
        """Write the blocks of files of a partition into the first of them; the others become empty.

        `changed` are the starts of blocks with changed messages, where there is one file. Returns how many
        messages have changed. Costs the reading and writing of the files, and memory for a block.
        """
        workspace, journal = self._workspace, self._workspace.journal
        target = files[0]
        with journal.transaction():
            workspace.make_spool()
            workspace.files.clear(workspace.new_path(target))
            size = count = 0
            for file, blocks in zip(files, take_blocks(journal, files), strict=True):
                for block, packed in self._files.packed(file, blocks):
                    if block.start in changed:
                        packed, updates = self._renewed(block, packed, size)
                        count += updates
                    else:
                        journal.add_blocks([block._replace(file=target.number, start=size)])
                    workspace.files.write(workspace.new_path(target), size, packed)
                    size += len(packed)
            workspace.files.sync()
            rewritten = [file._replace(size=0, state="replacing") for file in files]
            rewritten[0] = target._replace(size=size, state="replacing")
            for file in rewritten:
                journal.keep_file(file)
        self._history.put_in_place()
        commit_in_place(workspace, rewritten, self._files.state_of)
        self._files.rollback()  # it knows the files by their former sizes
        return count

    def _renewed(self, block: Block, packed: bytes, start: int) -> tuple[bytes, int]:
        """Return a block's bytes as they are to be, and how many of its messages have changed."""
        journal = self._workspace.journal
        rows = self._files.rows(packed)
        changed = journal.changed(row.id for row in rows)
        self._history.add([(block.source, row) for row in rows if row.id in changed])
        rows = [changed.get(row.id, row) for row in rows]
        packed = self._files.compression.pack(lines_of(rows))
        journal.add_blocks([block_of(block.file, start, packed, block.source, rows, ids_of(rows))])
        journal.applied(changed)
        return packed, len(changed)
