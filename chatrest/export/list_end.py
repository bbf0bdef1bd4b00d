"""The end of a list: how it is proven that all of it was shown, and where it is to end.

| asked for                           | and what it proves                                                   |
|-------------------------------------|----------------------------------------------------------------------|
| the newest messages (the probe)     | no message that is there now is later than the latest of them; with  |
|                                     | all of them seen, nothing is new                                     |
| what is behind one of the last ids  | with nothing new there, nothing is new, at whatever time             |
| the latest message up to an id      | with none later than where a reading stands, it has shown all of it  |

Each costs one request. The last two are for services that others wrote: they order a list by time, then id,
and let it be entered by an id alone, or by a time and an id. There a message may come later with an earlier
time than those before it, where clocks disagree.
"""

from contextlib import aclosing
from typing import Any, Final, final

from msgspec import Struct, field, structs

from ..core.paging.intervals import LAST
from ..core.replies.rows import UNKNOWN, Row
from ..core.requests.endpoint import Pairs
from ..errors import BadRequestError
from ..resources.messages import Messages
from ..walk.source import Page
from ..walk.split.piece_reader import NotOrderedByIdError
from .archive import Archive
from .backlog import Backlog
from .id_continuity import IdContinuity
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import JobPiece, ListJob, Newest, Place
from .message_ids import PageIds, ids_of, number
from .page_check import PageCheck, Window
from .report import Progress

_PROBED: Final = 10
"""Messages of a probe: the newest ones of a list. Fewer are all that it has."""
_KNOWN: Final = 3
"""Of the known ids of a list, how many of the last ones are asked for again with what is new: fewer than
any page has, so that a reply of them alone is not cut off."""
_EVER: Final = Window()


def by_id_alone(position: Pairs) -> Pairs:
    """Return a position without its time: what came later with an earlier time lies after it, too."""
    return tuple(pair for pair in position if pair[0] != "sentAt")


def _counts_more(page: Page[Row] | None) -> bool:
    """Return True for a page that says that others follow."""
    pagination = None if page is None else page.meta.pagination
    if pagination is None or pagination.current_page is None or pagination.total_pages is None:
        return False
    return pagination.current_page < pagination.total_pages


@final
class ShownIds(Struct, eq=False):
    """The ids that a list has shown to its reader."""

    covered: int
    """The id up to which all was shown; 0 for a list that goes by time."""
    numbers: IdSet = field(default_factory=IdSet)
    """The ids of a list that goes by time, or may do so."""
    keys: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    newest_page: IdSet = field(default_factory=IdSet)
    """The ids of the newest page of a list that goes by id."""
    is_past: bool = False
    """True if the list has passed the end of the plan's window."""
    has_end: bool = False
    """True if the message at the frozen end was shown."""

    @property
    def last(self) -> int:
        return max(self.covered, self.numbers.last)

    @property
    def count(self) -> int:
        return self.covered + len(self.numbers) + len(self.keys)


