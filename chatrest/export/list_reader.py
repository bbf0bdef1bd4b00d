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
"""

from contextlib import aclosing
from typing import Final, final

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
from .file_names import MILLISECONDS, seconds
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job, JobPiece
from .message_ids import PageIds, ids_of, number
from .ownership import OwnershipRules
from .page_partition import PageDivider, Window, last_id
from .report import Progress

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
PROBED: Final = 10
"""Messages of a probe: the newest ones of a list. Fewer are all that it has."""
_TRIES: Final = 2
"""How often a list is gone on with behind an id, and brings nothing, before that is an error."""


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
        self.window: Window = self._divider.window
        """The times to ask the service for, in its unit."""
        self.ended: set[int] = set()
        """Sources whose end was proven in this run."""

    async def read(self, piece: JobPiece, queue: PieceQueue[Job]) -> None:
        """Read a piece to its end; halves of it are given away while the queue wants work.

        Raises `PositionRefusedError`, `NotOrderedByIdError`, and the errors of a walk.
        """
        if piece.of.by_time:
            await self._end(piece, 0, await self._read_by_time(piece))
        else:
            covered = await self._read_by_id(piece, queue)
            await self._end(piece, covered, covered)

    async def _read_by_id(self, piece: JobPiece, queue: PieceQueue[Job]) -> int:
        """Read a piece of a list in the order of ids; return the id up to which it is covered."""
        job, covered, keys, tries = piece.of, piece.after, set[str](), 0
        is_resumed = job.purpose == "walk" and piece.is_open and (piece.is_guess or piece.position)
        if is_resumed and await self._is_known(job, covered):
            return covered
        while True:
            before, is_from_start = (covered, len(keys)), not (piece.position or piece.is_guess)
            covered = await self._read_pages(piece, queue, keys)
            if covered >= min(piece.until, job.until):
                return covered
            rows = await self._probe(job)
            newest = ids_of(rows).numbers.last
            unseen = await self._unseen_keys(job, rows, keys) if piece.until >= job.until else set()
            if newest <= covered and not unseen:
                await self._see_late(job, rows, covered)
                return covered
            tries = tries + 1 if (covered, len(keys)) == before else 0
            if tries >= _TRIES and not unseen:
                raise CursorError(
                    f"the list of {job.source} ends behind the id {covered}, but its newest message has the "
                    f"id {newest}"
                )
            if tries >= _TRIES:
                raise _early_end(job, min(unseen))
            is_from_start = (is_from_start and before[0] > 0) or (tries > 0 and bool(unseen))
            piece.after, piece.position = covered, ()
            piece.is_guess = covered > 0 and not is_from_start

    async def _read_by_time(self, piece: JobPiece) -> int:
        """Read all of a list that goes by time; return its highest id.

        Only at the end is it known that no lower id comes, and so no page covers anything.
        """
        job, seen, keys, tries = piece.of, IdSet(), set[str](), 0
        walk = job.source.list(self._messages, structs.replace(self._query(job), affix="append"))
        while True:
            before = len(seen) + len(keys)
            async with aclosing(walk.pages()) as pages:
                async for page in pages:
                    ids = ids_of(page.items)
                    seen.update(ids.numbers)
                    keys.update(ids.others)
                    await self._put(piece, sorted(page.items, key=_by_id), 0, 0, (), len(page.raw))
            newest = ids_of(await self._probe(job))
            unseen = [*map(str, newest.numbers - seen), *(newest.others.keys() - keys)]
            if not unseen:
                return seen.last
            tries = tries + 1 if len(seen) + len(keys) == before else 0
            if tries >= _TRIES:
                raise _early_end(job, unseen[0])

    # ── pages ──

    async def _read_pages(self, piece: JobPiece, queue: PieceQueue[Job], keys: set[str]) -> int:
        """Read a piece until it or its list ends; return the id up to which it is covered then.

        The ids that are no numbers are added to `keys`.
        """
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
                ids = await self._put(piece, rows, covered, last, position, len(part.page.raw))
                keys.update(ids.others)
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
            job.newest = ids_of(await self._probe(job)).numbers.last
        left = min(piece.until, job.until, job.newest) - covered
        if left >= max(2, LEAST_PAGES * ids_a_page):
            piece.until = min(piece.until, job.until)
            queue.give(cut(piece, covered + left // 2))

    async def _put(
        self, piece: JobPiece, rows: list[Row], after: int, last: int, position: Pairs, size: int
    ) -> PageIds:
        """Hand a page on; return the ids of its rows."""
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
        return page.seen

    async def _end(self, piece: JobPiece, after: int, last: int) -> None:
        """Note the end of a piece that was read up to the id `last`; that of a list is proven."""
        job, proven = piece.of, 0
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - last)
        if job.purpose == "walk" and piece.until >= job.until:
            self.ended.add(job.number)
            self._progress.done = len(self.ended)
            proven = last if job.until == LAST else job.until
        else:
            last = piece.until  # there is nothing up to there
        page = self._divider.page(job, [])
        await self._backlog.put(
            structs.replace(page, after=after, last=last, position=piece.position, proven=proven)
        )

    # ── what there is ──

    async def _is_known(self, job: Job, covered: int) -> bool:
        """Return whether the newest messages of a list have all been seen, so that nothing in it is new."""
        try:
            rows = await self._probe(job)
        except BadRequestError:  # the pages decide
            return False
        await self._see_late(job, rows, covered)
        if await self._unseen_keys(job, rows, set()):
            return False
        ids = ids_of(self._divider.window.within(rows)).numbers
        is_whole = len(rows) < PROBED
        return await in_thread(lambda: self._archive.has_seen_newest(job.number, ids, is_whole=is_whole))

    async def _unseen_keys(self, job: Job, rows: list[Row], keys: set[str]) -> set[str]:
        """Return the ids of a probe that are no numbers, not in `keys`, and not seen by earlier runs."""
        unseen = ids_of(self._divider.window.within(rows)).others.keys() - keys
        return await in_thread(lambda: self._archive.unseen_keys(job.number, unseen)) if unseen else unseen

    async def _see_late(self, job: Job, rows: list[Row], covered: int) -> None:
        """Note the ids of a probe that are covered, and were not seen: they came late, and are missing."""
        late = ids_of(self._divider.window.within(rows)).numbers.between(1, covered)
        if job.purpose == "walk" and late:
            late = await in_thread(lambda: self._archive.unseen(job.number, late))
        if job.purpose == "walk" and late:
            await self._backlog.put(structs.replace(self._divider.page(job, []), seen=PageIds(late, {})))

    async def _probe(self, job: Job) -> list[Row]:
        """Ask for the newest messages of a list: one request."""
        query = structs.replace(self._query(job), affix="prepend")
        async with aclosing(job.source.list(self._messages, query).limit(PROBED).pages()) as pages:
            page = await anext(pages, None)
        return [] if page is None else page.items

    def _query(self, job: Job) -> MessageQuery:
        """Return the plan's filter, with the times to ask for."""
        query = self._archive.plan.query
        if job.purpose == "confirm":  # whatever the service makes of times
            return query
        since, until = self.window.asked(job.since if job.purpose == "recheck" else None)
        return structs.replace(query, from_timestamp=since, to_timestamp=until)


def in_unit_of(window: Window, timestamp: int) -> Window:
    """Return a window in the unit of a timestamp, seconds or milliseconds: no shorter than it is."""
    since, until = window
    if timestamp < MILLISECONDS:
        return Window(since and seconds(since), until and seconds(until))
    if since is not None and since < MILLISECONDS:
        since *= 1000
    if until is not None and until < MILLISECONDS:
        until = until * 1000 + 999
    return Window(since, until)


def _early_end(job: Job, id: str) -> CursorError:
    return CursorError(f"the list of {job.source} ends without the message {id!r}, one of its newest")


def _by_id(row: Row) -> int:
    return number(row.id) or 0
