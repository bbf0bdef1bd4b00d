"""Reads a piece of one source's list, page by page, and believes its end only after a probe.

| the reply                              | the reader                                        |
|----------------------------------------|---------------------------------------------------|
| page of messages up to the id n        | covers the ids up to n, and no further            |
| page that passes the end of the piece  | covers the ids up to there                        |
| end of the list                        | asks for its newest messages (the probe)          |
| … and the probe shows no higher id     | the end is proven                                 |
| … and the probe shows a higher id      | goes on behind the last one; `CursorError` where  |
|                                        | that brings nothing                               |

A source that earlier runs have read is probed first: where its newest messages have all been seen, nothing is
new, for one request.
"""

from contextlib import aclosing
from typing import Final, NamedTuple, final

from msgspec import structs

from ..core.endpoint import Pairs
from ..core.intervals import LAST
from ..core.rows import Row
from ..errors import BadRequestError, CursorError
from ..queries.messages import MessageQuery
from ..resources.messages import Messages
from ..walks.piece_queue import PieceQueue, cut
from ..walks.piece_reader import PieceReader
from .archive import Archive
from .backlog import Backlog
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job, JobPiece
from .message_ids import PageIds, ids_of, number
from .ownership import OwnershipRules
from .page_partition import PageDivider, Window, last_id
from .progress import Progress

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
PROBED: Final = 10
"""Messages of a probe."""
_TRIES: Final = 2
"""How often a list is gone on with behind an id, and brings nothing, before that is an error."""


