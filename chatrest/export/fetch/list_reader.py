"""Reads a piece of one source's list, page by page, and believes its end only after a proof (`list_end`).

| the reply                              | the reader                                           |
|----------------------------------------|------------------------------------------------------|
| page of messages up to the id n        | covers the ids up to n, and no further; the first    |
|                                        | page of a list only once a second one comes after it |
| page that passes the end of the piece  | covers the ids up to there                           |
| all of an honest head was shown        | ends: what is after it is new                        |
| end of the list                        | asks for its newest messages, if it has no head      |
| … and they show no higher id,          | the end is proven                                    |
|   and no other id that was not seen    |                                                      |
| … and they show such an id             | continues after the last one, and then from the      |
|                                        | start; `CursorError` where that returns nothing      |
| ids in another order                   | reads all of the list, in the service's order        |

Ids that are no numbers, and all ids of a list that is read in the service's order, have no order: they
were seen, or were not. Without a newest message of the app, the head is the end of the list for this run.
"""

from contextlib import aclosing
from typing import Any, Final, final

from msgspec import structs

from ..._core.paging.order import Affix
from ..._core.replies.rows import Row
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._walk.source import Page
from ...errors import CursorError
from ..folder.fetched_page import FetchedPage
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds, ids_of, number
from ..plan.report import Active, Progress
from .backlog import Backlog
from .jobs import Ending, ListJob, ListPiece, PieceQueue, PieceResult
from .list_end import ListEnds, ListReading, Order, PassEnd, behind, is_timed
from .page_check import PageCheck, last_id, left_out
from .piece_reader import NotOrderedByIdError, PiecePage, PieceReader, PositionRefusedError

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
_TRIES: Final = 2
"""How often a list is continued after an id, and returns nothing, before that is an error."""


class ListTooShortError(CursorError):
    """A list ends before its newest message."""


