"""Rows as lines, in files that only grow: a block for each page, and a file can be cut behind any block.

A file is right up to the size that the journal knows; what is behind is torn, and is cut off when the export
is opened again. Each block has the SHA-256 of its bytes as they are on the disk.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, final

from ...core.replies.rows import Row, lines_of, row_of
from ...errors import ChatRestError
from ..journal import Block, DataFile, FileState, Role
from ..message_ids import PageIds, ids_of, times
from ..workspace import LAST, StoredRow, Workspace
from .compression import Compression
from .data_files import commit_in_place, content, free_name

LARGEST: Final = 1 << 30
"""Bytes from which on a file is whole, and the next one is begun."""
LARGEST_OBJECT: Final = 1 << 27
"""The same for an export whose place is an object store."""
_MAX_KNOWN: Final = 4096
"""Files of which the size is kept in memory."""


def rows_of(lines: bytes) -> list[Row]:
    """Return the rows of lines."""
    return [row_of(line) for line in lines.splitlines()]


def block_of(file: int, start: int, packed: bytes, source: int, rows: list[Row], ids: PageIds) -> Block:
    """Return the journal's record of rows, whose ids are `ids` and whose bytes are `packed`."""
    since, until, is_dated = times(rows)
    return Block(
        file=file,
        start=start,
        size=len(packed),
        source=source,
        rows=len(rows),
        first=ids.numbers.first,
        last=ids.numbers.last,
        since=since,
        until=until,
        digest=hashlib.sha256(packed).digest(),
        ids=ids.numbers,
        other=2 if ids.others else int(not is_dated),
    )


def may_hold(block: Block, first: int, last: int, since: int) -> bool:
    """Return False if no row of a block has an id from `first` to `last` and was sent since a time."""
    return bool(block.other) or (block.last >= first and block.first <= last and block.until >= since)


