"""The end of a list: whether there is anything to read, and the proof that all of it was shown.

| asked for                       | and what it proves                                                       |
|---------------------------------|--------------------------------------------------------------------------|
| the newest messages (the head)  | if all were seen, and the head is honest, nothing is new; a list has     |
|                                 | ended if no newer message is shown than it returned                      |
| what is after the last ids      | if it returns only known ids, the list has nothing new, at whatever time |
| the latest messages up to an id | if all were seen, the reading has left nothing out                       |

Each costs one request. The last two are for services that order a list by time, then id, and let it be
entered by an id alone, or by a time and an id: a message may be added later with an earlier time than those
before it, if clocks disagree.

A head is honest if it is the whole list, or the list has shown something older: a service that cannot go
backwards shows the oldest messages as the newest.
"""

from contextlib import aclosing
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

from msgspec import Struct, field, structs

from ..._core.replies.rows import UNKNOWN, Row
from ..._core.requests.endpoint import Pairs
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._threads import in_thread
from ..._walk.source import Page
from ...errors import BadRequestError, ChatRestError
from ..folder.export_folder import ExportFolder
from ..folder.id_continuity import IdContinuity
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds, ids_of, number
from ..plan.ownership import Source
from ..plan.report import Active
from .jobs import ListJob, ListPiece
from .page_check import PageCheck, Window
from .piece_reader import NotOrderedByIdError

_HEAD: Final = 10
_KNOWN: Final = 3
"""Of the known ids, how many are asked for again with what is new: fewer than any page has, so that a reply
of them alone is not cut off."""
_EVER: Final = Window()


class ListStart(Struct, frozen=True):
    """The facts of a list that are known before a piece of it is read."""

    piece: ListPiece
    seen: IdSet
    """The ids that the list has shown to earlier runs."""
    is_timed: bool = False
    """True if the service's positions tell times."""
    resumed_after: int = 0
    """The id after which it is resumed at a position with a time, so that messages before that time
    may have been left out; 0 if it is not."""
    head: list[Row] | None = None
    """The newest messages; None if they were not asked for."""
    late: IdSet = field(default_factory=IdSet)
    """Of the head, the ids that came late: they are covered, and were not seen."""
    is_done: bool = False
    """True if the list is empty, or has nothing new."""

    @property
    def job(self) -> ListJob:
        return self.piece.of

    def late_of(self, ids: IdSet, covered: int) -> IdSet:
        """Return the ids that are covered and were not seen: they were added late and are missing."""
        return ids.between(1, covered) - self.seen if self.job.purpose == "walk" else IdSet()


class ListReading(Struct, eq=False):
    """The ids that a list has shown to the reader of a piece."""

    start: ListStart
    covered: int
    """The id up to which all was shown; 0 for a list that is read in the service's order."""
    noted: int
    """The id up to which the journal is to know so: a first page proves nothing before a second one."""
    position: Pairs
    """Where the list continues after the last page, as the service named it."""
    is_timed: bool
    """True if the service's positions tell times."""
    active: Active
    """What is shown of its progress."""
    ids: IdSet = field(default_factory=IdSet)
    keys: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    highest: int = 0
    """The highest id that it has shown, after the end of the piece, too."""

    @classmethod
    def of(cls, start: ListStart, active: Active) -> "ListReading":
        after = 0 if start.job.by_time else start.piece.after
        head = ids_of(start.head or []).numbers.last
        return cls(start, after, after, start.piece.position, start.is_timed, active, highest=head)

    @property
    def last(self) -> int:
        return max(self.covered, self.ids.last)

    @property
    def count(self) -> int:
        return len(self.ids) + len(self.keys)

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.keys or self.covered)

    def add(self, ids: PageIds) -> None:
        self.ids.update(ids.numbers)
        self.keys.update(ids.others)

    @property
    def head_end(self) -> int:
        """The id up to which a list that goes by time may be covered: the highest of an honest head.

        Messages added during the reading have higher ids, and may have a time that was passed. `LAST`
        for any other list.
        """
        head = self.start.head
        if not self.is_timed or not head or (ids := ids_of(head)).others or self.start.job.until != LAST:
            return LAST
        return ids.numbers.last if self._is_honest(ids) else LAST

    def _is_honest(self, head: PageIds) -> bool:
        is_whole = self.start.head is not None and len(self.start.head) < _HEAD
        return is_whole or 0 < (self.ids | self.start.seen).first < head.numbers.first

    def position_after(self, last: int) -> Pairs:
        """Return the position after an id up to which the list is covered."""
        named = dict(self.position)
        # A last page repeats the requested position.
        is_named = is_timed(self.position) and (number(named["id"]) or 0) <= last
        return behind(last) if self.is_timed and last and not is_named else self.position

    def has_passed_head(self, order: "Order | None" = None) -> bool:
        """Return whether all of an honest head was shown: later messages are newer.

        `order` is that of a list that is read in the service's order: its ids say nothing.
        """
        if not self.start.head:
            return False
        head = ids_of(self.start.head)
        if order is not None:
            is_honest = order.begins_before(min(row.sent_at for row in self.start.head))
            return is_honest and head.numbers <= self.ids and head.others.keys() <= self.keys
        begun_after = 0 if self.start.job.by_time else self.start.piece.after
        new = head.numbers.between(begun_after + 1, LAST)
        return bool(new) and not head.others and new <= self.ids and self._is_honest(head)


