"""Rows as lines, in files that only grow: a frame a page, and each frame can be cut off at its beginning.

A file is right up to the size that the journal knows; what is behind is torn, and is cut off when the export
goes on. Each frame has the hash of its bytes as they lie on the disk.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, final

from ...core.rows import Row, row_of
from ...errors import ChatRestError
from ..ids import loose, span, times
from ..journal import Frame, Journal, Part, Role
from ..names import by_month, source_name
from ..plan import Partition
from ..sources import Source
from ..workspace import Workspace
from .packing import Packing

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
    while journal.has_part(found):
        count += 1
        found = f"{name}.{count}{suffix}"
    return found


def frame_of(part: int, start: int, packed: bytes, source: int, rows: list[Row]) -> Frame:
    """What the journal keeps of some rows."""
    digest = hashlib.sha256(packed).digest()
    return Frame(part, start, len(packed), source, len(rows), *span(rows), *times(rows), digest, loose(rows))


@final
class Lines:
    """Growing files of lines, of one role."""

    def __init__(
        self,
        workspace: Workspace,
        packing: Packing,
        *,
        role: Role,
        partition: Partition = "source",
        suffix: str = ".ndjson",
        largest: int = LARGEST,
    ) -> None:
        self._workspace = workspace
        self.packing = packing
        self.role: Role = role
        self._partition = partition
        self._suffix = suffix + packing.suffix
        self._largest = largest
        self._open: dict[str, Part] = {}
        self._waiting: dict[str, list[bytes]] = {}
        """Per bucket, what is to be written behind the committed end of its file."""
        self._ends: dict[str, int] = {}

    def add(self, number: int, source: Source, rows: list[Row]) -> None:
        """Takes rows of a source; they are safe after `flush`, a sync, and the journal's commit."""
        if self._partition == "source":
            self.add_to(source.key, source_name(source), number, rows)
        else:
            for month, some in by_month(rows).items():
                self.add_to(month, month, number, some)

    def add_to(self, bucket: str, name: str, number: int, rows: list[Row]) -> None:
        """Takes rows for the file of a bucket; `name` is its name, where it has yet to be made."""
        if not rows:
            return
        part = self._part(bucket, name)
        start = self._ends.get(bucket, part.size)
        packed = self.packing.pack(lines_of(rows))
        self._workspace.journal.add_frames([frame_of(part.number, start, packed, number, rows)])
        self._waiting.setdefault(bucket, []).append(packed)
        self._ends[bucket] = start + len(packed)

    def flush(self) -> None:
        """Writes what was taken; it is on the disk after a sync."""
        grown: dict[str, Part] = {}
        for bucket, waiting in self._waiting.items():
            part = self._open[bucket]  # at its committed size until all is written: `forget` cuts there
            path = self._workspace.folder / part.name
            if not part.size:
                self._workspace.files.clear(path)  # one may be there that was never committed
            at = part.size
            for packed in waiting:  # not joined: a batch may be many pages
                self._workspace.files.write(path, at, packed)
                at += len(packed)
            grown[bucket] = part._replace(size=self._ends[bucket], state=self.state_at(self._ends[bucket]))
            self._workspace.journal.keep_part(grown[bucket])
        for bucket, part in grown.items():
            if part.state == "open":
                self._open[bucket] = part
            else:
                del self._open[bucket]
        self._waiting.clear()
        self._ends.clear()

    def forget(self) -> None:
        """What was taken, and perhaps written, and not committed never happened."""
        for bucket in self._ends:
            part = self._open.get(bucket)
            if part is not None:
                self._workspace.files.cut(self._workspace.folder / part.name, part.size)
        self._waiting.clear()
        self._ends.clear()
        self._open.clear()

    def state_at(self, size: int) -> str:
        """Whether a file of this size takes more."""
        return "whole" if size >= self._largest else "open"

    def packed(self, part: Part, frames: Iterable[Frame]) -> Iterator[tuple[Frame, bytes]]:
        """Some frames of a file, each with its bytes; `ChatRestError` where they are not what was written."""
        for frame, packed in self.found(part, frames):
            if hashlib.sha256(packed).digest() != frame.digest:  # anew it would have the hash of a sound one
                raise ChatRestError(
                    f"{self._workspace.folder / part.name}: its bytes {frame.start:,} to "
                    f"{frame.start + frame.size:,} are not those that were written; move the file elsewhere, "
                    "and what was in it is read again"
                )
            yield frame, packed

    def found(self, part: Part, frames: Iterable[Frame]) -> Iterator[tuple[Frame, bytes]]:
        """Some frames of a file, each with the bytes that are in its place."""
        with (self._workspace.folder / part.name).open("rb") as file:
            for frame in frames:
                file.seek(frame.start)
                yield frame, file.read(frame.size)

    def rows(self, packed: bytes) -> list[Row]:
        """The rows of one frame's bytes, or of several frames' in a row."""
        return rows_of(self.packing.unpack(packed))

    def _part(self, bucket: str, name: str) -> Part:
        part = self._open.get(bucket)
        if part is None:
            journal = self._workspace.journal
            part = journal.open_part(bucket, self.role)
            if part is None:
                part = journal.add_part(free_name(journal, name, self._suffix), bucket, self.role)
            self._open[bucket] = part
        return part
