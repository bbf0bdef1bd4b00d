"""NDJSON: the service's exact bytes, a record a line, in a file a source or a file a month.

A message that has changed takes the place of its older version in a new file, which then takes the place of
the old one; the older version goes to the history.
"""

from collections.abc import Iterator
from typing import Final, final

from ...core.rows import Row
from ..disk import sync_folder
from ..journal import Frame, Part
from ..plan import Plan
from ..sources import Source
from ..workspace import LAST, MissingIds, StoredRow, Workspace
from .history import History
from .lines import Lines, frame_of, lines_of
from .packing import packing
from .repair import new_of, repaired


@final
class NdjsonSink:
    """The sink of `ndjson`."""

    upserts: Final = False

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        assert plan.compress is not None
        assert plan.partition is not None
        packed = packing(plan.compress)
        self._workspace = workspace
        self._lines = Lines(workspace, packed, role="part", partition=plan.partition)
        self._history = History(workspace, packed)

    def repair(self) -> list[MissingIds]:
        """Cuts torn ends, and finishes what was being put into place."""
        self._history.repair()
        return repaired(self._workspace, self._lines)

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows: all of them are new."""
        self._lines.add(number, source, rows)
        return len(rows)

    def flush(self) -> None:
        """Writes, and syncs."""
        self._lines.flush()
        self._workspace.files.sync()

    def forget(self) -> None:
        """Forgets what was not committed."""
        self._lines.forget()
        self._history.forget()

    def stored(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """The rows of the frames that may hold one."""
        yield from stored_lines(self._workspace, self._lines, first, last, since)

    def counts(self) -> dict[int, int]:
        """As the frames tell."""
        return self._workspace.journal.rows(["part"])

    def amend(self) -> int:
        """Rewrites the files that hold an older version of a changed message."""
        if not self._workspace.journal.has_changed(0, LAST):
            return 0
        return sum(self._amended(part) for part in self._workspace.journal.parts("part"))

    def relieve(self) -> None:
        """Nothing: its files are always as they should be."""

    def finish(self) -> None:
        """Nothing: its files are always as they should be."""

    def close(self) -> None:
        """Nothing: its files are the workspace's."""

    def _amended(self, part: Part) -> int:
        """Makes a file anew, if it holds a message that has changed; how many it holds."""
        if not self._has_changed(part):
            return 0
        path = self._workspace.folder / part.name
        with self._workspace.journal.transaction():
            size, count = self._made_anew(part)
            self._workspace.journal.keep_part(part._replace(size=size, state="replacing"))
        self._workspace.files.forget(path)
        self._workspace.disk.replace(new_of(path), path)
        sync_folder(self._workspace.disk, self._workspace.folder)
        with self._workspace.journal.transaction():
            self._workspace.journal.keep_part(part._replace(size=size, state=self._lines.state_at(size)))
        self._lines.forget()
        return count

    def _has_changed(self, part: Part) -> bool:
        """Whether a file holds a message that has changed. The ids of its frames tell only that it may."""
        journal = self._workspace.journal
        frames = journal.frames(part.number)
        some = [frame for frame in frames if journal.has_changed(frame.first, frame.last)]
        return any(
            journal.changed(row.id for row in self._lines.rows(packed))
            for _, packed in (self._lines.packed(part, some) if some else ())
        )

    def _made_anew(self, part: Part) -> tuple[int, int]:
        """Writes the new content beside the file, a frame at a time; its size, and how many have changed."""
        journal, new = self._workspace.journal, new_of(self._workspace.folder / part.name)
        self._workspace.disk.remove(new)
        size = count = 0
        frames = journal.frames(part.number)
        journal.drop_frames(part.number)
        for frame, packed in self._lines.packed(part, frames):
            packed, its = self._renewed(frame, packed, size)
            count += its
            self._workspace.files.write(new, size, packed)
            size += len(packed)
        self._workspace.files.sync()
        self._workspace.files.forget(new)
        return size, count

    def _renewed(self, frame: Frame, packed: bytes, start: int) -> tuple[bytes, int]:
        """A frame's bytes as they are to be, and how many of its messages have changed."""
        journal = self._workspace.journal
        rows = self._lines.rows(packed) if journal.has_changed(frame.first, frame.last) else []
        changed = journal.changed(row.id for row in rows)
        if not changed:
            journal.add_frames([frame._replace(start=start)])
            return packed, 0
        self._history.add([(frame.source, row) for row in rows if row.id in changed])
        rows = [changed.get(row.id, row) for row in rows]
        packed = self._lines.packing.pack(lines_of(rows))
        journal.add_frames([frame_of(frame.part, start, packed, frame.source, rows)])
        journal.applied(changed)
        return packed, len(changed)


def stored_lines(
    workspace: Workspace, lines: Lines, first: int, last: int, since: int
) -> Iterator[StoredRow]:
    """The rows of those frames of growing files that may hold what is asked for."""
    for part in workspace.journal.parts(lines.role):
        frames = [
            frame for frame in workspace.journal.frames(part.number) if may_hold(frame, first, last, since)
        ]
        for frame, packed in lines.packed(part, frames) if frames else ():
            for row in lines.rows(packed):
                yield StoredRow(row, frame.source)


def may_hold(frame: Frame, first: int, last: int, since: int) -> bool:
    """Whether a frame may have a row with an id from `first` to `last`, sent at `since` or later."""
    return bool(frame.loose) or (frame.last >= first and frame.first <= last and frame.until >= since)
