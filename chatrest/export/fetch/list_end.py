"""The end of a list: whether there is anything to read, and the proof that all of it was shown.

| asked for                       | and what it proves                                                       |
|---------------------------------|--------------------------------------------------------------------------|
| the newest messages (the head)  | where all of them were seen, and they are those at the end, nothing is   |
|                                 | new; a list has ended where no newer one is shown than it gave           |
| what is after the last ids      | if it returns only known ids, the list has nothing new, at whatever time |
| the latest messages up to an id | if all were seen, the reading has left nothing out                       |

Each costs one request. The last two are for services that order a list by time, then id, and let it be
entered by an id alone, or by a time and an id: there a message may come later with an earlier time than those
before it, where clocks disagree.

A head is honest if it is the whole list, or the list has shown something older: a service that cannot go
backwards shows the oldest messages as the newest.
"""

from contextlib import aclosing
from itertools import pairwise
from typing import Any, Final, final

from msgspec import Struct, field

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
from ..plan.intervals import LAST
from ..plan.message_ids import PageIds, ids_of, number
from ..plan.ownership import Source
from ..plan.report import Active
from .backlog import Backlog
from .jobs import JobPiece, ListJob
from .page_check import PageCheck, Window
from .piece_reader import NotOrderedByIdError

_HEAD: Final = 10
_KNOWN: Final = 3
"""Of the known ids, how many are asked for again with what is new: fewer than any page has, so that a reply
of them alone is not cut off."""
_EVER: Final = Window()


