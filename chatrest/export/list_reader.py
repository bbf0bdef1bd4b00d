"""Reads a piece of one source's list, page by page, and believes its end only after a probe.

| the reply                              | the reader                                        |
|----------------------------------------|---------------------------------------------------|
| page of messages up to the id n        | covers the ids up to n, and no further            |
| page that passes the end of the piece  | covers the ids up to there                        |
| end of the list                        | asks for its newest messages (the probe)          |
| … and the probe shows no higher id,    | the end is proven                                 |
|   and no other id that was not seen    |                                                   |
| … and the probe shows such an id       | goes on behind the last one, and then from the    |
|                                        | start; `CursorError` where that brings nothing    |

Ids that are no numbers, and all ids of a list that goes by time, have no order: they were seen, or were not.
A source that earlier runs have read is probed first: where its newest messages have all been seen, nothing is
new, for one request.

Where the app's newest message is not known, the list is probed before it is read, and ends at the newest id
that it has then: what comes while it is read is the next run's. Where positions tell times (see `list_end`):

- a later run goes on behind an id alone; that all up to there was shown is checked, unless it was proven;
- a piece that ends before its list does is checked at its end;
- disorder of ids and times is `NotOrderedByIdError`: the list is read whole.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Final, final

from msgspec import Struct, field, structs

from ..core.paging.intervals import LAST
from ..core.paging.order import Affix
from ..core.replies.rows import UNKNOWN, Row
from ..core.requests.endpoint import Pairs
from ..errors import BadRequestError, CursorError
from ..parameters.messages import MessageQuery
from ..resources.messages import Messages
from ..walk.source import Page
from ..walk.split.piece_queue import PieceQueue, cut
from ..walk.split.piece_reader import NotOrderedByIdError, PiecePage, PieceReader
from .archive import Archive
from .backlog import Backlog
from .file_names import MILLISECONDS, seconds
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job, JobPiece, OtherSideError
from .list_end import (
    KNOWN,
    PROBED,
    EndProbe,
    Newest,
    Place,
    by_id_alone,
    ids_begin_anew,
    is_same_time,
    latest,
)
from .message_ids import PageIds, ids_of, number
from .ownership import OwnershipRules
from .page_partition import PageDivider, Window, last_id
from .repeated_rows import left_out
from .report import Progress
from .source_filter import SourceFilter

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
_TRIES: Final = 2
"""How often a list is gone on with behind an id, and brings nothing, before that is an error."""


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
    """True where the list has passed the end of the plan's window."""
    has_end: bool = False
    """True where the message at the frozen end was shown."""

    @property
    def last(self) -> int:
        """The highest id."""
        return max(self.covered, self.numbers.last)

    @property
    def count(self) -> int:
        """A number that grows with each id."""
        return self.covered + len(self.numbers) + len(self.keys)


def usual_least_pages() -> int:
    """Return the pages that have to be left of a list for it to be divided."""
    return LEAST_PAGES