@final
class ListReader:
    """Reads lists for a pool of workers."""

    def __init__(
        self,
        messages: Messages,
        ends: ListEnds,
        check: PageCheck,
        backlog: Backlog,
        progress: Progress,
    ) -> None:
        self._messages = messages
        self._ends = ends
        self._check = check
        self._backlog = backlog
        self._progress = progress
        self._newest: dict[int, int] = {}
        """The highest ids of lists that were asked for it, to be divided."""

    async def read(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        """Read a piece to its end; halves of it are given away while the queue wants work.

        Raises the errors of a walk, and that of a source whose list showed messages of others.
        """
        key, job = id(piece), piece.of
        active = self._progress.active[key] = Active(str(job.source))
        try:
            return await self._read(piece, queue, active)
        except PositionRefusedError as error:
            return PieceResult(job.number, Ending.UNCUT if error.is_guess else Ending.REFUSED)
        except NotOrderedByIdError:
            return PieceResult(job.number, Ending.BY_TIME)
        except ListTooShortError:
            raise
        except CursorError:
            if job.by_time:
                raise
            return await self._read_disordered(piece, active)
        finally:
            del self._progress.active[key]

    async def _read_disordered(self, piece: ListPiece, active: Active) -> PieceResult:
        """Read all of a list that could not be read by its ids."""
        job = structs.replace(piece.of, by_time=True)
        piece = structs.replace(piece, of=job, after=0, position=(), is_guess=False)
        reading = ListReading.of(await self._ends.start(piece), active)
        end = await self._read_to_end(piece, PieceQueue(), reading)
        result = await self._end(piece, reading)
        if job.purpose != "walk" or not piece.is_open:
            return result._replace(ending=Ending.READ)
        return result if end.is_by_id else result._replace(ending=Ending.READ_WHOLE)

    async def _read(self, piece: ListPiece, queue: PieceQueue, active: Active) -> PieceResult:
        job, start = piece.of, await self._ends.start(piece)
        if piece.is_open:
            start = await self._ends.look(start)
        reading, piece = ListReading.of(start, active), start.piece
        await self._put_late(job, start.late)
        if not start.is_done:
            end = await self._read_to_end(piece, queue, reading)
            piece = end.piece
            if reading.is_timed and not job.by_time:
                await self._ends.check_times(end, reading)
        if job.source.kind == "pair" and job.purpose == "walk" and not start.seen and reading.is_empty:
            await self._ends.check_empty_pair(job)
        return await self._end(piece, reading)

    async def _read_to_end(self, piece: ListPiece, queue: PieceQueue, reading: ListReading) -> PassEnd:
        """Read pages until the end of the piece is reached, or that of the list is proven."""
        job, tries, is_own_guess, end = piece.of, 0, False, PassEnd(piece, is_over=False)
        while True:
            count, begin = reading.count, reading.covered
            try:
                if job.by_time:
                    end = await self._read_all(piece, reading)
                else:
                    end = await self._read_pages(piece, queue, reading)
            except PositionRefusedError:
                if not is_own_guess:
                    raise
            if end.is_over:
                return end
            if piece.is_from_start and not reading.count and self._check.window.until is not None:
                return end  # an empty list
            unseen = await self._ends.unseen(end.piece, reading, is_first=tries == 0)
            await self._put_late(job, unseen.late)
            if not unseen.keys:
                return end
            tries = tries + 1 if reading.count == count else 0
            if tries >= _TRIES:
                raise ListTooShortError(
                    f"the list of {job.source} stopped at id {reading.last}, but its newest message is "
                    f"{unseen.keys[0]}"
                )
            # An id that is no number, and came late, may stand anywhere in a list.
            is_anywhere = tries and number(unseen.keys[0]) is None
            is_from_start = is_own_guess or is_anywhere or (piece.is_from_start and begin)
            is_own_guess = reading.covered > 0 and not is_from_start
            piece = structs.replace(end.piece, after=reading.covered, position=(), is_guess=is_own_guess)
            end = end._replace(piece=piece)

    # ── pages ──

    async def _read_all(self, piece: ListPiece, reading: ListReading) -> PassEnd:
        """Read all of a list whose ids are no positions: only its end shows that no lower id follows.

        A list that does not go from old to new is read in the direction that the service shows.
        """
        try:
            return await self._read_in_order(piece, reading, "append")
        except CursorError as error:
            try:
                return await self._read_in_order(piece, reading, None)
            except CursorError:
                raise error from None

    async def _read_in_order(self, piece: ListPiece, reading: ListReading, affix: Affix | None) -> PassEnd:
        job, order, is_first, is_over = piece.of, Order(), True, False
        walk = job.list(self._messages, self._query(job, affix))
        walk = walk.at(structs.replace(walk.cursor, by_id=False)).thorough()
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                order.add(page.items)
                reading.add(ids := ids_of(page.items))
                await self._put(job, reading, sorted(page.items, key=_by_id), ids, 0, page)
                is_past = self._check.window.is_past(page.items) or reading.has_passed_head(order)
                # A first page that leads to its beginning is the newest one, whatever was asked for; and a
                # list that begins with the newest ends by itself.
                is_over = is_past and affix is not None and (not is_first or _leads_on(page))
                if is_over:
                    break
                is_first = False
        return PassEnd(piece, is_over, is_by_id=order.is_by_id)

    async def _read_pages(self, piece: ListPiece, queue: PieceQueue, reading: ListReading) -> PassEnd:
        job, is_first, leads, is_over = piece.of, piece.is_from_start, None, False
        reader = PieceReader(job.list(self._messages, self._query(job)), piece)
        async with self._backlog.fetching() as next_page, aclosing(reader.pages()) as parts:
            async for part in parts:
                before, (rows, ids) = reading.covered, _take(reading, part, min(reader.until, job.until))
                is_over = reading.covered >= min(reader.until, job.until)
                is_over = is_over or (job.until == LAST and reader.is_open and reading.has_passed_head())
                is_ascending = not is_first or (part.leads == "append" and is_over)
                covered = reading.covered if is_ascending else 0
                await self._put(job, reading, rows, ids, covered, part.page)
                leads, is_first = part.leads if is_first else None, False
                is_over = self._check.window.is_past(part.items) or (is_over and is_ascending)
                if is_over:
                    break
                await self._share(job, reader, reading, reading.covered - before, queue)
                await next_page()
        if leads == "prepend" and not is_over:
            raise CursorError(
                f"the list of {job.source} ended early: the position of its last page is before its end"
            )
        return PassEnd(structs.replace(piece, until=reader.until), is_over, is_left=is_over)

    async def _share(
        self,
        job: ListJob,
        reader: PieceReader,
        reading: ListReading,
        ids_a_page: int,
        queue: PieceQueue,
    ) -> None:
        """Give the upper half of the rest away where one more may read, and there is much of it."""
        covered, until = reading.covered, min(reader.until, job.until)
        if not queue.is_wanting or not reader.may_be_cut or job.until == LAST or reading.is_timed:
            return
        least = max(2, LEAST_PAGES * ids_a_page)
        if job.number not in self._newest and until - covered >= least:
            # The frozen end is the app's, and may be far above.
            self._newest[job.number] = ids_of(await self._ends.newest(job)).numbers.last
        if (left := min(until, self._newest.get(job.number, 0)) - covered) >= least:
            queue.give(reader.cut(covered + left // 2, until))

    async def _put(
        self,
        job: ListJob,
        reading: ListReading,
        rows: list[Row],
        ids: PageIds,
        covered: int,
        served: Page[Row],
    ) -> None:
        """Hand rows over to be written; the journal knows then that the ids up to `covered` were shown."""
        progress, size = self._progress, len(served.raw)
        progress.waits_for_disk = self._backlog.is_full
        repeated = left_out(served) if job.purpose == "walk" else []
        after, last = reading.noted, max(reading.noted, min(covered, reading.head_end))
        position = reading.position_after(last)
        if self._check.window.since is not None:
            self._check.note_times(job, self._ends.window_of(job), rows)
        page = self._check.page(
            job, rows, ids, after=after, last=last, position=position, bytes=size, repeated=repeated
        )
        await self._backlog.put(page)
        reading.noted = last
        progress.received += size
        reading.active.messages += len(rows)
        if job.until != LAST:
            progress.covered += last - after
            reading.active.share = last / job.until

    async def _put_late(self, job: ListJob, late: IdSet) -> None:
        if late:
            await self._backlog.put(_page(job, seen=PageIds(late, {})))

    async def _end(self, piece: ListPiece, reading: ListReading) -> PieceResult:
        """Note the end of a piece; that of a list is proven. Raises the error of a source whose list showed
        messages of others.
        """
        job, last = piece.of, reading.last
        if (fault := self._check.fault(job.source)) is not None:
            raise fault
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - reading.noted)
        is_end = job.purpose == "walk" and piece.until >= job.until
        if not is_end:
            last = piece.until  # there is nothing up to there
        elif not job.by_time:
            last = max(reading.noted, min(last, reading.head_end))
        if is_end and reading.is_empty:
            self._check.rules.note_empty(job.source)
        position = behind(last) if reading.is_timed and last else piece.position
        proven = 0 if not is_end else last if job.until == LAST else job.until
        await self._backlog.put(_page(job, after=reading.noted, last=last, position=position, proven=proven))
        return PieceResult(job.number, Ending.ENDED if is_end else Ending.READ, reading.highest)

    def _query(self, job: ListJob, affix: Affix | None = None) -> MessageQuery:
        """Return the times to ask for."""
        since, until = self._ends.window_of(job)
        return MessageQuery(affix=affix, from_timestamp=since, to_timestamp=until)


def _page(job: ListJob, **more: Any) -> FetchedPage:
    """Return a page without rows."""
    return FetchedPage(number=job.number, source=job.source, purpose=job.purpose, **more)


def _take(reading: ListReading, part: PiecePage, until: int) -> tuple[list[Row], PageIds]:
    """Note what a page shows; return its rows up to the end of the piece, and their ids."""
    rows = part.items
    reading.is_timed |= is_timed(part.page.cursor.position)
    last = last_id(rows)
    reading.highest = max(reading.highest, last)
    if part.passes_end or last > until:
        rows, last = [row for row in rows if (number(row.id) or 0) <= until], until
    elif part.position:
        reading.position = part.position
    reading.covered = max(reading.covered, last)
    reading.add(ids := ids_of(rows))
    return rows, ids


def _leads_on(page: Page[Row]) -> bool:
    """Return whether the position that a page names is at its last message."""
    named = page.meta.cursor or page.meta.next
    return named is not None and named.affix != "prepend" and str(named.id) == page.items[-1].id


def _by_id(row: Row) -> int:
    return number(row.id) or 0
