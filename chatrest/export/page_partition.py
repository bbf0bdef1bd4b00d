"""From a page to what is written of it: what lies in the hole and in the window, and is the source's own."""

from operator import attrgetter
from typing import Final, NamedTuple

from ..core.endpoint import Pairs
from ..core.rows import UNKNOWN, Row
from .file_names import MILLISECONDS
from .message_ids import key_of, number, span
from .ownership import Ownership, SourceOwnership

_ENDS: Final = attrgetter("sender", "receiver", "receiver_type")


class Window(NamedTuple):
    """The times that an export holds, both included."""

    since: int | None = None
    until: int | None = None

    def asked(self, recheck_since: int | None = None) -> "Window":
        """Return the window to ask the service for: a second wider at both ends.

        Some services leave the second of `fromTimestamp` or `toTimestamp` itself out, so `within` decides
        which rows belong to the export. `recheck_since` is where a recheck begins. An end is never asked for
        without a beginning: some services would ignore it.
        """
        since = self.since
        if recheck_since is not None or self.until is not None:
            since = max(recheck_since or 0, since or 0)
        low = None if since is None else max(0, since - _second(since))
        return Window(low, None if self.until is None else self.until + _second(self.until))

    def within(self, rows: list[Row]) -> list[Row]:
        """Return the rows that were sent in it; those that tell no time are kept."""
        if self.since is None and self.until is None:
            return rows
        low = float("-inf") if self.since is None else self.since
        high = float("inf") if self.until is None else self.until
        return [row for row in rows if row.sent_at == UNKNOWN or low <= row.sent_at <= high]


class PagePartition(NamedTuple):
    """What a source does with the rows of a page."""

    rows: list[Row]
    unclaimed: frozenset[str]
    shared: list[int]
    theirs: list[int]


def _second(timestamp: int) -> int:
    """Return a second in the unit of a timestamp."""
    return 1000 if timestamp >= MILLISECONDS else 1


def cut(rows: list[Row], after: int, until: int) -> tuple[list[Row], int, bool]:
    """The rows up to an id, the last id among them, and whether there were some behind it.

    The rows ascend, those without a number for an id first; those up to `after` are left out. Where none has
    a number, they cover nothing: the last id is `after`.
    """
    if rows and 0 < span(rows)[0] <= after:  # a list that is read from its start
        rows = [row for row in rows if (its := number(row.id)) is None or its > after]
    last = max(after, span(rows)[1])
    if last <= until:
        return rows, last, False
    return [row for row in rows if (number(row.id) or 0) <= until], until, True


def place_of(at: Pairs) -> int:
    """The id that a list goes on from, as the service said; 0 where it said none."""
    return number(dict(at).get("id", "")) or 0


def partition_page(rows: list[Row], judge: SourceOwnership) -> PagePartition:
    """Ownership each of the rows is."""
    if not rows:
        return PagePartition(rows, frozenset(), [], [])
    # Most pages are of a few conversations, and a source's own. Rows without a number for an id come first;
    # they are nobody's, for they cannot be noted otherwise.
    if number(rows[0].id) is not None and all(
        judge.of(its) is Ownership.OWN for its in set(map(_ENDS, rows))
    ):
        return PagePartition(rows, frozenset(), [], [])
    return _sorted(rows, list(map(judge, rows)))


def _sorted(rows: list[Row], whose: list[Ownership]) -> PagePartition:
    kept: list[Row] = []
    unclaimed: set[str] = set()
    shared: list[int] = []
    theirs: list[int] = []
    for row, its in zip(rows, whose, strict=True):
        numbered = number(row.id)
        if numbered is None or its is Ownership.UNCLAIMED:
            unclaimed.add(key_of(row))
        elif its is Ownership.FOREIGN:
            theirs.append(numbered)
            continue
        elif its is Ownership.SHARED:
            shared.append(numbered)
        kept.append(row)
    return PagePartition(kept, frozenset(unclaimed), shared, theirs)