@final
class ListReader:
    """Reads lists for a pool of workers."""

    def __init__(
        self,
        messages: Messages,
        archive: Archive,
        rules: OwnershipRules,
        backlog: Backlog,
        progress: Progress,
        least_pages: Callable[[], int] = usual_least_pages,
    ) -> None:
        """`least_pages` gives the pages that have to be left of a list for it to be divided."""
        self._least_pages = least_pages
        self._messages = messages
        self._probe = EndProbe(messages, archive.plan.query)
        self._archive = archive
        self._rules = rules
        self._divider = PageDivider(Window(*archive.plan.window), rules, SourceFilter(archive.plan.query))
        self.filter: SourceFilter = self._divider.filter
        self._backlog = backlog
        self._progress = progress
        self.window: Window = self._divider.window
        """The times to ask the service for, in its unit."""
        self.ended: set[int] = set()
        """Sources whose end was proven in this run."""

    async def read(self, piece: JobPiece, queue: PieceQueue[Job]) -> None:
        """Read a piece to its end; halves of it are given away while the queue wants work.

        Raises `PositionRefusedError`, `NotOrderedByIdError`, and the errors of a walk.
        """
        job, shown, tries = piece.of, ShownIds(0 if piece.of.by_time else piece.after), 0
        stand = Place.named_by(piece.position)
        if stand is not None:
            piece.position = by_id_alone(piece.position)
            if piece.after > job.proven:  # a run that was interrupted has read so far by time
                await self._check_shown(piece, shown, piece.after, stand)
        is_known = piece.is_open and await self._is_known(piece, stand)
        while not is_known:
            begin, count, was_from_start = shown.covered, shown.count, not (piece.position or piece.is_guess)
            if job.by_time:
                await self._read_all(piece, shown)
            else:
                await self._read_pages(piece, queue, shown)
            if shown.covered >= min(piece.until, job.until) or shown.is_past:
                break
            if was_from_start and not shown.count and self._divider.window.until is not None:
                break  # an empty list
            unseen = await self._unseen(piece, shown, is_first=tries == 0)
            if not unseen:
                break
            tries = tries + 1 if shown.count == count else 0
            if tries >= _TRIES:
                raise CursorError(
                    f"the list of {job.source} ends behind the id {shown.last}, but its newest message has "
                    f"the id {unseen[0]}"
                )
            # An id that is no number, and came late, may stand anywhere in a list.
            is_from_start = (was_from_start and begin) or (tries and number(unseen[0]) is None)
            piece.after, piece.position = shown.covered, ()
            piece.is_guess = shown.covered > 0 and not is_from_start
        await self._end(piece, shown)

    # ── pages ──

    async def _read_all(self, piece: JobPiece, shown: "ShownIds") -> None:
        """Read all of a list that goes by time.

        Only at the end is it known that no lower id comes, and so no page covers anything.
        """
        job = piece.of
        walk = job.list(self._messages, self._query(job, "append"))
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                ids = ids_of(page.items)
                shown.numbers.update(ids.numbers)
                shown.keys.update(ids.others)
                await self._put(piece, sorted(page.items, key=_by_id), 0, 0, (), page)
                shown.is_past = self._divider.window.is_past(page.items)
                is_behind = job.end is not None and latest(page.items) > job.end.place
                if shown.is_past or (is_behind and await self._is_end_sure(job)):
                    break

    async def _read_pages(self, piece: JobPiece, queue: PieceQueue[Job], shown: "ShownIds") -> None:
        """Read a piece until it or its list ends."""
        job, position = piece.of, piece.position
        reader: PieceReader[Row] = PieceReader(job.list(self._messages, self._query(job)))
        async with self._backlog.fetching() as fetching, aclosing(reader.pages(piece)) as parts:
            async for part in parts:
                if part.page is None:
                    break
                has_passed = await self._has_passed(piece, part)
                until, rows, last = min(piece.until, job.until), part.items, last_id(part.items)
                if part.beyond is not None or last > until:
                    rows, last = [row for row in rows if (number(row.id) or 0) <= until], until
                elif part.position:
                    position = part.position
                if last == job.until:
                    shown.has_end = shown.has_end or last_id(rows) == last
                if has_passed:
                    position = await self._checked_end(piece, part.page, shown) or position
                covered, last = shown.covered, max(shown.covered, last)
                ids = await self._put(piece, rows, covered, last, position, part.page)
                shown.covered, shown.newest_page = last, ids.numbers
                shown.keys.update(ids.others)
                shown.is_past = self._divider.window.is_past(part.items)
                if has_passed or shown.is_past:
                    break
                if _is_timed(part.page):
                    shown.numbers.update(ids.numbers)
                await self._share(piece, last, last - covered, queue)
                await fetching.next_page()

    async def _has_passed(self, piece: JobPiece, part: PiecePage[Row]) -> bool:
        """Return whether a page comes to the end of its piece.

        To a frozen end that is not sure it does not before messages behind it have come: a service that shows
        its oldest messages as the newest ones would end there.
        """
        job, last = piece.of, last_id(part.items)
        if part.beyond is None and last < min(piece.until, job.until):
            return False
        if job.end is None or not piece.is_open or job.is_end_sure:
            return True
        return last > job.until and await self._is_end_sure(job)

    async def _is_end_sure(self, job: Job) -> bool:
        """Return whether the newest messages have changed since the reading began, as new ones have come.

        Where they have not, the service shows others as the newest: then there is no frozen end.
        """
        if not job.is_end_sure and job.end is not None:
            job.is_end_sure = (await self._probe.newest(job)).ids.numbers != job.end.ids.numbers
            if not job.is_end_sure:
                job.end, job.until = None, LAST
        return job.is_end_sure

    async def _checked_end(self, piece: JobPiece, page: Page[Row], shown: "ShownIds") -> Pairs:
        """Check that all up to the end of a piece was shown, as its list goes on behind it.

        Returns the position behind the frozen end of the list, where it has one of its own.
        """
        job, until = piece.of, min(piece.until, piece.of.until)
        if not _is_timed(page):
            return ()
        if not shown.has_end:  # with nothing later among what was there before
            await self._check_shown(piece, shown, until, latest(page.items))
        return job.end.place.position if job.end is not None and until == job.until else ()

    async def _check_shown(self, piece: JobPiece, shown: "ShownIds", last: int, stand: Place) -> None:
        """Raise `NotOrderedByIdError` where a message up to the id `last` is later than `stand`, the place
        that a reading has come to, and was not seen: it would be left out.
        """
        job, window = piece.of, self._divider.window
        rows = [row for row in await self._probe.up_to(piece.of, last) if stand < Place.of(row)]
        left = ids_of(Window(job.since or None).within(window.within(rows))).numbers
        left = left.between(1, last) - shown.numbers
        if left and await in_thread(lambda: self._archive.unseen(job.number, left)):
            raise NotOrderedByIdError

    async def _share(self, piece: JobPiece, covered: int, ids_a_page: int, queue: PieceQueue[Job]) -> None:
        """Give the upper half of the rest away where somebody is idle and there is much of it."""
        job = piece.of
        if not queue.is_wanting or not piece.may_be_cut or job.until == LAST:
            return
        least = max(2, self._least_pages() * ids_a_page)
        if not job.newest and min(piece.until, job.until) - covered >= least:
            # The frozen end is the app's, and may be far above.
            job.newest = (await self._probe.newest(job)).ids.numbers.last
        if (left := min(piece.until, job.until, job.newest) - covered) >= least:
            piece.until = min(piece.until, job.until)
            queue.give(cut(piece, covered + left // 2))

    async def _put(
        self, piece: JobPiece, rows: list[Row], after: int, last: int, position: Pairs, served: Page[Row]
    ) -> PageIds:
        """Hand a page on; return the ids of its rows."""
        job, progress, size = piece.of, self._progress, len(served.raw)
        job.has_shown = job.has_shown or bool(rows)
        progress.waits_for_disk = self._backlog.is_full
        page = self._divider.page(job, rows)
        again = left_out(served, rows) if job.purpose == "walk" else []
        page = structs.replace(page, after=after, last=last, position=position, bytes=size, again=again)
        await self._backlog.put(page)
        active = progress.active[id(piece)]
        active.messages += len(rows)
        progress.received += size
        if job.until != LAST:
            progress.covered += last - after
            active.share = last / job.until
        return page.seen

    async def _end(self, piece: JobPiece, shown: "ShownIds") -> None:
        """Note the end of a piece; that of a list is proven.

        Raises `OtherSideError`, and the error of a source whose list showed messages of others.
        """
        job, last, proven, position, noted = piece.of, shown.last, 0, piece.position, ""
        if job.may_change_side and not shown.count:
            raise OtherSideError
        if (fault := self.filter.fault(job.source)) is not None:
            raise fault
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - last)
        if job.purpose == "walk" and piece.until >= job.until:
            self.ended.add(job.number)
            if not shown.count:
                self._rules.note_empty(job.source)
            self._progress.done = len(self.ended)
            proven = last if job.until == LAST else job.until
            if job.end is not None and job.by_time:
                noted = job.end.noted
            elif job.end is not None and job.end.is_timed:
                last, position = job.until, job.end.place.position
        else:
            last = piece.until  # there is nothing up to there
        page = self._divider.page(job, [])
        await self._backlog.put(
            structs.replace(
                page, after=shown.covered, last=last, position=position, proven=proven, newest=noted
            )
        )

    # ── what there is ──

    async def _is_known(self, piece: JobPiece, stand: Place | None) -> bool:
        """Return whether a list has nothing to read: it is empty, or earlier runs have seen its newest
        messages. Else its frozen end is noted, where it has to be asked for.
        """
        job, found = piece.of, 0
        is_resumed = job.purpose == "walk" and not job.by_time and bool(piece.is_guess or piece.position)
        is_unbounded = job.by_time or (job.purpose == "walk" and job.until == LAST)
        if is_resumed and stand is not None:
            found = await self._last_behind(piece, stand)
            if found == piece.after or not is_unbounded:
                return found == piece.after
        elif not (is_resumed or is_unbounded or self._begins_with_probe(piece)):
            return False
        try:
            newest = await self._probe.newest(job)
        except BadRequestError:  # the pages decide
            return False
        if is_resumed and stand is None and await self._has_seen(piece, newest):
            return True
        if not (is_resumed or is_unbounded):
            job.first_look = newest
            return not newest.rows
        return is_unbounded and await self._freeze(piece, stand, newest, found)

    def _begins_with_probe(self, piece: JobPiece) -> bool:
        """Return whether a list is probed before it is read and not after it: an empty one costs no more.

        One that has the app's newest message is not empty; and a window with an end is asked for in the
        list's own direction alone, as services take it in other ways.
        """
        job, is_from_start = piece.of, not (piece.after or piece.position or piece.is_guess)
        may_be_empty = not job.has_newest and self._divider.window.until is None
        return may_be_empty and is_from_start and job.purpose == "walk"

    async def _has_seen(self, piece: JobPiece, newest: Newest) -> bool:
        """Return whether the newest messages of a list by id have all been seen."""
        job, ids = piece.of, ids_of(self._divider.held(piece.of, newest.rows))
        await self._see_late(job, ids.numbers, piece.after)
        if await self._never_seen(job, {*ids.others}):
            return False
        is_whole = len(newest.rows) < PROBED
        return await in_thread(
            lambda: self._archive.has_seen_newest(job.number, ids.numbers, is_whole=is_whole)
        )

    async def _last_behind(self, piece: JobPiece, stand: Place) -> int:
        """Ask for what is new behind the last known ids; return its highest id, at whatever time it came.

        That is where the piece begins if nothing is new, and 0 where the reply does not tell: the message
        there must come as well. Raises `ChatRestError` where another one stands there.
        """
        job = piece.of
        last_seen = await in_thread(lambda: self._archive.last_seen(job.number, KNOWN))
        first = min(filter(None, (last_seen, piece.after)))
        rows = await self._probe.behind(job, first - 1)
        at_stand = [row for row in rows if number(row.id) == stand.id]
        if first <= stand.id and not at_stand:
            at_stand = await self._probe.message(stand.id)
        if at_stand and not is_same_time(at_stand[0].sent_at, stand.sent_at):
            raise ids_begin_anew(job, stand, Place.of(at_stand[0]))
        ids = ids_of(self._divider.held(job, rows))
        await self._see_late(job, ids.numbers, piece.after)
        is_whole = len(rows) <= KNOWN and any(number(row.id) == piece.after for row in rows)
        if not is_whole or await self._never_seen(job, {*ids.others}):
            return ids.numbers.last if ids.numbers.last > piece.after else 0
        return max(piece.after, ids.numbers.last)

    async def _freeze(self, piece: JobPiece, stand: Place | None, newest: Newest, found: int) -> bool:
        """Note the frozen end of a list; return whether there is nothing to read.

        `found` is the highest id that was found behind the known ones. Raises `NotOrderedByIdError` where a
        later message has a lower id, and `ChatRestError` where ids begin anew.
        """
        job = piece.of
        if not newest.rows or newest.ids.others:
            return not newest.rows and piece.after == 0
        if job.by_time:
            await self._check_ids_go_on(job, newest)
            job.end = newest
            return False
        place, last = newest.place, newest.ids.numbers.last
        is_after_end = stand is not None and stand.id == piece.after <= job.proven
        if stand is not None and is_after_end and last < stand.id and place.sent_at > stand.sent_at:
            if not await self._probe.message(stand.id):
                raise ids_begin_anew(job, stand, place)
            return False
        # The last messages were deleted, or others are shown as the newest.
        if last < piece.after if stand is None else place < stand:
            unseen = await in_thread(lambda: self._archive.unseen(job.number, newest.ids.numbers))
            return stand is not None and not found and not unseen
        if not newest.is_by_id or (stand is not None and place.id < max(found, stand.id)):
            raise NotOrderedByIdError
        first = await in_thread(lambda: self._archive.journal.seen(job.number).first)
        job.end, job.until, job.newest = newest, last, last
        job.is_end_sure = 0 < first < newest.ids.numbers.first
        self._progress.ids += last - piece.after
        return stand is not None and last == piece.after

    async def _check_ids_go_on(self, job: Job, newest: Newest) -> None:
        """Raise `ChatRestError` where the ids of a list that goes by time begin anew: the newest id that the
        last run has found is another message's, or is gone, and later messages have lower ones.
        """
        noted = await in_thread(lambda: self._archive.newest_of(job.number))
        if not noted:
            return
        last, sent_at, latest_time = map(int, noted.split())
        known, [*found] = Place(sent_at, last), await self._probe.message(last)
        if found and not is_same_time(found[0].sent_at, sent_at):
            raise ids_begin_anew(job, known, Place.of(found[0]))
        if not found and newest.ids.numbers.last < last and newest.place.sent_at > latest_time:
            raise ids_begin_anew(job, known, newest.place)

    async def _unseen(self, piece: JobPiece, shown: ShownIds, *, is_first: bool) -> list[str]:
        """Return the ids that a list should have shown, but has not, by its newest messages.

        They are asked for without a window, unless that has an end, behind which the newest ones lie; of a
        recheck with it, for what the service makes of times is left to its confirmation.
        """
        job, window = piece.of, self._divider.window
        newest = job.end or job.first_look
        if is_first and newest is not None and window.until is None:
            rows = newest.rows
        else:
            is_asked = window.until is not None or job.purpose == "recheck"
            asked = self._window_of(job) if is_asked else None
            rows = (await self._probe.newest(job, asked)).rows
        within = Window(job.since or None).within(self._divider.held(job, rows))
        if job.since or window != Window():
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
        # What the newest page has shown is on its way to the journal: nobody need look there.
        await self._see_late(job, ids.numbers - shown.newest_page, shown.covered)
        return []

    async def _never_seen(self, job: Job, keys: set[str]) -> set[str]:
        """Return the ids that are no numbers, and that no run has seen in the list."""
        return await in_thread(lambda: self._archive.unseen_keys(job.number, keys)) if keys else keys

    async def _see_late(self, job: Job, ids: IdSet, covered: int) -> None:
        """Note the ids of a probe that are covered, and were not seen: they came late, and are missing."""
        late = ids.between(1, covered)
        if (
            late
            and job.purpose == "walk"
            and (late := await in_thread(lambda: self._archive.unseen(job.number, late)))
        ):
            await self._backlog.put(structs.replace(self._divider.page(job, []), seen=PageIds(late, {})))

    def _query(self, job: Job, affix: Affix | None = None) -> MessageQuery:
        """Return the plan's filter, with the times to ask for."""
        query = self._archive.plan.query
        since, until = self._window_of(job)
        affix = affix or query.affix
        if (affix, since, until) == (query.affix, query.from_timestamp, query.to_timestamp):
            return query  # a filter that is made anew is checked anew
        return structs.replace(query, affix=affix, from_timestamp=since, to_timestamp=until)

    def _window_of(self, job: Job) -> Window:
        """Return the times to ask for."""
        if job.purpose == "confirm":  # which is for whatever the service makes of times
            return Window()
        return self.window.asked(job.since if job.purpose == "recheck" else None)


def in_unit_of(window: Window, timestamp: int) -> Window:
    """Return a window in the unit of a timestamp, seconds or milliseconds: no shorter than it is."""
    if timestamp < MILLISECONDS:
        return Window(*(time and seconds(time) for time in window))
    rest = (0, 999)  # of the last second all milliseconds
    return Window(*(
        time if time is None or time >= MILLISECONDS else time * 1000 + more
        for time, more in zip(window, rest, strict=True)
    ))  # fmt: skip


def _is_timed(page: Page[Row]) -> bool:
    """Return whether the position after a page tells a time."""
    return any(name == "sentAt" for name, _ in page.cursor.position)


def _by_id(row: Row) -> int:
    return number(row.id) or 0
