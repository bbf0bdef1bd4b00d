"""Brings growing files to what the journal says, when an export is opened again.

| the file                              | what is done                                                       |
|---------------------------------------|--------------------------------------------------------------------|
| longer than was committed             | torn by a crash: cut                                               |
| shorter, or not there                 | cut behind its last whole block; the messages of the rest are lost |
| its new content waits beside it       | takes its place                                                    |
| has bytes that no block tells of      | they are read, and told of again                                   |

What is lost is read from the service again.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ...core.rows import Row
from ...errors import ChatRestError
from ..disk import sync_folder
from ..journal import Block, DataFile
from ..message_ids import ids_of, number
from ..workspace import LAST, MissingIds, Workspace, missing_with
from .block_files import BlockFiles, block_of

NEW: Final = ".new"


def repaired(workspace: Workspace, files: BlockFiles) -> list[MissingIds]:
    """Repairs the files of one role; what is lost."""
    lost: list[MissingIds] = []
    for part in workspace.journal.files(files.role):
        lost += _Repair(workspace, files, part).done()
    return lost


def new_of(path: Path) -> Path:
    """Where the new content of a file is made."""
    return path.with_name(path.name + NEW)


class _Repair:
    """One file."""

    def __init__(self, workspace: Workspace, files: BlockFiles, part: DataFile) -> None:
        self._workspace = workspace
        self._files = files
        self._part = part
        self._path = workspace.folder / part.name

    def done(self) -> list[MissingIds]:
        if self._part.state == "replacing":
            self._replace()
        elif new_of(self._path).exists():  # a death while it was made
            self._workspace.disk.remove(new_of(self._path))
        size = self._path.stat().st_size if self._path.exists() else 0
        there = min(size, self._part.size)
        blocks = self._blocks(there)
        untold = list(_untold(blocks, self._part.size))
        whole = [block for block in blocks if block.start + block.size <= there]
        lost = [missing_with(block) for block in blocks[len(whole) :]]
        if any(end > there for _, end in untold):  # nobody knows what was in it
            lost.append(MissingIds(self._workspace.journal.source_of(self._part.partition_key), 1, LAST))
        ends = [block.start + block.size for block in whole] + [end for _, end in untold if end <= there]
        self._cut(size, max(ends, default=0), len(whole) < len(blocks))
        for start, end in untold:
            if end <= there:
                self._tell(start, end)
        return lost

    def _replace(self) -> None:
        new = new_of(self._path)
        if new.exists():
            self._workspace.disk.replace(new, self._path)
            sync_folder(self._workspace.disk, self._path.parent)
        self._keep(self._part.size)

    def _blocks(self, there: int) -> list[Block]:
        """The file's blocks. Where they do not tell of all of it, only those whose bytes are theirs."""
        blocks = self._workspace.journal.blocks(self._part.number)
        told = sum(block.size for block in blocks)
        if there == 0 or (told == self._part.size and not list(_untold(blocks, told))):
            return blocks
        read = self._files.found(self._part, blocks)
        true = [
            block
            for block, packed in read
            if block.start + block.size > there or hashlib.sha256(packed).digest() == block.digest
        ]
        if len(true) < len(blocks):
            self._workspace.journal.drop_blocks(self._part.number)
            self._workspace.journal.add_blocks(true)
            self._note_others()
        return true

    def _cut(self, size: int, end: int, has_lost: bool) -> None:
        if size > end:
            self._workspace.disk.truncate(self._path, end)
        if has_lost:
            self._workspace.journal.drop_blocks(self._part.number, end)
            self._note_others()
        if end != self._part.size:
            self._keep(end)

    def _note_others(self) -> None:
        """Note the ids that are no numbers of the blocks that are left."""
        journal = self._workspace.journal
        blocks = [block for block in journal.blocks(self._part.number) if block.other > 1]
        for block, packed in self._files.packed(self._part, blocks) if blocks else ():
            journal.write_others(self._part.number, block.source, ids_of(self._files.rows(packed)).others)

    def _keep(self, size: int) -> None:
        self._part = self._part._replace(size=size, state=self._files.state_at(size))
        self._workspace.journal.keep_file(self._part)

    def _tell(self, start: int, end: int) -> None:
        """Somebody has cut blocks out of the journal: their rows are there, and tell of themselves."""
        with self._path.open("rb") as file:
            file.seek(start)
            packed = file.read(end - start)
        try:
            rows = self._files.rows(packed)
            if not all(map(_is_record, rows)):
                raise ValueError("these are no whole records")
        except Exception as error:  # each way to compress has its own errors
            raise ChatRestError(
                f"{self._path}: the journal does not tell of its bytes {start:,} to {end:,}, and they cannot "
                f"be read ({error}); remove the file, and what was in it is read again"
            ) from None
        source = self._workspace.journal.source_of(self._part.partition_key)
        # Several blocks may lie there, one after the other: their ids ascend only within each.
        rows.sort(key=lambda row: number(row.id) or 0)
        self._workspace.journal.add_blocks(
            [block_of(self._part.number, start, packed, source, rows, ids_of(rows))]
        )


def between(places: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """(start, end) of what lies between places of (start, size) in order, and behind the last one."""
    end = 0
    for start, its in [*places, (size, 0)]:
        if start > end:
            yield end, start
        end = max(end, start + its)


def _untold(blocks: list[Block], size: int) -> Iterator[tuple[int, int]]:
    """The bytes of which no block tells."""
    return between(((block.start, block.size) for block in blocks), size)


def _is_record(row: Row) -> bool:
    """Whether a line looks like a record, and not like a part of one."""
    raw = bytes(row.raw).strip()
    return raw.startswith(b"{") and raw.endswith(b"}")