@final
class ListEnds:
    """Asks for the ends of lists, and compares them with what the archive and a reading have seen."""

    def __init__(
        self, messages: Messages, archive: Archive, check: PageCheck, backlog: Backlog, progress: Progress
    ) -> None:
        self._messages = messages
        self._archive = archive
        self._check = check
        self._backlog = backlog
        self._progress = progress
        self.ids: IdContinuity = IdContinuity(messages, archive)
        self.window: Window = check.window
        """The times to ask the service for, in its unit."""

    # ── before a list is read ──

    async def is_known(self, piece: JobPiece, stand: Place | None) -> bool:
        """Return whether a list has nothing to read: it is empty, or earlier runs have seen its newest
        messages. Else its frozen end is noted, where it has to be asked for.
        """
        job, highest = piece.of, 0
        is_resumed = job.purpose == "walk" and not job.by_time and bool(piece.is_guess or piece.position)
        is_unbounded = job.by_time or (job.purpose == "walk" and job.until == LAST)
        if is_resumed and stand is not None:
            highest = await self._last_behind(piece)
            if highest == piece.after or not is_unbounded:
                return highest == piece.after
        elif not (is_resumed or is_unbounded or self._begins_with_probe(piece)):
            return False
        try:
            newest = await self.newest(job)
        except BadRequestError:  # the pages decide
            return False
        await self.ids.check(newest.rows)
        if is_resumed and stand is None and await self._has_seen(piece, newest):
            return True
        if not (is_resumed or is_unbounded):
            job.first_look = newest
            return not newest.rows
        return is_unbounded and await self._freeze(piece, stand, newest, highest)

    def _begins_with_probe(self, piece: JobPiece) -> bool:
        """Return whether a list is probed before it is read and not after it: an empty one costs no more.

        One that has the app's newest message is not empty; and a window with an end is asked for in the
        list's own direction alone, as services take it in other ways.
        """
        job, is_from_start = piece.of, not (piece.after or piece.position or piece.is_guess)
        may_be_empty = not job.has_newest and self._check.window.until is None
        return may_be_empty and is_from_start and job.purpose == "walk"

    async def _has_seen(self, piece: JobPiece, newest: Newest) -> bool:
        """Return whether the newest messages of a list by id have all been seen: nothing in it is new.

        Where they are not the whole list, they must not be all that was seen, either: a service that cannot
        go backwards shows the oldest ones.
        """
        job, shown = piece.of, ids_of(self._check.held(piece.of, newest.rows))
        ids = shown.numbers
        await self._see_late(job, ids, piece.after)
        if await self._never_seen(job, {*shown.others}):
            return False
        seen, is_whole = await self._seen(job), len(newest.rows) < _PROBED
        is_end = bool(ids) and ids.last == seen.last and ids <= seen
        is_dense = seen.count(ids.first, ids.last) == len(ids)
        return is_end and is_dense and (is_whole or len(seen) > len(ids))

    async def _seen(self, job: ListJob) -> IdSet:
        return await in_thread(lambda: self._archive.seen(job.number))

    async def _last_behind(self, piece: JobPiece) -> int:
        """Ask for what is new after the last known ids; return its highest id, at whatever time it came.

        That is where the piece begins if nothing is new, and 0 where the reply does not tell: the message
        there must come as well. Raises `IdsBeginAnewError`.
        """
        job = piece.of
        first = min(filter(None, ((await self._seen(job)).from_last(_KNOWN), piece.after)))
        behind = {"id": str(first - 1)} if first > 1 else {}
        page = await self._page(job, affix="append", **behind)
        rows = [] if page is None else page.items
        await self.ids.check(rows)
        ids = ids_of(self._check.held(job, rows))
        await self._see_late(job, ids.numbers, piece.after)
        is_whole = len(rows) <= _KNOWN and any(number(row.id) == piece.after for row in rows)
        is_whole = is_whole and not _counts_more(page)  # a service may give as few a page
        if not is_whole or await self._never_seen(job, {*ids.others}):
            return ids.numbers.last if ids.numbers.last > piece.after else 0
        return max(piece.after, ids.numbers.last)

    async def _freeze(self, piece: JobPiece, stand: Place | None, newest: Newest, highest: int) -> bool:
        """Note the frozen end of a list; return whether there is nothing to read.

        `highest` is the highest id after the known ones, 0 for none. Raises `NotOrderedByIdError` where a
        later message has a lower id.
        """
        job = piece.of
        if not newest.rows or newest.ids.others:
            return not newest.rows and piece.after == 0
        if job.by_time:
            self.ids.see(newest.rows)
            job.end = newest
            return False
        place, last = newest.place, newest.ids.numbers.last
        # The last messages were deleted, or others are shown as the newest.
        if last < piece.after if stand is None else place < stand:
            is_seen = newest.ids.numbers <= await self._seen(job)
            return stand is not None and not highest and is_seen
        if not newest.is_by_id or (stand is not None and place.id < max(highest, stand.id)):
            raise NotOrderedByIdError
        first = (await self._seen(job)).first
        job.end, job.until, job.newest = newest, last, last
        self.ids.see(newest.rows)
        job.is_end_sure = 0 < first < newest.ids.numbers.first
        self._progress.ids += last - piece.after
        return stand is not None and last == piece.after

    # ── after it was read ──

    async def unseen(self, piece: JobPiece, shown: ShownIds, *, is_first: bool) -> list[str]:
        """Return the ids that a list should have shown, but has not, by its newest messages.

        They are asked for without a window, unless that has an end, behind which the newest ones lie; of a
        recheck with it, for what the service makes of times is left to its confirmation.
        """
        job, window = piece.of, self._check.window
        newest = job.end or job.first_look
        if is_first and newest is not None and window.until is None:
            rows = newest.rows
        else:
            is_asked = window.until is not None or job.purpose == "recheck"
            rows = (await self.newest(job, self.window_of(job) if is_asked else _EVER)).rows
        within = Window(job.since or None).within(self._check.held(job, rows))
        if job.since or window != _EVER:
            within = [row for row in within if row.sent_at != UNKNOWN]
        ids = ids_of(within)
        if job.by_time:
            return [*map(str, ids.numbers - shown.numbers), *(ids.others.keys() - shown.keys)]
        if ids.numbers.last > shown.covered:
            return [str(ids.numbers.last)]
        keys = ids.others.keys() - shown.keys if piece.until >= job.until else set[str]()
        if job.purpose == "walk":  # of a part of a list others may have seen them
            keys = await self._never_seen(job, keys)
        if keys:
            return list(keys)
        # What the newest page has shown is on its way to the journal: no one need look there.
        await self._see_late(job, ids.numbers - shown.newest_page, shown.covered)
        return []

    async def _never_seen(self, job: ListJob, keys: set[str]) -> set[str]:
        return await in_thread(lambda: self._archive.unseen_keys(job.number, keys)) if keys else keys

    async def _see_late(self, job: ListJob, ids: IdSet, covered: int) -> None:
        """Note the ids of a probe that are covered, and were not seen: they came late, and are missing."""
        late = ids.between(1, covered)
        if late and job.purpose == "walk" and (late := late - await self._seen(job)):
            await self._backlog.put(self._check.page(job, [], seen=PageIds(late, {})))

    async def is_sure(self, job: ListJob) -> bool:
        """Return whether the newest messages have changed since the reading began, as new ones have arrived.

        Where they have not, the service shows others as the newest: then there is no frozen end.
        """
        if not job.is_end_sure and job.end is not None:
            job.is_end_sure = (await self.newest(job)).ids.numbers != job.end.ids.numbers
            if not job.is_end_sure:
                job.end, job.until = None, LAST
        return job.is_end_sure

    async def check_shown(self, piece: JobPiece, shown: ShownIds, last: int, stand: Place) -> None:
        """Raise `NotOrderedByIdError` where a message up to the id `last` is later than `stand`, the place
        that a reading has come to, and was not seen: it would be left out.
        """
        job = piece.of
        try:  # a service may show those after the id as well
            rows = await self._rows(job, affix="prepend", id=str(last + 1))
        except BadRequestError:  # no service that continues from an id refuses one
            return
        later = [row for row in rows if stand < Place.of(row)]
        left = ids_of(Window(job.since or None).within(self._check.window.within(later))).numbers
        left = left.between(1, last) - shown.numbers
        if left and not left <= await self._seen(job):
            raise NotOrderedByIdError

    # ── requests ──

    async def newest(self, job: ListJob, window: Window = _EVER) -> Newest:
        """Return the newest messages of a list: without a window, as services take its ends in other ways."""
        times = {"from_timestamp": window.since, "to_timestamp": window.until}
        page = await self._page(job, affix="prepend", **times)
        if page is None:
            return Newest([], ids_of([]), is_timed=False, is_by_id=True)
        position = page.meta.cursor or page.meta.next
        is_timed = position is not None and number(str(position.sent_at)) is not None
        return Newest(page.items, ids_of(page.items), is_timed, page.cursor.by_id)

    async def _rows(self, job: ListJob, **query: Any) -> list[Row]:
        page = await self._page(job, **query)
        return [] if page is None else page.items

    async def _page(self, job: ListJob, **query: Any) -> Page[Row] | None:
        walk = job.list(self._messages, structs.replace(self._archive.plan.query, **query))
        async with aclosing(walk.limit(_PROBED).pages()) as pages:
            return await anext(pages, None)

    def window_of(self, job: ListJob) -> Window:
        if job.purpose == "confirm":  # which is for whatever the service makes of times
            return Window()
        return self.window.asked(job.since if job.purpose == "recheck" else None)
