"""What to do about a damaged export, and whose messages are concerned, as far as the journal knows."""

from pathlib import Path
from typing import final

from ..journal import Frame
from ..manifest import PartEntry
from .witness import UnreadableError, Witness

_SHOWN = 3


@final
class Counsel:
    """Advice for one folder."""

    def __init__(self, folder: Path, witness: Witness | None, *, can_go_on: bool) -> None:
        self._folder = folder
        self._witness = witness
        self._can_go_on = can_go_on

    @property
    def again(self) -> str:
        """Where another run does it."""
        if not self._can_go_on:
            return "export it anew, into another folder: without its journal an export cannot go on"
        return f"run `chatrest export {self._folder}` again"

    def mend(self, entry: PartEntry) -> str:
        """Where a part is damaged."""
        if not self._can_go_on:
            return self.again
        if entry.role == "history":
            return f"older versions cannot be read again: keep what is left elsewhere, and {self.again}"
        if not (self._folder / entry.name).exists():
            return f"{self.again}: what was in it is read anew"
        return (
            f"move {entry.name} elsewhere, and {self.again}: what was in it is read anew; keep it until that "
            "is verified, for what the service does not show any more is in it alone"
        )

    def whose(self, entry: PartEntry, start: int, end: int) -> str:
        """The messages in some bytes of a part."""
        grown = bool(entry.frames)
        frames = [each for each in self._frames(entry) if not grown or start <= each.start < end]
        if not frames:
            return f"{entry.messages:,} messages are in the file, ids {entry.first_id} to {entry.last_id}"
        by_source: dict[int, list[Frame]] = {}
        for frame in frames:
            by_source.setdefault(frame.source, []).append(frame)
        told = [self._told(source, its) for source, its in by_source.items()]
        more = f" and {len(told) - _SHOWN:,} sources more" if len(told) > _SHOWN else ""
        return f"{sum(frame.rows for frame in frames):,} messages, {', '.join(told[:_SHOWN])}{more}"

    def _told(self, source: int, frames: list[Frame]) -> str:
        assert self._witness is not None
        first, last = min(frame.first for frame in frames), max(frame.last for frame in frames)
        return f"{self._witness.name(source)} ids {first} to {last}".lstrip()

    def _frames(self, entry: PartEntry) -> list[Frame]:
        try:
            return [] if self._witness is None else self._witness.frames(entry.name)
        except UnreadableError:
            return []
