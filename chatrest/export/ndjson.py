"""NDJSON: the service's exact bytes, a record a line, in a file a source or a file a month.

A message that has changed takes the place of its older version in a new file, which then takes the place of
the old one; the older version goes to the history.
"""

from collections.abc import Iterator
from typing import Final, final

from ..core.rows import UNKNOWN, Row
from .disk import sync_folder
from .history import History
from .journal import Frame, Part
from .lines import Lines, frame_of, lines_of
from .packing import packing
from .plan import Plan
from .repair import new_of, repaired
from .sink import LAST, Lost, Site, Stored
from .sources import Source


@final
class NdjsonSink:
    """The sink of `ndjson`."""

    upserts: Final = False

    def __init__(self, plan: Plan, site: Site) -> None:
        assert plan.compress is not None
        assert plan.partition is not None
        packed = packing(plan.compress)
        self._site = site
        self._lines = Lines(site, packed, role="part", partition=plan.partition)
        self._history = History(site, packed)

    def repair(self) -> list[Lost]:
        """Cuts torn ends, and finishes what was being put into place."""
        self._history.repair()
        return repaired(self._site, self._lines)

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows: all of them are new."""
        self._lines.add(number, source, rows)
        return len(rows)

    def flush(self) -> None:
        """Writes, and syncs."""
        self._lines.flush()
        self._site.files.sync()

    def forget(self) -> None:
        """Forgets what was not committed."""
        self._lines.forget()
        self._history.forget()

    def stored(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[Stored]:
        """The rows of the frames that may hold one."""
        yield from stored_lines(self._site, self._lines, first, last, since)

    def counts(self) -> dict[int, int]:
        """As the frames tell."""
        return self._site.journal.rows(["part"])

    def amend(self) -> int:
        """Rewrites the files that hold an older version of a changed message."""
        return sum(self._rewritten(part) for part in self._site.journal.parts("part"))

    def finish(self) -> None:
        """Nothing: its files are always as they should be."""

    def close(self) -> None:
        """Nothing: its files are the site's."""

    def _rewritten(self, part: Part) -> int:
        """Makes a file anew, if it holds a message that has changed; how many it holds."""
        journal = self._site.journal
        frames = journal.frames(part.number)
        if not any(journal.has_changed(frame.first, frame.last) for frame in frames):
            return 0
        anew = _Anew(self._site, self._lines, part)
        anew.copy(frames)
        if not anew.old:
            return 0
        with journal.transaction():
            journal.drop_frames(part.number)
            journal.add_frames(anew.frames)
            self._history.add(anew.old)
            journal.applied(row.id for _, row in anew.old)
            self._site.files.sync()
            journal.keep_part(part._replace(size=anew.size, state="replacing"))
        self._site.files.forget(self._site.folder / part.name)
        self._site.disk.replace(anew.path, self._site.folder / part.name)
        sync_folder(self._site.disk, self._site.folder)
        with journal.transaction():
            journal.keep_part(part._replace(size=anew.size, state=self._lines.state_at(anew.size)))
        self._lines.forget()
        return len(anew.old)


class _Anew:
    """The new content of a file, beside the old one."""

    def __init__(self, site: Site, lines: Lines, part: Part) -> None:
        self.path = new_of(site.folder / part.name)
        self.old: list[tuple[int, Row]] = []
        """The versions whose places were taken, each with its source."""
        self.frames: list[Frame] = []
        self.size = 0
        self._site = site
        self._lines = lines
        self._part = part

    def copy(self, frames: list[Frame]) -> None:
        """Writes the whole file, with what has changed."""
        self._site.disk.remove(self.path)
        for frame, packed in self._lines.packed(self._part, frames):
            if self._site.journal.has_changed(frame.first, frame.last):
                self._put(*self._amended(frame, packed))
            else:
                self._put(packed, frame._replace(start=self.size))
        self._site.files.sync()
        self._site.files.forget(self.path)

    def _put(self, packed: bytes, frame: Frame) -> None:
        self._site.files.write(self.path, self.size, packed)
        self.frames.append(frame)
        self.size += len(packed)

    def _amended(self, frame: Frame, packed: bytes) -> tuple[bytes, Frame]:
        rows = self._lines.rows(packed)
        changed = self._site.journal.changed(row.id for row in rows)
        self.old += [(frame.source, row) for row in rows if row.id in changed]
        rows = [changed.get(row.id, row) for row in rows]
        new = self._lines.packing.pack(lines_of(rows))
        return new, frame_of(frame.part, self.size, new, frame.source, rows)


def stored_lines(site: Site, lines: Lines, first: int, last: int, since: int) -> Iterator[Stored]:
    """The rows of those frames of growing files that may hold what is asked for."""
    for part in site.journal.parts(lines.role):
        frames = [frame for frame in site.journal.frames(part.number) if _may_hold(frame, first, last, since)]
        for frame, packed in lines.packed(part, frames) if frames else ():
            for row in lines.rows(packed):
                yield Stored(row, frame.source)


def _may_hold(frame: Frame, first: int, last: int, since: int) -> bool:
    in_time = frame.until >= since or frame.since == UNKNOWN
    return (frame.last >= first and frame.first <= last and in_time) or frame.first == 0
