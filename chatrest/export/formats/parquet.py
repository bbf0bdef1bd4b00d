"""Parquet: columns to ask questions of, and each record as it was served in one of them.

A Parquet file can neither grow nor be cut, and a page must be on the disk before the journal covers it. So
rows go to a spool first: growing files of lines in the folder `spool`, as NDJSON's are, and compressed. When
all is there, each of them becomes a Parquet file (`parts`) and is removed, one after the other: no more room
is needed than one of them takes. What has changed takes its place after that, and so in Parquet files only.

What the columns hold is told in `columns`.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, final

from ...core.rows import Row
from ...errors import RequestInvalidError
from ..disk import sync_folder
from ..file_names import by_month, source_name
from ..id_set import IdSet
from ..journal import DataFile
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, MissingIds, StoredRow, Workspace
from .block_files import BlockFiles
from .history import History
from .ndjson import stored_lines
from .recovery import repaired

LARGEST: Final = 1 << 26
"""Bytes of a spool from which on the next one is begun. The Parquet file that it becomes has about as many,
and half a million messages."""
_FOLDER: Final = "spool"


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
            raise RequestInvalidError(
                "format = 'parquet': it needs the extra: pip install 'chatrest[parquet]'"
            ) from None
        assert plan.compress is not None
        self._workspace = workspace
        self._by_month = plan.partition == "month"
        self._folder = workspace.folder / _FOLDER
        compression = parquet_files.packing_of("zstd")
        self._lines = BlockFiles(workspace, compression, role="spool", suffix=".spool", largest=largest)
        self._history = History(workspace, parquet_files.packing_of(plan.compress))
        self._parts = parquet_parts.ParquetParts(workspace, plan.compress, self._history)

    def recover(self) -> list[MissingIds]:
        """Cuts torn ends, removes what never came to be, and finishes what was being put into place."""
        self._history.recover()
        lost = [*repaired(self._workspace, self._lines), *self._parts.recover()]
        self._sweep()
        return lost

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows: all of them are new."""
        if not self._folder.exists():
            self._folder.mkdir()
            sync_folder(self._workspace.disk, self._workspace.folder)
        buckets = by_month(rows) if self._by_month else {source.key: rows}
        for partition_key, some in buckets.items():
            self._lines.add_to(partition_key, f"{_FOLDER}/{self._name_of(partition_key)}", number, some)
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
        yield from self._parts.scan(first, last, since)

    def written_ids(self) -> IdSet:
        """As the blocks tell."""
        return self._workspace.journal.ids_in_blocks()

    def counts(self) -> dict[int, int]:
        """As the blocks tell."""
        return self._workspace.journal.rows(["part", "spool"])

    def apply_updates(self) -> int:
        """Makes the parts anew that hold an older version of a changed message."""
        self.finish()
        return self._parts.apply_updates()

    def maintain(self) -> None:
        """Makes a part of a spool that is full: a run of days does not leave all of it for its end."""
        full = (spool for spool in self._workspace.journal.files("spool") if spool.state == "whole")
        if spool := next(full, None):
            self._convert(spool)

    def finish(self) -> None:
        """Makes a part of each spool."""
        self._lines.rollback()  # in a moment, the spools that it knows of are no more
        for spool in self._workspace.journal.files("spool"):
            self._convert(spool)
        with suppress(OSError):
            self._folder.rmdir()

    def close(self) -> None:
        """Nothing: its files are the workspace's."""

    def _name_of(self, partition_key: str) -> str:
        return partition_key if self._by_month else source_name(Source.parse(partition_key))

    def _convert(self, spool: DataFile) -> None:
        self._parts.take(spool, self._lines, self._name_of(spool.partition_key))
        path = self._workspace.folder / spool.name
        self._workspace.files.rollback(path)
        self._workspace.disk.remove(path)

    def _sweep(self) -> None:
        """Removes spools that have become parts."""
        known = {spool.name for spool in self._workspace.journal.files("spool")}
        for path in list(self._folder.glob("*.spool*")):
            if f"{_FOLDER}/{path.name}" not in known:
                self._workspace.disk.remove(path)
