"""The check of a page: its records are judged once, by their own members. Pure.

| a record …                                                  | then                                        |
|-------------------------------------------------------------|---------------------------------------------|
| outside of the plan's window                                | is left out                                 |
| of two others, where the list of an acting user was asked   | `ActingUserIgnoredError`: nothing is kept   |
| of another user or group than was asked for                 | is left out; the source fails at its end    |
| that another source of the plan writes                      | counts as seen, and is not written          |
| that another part of the export writes (`plan/parts`)       | its id is left to that part                 |
| of the source                                               | is written                                  |

The seconds at the edges of a window are no fault: they are asked for, and left out by `Window.within`.
"""

from collections.abc import Callable
from itertools import compress, pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ..._core.replies.expectation import Expectation
from ..._core.replies.record_checks import ON_BEHALF_OF
from ..._core.replies.rows import UNKNOWN, Row, rows as read_rows
from ..._secrets import repr_of
from ..._walk.source import Page
from ...errors import ActingUserIgnoredError, ChatRestError
from ..folder.fetched_page import FetchedPage, ForeignMessages, ShownAgain, SourceRows
from ..formats.stored_records import milliseconds
from ..plan.file_names import MILLISECONDS, seconds
from ..plan.message_ids import LAST, PageIds, ids_of, number
from ..plan.ownership import OwnershipRules, Source
from ..plan.parts import PartOwner
from .jobs import ListJob

PARTIES: Final = attrgetter("sender", "receiver", "receiver_type")
_DISORDER: Final = 300
"""Seconds by which the times of a list may go back: as far as the clocks of a service disagree."""


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

    def in_unit_of(self, timestamp: int | None) -> "Window":
        """Return the window in the unit of a timestamp, seconds or milliseconds: no shorter than it is.

        With no timestamp the unit is not known, and no time can be asked for.
        """
        if timestamp is None:
            return Window()
        if timestamp < MILLISECONDS:
            return Window(*(time and seconds(time) for time in self))
        since, until = self
        until = None if until is None else milliseconds(until, end=True)
        return Window(since and milliseconds(since), until)

    def is_past(self, rows: list[Row]) -> bool:
        """Return whether rows in the order of ids show that none of the window comes after them."""
        if self.until is None or not rows:
            return False
        return seconds(min([row.sent_at for row in rows])) > seconds(self.until) + _DISORDER

    def within(self, rows: list[Row]) -> list[Row]:
        """Return the rows that were sent in it; those without a time are kept.

        Window and rows may be in seconds or milliseconds; a second has all its milliseconds.
        """
        since, until = self
        if since is None and until is None:
            return rows
        low = -LAST if since is None else milliseconds(since)
        high = LAST if until is None else milliseconds(until, end=True)
        low_second, high_second = low // 1000, high // 1000

        def holds(time: int) -> bool:
            if time >= MILLISECONDS:
                return low <= time <= high
            return low_second <= time <= high_second or time == UNKNOWN

        return [row for row in rows if holds(row.sent_at)]


def _second(timestamp: int) -> int:
    return 1000 if timestamp >= MILLISECONDS else 1


def last_id(rows: list[Row]) -> int:
    return next((numbered for row in reversed(rows) if (numbered := number(row.id)) is not None), 0)


