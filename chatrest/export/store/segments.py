"""The segments that a process writes: one a partition, to which only this process appends.

A segment of a process that is gone is never appended to: what is after its committed size is of no commit.
"""

import os
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from ..._core.replies.rows import UNKNOWN, Row, lines_of
from ..._storage import check_in_place
from ..plan.file_names import SPOOL
from ..plan.id_set import IdSet
from ..plan.message_ids import times
from .disk import Disk, error_path, sync_folder, write_all
from .formats import Format
from .store_journal import StoreBlock, StoreFile, StoreJournal, joint_block

MAX_OPEN: Final = 64
SEGMENT: Final = ".segment"
NEW: Final = ".new"
_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC
AddedBlocks: TypeAlias = dict[str, list[StoreBlock]]
"""The rows that a transaction has appended, by their partitions."""


def segment_path(folder: Path, name: str) -> Path:
    """Return where the segment is that becomes the file of a name; no name has a `+`."""
    return folder / SPOOL / (name.replace("/", "+") + SEGMENT)


def new_path(folder: Path, name: str) -> Path:
    return folder / SPOOL / (name.replace("/", "+") + NEW)


def name_of(path: Path) -> str:
    return path.stem.replace("+", "/")


class Segment(Struct):
    """A segment of this process; `committed` is its size in bytes that a commit knows."""

    file: StoreFile
    path: Path
    hash: Any = field(default_factory=sha256)
    committed: int = 0


class Segments:
    """The segments of this process, one of each partition; some of their files are open."""

    def __init__(self, folder: Path, disk: Disk, journal: StoreJournal) -> None:
        self._folder = folder
        self._disk = disk
        self._journal = journal
        self._segments: dict[str, Segment] = {}
        self._open: OrderedDict[str, int] = OrderedDict()
        """The descriptors of open segments, the one that was not used for longest first."""
        self._token = secrets.token_hex(4)
        """The random part of the names of this process's files."""
        self._count = max((file.number for file in journal.files()), default=0)

    def files(self) -> list[StoreFile]:
        return [segment.file for segment in self._segments.values()]

    def new_name(self, stem: str, suffix: str) -> str:
        """Return a name that no other file ever has; they sort as files were made."""
        self._count += 1
        return f"{stem}-{self._count:05d}-{self._token}{suffix}"

    def append(
        self, stem: str, own_format: Format, source: int, rows: list[Row], ids: IdSet, added: AddedBlocks
    ) -> None:
        """Append rows with these ids to the segment of a partition, and their block to `added`."""
        blocks = added.setdefault(stem, [])
        segment = self._segments.get(stem)
        if segment is None:
            file = StoreFile(0, self.new_name(stem, own_format.suffix), stem, "open", 0)
            segment = self._segments[stem] = Segment(file, segment_path(self._folder, file.name))
        self._write(segment, own_format.packing.pack(lines_of(rows)))
        since, until, is_dated = times(rows)  # from UNKNOWN where any has no time
        block = StoreBlock(source, len(rows), since if is_dated else UNKNOWN, until, ids)
        if blocks and blocks[-1].source == source:
            block = joint_block([blocks.pop(), block])
        blocks.append(block)

    def note_added(self, added: AddedBlocks) -> None:
        """Note in a transaction what was appended, once it survives a loss of power."""
        self._sync(added)
        for stem, blocks in added.items():
            segment = self._segments[stem]
            segment.file = self._journal.note_file(segment.file)
            self._journal.add_blocks(segment.file.number, blocks)

    def note_committed(self, stems: Iterable[str]) -> None:
        for stem in stems:
            self._segments[stem].committed = self._segments[stem].file.size

    def abandon(self, stems: Iterable[str]) -> None:
        """Append no more to segments whose last bytes no commit knows; remove those that have no others."""
        for stem in stems:
            segment = self.remove(stem)
            if segment is not None and not segment.committed:
                with suppress(OSError):
                    self._disk.remove(segment.path)

    def remove(self, stem: str) -> Segment | None:
        if (descriptor := self._open.pop(stem, None)) is not None:
            os.close(descriptor)
        return self._segments.pop(stem, None)

    def close(self) -> None:
        for stem in list(self._segments):
            self.remove(stem)

    def _write(self, segment: Segment, data: bytes | bytearray) -> None:
        """Append to a segment; `segment.file` has its new size."""
        with error_path(segment.path):
            size = write_all(self._disk, self._descriptor(segment), segment.file.size, data)
        segment.hash.update(data)
        segment.file = segment.file._replace(size=size)

    def _sync(self, stems: Iterable[str]) -> None:
        """Let what was appended, and the names of new segments, survive a loss of power."""
        is_new = False
        for stem in stems:
            segment = self._segments[stem]
            with error_path(segment.path):
                self._disk.sync(descriptor := self._descriptor(segment))
            check_in_place(segment.path, os.fstat(descriptor))
            is_new = is_new or not segment.committed
        if is_new:
            sync_folder(self._disk, self._folder / SPOOL)

    def _descriptor(self, segment: Segment) -> int:
        stem = segment.file.stem
        if stem not in self._open:
            if len(self._open) >= MAX_OPEN:
                os.close(self._open.popitem(last=False)[1])
            flags = _WRITE if segment.file.size else _WRITE | os.O_CREAT | os.O_EXCL
            self._open[stem] = os.open(segment.path, flags, 0o644)
        self._open.move_to_end(stem)
        return self._open[stem]
