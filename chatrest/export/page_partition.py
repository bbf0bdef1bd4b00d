"""From a page to the rows that are written of it: those of the window, and of the source. Pure."""

from itertools import compress
from operator import attrgetter
from typing import Final, NamedTuple, final

from ..core.replies.rows import UNKNOWN, Row
from ..parameters.messages import MessageQuery
from .archive import FetchedPage
from .file_names import MILLISECONDS, seconds
from .jobs import Job
from .message_ids import ids_of, number
from .ownership import Ownership, OwnershipRules, Source, SourceOwnership
from .source_filter import SourceFilter

_DISORDER: Final = 300
"""Seconds by which the times of a list may go back: as far as the clocks of a service disagree."""
_ENDS: Final = attrgetter("sender", "receiver", "receiver_type")
_SENT_AT: Final = attrgetter("sent_at")


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

    def is_past(self, rows: list[Row]) -> bool:
        """Return whether rows in the order of ids show that none of the window comes after them."""
        if self.until is None or not rows:
            return False
        return seconds(min(map(_SENT_AT, rows))) > seconds(self.until) + _DISORDER

    def within(self, rows: list[Row]) -> list[Row]:
        """Return the rows that were sent in it; those that tell no time are kept.

        Window and rows may be in seconds or milliseconds; a second has all its milliseconds.
        """
        since, until = self
        if since is None and until is None:
            return rows
        low, low_ms = float("-inf"), float("-inf")
        high, high_ms = float("inf"), float("inf")
        if since is not None:
            low, low_ms = seconds(since), since if since >= MILLISECONDS else since * 1000
        if until is not None:
            high, high_ms = seconds(until), until if until >= MILLISECONDS else until * 1000 + 999
        return [
            row
            for row in rows
            if (
                low_ms <= sent_at <= high_ms
                if (sent_at := row.sent_at) >= MILLISECONDS
                else low <= sent_at <= high
            )
            or sent_at == UNKNOWN
        ]


def _second(timestamp: int) -> int:
    """Return a second in the unit of a timestamp."""
    return 1000 if timestamp >= MILLISECONDS else 1


def last_id(rows: list[Row]) -> int:
    """Return the highest id of rows in ascending order; 0 where none is a number."""
    return next((numbered for row in reversed(rows) if (numbered := number(row.id)) is not None), 0)


@final
class PageDivider:
    """Divides the rows of pages by a window, and by the rule of ownership."""

    def __init__(
        self, window: Window, rules: OwnershipRules, source_filter: SourceFilter | None = None
    ) -> None:
        self.window: Window = window
        self.filter: SourceFilter = source_filter or SourceFilter(MessageQuery())
        self._rules = rules
        self._ownerships: dict[Source, SourceOwnership] = {}

    def held(self, job: Job, rows: list[Row]) -> list[Row]:
        """Return the rows of a list that an export holds: of the window, and of what was asked for.

        Raises `ActingUserIgnoredError`.
        """
        return self.window.within(self.filter.fitting(job.source, rows))

    def page(self, job: Job, rows: list[Row]) -> FetchedPage:
        """Return a page with the rows that a source writes; it covers nothing yet."""
        shown = None
        if job.purpose in ("recheck", "confirm"):
            shown = ids_of(rows).numbers  # whatever time it tells now, a message that is shown is not deleted
        rows = [] if job.purpose == "confirm" else self.held(job, rows)
        if job.since:  # a service that does not heed it must not be read as if it did
            rows = Window(job.since).within(rows)
        seen = ids_of(rows)
        takes_all = job.purpose == "missing"
        written = rows if takes_all else partition_page(rows, self._ownership(job.source))
        return FetchedPage(
            number=job.number,
            after=0,
            last=0,
            source=job.source,
            purpose=job.purpose,
            seen=seen,
            rows=written,
            ids=seen if written is rows else ids_of(written),
            writers=self._writers(job.source, rows) if takes_all else None,
            shown=shown,
            compared=rows if job.purpose == "recheck" else [],
        )

    def _ownership(self, source: Source) -> SourceOwnership:
        if source not in self._ownerships:
            self._ownerships[source] = self._rules.of(source)
        return self._ownerships[source]

    def _writers(self, source: Source, rows: list[Row]) -> dict[Source, list[Row]]:
        """Return the rows by the sources whose files they belong to."""
        by_writer: dict[Source, list[Row]] = {}
        for row in rows:
            by_writer.setdefault(self._rules.writer(*_ENDS(row)) or source, []).append(row)
        return by_writer


def partition_page(rows: list[Row], ownership: SourceOwnership) -> list[Row]:
    """Return the rows that a source writes: its own, and those that no source claims."""
    if ownership.owns_all:
        return rows
    ends = list(map(_ENDS, rows))
    # Most pages are of a few conversations, and a source's own.
    distinct = set(ends)
    own = {names for names in distinct if ownership.of(names) is not Ownership.FOREIGN}
    return rows if len(own) == len(distinct) else list(compress(rows, map(own.__contains__, ends)))
