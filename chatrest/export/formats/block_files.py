"""Rows as lines, in files that only grow: a block a page, and each block can be cut off at its beginning.

A file is right up to the size that the journal knows; what is behind is torn, and is cut off when the export
goes on. Each block has the hash of its bytes as they lie on the disk.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, final

from ...core.rows import UNKNOWN, Row, row_of
from ...errors import ChatRestError
from ..file_names import by_month, source_name
from ..journal import Block, DataFile, Journal, Role
from ..message_ids import PageIds, ids_of, times
from ..ownership import Source
from ..plan import Partition
from ..workspace import Workspace
from .compression import Compression

LARGEST: Final = 1 << 30
"""Bytes from which on a file is whole, and the next one is begun."""


def lines_of(rows: Iterable[Row]) -> bytes:
    """The rows' records, a line each."""
    return b"\n".join([*(row.raw for row in rows), b""])


def rows_of(lines: bytes) -> list[Row]:
    """The rows of lines."""
    return [row_of(line) for line in lines.splitlines()]


def free_name(journal: Journal, name: str, suffix: str) -> str:
    """The first name of `name.suffix`, `name.2.suffix` … that no file of the export has."""
    found, count = name + suffix, 1
    while journal.has_file(found):
        count += 1
        found = f"{name}.{count}{suffix}"
    return found


def block_of(file: int, start: int, packed: bytes, source: int, rows: list[Row], ids: PageIds) -> Block:
    """Return the journal's record of rows, whose ids are `ids` and whose bytes are `packed`."""
    since, until = times(rows)
    digest = hashlib.sha256(packed).digest()
    other = 2 if ids.others else int(UNKNOWN in [row.sent_at for row in rows])
    first, last = ids.numbers.first, ids.numbers.last
    return Block(
        file, start, len(packed), source, len(rows), first, last, since, until, digest, ids.numbers, other
    )


@final
class BlockFiles:
    """Growing files of lines, of one role."""

    def __init__(
        self,
        workspace: Workspace,
        compression: Compression,
        *,
        role: Role,
        partition: Partition = "source",
        suffix: str = ".ndjson",
        largest: int = LARGEST,
    ) -> None:
        self._workspace = workspace
        self.compression = compression
        self.role: Role = role
        self._partition = partition
        self._suffix = suffix + compression.suffix
        self._largest = largest
        self._open: dict[str, DataFile] = {}
        self._waiting: dict[str, list[bytes]] = {}
        """Per partition_key, what is to be written behind the committed end of its file."""
        self._ends: dict[str, int] = {}

    def add(self, number: int, source: Source, rows: list[Row]) -> None:
        """Takes rows of a source; they are safe after `flush`, a sync, and the journal's commit."""
        if self._partition == "source":
            self.add_to(source.key, source_name(source), number, rows)
        else:
            for month, some in by_month(rows).items():
                self.add_to(month, month, number, some)

    def add_to(self, partition_key: str, name: str, number: int, rows: list[Row]) -> None:
        """Takes rows for the file of a partition_key; `name` is its name, where it has yet to be made."""
        if not rows:
            return
        part = self._part(partition_key, name)
        start = self._ends.get(partition_key, part.size)
        packed = self.compression.pack(lines_of(rows))
        ids = ids_of(rows)
        self._workspace.journal.add_blocks([block_of(part.number, start, packed, number, rows, ids)])
        if ids.others:
            self._workspace.journal.write_others(part.number, number, ids.others)
        self._waiting.setdefault(partition_key, []).append(packed)
        self._ends[partition_key] = start + len(packed)

    def flush(self) -> None:
        """Writes what was taken; it is on the disk after a sync."""
        grown: dict[str, DataFile] = {}
        for partition_key, waiting in self._waiting.items():
            part = self._open[
                partition_key
            ]  # at its committed size until all is written: `forget` cuts there
            path = self._workspace.folder / part.name
            if not part.size:
                self._workspace.files.clear(path)  # one may be there that was never committed
            at = part.size
            for packed in waiting:  # not joined: a batch may be many pages
                self._workspace.files.write(path, at, packed)
                at += len(packed)
            grown[partition_key] = part._replace(
                size=self._ends[partition_key], state=self.state_at(self._ends[partition_key])
            )
            self._workspace.journal.keep_file(grown[partition_key])
        for partition_key, part in grown.items():
            if part.state == "open":
                self._open[partition_key] = part
            else:
                del self._open[partition_key]
        self._waiting.clear()
        self._ends.clear()

    def rollback(self) -> None:
        """What was taken, and perhaps written, and not committed never happened."""
        for partition_key in self._ends:
            part = self._open.get(partition_key)
            if part is not None:
                self._workspace.files.cut(self._workspace.folder / part.name, part.size)
        self._waiting.clear()
        self._ends.clear()
        self._open.clear()

    def state_at(self, size: int) -> str:
        """Whether a file of this size takes more."""
        return "whole" if size >= self._largest else "open"

    def packed(self, part: DataFile, blocks: Iterable[Block]) -> Iterator[tuple[Block, bytes]]:
        """Some blocks of a file, each with its bytes; `ChatRestError` where they are not what was written."""
        for block, packed in self.found(part, blocks):
            if hashlib.sha256(packed).digest() != block.digest:  # anew it would have the hash of a sound one
                raise ChatRestError(
                    f"{self._workspace.folder / part.name}: its bytes {block.start:,} to "
                    f"{block.start + block.size:,} are not those that were written; move the file elsewhere, "
                    "and what was in it is read again"
                )
            yield block, packed

    def found(self, part: DataFile, blocks: Iterable[Block]) -> Iterator[tuple[Block, bytes]]:
        """Some blocks of a file, each with the bytes that are in its place."""
        with (self._workspace.folder / part.name).open("rb") as file:
            for block in blocks:
                file.seek(block.start)
                yield block, file.read(block.size)

    def rows(self, packed: bytes) -> list[Row]:
        """The rows of one block's bytes, or of several blocks' in a row."""
        return rows_of(self.compression.unpack(packed))

    def _part(self, partition_key: str, name: str) -> DataFile:
        part = self._open.get(partition_key)
        if part is None:
            journal = self._workspace.journal
            part = journal.open_file(partition_key, self.role)
            if part is None:
                part = journal.add_file(free_name(journal, name, self._suffix), partition_key, self.role)
            self._open[partition_key] = part
        return part