class PassEnd(NamedTuple):
    """The end of a pass over the pages of a list."""

    piece: ListPiece
    """With the end that it has now: it may have been cut meanwhile."""
    is_over: bool
    """True if the piece is done: its end, the plan's window, or all of the head was passed."""
    is_left: bool = True
    """False if the list itself has ended."""
    is_by_id: bool = True
    """False if a list that was read in the service's order has shown ids up and down."""


class UnseenIds(NamedTuple):
    """The ids that a list should have shown, by its newest messages."""

    keys: list[str]
    """Those that it has not."""
    late: IdSet
    """Those that came late: they are covered, and were not seen."""


class Order(Struct, eq=False):
    """The order in which a list that is read in the service's order has shown its messages."""

    ids: list[int] = []
    """The first and the last id."""
    times: list[int] = []
    is_up: bool = True
    is_down: bool = True
    is_chronological: bool = True

    def add(self, rows: list[Row]) -> None:
        ids = [*self.ids[1:], *(numbered for row in rows if (numbered := number(row.id)) is not None)]
        times = [*self.times[1:], *(row.sent_at for row in rows)]
        self.is_up &= all(earlier < later for earlier, later in pairwise(ids))
        self.is_down &= all(earlier > later for earlier, later in pairwise(ids))
        self.is_chronological &= UNKNOWN not in times and times == sorted(times)
        self.ids, self.times = _ends(self.ids or ids, ids), _ends(self.times or times, times)

    @property
    def is_by_id(self) -> bool:
        return self.is_up or self.is_down

    def begins_before(self, time: int) -> bool:
        """Return whether it goes from old to new, and has shown something older than a time."""
        return self.is_chronological and bool(self.times) and self.times[0] < time


def _ends(first: list[int], last: list[int]) -> list[int]:
    return [first[0], last[-1]] if last else first