@final
class BlockFiles:
    """Growing files of lines, of one role: the messages of NDJSON, the spools of Parquet, or the history."""

    def __init__(
        self,
        workspace: Workspace,
        compression: Compression,
        *,
        role: Role,
        suffix: str = ".ndjson",
        largest: int = LARGEST,
    ) -> None:
        self._workspace = workspace
        self.compression = compression
        self.role: Role = role
        self._suffix = suffix + compression.suffix
        self._largest = largest
        self._open: dict[str, DataFile] = {}
        self._waiting: dict[str, list[bytes]] = {}
        """By partition key, the bytes that are to be written behind the committed end of its file."""
        self._ends: dict[str, int] = {}
        self._blocks: list[Block] = []

    def add(
        self, partition_key: str, stem: str, source: int, rows: list[Row], ids: PageIds | None = None
    ) -> None:
        """Take rows of a source for the file of a partition; `stem` is its name, where it has yet to be made.

        `ids` are those of the rows, where they are known. The rows are safe after `flush`, a sync, and the
        journal's commit.
        """
        if not rows:
            return
        file = self._file(partition_key, stem)
        start = self._ends.get(partition_key, file.size)
        packed = self.compression.pack(lines_of(rows))
        ids = ids or ids_of(rows)
        self._blocks.append(block_of(file.number, start, packed, source, rows, ids))
        self._note_others(file.number, source, ids)
        self._waiting.setdefault(partition_key, []).append(packed)
        self._ends[partition_key] = start + len(packed)

    def flush(self) -> None:
        """Write what was taken; it is on the disk after a sync."""
        grown: dict[str, DataFile] = {}
        for partition_key, waiting in self._waiting.items():
            file = self._open[
                partition_key
            ]  # at its committed size until all is written: rollback cuts there
            self._write(file, waiting)
            size = self._ends[partition_key]
            grown[partition_key] = file = file._replace(size=size, state=self._state_behind(file, size))
            self._workspace.journal.keep_file(file)
        self._workspace.journal.add_blocks(self._blocks)
        self._open.update(grown)
        self._waiting.clear()
        self._ends.clear()
        self._blocks.clear()

    def rollback(self) -> None:
        """Forget what was taken, and perhaps written, and not committed."""
        for partition_key in self._ends:
            file = self._open.get(partition_key)
            if file is not None:
                self._workspace.files.cut(self._target(file), file.size)
        self._waiting.clear()
        self._ends.clear()
        self._blocks.clear()
        self._open.clear()

    def put_in_place(self) -> None:
        """Give new files their names in the folder of messages; called after a commit."""
        new = [file for file in self._open.values() if file.state == "replacing"]
        if new:
            placed = commit_in_place(self._workspace, new, self.state_of)
            self._open.update((file.partition_key, file) for file in placed)
        for file in [file for file in self._open.values() if file.state == "whole"]:
            del self._open[file.partition_key]
        if len(self._open) > _MAX_KNOWN:
            self._open.clear()

    def state_of(self, file: DataFile) -> FileState:
        """Return the state of a file that is in place: `whole` from the largest size on."""
        return "whole" if file.size >= self._largest else "open"

    # ── reading ──

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield the rows of those blocks that may hold one with such an id or time."""
        journal = self._workspace.journal
        for file in journal.files(self.role):
            blocks = [block for block in journal.blocks(file.number) if may_hold(block, first, last, since)]
            for block, packed in self.packed(file, blocks) if blocks else ():
                for row in self.rows(packed):
                    yield StoredRow(row, block.source)

    def packed(self, file: DataFile, blocks: Iterable[Block]) -> Iterator[tuple[Block, bytes]]:
        """Yield blocks of a file with their bytes; `ChatRestError` where they are not what was written."""
        with content(self._workspace, file) as path, path.open("rb") as opened:
            for block in blocks:
                opened.seek(block.start)
                packed = opened.read(block.size)
                if hashlib.sha256(packed).digest() != block.digest:  # rewritten it would look sound
                    raise ChatRestError(
                        f"{path}: its bytes {block.start:,} to {block.start + block.size:,} are not those "
                        "that were written; move the file elsewhere, and what was in it is read again"
                    )
                yield block, packed

    def rows(self, packed: bytes) -> list[Row]:
        """Return the rows of one block's bytes, or of several blocks' in a row."""
        return rows_of(self.compression.unpack(packed))

    # ── writing ──

    def note_others(self, file: DataFile, blocks: Iterable[Block]) -> None:
        """Note the ids in blocks of a file that are no numbers as written; costs reading the blocks."""
        for block, packed in self.packed(file, blocks):
            self._note_others(file.number, block.source, ids_of(self.rows(packed)))

    def _note_others(self, file: int, source: int, ids: PageIds) -> None:
        if ids.others and self.role != "history":
            self._workspace.journal.write_others(file, source, ids.others)

    def _file(self, partition_key: str, stem: str) -> DataFile:
        file = self._open.get(partition_key)
        if file is None or file.state == "whole":
            journal = self._workspace.journal
            file = journal.open_file(partition_key, self.role)
            while file is not None and self._workspace.is_remote(file):  # nothing is fetched to be added to
                journal.keep_file(file._replace(state="whole"))
                file = journal.open_file(partition_key, self.role)
            if file is None:
                name = free_name(self._workspace, stem, self._suffix)
                file = journal.add_file(name, partition_key, self.role)
            self._open[partition_key] = file
        return file

    def _write(self, file: DataFile, waiting: list[bytes]) -> None:
        path, position = self._target(file), file.size
        if not position:
            self._workspace.make_spool()
            self._workspace.files.clear(path)  # one may be there that was never committed
        for packed in waiting:  # not joined: a batch may be many pages
            self._workspace.files.write(path, position, packed)
            position += len(packed)

    def _target(self, file: DataFile) -> Path:
        """Return the path to write to. A spool needs no other name before it is committed."""
        is_new = file.state == "replacing" or not file.size
        return (
            self._workspace.new_path(file) if is_new and self.role != "spool" else self._workspace.path(file)
        )

    def _state_behind(self, file: DataFile, size: int) -> FileState:
        """Return the state of a file that has grown to a size."""
        if self.role != "spool" and (file.state == "replacing" or not file.size):
            return "replacing"
        return self.state_of(file._replace(size=size))