class PageCheck:
    """Judges the records of a run's pages, and notes the lists that showed foreign ones."""

    def __init__(
        self,
        window: Window,
        rules: OwnershipRules,
        *,
        takes_all: bool = False,
        owner: Callable[[str, str, str], PartOwner] | None = None,
        part: int = 0,
    ) -> None:
        """With `takes_all`, in a run of some of the plan's sources, all that their lists show is written at
        once, also in the files of sources that are not read. In a part of an export, `owner` gives the part
        that writes a message.
        """
        self.window: Window = window
        self.rules: OwnershipRules = rules
        self._takes_all = takes_all
        self._owner = owner
        self._part = part
        self._ignores_since = False
        self._expectations: dict[Source, Expectation] = {}
        self._faults: dict[Source, str] = {}

    def held(self, job: ListJob, rows: list[Row]) -> list[Row]:
        """Return the rows of a list that an export holds: of the window, and of what was asked for.

        Raises `ActingUserIgnoredError`.
        """
        return self.window.within(self.fitting(job.source, rows))

    def page(
        self, job: ListJob, shown_rows: list[Row], ids: PageIds | None = None, **more: Any
    ) -> FetchedPage:
        """Return a page with the rows that a source writes; `ids` are those of all rows, if they are known,
        and `more` are further fields of the page.
        """
        ids = ids_of(shown_rows) if ids is None else ids
        is_again = job.purpose in ("recheck", "confirm")
        rows = [] if job.purpose == "confirm" else self.held(job, shown_rows)
        if job.since:  # a service that does not heed it must not be read as if it did
            rows = Window(job.since).within(rows)
        held_ids = ids if rows is shown_rows else ids_of(rows)
        own, foreign = self._divided(rows)
        if self._takes_all or job.purpose == "missing":
            written = self.by_writer(job.source, own)
        else:
            own_rows = partition_page(own, self.rules, job.source)
            own_ids = held_ids if own_rows is rows else ids_of(own_rows)
            written = [SourceRows(job.source, own_rows, own_ids)]
        return FetchedPage(
            number=job.number, source=job.source, purpose=job.purpose, seen=held_ids, rows=written,
            # Whatever time it shows now, a message that is shown is not deleted.
            again=ShownAgain(ids, own) if is_again else None, foreign=foreign, **more,
        )  # fmt: skip

    def _divided(self, rows: list[Row]) -> tuple[list[Row], ForeignMessages | None]:
        if self._owner is None or not rows:
            return rows, None
        parties = list(map(PARTIES, rows))
        owners = {names: self._owner(*names) for names in set(parties)}
        if all(owner.part == self._part for owner in owners.values()):
            return rows, None
        own, foreign, unlisted = list[Row](), dict[int, list[Row]](), dict[int, list[Row]]()
        for row, names in zip(rows, parties, strict=True):
            owner = owners[names]
            if owner.part == self._part:
                own.append(row)
                continue
            foreign.setdefault(owner.part, []).append(row)
            if not owner.may_show or not row.id:  # what has no id cannot be asked for
                unlisted.setdefault(owner.part, []).append(row)
        return own, ForeignMessages({part: ids_of(each) for part, each in foreign.items()}, unlisted)

    def by_writer(self, source: Source, rows: list[Row]) -> list[SourceRows]:
        by_writer: dict[Source, list[Row]] = {}
        for row, names in zip(rows, list(map(PARTIES, rows)), strict=True):
            by_writer.setdefault(self.rules.writer(*names) or source, []).append(row)
        return [SourceRows(writer, own, ids_of(own)) for writer, own in by_writer.items()]

    # ── what was asked for ──

    def note_times(self, job: ListJob, asked: Window, rows: list[Row]) -> None:
        if job.purpose == "walk" and not self._ignores_since:
            self._ignores_since = len(Window(asked.since).within(rows)) < len(rows)

    def warnings(self) -> list[str]:
        text = "the service ignores since (fromTimestamp): older messages are read, too, and are left out"
        return [text] if self._ignores_since else []

    def fitting(self, source: Source, rows: list[Row]) -> list[Row]:
        if source.kind == "pair" and rows and all(row.sender == row.receiver for row in rows):
            raise ActingUserIgnoredError(_fault(source, rows[0]))  # the acting user's notes to itself
        misfits = self._expectation(source).mismatches(rows)
        if not misfits:
            return rows
        for index, name in misfits.items():
            if name == ON_BEHALF_OF or source.kind == "pair":
                raise ActingUserIgnoredError(_fault(source, rows[index]))
            self._faults.setdefault(source, _fault(source, rows[index]))
        return [row for index, row in enumerate(rows) if index not in misfits]

    def fault(self, source: Source) -> ChatRestError | None:
        fault = self._faults.get(source)
        return None if fault is None else ChatRestError(fault)

    def _expectation(self, source: Source) -> Expectation:
        if source not in self._expectations:
            uid, other = (*source.names, None, None)[:2]
            self._expectations[source] = Expectation.of_messages(
                uid=uid if source.kind in ("user", "pair") else None,
                guid=uid if source.kind == "group" else None,
                acting_user=other if source.kind == "pair" else None,
            )
        return self._expectations[source]


def as_served(page: Page[Row]) -> list[Row]:
    """Return the rows of a reply in the service's order; for a few."""
    return read_rows(page.raw).items


def falls(rows: list[Row]) -> bool:
    ids = [numbered for row in rows if (numbered := number(row.id)) is not None]
    return all(higher > lower for higher, lower in pairwise(ids))


def _fault(source: Source, row: Row) -> str:
    return (
        f"the service showed a message that does not belong to the list of {source}: {repr_of(row.id)}, "
        f"from {repr_of(row.sender)} to the {row.receiver_type or 'receiver'} {repr_of(row.receiver)}; "
        "it is not stored there"
    )


def partition_page(rows: list[Row], rules: OwnershipRules, source: Source) -> list[Row]:
    """Return the rows that a source writes: its own, and those that no source claims."""
    if rules.writes_all(source):
        return rows
    parties = list(map(PARTIES, rows))
    # Most pages are of a few conversations, and a source's own.
    distinct = set(parties)
    own = {names for names in distinct if rules.writes(source, *names)}
    return rows if len(own) == len(distinct) else list(compress(rows, map(own.__contains__, parties)))