class ListReading(Struct, eq=False):
    """The ids that a list has shown to the reader of a piece."""

    job: ListJob
    covered: int
    """The id up to which all was shown; 0 for a list that is read in the service's order."""
    begun_after: int
    """The id after which it was entered."""
    noted: int
    """The id up to which the journal is to know so: a first page proves nothing before a second one."""
    seen: IdSet
    """The ids that the list has shown to earlier runs."""
    position: Pairs = ()
    """Where the list continues after the last page, as the service named it."""
    ids: IdSet = field(default_factory=IdSet)
    keys: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    head: list[Row] | None = None
    """The newest messages when the reading began; None if they were not asked for."""
    is_timed: bool = False
    """True if the service's positions tell times."""
    resumed_after: int = 0
    """The id after which it was resumed at a position with a time, so that messages before that time
    may have been left out; 0 if it was not."""
    is_ordered: bool = True
    """False once a list that was read in the service's order has shown ids up and down."""
    active: Active = field(default_factory=lambda: Active(""))
    """What is shown of its progress."""
    has_ended: bool = False
    """True once the list itself has ended, and was not left."""
    is_over: bool = False
    """True once it has passed the plan's window, or all of the head."""

    @property
    def last(self) -> int:
        return max(self.covered, self.ids.last)

    @property
    def count(self) -> int:
        return len(self.ids) + len(self.keys)

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.keys or self.covered)

    def add(self, rows: list[Row]) -> None:
        """Note rows, in the order of the list."""
        ids = ids_of(rows)
        self.ids.update(ids.numbers)
        self.keys.update(ids.others)

    @property
    def head_end(self) -> int:
        """The id up to which a list that goes by time may be covered: the highest of an honest head.

        What came while it was read has a higher one, and may have come with a time that was passed. `LAST`
        for any other list.
        """
        if not self.is_timed or not self.head or (ids := ids_of(self.head)).others or self.job.until != LAST:
            return LAST
        return ids.numbers.last if self._is_honest(ids) else LAST

    def _is_honest(self, head: PageIds) -> bool:
        is_whole = self.head is not None and len(self.head) < _HEAD
        return is_whole or 0 < (self.ids | self.seen).first < head.numbers.first

    def position_after(self, last: int) -> Pairs:
        """Return where the list continues after an id up to which it is covered."""
        named = dict(self.position)
        # A last page repeats where it was asked for.
        is_named = is_timed(self.position) and (number(named["id"]) or 0) <= last
        return behind(last) if self.is_timed and last and not is_named else self.position

    def has_passed_head(self, order: "Order | None" = None) -> bool:
        """Return whether all of an honest head was shown: what is after it is newer.

        `order` is that of a list that is read in the service's order: its ids say nothing.
        """
        if not self.head:
            return False
        head = ids_of(self.head)
        if order is not None:
            is_honest = order.begins_before(min(row.sent_at for row in self.head))
            return is_honest and head.numbers <= self.ids and head.others.keys() <= self.keys
        new = head.numbers.between(self.begun_after + 1, LAST)
        return bool(new) and not head.others and new <= self.ids and self._is_honest(head)


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
        self.is_up &= all(one < other for one, other in pairwise(ids))
        self.is_down &= all(one > other for one, other in pairwise(ids))
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
    """Asks for the ends of lists, and compares them with what the archive and a reading have seen."""

    def __init__(self, messages: Messages, archive: ExportFolder, check: PageCheck, backlog: Backlog) -> None:
        self._messages = messages
        self._archive = archive
        self._check = check
        self._backlog = backlog
        self.ids: IdContinuity = IdContinuity(messages, archive)
        self.window: Window = check.window
        """The times to ask the service for, in its unit."""
        self.highest: int = 0
        """The highest id that any list has shown, after the frozen end, too."""

    async def reading(self, piece: JobPiece) -> ListReading:
        """Return what is known of a list before a piece of it is read."""
        job, after = piece.of, 0 if piece.of.by_time else piece.after
        seen = await in_thread(lambda: self._archive.seen(job.number))
        reading = ListReading(job, after, after, after, seen, piece.position)
        if is_timed(piece.position):
            reading.is_timed = True
            if piece.after > job.proven:  # an interrupted run has read so far, by time
                reading.resumed_after = piece.after
        return reading

    # ── before a list is read ──

    async def has_nothing(self, piece: JobPiece, reading: ListReading) -> bool:
        """Return whether a list is empty, or has nothing new; its head is noted where it is asked for."""
        job = piece.of
        is_walk = job.purpose == "walk" and not job.by_time
        is_later = is_walk and bool(piece.is_guess or piece.position)
        is_unbounded = job.by_time or (job.purpose == "walk" and job.until == LAST)
        if is_later and reading.is_timed and not reading.resumed_after:
            if await self._has_nothing_behind(piece, reading):
                return True
            # By the id alone: what came later with an earlier time lies after it, too.
            piece.position = tuple(pair for pair in piece.position if pair[0] != "sentAt")
        # One that has the app's newest message is not empty; and a window with an end is asked for in the
        # list's own direction alone, as services take it in other ways.
        is_new = is_walk and not (piece.after or piece.position or piece.is_guess)
        may_be_empty = is_new and not job.has_newest and self.window.until is None
        if not (is_unbounded or may_be_empty or (is_later and not reading.is_timed)):
            return False
        try:
            rows = await self.newest(job)
        except BadRequestError:  # the pages decide
            return False
        await self.ids.check(rows)
        if is_unbounded:
            self.ids.see(rows)
        reading.head, self.highest = rows, max(self.highest, ids_of(rows).numbers.last)
        if not rows:
            return not piece.after
        return is_later and not reading.is_timed and await self._has_seen(piece, reading, rows)

    async def _has_nothing_behind(self, piece: JobPiece, reading: ListReading) -> bool:
        """Return whether a list shows nothing new after its last known ids."""
        job = piece.of
        first = min(filter(None, (reading.seen.from_last(_KNOWN), piece.after)))
        behind = {"id": str(first - 1)} if first > 1 else {}
        page = await self._page(job, affix="append", **behind)
        rows = [] if page is None else page.items
        await self.ids.check(rows)
        ids = ids_of(self._check.held(job, rows))
        is_whole = len(rows) <= _KNOWN and any(number(row.id) == piece.after for row in rows)
        is_whole = is_whole and not _counts_more(page)  # a service may give as few a page
        return is_whole and ids.numbers <= reading.seen and not await self._never_seen(job, {*ids.others})

    async def _has_seen(self, piece: JobPiece, reading: ListReading, rows: list[Row]) -> bool:
        """Return whether the newest messages of a list by id have all been seen: nothing in it is new.

        Where they are not the whole list, they must not be all that was seen, either: a service that cannot
        go backwards shows the oldest ones.
        """
        job, seen = piece.of, reading.seen
        ids = ids_of(self._check.held(job, rows))
        if not ids.numbers:
            return False
        await self.see_late(job, ids.numbers, piece.after, reading)
        is_honest = len(rows) < _HEAD or len(seen) > len(ids.numbers)
        is_dense = seen.count(ids.numbers.first, seen.last) == len(ids.numbers)
        is_seen = ids.numbers <= seen and not await self._never_seen(job, {*ids.others})
        return is_honest and is_dense and is_seen

    async def _never_seen(self, job: ListJob, keys: set[str]) -> set[str]:
        return await in_thread(lambda: self._archive.unseen_keys(job.number, keys)) if keys else keys

    # ── after it was read ──

    async def unseen(self, piece: JobPiece, reading: ListReading, *, is_first: bool) -> list[str]:
        """Return the ids that a list should have shown, but has not, by its newest messages.

        They are asked for without a window, unless that has an end, behind which the newest ones lie; of a
        recheck with it, for what the service makes of times is left to its confirmation.
        """
        job, window = piece.of, self._check.window
        if is_first and reading.head is not None and window.until is None:
            rows = reading.head
        else:
            is_asked = window.until is not None or job.purpose == "recheck"
            rows = await self.newest(job, self.window_of(job) if is_asked else _EVER)
        held = Window(job.since or None).within(self._check.held(job, rows))
        if job.since or window != _EVER:
            held = [row for row in held if row.sent_at != UNKNOWN]
        ids = ids_of(held)
        if job.by_time:
            return [*map(str, ids.numbers - reading.ids), *(ids.others.keys() - reading.keys)]
        if ids.numbers.last > reading.covered:
            return [str(ids.numbers.last)]
        keys = ids.others.keys() - reading.keys if piece.until >= job.until else set[str]()
        if job.purpose == "walk":  # of a part of a list others may have seen them
            keys = await self._never_seen(job, keys)
        if not keys:
            await self.see_late(job, ids.numbers - reading.ids, reading.covered, reading)
        return list(keys)

    async def see_late(self, job: ListJob, ids: IdSet, covered: int, reading: ListReading) -> None:
        """Note ids that are covered, and were not seen: they came late, and are missing."""
        late = ids.between(1, covered)
        if late and job.purpose == "walk" and (late := late - reading.seen):
            await self._backlog.put(self._check.page(job, [], seen=PageIds(late, {})))

    async def check_times(self, piece: JobPiece, reading: ListReading) -> None:
        """Raise `NotOrderedByIdError` where the list shows messages up to the last id that the reading of a
        list by time has left out: the latest of them, or those after the id after which it was resumed.
        """
        job = piece.of
        until = min(reading.last, piece.until, job.until)
        asked = [{"affix": "append", "id": str(reading.resumed_after)}] if reading.resumed_after else []
        # The app's newest message is the last one of the lists that have it: nothing up to it comes after it.
        if reading.head_end == LAST and not reading.has_ended and job.until not in reading.ids:
            asked.append({"affix": "prepend", "id": str(until + 1)})
        for query in asked:
            try:  # a service may show those after the id as well
                page = await self._page(job, **query)
            except BadRequestError:  # no service that continues from an id refuses one
                continue
            rows = [] if page is None else self._check.window.within(page.items)
            ids = ids_of(Window(job.since or None).within(rows)).numbers.between(1, until)
            if ids - reading.ids - reading.seen:
                raise NotOrderedByIdError

    async def check_empty_pair(self, job: ListJob) -> None:
        """Check that the list of a pair is empty from its other side, too: costs a request.

        A service that ignores the acting user shows what the owner of its login token has with the user in
        the path, which may be nothing. Raises `ActingUserIgnoredError` for messages of others, and
        `ChatRestError` for those of the pair.
        """
        one, other = job.source.names
        walk = Source("pair", (other, one)).list(self._messages, MessageQuery(affix="prepend"))
        if self._check.held(job, await walk.limit(_HEAD).collect()):
            raise ChatRestError(
                f"the list of {one} on behalf of {other} is empty, and that of {other} on behalf of {one} is "
                "not: the service ignores the acting user"
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
        if job.purpose == "confirm":  # which is for whatever the service makes of times
            return Window()
        return self.window.asked(job.since if job.purpose == "recheck" else None)


def is_timed(position: Pairs) -> bool:
    """Return whether a position has a time."""
    return any(name == "sentAt" for name, _ in position)


def behind(last: int) -> Pairs:
    """Return the position after an id of a list whose positions tell times.

    The service named none there. Its time says only that they do: the list is entered by the id alone.
    """
    return (("affix", "append"), ("id", str(last)), ("sentAt", "1"))


def _counts_more(page: Page[Row] | None) -> bool:
    """Return True for a page that says that others follow."""
    pagination = None if page is None else page.meta.pagination
    if pagination is None or pagination.current_page is None or pagination.total_pages is None:
        return False
    return pagination.current_page < pagination.total_pages