class Probe(NamedTuple):
    """The newest messages of a list."""

    rows: list[Row]
    ids: PageIds

    @property
    def is_whole(self) -> bool:
        """True if these are all messages of the list."""
        return len(self.rows) < PROBED


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
    ) -> None:
        self._messages = messages
        self._archive = archive
        self._divider = PageDivider(Window(*archive.plan.window), rules)
        self._backlog = backlog
        self._progress = progress
        self.ended: set[int] = set()
        """Sources whose end was proven in this run."""

    async def read(self, piece: JobPiece, queue: PieceQueue[Job]) -> None:
        """Read a piece; halves of it are given away while the queue wants work.

        Raises `PositionRefusedError`, `NotOrderedByIdError`, and the errors of a walk.
        """
        job, covered, tries = piece.of, piece.after, 0
        is_resumed = job.purpose == "walk" and piece.is_open and (piece.is_guess or piece.position)
        is_known = is_resumed and await self._is_known(job, covered)
        while not is_known:
            before, is_from_start = covered, not (piece.position or piece.is_guess)
            covered = await self._read_pages(piece, queue)
            if covered >= min(piece.until, job.until):
                break
            probe = await self._probe(job)
            newest = probe.ids.numbers.last
            if newest <= covered:
                await self._see_late(job, ids_of(self._divider.window.within(probe.rows)), covered)
                break
            tries = tries + 1 if covered == before else 0
            if tries >= _TRIES:
                raise CursorError(
                    f"the list of {job.source} ends behind the id {covered}, but its newest message has the "
                    f"id {newest}"
                )
            piece.after, piece.position = covered, ()
            piece.is_guess = bool(covered) and not (is_from_start and before)
        await self._end(piece, covered)

    async def read_by_time(self, piece: JobPiece) -> None:
        """Read all of a list that goes by time. Only at its end is it known that no lower id comes."""
        job, seen, others, tries = piece.of, IdSet(), set[str](), 0
        walk = job.source.list(self._messages, structs.replace(self._query(job), affix="append"))
        while True:
            before = len(seen) + len(others)
            async with aclosing(walk.pages()) as pages:
                async for page in pages:
                    ids = ids_of(page.items)
                    seen.update(ids.numbers)
                    others.update(ids.others)
                    await self._put(piece, sorted(page.items, key=_by_id), 0, 0, (), len(page.raw))
            newest = (await self._probe(job)).ids
            if newest.numbers <= seen and others.issuperset(newest.others):
                break
            tries = tries + 1 if len(seen) + len(others) == before else 0
            if tries >= _TRIES:
                raise CursorError(
                    f"the list of {job.source}, which goes by time, ends without the message "
                    f"{(newest.numbers - seen).last}, which is among its newest ones"
                )
        piece.after = 0
        await self._end(piece, seen.last)

    # ── pages ──

    async def _read_pages(self, piece: JobPiece, queue: PieceQueue[Job]) -> int:
        """Read a piece until it or its list ends; return the id up to which it is covered then."""
        job, covered, position = piece.of, piece.after, piece.position
        reader: PieceReader[Row] = PieceReader(job.source.list(self._messages, self._query(job)))
        async with self._backlog.fetching() as fetching, aclosing(reader.pages(piece)) as parts:
            async for part in parts:
                if part.page is None:
                    break
                until, rows, last = min(piece.until, job.until), part.items, last_id(part.items)
                if part.beyond is not None or last > until:
                    rows, last = [row for row in rows if (number(row.id) or 0) <= until], until
                elif part.position:
                    position = part.position
                last = max(covered, last)
                await self._put(piece, rows, covered, last, position, len(part.page.raw))
                ids_a_page, covered = last - covered, last
                if covered >= until:
                    break
                await self._share(piece, covered, ids_a_page, queue)
                await fetching.next_page()
        return covered

    async def _share(self, piece: JobPiece, covered: int, ids_a_page: int, queue: PieceQueue[Job]) -> None:
        """Give the upper half of the rest away where somebody is idle and there is much of it."""
        job = piece.of
        if not queue.is_wanting or not piece.may_be_cut or job.until == LAST:
            return
        if not job.newest:  # the frozen end is the app's, and may be far above
            job.newest = (await self._probe(job)).ids.numbers.last
        left = min(piece.until, job.until, job.newest) - covered
        if left >= max(2, LEAST_PAGES * ids_a_page):
            piece.until = min(piece.until, job.until)
            queue.give(cut(piece, covered + left // 2))

    async def _put(
        self, piece: JobPiece, rows: list[Row], after: int, last: int, position: Pairs, size: int
    ) -> None:
        job, progress = piece.of, self._progress
        progress.waits_for_disk = self._backlog.is_full
        page = self._divider.page(job, rows)
        await self._backlog.put(structs.replace(page, after=after, last=last, position=position, bytes=size))
        active = progress.active[id(piece)]
        active.messages += len(rows)
        progress.received += size
        if job.until != LAST:
            progress.covered += last - after
            active.share = last / job.until

    async def _end(self, piece: JobPiece, covered: int) -> None:
        """Note the end of a piece; that of a list is proven."""
        job = piece.of
        page, is_top = self._divider.page(job, []), piece.until >= job.until
        if job.purpose != "walk" or not is_top:
            last = piece.until  # there is nothing up to there
        else:
            last = covered
            self.ended.add(job.number)
            self._progress.done = len(self.ended)
            page = structs.replace(page, proven=covered if job.until == LAST else job.until)
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - covered)
        await self._backlog.put(
            structs.replace(
                page, after=piece.after if job.by_time else covered, last=last, position=piece.position
            )
        )

    # ── what there is ──

    async def _is_known(self, job: Job, covered: int) -> bool:
        """Return whether the newest messages of a list have all been seen, so that nothing in it is new."""
        try:
            probe = await self._probe(job)
        except BadRequestError:  # the pages decide
            return False
        ids = ids_of(self._divider.window.within(probe.rows))
        await self._see_late(job, PageIds(ids.numbers, {}), covered)
        if ids.others:
            return False
        return await in_thread(
            lambda: self._archive.has_seen_newest(job.number, ids.numbers, is_whole=probe.is_whole)
        )

    async def _see_late(self, job: Job, ids: PageIds, covered: int) -> None:
        """Note the ids of a probe that are covered, and were not seen: they came late, and are missing."""
        late = ids.numbers.between(1, covered)
        if job.purpose != "walk" or not (late or ids.others):
            return
        late = await in_thread(lambda: self._archive.unseen(job.number, late))
        if late or ids.others:
            page = structs.replace(self._divider.page(job, []), seen=PageIds(late, ids.others))
            await self._backlog.put(page)

    async def _probe(self, job: Job) -> Probe:
        """Ask for the newest messages of a list: one request."""
        query = structs.replace(self._query(job), affix="prepend")
        async with aclosing(job.source.list(self._messages, query).limit(PROBED).pages()) as pages:
            page = await anext(pages, None)
        rows = [] if page is None else page.items
        return Probe(rows, ids_of(rows))

    def _query(self, job: Job) -> MessageQuery:
        """Return the plan's filter, with the times to ask for."""
        query = self._archive.plan.query
        if job.purpose == "confirm":  # whatever the service makes of times
            return query
        since, until = self._divider.window.asked(job.since if job.purpose == "recheck" else None)
        return structs.replace(query, from_timestamp=since, to_timestamp=until)


def _by_id(row: Row) -> int:
    return number(row.id) or 0
