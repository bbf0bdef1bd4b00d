"""Reads a piece of one source's list, page by page, and believes its end only after a probe (`list_end`).

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
Where the app's newest message is not known, the list ends at the newest id that it has before it is read.
Where positions tell times, a later run continues after an id alone, a piece that ends before its list does is
checked at its end, and disorder of ids and times is `NotOrderedByIdError`: the list is read whole.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Final, final

from msgspec import structs

from ..core.paging.intervals import LAST
from ..core.paging.order import Affix
from ..core.replies.rows import Row
from ..core.requests.endpoint import Pairs
from ..errors import CursorError
from ..parameters.messages import MessageQuery
from ..resources.messages import Messages
from ..walk.source import Page
from ..walk.split.piece_queue import PieceQueue, cut
from ..walk.split.piece_reader import PiecePage, PieceReader
from .archive import Archive
from .backlog import Backlog
from .jobs import JobPiece, ListJob, OtherSideError, Place, latest
from .list_end import ListEnds, ShownIds, by_id_alone
from .message_ids import PageIds, ids_of, number
from .ownership import OwnershipRules
from .page_check import PageCheck, Window, last_id, left_out
from .report import Progress

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
_TRIES: Final = 2
"""How often a list is continued after an id, and brings nothing, before that is an error."""


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
        least_pages: Callable[[], int] | None = None,
    ) -> None:
        self._least_pages = least_pages or (lambda: LEAST_PAGES)
        self._messages = messages
        self._plan_query = archive.plan.query
        self._rules = rules
        self.check: PageCheck = PageCheck(Window(*archive.plan.window), rules, archive.plan.query)
        self._backlog = backlog
        self._progress = progress
        self.ends: ListEnds = ListEnds(messages, archive, self.check, backlog, progress)
        self.ended: set[int] = set()
        """Sources whose end was proven in this run."""

    async def read(self, piece: JobPiece, queue: PieceQueue[ListJob]) -> None:
        """Read a piece to its end; halves of it are given away while the queue wants work.

        Raises `PositionRefusedError`, `NotOrderedByIdError`, and the errors of a walk.
        """
        job, shown, tries = piece.of, ShownIds(0 if piece.of.by_time else piece.after), 0
        stand = Place.named_by(piece.position)
        if stand is not None:
            piece.position = by_id_alone(piece.position)
            if piece.after > job.proven:  # a run that was interrupted has read so far by time
                await self.ends.check_shown(piece, shown, piece.after, stand)
        is_known = piece.is_open and await self.ends.is_known(piece, stand)
        while not is_known:
            begin, count, was_from_start = shown.covered, shown.count, not (piece.position or piece.is_guess)
            if job.by_time:
                await self._read_all(piece, shown)
            else:
                await self._read_pages(piece, queue, shown)
            if shown.covered >= min(piece.until, job.until) or shown.is_past:
                break
            if was_from_start and not shown.count and self.check.window.until is not None:
                break  # an empty list
            unseen = await self.ends.unseen(piece, shown, is_first=tries == 0)
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

    async def _read_all(self, piece: JobPiece, shown: ShownIds) -> None:
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
                shown.is_past = self.check.window.is_past(page.items)
                is_behind = job.end is not None and latest(page.items) > job.end.place
                if shown.is_past or (is_behind and await self.ends.is_sure(job)):
                    break

    async def _read_pages(self, piece: JobPiece, queue: PieceQueue[ListJob], shown: ShownIds) -> None:
        job, position = piece.of, piece.position
        reader: PieceReader[Row] = PieceReader(job.list(self._messages, self._query(job)))
        async with self._backlog.fetching() as next_page, aclosing(reader.pages(piece)) as parts:
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
                shown.is_past = self.check.window.is_past(part.items)
                if has_passed or shown.is_past:
                    break
                if _is_timed(part.page):
                    shown.numbers.update(ids.numbers)
                await self._share(piece, last, last - covered, queue)
                await next_page()

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
        return last > job.until and await self.ends.is_sure(job)

    async def _checked_end(self, piece: JobPiece, page: Page[Row], shown: ShownIds) -> Pairs:
        """Check that all up to the end of a piece was shown, as its list continues after it.

        Returns the position after the frozen end of the list, where it has one of its own.
        """
        job, until = piece.of, min(piece.until, piece.of.until)
        if not _is_timed(page):
            return ()
        if not shown.has_end:  # with nothing later among what was there before
            await self.ends.check_shown(piece, shown, until, latest(page.items))
        return job.end.place.position if job.end is not None and until == job.until else ()

    async def _share(
        self, piece: JobPiece, covered: int, ids_a_page: int, queue: PieceQueue[ListJob]
    ) -> None:
        """Give the upper half of the rest away where somebody is idle and there is much of it."""
        job = piece.of
        if not queue.is_wanting or not piece.may_be_cut or job.until == LAST:
            return
        least = max(2, self._least_pages() * ids_a_page)
        if not job.newest and min(piece.until, job.until) - covered >= least:
            # The frozen end is the app's, and may be far above.
            job.newest = (await self.ends.newest(job)).ids.numbers.last
        if (left := min(piece.until, job.until, job.newest) - covered) >= least:
            piece.until = min(piece.until, job.until)
            queue.give(cut(piece, covered + left // 2))

    async def _put(
        self, piece: JobPiece, rows: list[Row], after: int, last: int, position: Pairs, served: Page[Row]
    ) -> PageIds:
        job, progress, size = piece.of, self._progress, len(served.raw)
        job.has_shown = job.has_shown or bool(rows)
        progress.waits_for_disk = self._backlog.is_full
        again = left_out(served, rows) if job.purpose == "walk" else []
        page = self.check.page(job, rows, after=after, last=last, position=position, bytes=size, again=again)
        await self._backlog.put(page)
        active = progress.active[id(piece)]
        active.messages += len(rows)
        progress.received += size
        if job.until != LAST:
            progress.covered += last - after
            active.share = last / job.until
        return page.seen

    async def _end(self, piece: JobPiece, shown: ShownIds) -> None:
        """Note the end of a piece; that of a list is proven.

        Raises `OtherSideError`, and the error of a source whose list showed messages of others.
        """
        job, last, proven, position = piece.of, shown.last, 0, piece.position
        if job.may_change_side and not shown.count:
            raise OtherSideError
        if (fault := self.check.fault(job.source)) is not None:
            raise fault
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - last)
        if job.purpose == "walk" and piece.until >= job.until:
            self.ended.add(job.number)
            if not shown.count:
                self._rules.note_empty(job.source)
            self._progress.done = len(self.ended)
            proven = last if job.until == LAST else job.until
            if job.end is not None and job.end.is_timed and not job.by_time:
                last, position = job.until, job.end.place.position
        else:
            last = piece.until  # there is nothing up to there
        page = self.check.page(job, [], after=shown.covered, last=last, position=position, proven=proven)
        await self._backlog.put(page)

    def _query(self, job: ListJob, affix: Affix | None = None) -> MessageQuery:
        """Return the plan's filter, with the times to ask for."""
        query = self._plan_query
        since, until = self.ends.window_of(job)
        affix = affix or query.affix
        if (affix, since, until) == (query.affix, query.from_timestamp, query.to_timestamp):
            return query  # a filter that is made again is checked again
        return structs.replace(query, affix=affix, from_timestamp=since, to_timestamp=until)


def _is_timed(page: Page[Row]) -> bool:
    return any(name == "sentAt" for name, _ in page.cursor.position)


def _by_id(row: Row) -> int:
    return number(row.id) or 0
