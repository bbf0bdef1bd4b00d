"""The store's files: the kinds of their rows, their formats, and the records in them.

A sealed file that is in the object store alone is fetched while it is read.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Final

from ..._core.replies.rows import Row, row_of
from ...errors import ChatRestError
from ..formats.stored_records import SourceLines, line_batches, piece_of
from ..plan.id_set import IdSet
from .disk import Disk
from .formats import Format, RowKind, file_sha256, format_of
from .inspection import path_of
from .store_journal import StoreFile, StoreJournal

_ROWS: Final = 1000
"""Rows of a segment that are read at once."""


class StoredFiles:
    """The files of a folder that its journal names; `kinds` and the others are those of `ExportStore`."""

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        journal: StoreJournal,
        kinds: Mapping[str, RowKind],
        labels: Callable[[int], str | None],
        remote_names: Collection[str],
        fetch: Callable[[str, Path, str], object] | None,
    ) -> None:
        self.folder, self.disk, self.journal = folder, disk, journal
        self.kinds = kinds
        self.remote_names = remote_names
        self._labels = labels
        self._fetch = fetch

    def kind(self, stem: str) -> RowKind:
        """Return the kind of a partition's rows: the one of its whole name, or of the name's first part."""
        return self.kinds.get(stem) or self.kinds[stem.partition("/")[0]]

    def with_ids(self, ids: IdSet) -> list[StoreFile]:
        """Return the files that hold a message of these ids."""
        files = self.journal.files("open", "sealed") if ids else ()
        return [
            file for file in files
            if self.kind(file.stem).identity == "id" and self.journal.ids_in([file]) & ids
        ]  # fmt: skip

    def rows_by_id(self, keys: Collection[str]) -> dict[str, Row]:
        """Return the messages of these ids; costs the reading of the files that hold them."""
        files = self.with_ids(IdSet(self.journal.ids_by_key(keys).values()))
        raws = (raw for file in files for piece in self.records(file) for raw in piece.raws)
        return {row.id: row for row in map(row_of, raws) if row.id in keys}

    def records(self, file: StoreFile) -> Iterator[SourceLines]:
        """Yield the records of a file with their sources, as far as it shows them."""
        own_format = self._format_of(file)
        if file.state == "sealed":
            with self._local_copy(file) as path:
                yield from own_format.read(path, file.size)
            return
        path = path_of(self.folder, file)
        raws = chain.from_iterable(
            line_batches(path, f"segment.ndjson{own_format.packing.suffix}", file.size)
        )
        for block in self.journal.blocks(file.number):
            label = self._labels(block.source)
            for at in range(0, block.rows, _ROWS):
                part = list(islice(raws, min(_ROWS, block.rows - at)))
                yield piece_of(part, block.source, label)

    def _format_of(self, file: StoreFile) -> Format:
        """Return the format of a file: a partition may have files of another one, of an earlier plan."""
        own = self.kind(file.stem).format
        return own if file.name.endswith(own.suffix) else format_of(file.name) or own

    def check_unchanged(self, file: StoreFile) -> None:
        """Raise `ChatRestError` where a file is not as it was sealed: rewritten it would look sound."""
        path = path_of(self.folder, file)
        if file.sha256 is None or (file.name in self.remote_names and not path.exists()):
            return  # one that is fetched is checked then
        if file_sha256(path) != file.sha256:
            raise ChatRestError(
                f"{path} is not as it was written: move it out of the folder, keep it, and export again: its "
                "messages are read again"
            )

    @contextmanager
    def _local_copy(self, file: StoreFile) -> Iterator[Path]:
        """Have a file in the folder: one that is only in the object store is removed again after it."""
        path = path_of(self.folder, file)
        if file.name not in self.remote_names or file.sha256 is None or path.exists():
            yield path
            return
        assert self._fetch is not None
        self._fetch(file.name, path, file.sha256.hex())
        try:
            yield path
        finally:
            self.disk.remove(path)
