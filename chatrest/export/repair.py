"""Brings growing files to what the journal says, when an export is opened again.

| the file                              | what is done                                                       |
|---------------------------------------|--------------------------------------------------------------------|
| longer than was committed             | torn by a crash: cut                                               |
| shorter, or not there                 | cut behind its last whole frame; the messages of the rest are lost |
| its new content waits beside it       | takes its place                                                    |
| has bytes that no frame tells of      | they are read, and told of again                                   |

What is lost is read from the service again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import ChatRestError
from .journal import Frame, Part
from .lines import Lines, frame_of
from .sink import Lost, Site

NEW: Final = ".new"


def repaired(site: Site, files: Lines) -> list[Lost]:
    """Repairs the files of one role; what is lost."""
    lost: list[Lost] = []
    for part in site.journal.parts(files.role):
        lost += _Repair(site, files, part).done()
    return lost


def new_of(path: Path) -> Path:
    """Where the new content of a file is made."""
    return path.with_name(path.name + NEW)


class _Repair:
    """One file."""

    def __init__(self, site: Site, files: Lines, part: Part) -> None:
        self._site = site
        self._files = files
        self._part = part
        self._path = site.folder / part.name

    def done(self) -> list[Lost]:
        if self._part.state == "replacing":
            self._replace()
        size = self._path.stat().st_size if self._path.exists() else 0
        if size > self._part.size:
            self._site.disk.truncate(self._path, self._part.size)
        frames = self._site.journal.frames(self._part.number)
        whole = [frame for frame in frames if frame.start + frame.size <= size]
        lost = frames[len(whole) :]
        if size < self._part.size:
            self._cut(whole)
        for start, end in list(self._untold(whole)):
            self._tell(start, end)
        return [Lost(frame.source, frame.first, frame.last) for frame in lost]

    def _replace(self) -> None:
        new = new_of(self._path)
        if new.exists():
            self._site.disk.replace(new, self._path)
        self._keep(self._part.size)

    def _cut(self, whole: list[Frame]) -> None:
        end = max((frame.start + frame.size for frame in whole), default=0)
        if self._path.exists():
            self._site.disk.truncate(self._path, end)
        self._site.journal.drop_frames(self._part.number, end)
        self._keep(end)

    def _keep(self, size: int) -> None:
        self._part = self._part._replace(size=size, state=self._files.state_at(size))
        self._site.journal.keep_part(self._part)

    def _untold(self, frames: list[Frame]) -> Iterator[tuple[int, int]]:
        end = 0
        for frame in [*frames, None]:
            start = self._part.size if frame is None else frame.start
            if start > end:
                yield end, start
            end = max(end, start + (0 if frame is None else frame.size))

    def _tell(self, start: int, end: int) -> None:
        """Somebody has cut frames out of the journal: their rows are there, and tell of themselves."""
        with self._path.open("rb") as file:
            file.seek(start)
            packed = file.read(end - start)
        try:
            rows = self._files.rows(packed)
        except Exception as error:  # each way to compress has its own errors
            raise ChatRestError(
                f"{self._path}: the journal does not tell of its bytes {start:,} to {end:,}, and they cannot "
                f"be read ({error}); remove the file, and what was in it is read again"
            ) from None
        source = self._site.journal.source_of(self._part.bucket)
        self._site.journal.add_frames([frame_of(self._part.number, start, packed, source, rows)])
