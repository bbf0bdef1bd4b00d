"""Parquet: columns to ask questions of, and each record as it was served in one of them.

A Parquet file can neither grow nor be cut, and a page must be on the disk before the journal covers it. So
rows go to a spool first: growing files of lines in the folder `spool`, compressed. When a spool is full, and
at the end of a run, it becomes a Parquet file and is removed, one after the other: no more room is needed
than one of them takes. What has changed takes its place after that, and so in Parquet files only.
"""

from collections.abc import Callable, Iterator
from typing import Final, final

from ...core.replies.rows import Row
from ...errors import RequestInvalidError
from ...extras import missing_extra
from ..file_names import SPOOL, STEM, partition_folder, partition_rows
from ..id_set import IdSet
from ..journal import DataFile
from ..message_ids import PageIds
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, StoredRow, Workspace
from .block_files import BlockFiles
from .data_files import small_groups, sweep_spool
from .history import History
from .recovery import recover_blocks, recover_whole

LARGEST: Final = 1 << 26
"""Bytes of a spool from which on the next one is begun. Its Parquet file has about as many."""


@final
class ParquetSink:
    """The sink of `parquet`; `RequestInvalidError` where pyarrow is not installed."""

    upserts: Final = False

    def __init__(self, plan: Plan, workspace: Workspace, *, largest: int = LARGEST) -> None:
        try:
            from . import (  # here, for it may not be there, and takes long to be imported
                parquet_files,
                parquet_parts,
            )
        except ImportError:
            raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet")) from None
        assert plan.compress is not None
        assert plan.partition is not None
        self._workspace = workspace
        self._partition = plan.partition
        self._largest = largest
        compression = parquet_files.compression_of("zstd")
        self._lines = BlockFiles(workspace, compression, role="spool", suffix=".spool", largest=largest)
        self._history = History(workspace, parquet_files.compression_of(plan.compress))
        self._parts = parquet_parts.ParquetParts(workspace, plan.compress, self._history)
        self._whole = parquet_parts.whole

    def recover(self) -> None:
        """Drop from the journal what is not on disk, and finish what was being put in place."""
        self._history.recover()
        recover_blocks(self._workspace, self._lines)
        recover_whole(self._workspace, self._whole)
        sweep_spool(self._workspace)

    def written_ids(self) -> IdSet:
        """Return the ids of all blocks."""
        return self._workspace.journal.ids_in_blocks()

    def add(self, number: int, source: Source, rows: list[Row], ids: PageIds | None = None) -> int:
        """Take rows; return how many: all of them are new."""
        for key, part in partition_rows(self._partition, source, rows).items():
            self._lines.add(key, self._spool_stem(key), number, part, ids if part is rows else None)
        return len(rows)

    def flush(self) -> None:
        """Write, and sync."""
        self._lines.flush()
        self._workspace.files.sync()

    def rollback(self) -> None:
        """Forget what was not committed."""
        self._lines.rollback()
        self._history.rollback()

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield the rows of the blocks that may hold one."""
        yield from self._lines.scan(first, last, since)
        yield from self._parts.scan(first, last, since)

    def counts(self) -> dict[int, int]:
        """Return the numbers of messages from the blocks."""
        return self._workspace.journal.rows(["part", "spool"])

    def apply_updates(self) -> int:
        """Rewrite the files that hold an older version of a changed message."""
        self.finish()
        if not self._workspace.journal.has_changed(0, LAST):
            return 0
        count = self._parts.apply_updates()
        sweep_spool(self._workspace)
        return count

    def compact(self, least: int, begin: Callable[[], None]) -> int:
        """Merge the small files of each partition that has at least so many; return how many are gone."""
        self.finish()
        groups = list(small_groups(self._workspace.journal.files("part"), self._largest, least))
        if groups:
            begin()
        for group in groups:
            self._parts.merge(group)
        sweep_spool(self._workspace)
        return sum(map(len, groups)) - len(groups)

    def maintain(self) -> None:
        """Make a Parquet file of a spool that is full: a run of days does not leave all of it for its end."""
        self._lines.put_in_place()
        full = (spool for spool in self._workspace.journal.files("spool") if spool.state == "whole")
        if spool := next(full, None):
            self._convert(spool)

    def finish(self) -> None:
        """Make a Parquet file of each spool."""
        self._lines.rollback()  # in a moment, the spools that it knows of are no more
        for spool in self._workspace.journal.files("spool"):
            self._convert(spool)
        sweep_spool(self._workspace)

    def close(self) -> None:
        """Do nothing: the files are the workspace's."""

    def _spool_stem(self, partition_key: str) -> str:
        folder = partition_folder(self._partition, partition_key)
        return f"{SPOOL}/{folder.rpartition('/')[2]}"

    def _convert(self, spool: DataFile) -> None:
        folder = partition_folder(self._partition, spool.partition_key)
        self._parts.take(spool, self._lines, f"{folder}/{STEM}")
        path = self._workspace.path(spool)
        self._workspace.files.release(path)
        self._workspace.disk.remove(path)