@final
class ListEnds:
    """Asks for the ends of lists, and compares them with what the export and a reading have seen."""

    def __init__(self, messages: Messages, export: ExportFolder, check: PageCheck, ids: IdContinuity) -> None:
        self._messages = messages
        self._export = export
        self._check = check
        self._ids = ids
        self.window: Window = check.window
        """The times to ask the service for, in its unit."""

    def note_unit(self, timestamp: int | None) -> None:
        """Ask for times in the unit of a timestamp of the service; None if no message shows one."""
        self.window = self.window.in_unit_of(timestamp)

    async def start(self, piece: ListPiece) -> ListStart:
        """Return what is known of a list before a piece of it is read."""
        shown = await in_thread(lambda: self._export.seen(piece.of.number))
        # An interrupted run has read so far, by time.
        is_resumed = is_timed(piece.position) and piece.after > piece.of.proven
        return ListStart(piece, shown, is_timed(piece.position), piece.after if is_resumed else 0)

    # ── before a list is read ──

    async def look(self, start: ListStart) -> ListStart:
        """Ask whether a list is empty, or has nothing new, and for its head: a request, or two, or none."""
        piece, job = start.piece, start.job
        is_walk = job.purpose == "walk" and not job.by_time
        is_later = is_walk and not piece.is_from_start
        is_unbounded = job.by_time or (job.purpose == "walk" and job.until == LAST)
        if is_later and start.is_timed and not start.resumed_after:
            if await self._has_nothing_behind(start):
                return structs.replace(start, is_done=True)
            # By the id alone: messages added later with an earlier time are after it, too.
            position = tuple(pair for pair in piece.position if pair[0] != "sentAt")
            start = structs.replace(start, piece=structs.replace(piece, position=position))
        # One that has the app's newest message is not empty; and a window with an end is asked for in the
        # list's own direction alone, as services take it in other ways.
        is_new = is_walk and not piece.after and piece.is_from_start
        may_be_empty = is_new and not job.has_newest and self.window.until is None
        if not (is_unbounded or may_be_empty or (is_later and not start.is_timed)):
            return start
        try:
            rows = await self.newest(job)
        except BadRequestError:  # the pages decide
            return start
        await self._ids.check(rows)
        if is_unbounded:
            self._ids.see(rows)
        if not rows:
            return structs.replace(start, head=rows, is_done=not piece.after)
        start = structs.replace(start, head=rows)
        return await self._compared(start, rows) if is_later and not start.is_timed else start

    async def _has_nothing_behind(self, start: ListStart) -> bool:
        """Return whether a list shows nothing new after its last known ids."""
        job, after = start.job, start.piece.after
        first = min(filter(None, (start.seen.from_last(_KNOWN), after)))
        behind = {"id": str(first - 1)} if first > 1 else {}
        page = await self._page(job, affix="append", **behind)
        rows = [] if page is None else page.items
        await self._ids.check(rows)
        ids = ids_of(self._check.held(job, rows))
        is_whole = len(rows) <= _KNOWN and any(number(row.id) == after for row in rows)
        is_whole = is_whole and not _counts_more(page)  # a service may give as few a page
        return is_whole and ids.numbers <= start.seen and not await self._never_seen(job, {*ids.others})

    async def _compared(self, start: ListStart, rows: list[Row]) -> ListStart:
        """Note whether the newest messages of a list by id have all been seen: then nothing in it is new.

        If they are not the whole list, more than these must have been seen: a service that cannot go
        backwards shows the oldest ones.
        """
        shown, ids = start.seen, ids_of(self._check.held(start.job, rows))
        if not ids.numbers:
            return start
        is_honest = len(rows) < _HEAD or len(shown) > len(ids.numbers)
        is_dense = shown.count(ids.numbers.first, shown.last) == len(ids.numbers)
        is_seen = ids.numbers <= shown and not await self._never_seen(start.job, {*ids.others})
        late = start.late_of(ids.numbers, start.piece.after)
        return structs.replace(start, late=late, is_done=is_honest and is_dense and is_seen)

    async def _never_seen(self, job: ListJob, keys: set[str]) -> set[str]:
        return await in_thread(lambda: self._export.unseen_keys(job.number, keys)) if keys else keys

    # ── after it was read ──

    async def unseen(self, piece: ListPiece, reading: ListReading, *, is_first: bool) -> UnseenIds:
        """Return the ids that a list should have shown, but has not, by its newest messages.

        They are requested without a window, unless it has an end, because newer ones are after that end. A
        recheck requests them with it: its confirmation checks how the service treats times.
        """
        job, window, head, late = piece.of, self._check.window, reading.start.head, IdSet()
        if is_first and head is not None and window.until is None:
            rows = head
        else:
            is_asked = window.until is not None or job.purpose == "recheck"
            rows = await self.newest(job, self.window_of(job) if is_asked else _EVER)
        held = Window(job.since or None).within(self._check.held(job, rows))
        if job.since or window != _EVER:
            held = [row for row in held if row.sent_at != UNKNOWN]
        ids = ids_of(held)
        if job.by_time:
            return UnseenIds(
                [*map(str, ids.numbers - reading.ids), *(ids.others.keys() - reading.keys)], late
            )
        if ids.numbers.last > reading.covered:
            return UnseenIds([str(ids.numbers.last)], late)
        keys = ids.others.keys() - reading.keys if piece.until >= job.until else set[str]()
        if job.purpose == "walk":  # other pieces of the list may have seen them
            keys = await self._never_seen(job, keys)
        if not keys:
            late = reading.start.late_of(ids.numbers - reading.ids, reading.covered)
        return UnseenIds(list(keys), late)

    async def check_times(self, end: PassEnd, reading: ListReading) -> None:
        """Raise `NotOrderedByIdError` if the list shows messages up to the last id that the reading of a
        list by time has left out: the latest of them, or those after the id after which it was resumed.
        """
        job, resumed_after = end.piece.of, reading.start.resumed_after
        until = min(reading.last, end.piece.until, job.until)
        asked = [{"affix": "append", "id": str(resumed_after)}] if resumed_after else []
        # The app's newest message is the last one of the lists that have it: nothing up to it comes after it.
        if reading.head_end == LAST and end.is_left and job.until not in reading.ids:
            asked.append({"affix": "prepend", "id": str(until + 1)})
        for query in asked:
            try:  # a service may show those after the id as well
                page = await self._page(job, **query)
            except BadRequestError:  # no service that continues from an id refuses one
                continue
            rows = [] if page is None else self._check.window.within(page.items)
            ids = ids_of(Window(job.since or None).within(rows)).numbers.between(1, until)
            if ids - reading.ids - reading.start.seen:
                raise NotOrderedByIdError

    async def check_empty_pair(self, job: ListJob) -> None:
        """Check that the list of a pair is empty from its other side, too: costs a request.

        A service that ignores the acting user shows what the owner of its login token has with the user in
        the path, which may be nothing. Raises `ActingUserIgnoredError` for messages of others, and
        `ChatRestError` for those of the pair.
        """
        first, second = job.source.names
        walk = Source("pair", (second, first)).list(self._messages, MessageQuery(affix="prepend"))
        if self._check.held(job, await walk.limit(_HEAD).collect()):
            raise ChatRestError(
                f"the list of {first} on behalf of {second} is empty, and that of {second} on behalf of "
                f"{first} is not: the service ignores the acting user"
            )

    # ── requests ──

    async def newest(self, job: ListJob, window: Window = _EVER) -> list[Row]:
        """Return the newest messages of a list: without a window, as services take its ends in other ways."""
        times = {"from_timestamp": window.since, "to_timestamp": window.until}
        page = await self._page(job, affix="prepend", **times)
        return [] if page is None else page.items

    async def _page(self, job: ListJob, **query: Any) -> Page[Row] | None:
        walk = job.list(self._messages, MessageQuery(**query))
        async with aclosing(walk.limit(_HEAD).pages()) as pages:
            return await anext(pages, None)

    def window_of(self, job: ListJob) -> Window:
        if job.purpose == "confirm":  # it must not depend on how the service treats times
            return Window()
        return self.window.asked(job.since if job.purpose == "recheck" else None)


def is_timed(position: Pairs) -> bool:
    """Return whether a position has a time."""
    return "sentAt" in dict(position)


def behind(last: int) -> Pairs:
    """Return the position after an id of a list whose positions are times.

    The service named none. The time only marks such a list: it is entered by the id alone.
    """
    return (("affix", "append"), ("id", str(last)), ("sentAt", "1"))


def _counts_more(page: Page[Row] | None) -> bool:
    """Return True for a page that reports that others follow."""
    pagination = None if page is None else page.meta.pagination
    if pagination is None or pagination.current_page is None or pagination.total_pages is None:
        return False
    return pagination.current_page < pagination.total_pages
