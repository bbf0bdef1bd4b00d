"""What to do about a damaged export, and whose messages are concerned, as far as the journal knows."""

from pathlib import Path
from typing import final

from ..journal import Block
from ..manifest import PartEntry
from .journal_reader import JournalReader, UnreadableError

_SHOWN = 3


@final
class Remedies:
    """Advice for one folder."""

    def __init__(self, folder: Path, witness: JournalReader | None, *, can_go_on: bool) -> None:
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
        grown = bool(entry.blocks)
        blocks = [each for each in self._blocks(entry) if not grown or start <= each.start < end]
        if not blocks:
            return f"{entry.messages:,} messages are in the file, ids {entry.first_id} to {entry.last_id}"
        by_source: dict[int, list[Block]] = {}
        for block in blocks:
            by_source.setdefault(block.source, []).append(block)
        told = [self._told(source, its) for source, its in by_source.items()]
        more = f" and {len(told) - _SHOWN:,} sources more" if len(told) > _SHOWN else ""
        return f"{sum(block.rows for block in blocks):,} messages, {', '.join(told[:_SHOWN])}{more}"

    def _told(self, source: int, blocks: list[Block]) -> str:
        assert self._witness is not None
        first, last = min(block.first for block in blocks), max(block.last for block in blocks)
        return f"{self._witness.name(source)} ids {first} to {last}".lstrip()

    def _blocks(self, entry: PartEntry) -> list[Block]:
        try:
            return [] if self._witness is None else self._witness.blocks(entry.name)
        except UnreadableError:
            return []
