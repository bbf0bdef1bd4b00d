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

from collections.abc import Callable
from contextlib import aclosing
from typing import Final, final

from msgspec import Struct, field, structs

from ..core.endpoint import Pairs
from ..core.intervals import LAST
from ..core.order import Affix
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
from .jobs import Job, JobPiece, OtherSideError
from .message_ids import PageIds, ids_of, number
from .ownership import OwnershipRules
from .page_partition import PageDivider, Window, last_id
from .report import Progress
from .source_filter import SourceFilter

LEAST_PAGES: Final = 16
"""Pages that have to be left of a list for it to be divided: a cut costs about a page that is read twice."""
PROBED: Final = 10
"""Messages of a probe: the newest ones of a list. Fewer are all that it has."""
_TRIES: Final = 2
"""How often a list is gone on with behind an id, and brings nothing, before that is an error."""


@final
class ShownIds(Struct, eq=False):
    """The ids that a list has shown to its reader."""

    covered: int
    """The id up to which all was shown; 0 for a list that goes by time."""
    numbers: IdSet = field(default_factory=IdSet)
    """The ids of a list that goes by time."""
    keys: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    newest_page: IdSet = field(default_factory=IdSet)
    """The ids of the newest page of a list that goes by id."""
    is_past: bool = False
    """True where the list has passed the end of the plan's window."""

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
        is_known = await self._is_known(piece)
        while not is_known:
            begin, count, was_from_start = shown.covered, shown.count, not (piece.position or piece.is_guess)
            if job.by_time:
                await self._read_all(piece, shown)
            else:
                await self._read_pages(piece, queue, shown)
            if shown.covered >= min(piece.until, job.until) or shown.is_past:
                break
            if was_from_start and not shown.count:
                if job.may_change_side:
                    raise OtherSideError
                break
            unseen = await self._unseen(piece, shown)
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
        walk = piece.of.list(self._messages, self._query(piece.of, "append"))
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                ids = ids_of(page.items)
                shown.numbers.update(ids.numbers)
                shown.keys.update(ids.others)
                await self._put(piece, sorted(page.items, key=_by_id), 0, 0, (), len(page.raw))
                shown.is_past = self._divider.window.is_past(page.items)
                if shown.is_past:
                    break

    async def _read_pages(self, piece: JobPiece, queue: PieceQueue[Job], shown: "ShownIds") -> None:
        """Read a piece until it or its list ends."""
        job, position = piece.of, piece.position
        reader: PieceReader[Row] = PieceReader(job.list(self._messages, self._query(job)))
        async with self._backlog.fetching() as fetching, aclosing(reader.pages(piece)) as parts:
            async for part in parts:
                if part.page is None:
                    break
                until, rows, last = min(piece.until, job.until), part.items, last_id(part.items)
                if part.beyond is not None or last > until:
                    rows, last = [row for row in rows if (number(row.id) or 0) <= until], until
                elif part.position:
                    position = part.position
                covered, last = shown.covered, max(shown.covered, last)
                ids = await self._put(piece, rows, covered, last, position, len(part.page.raw))
                shown.covered, shown.newest_page = last, ids.numbers
                shown.keys.update(ids.others)
                shown.is_past = self._divider.window.is_past(part.items)
                if last >= until or shown.is_past:
                    break
                await self._share(piece, last, last - covered, queue)
                await fetching.next_page()

    async def _share(self, piece: JobPiece, covered: int, ids_a_page: int, queue: PieceQueue[Job]) -> None:
        """Give the upper half of the rest away where somebody is idle and there is much of it."""
        job = piece.of
        if not queue.is_wanting or not piece.may_be_cut or job.until == LAST:
            return
        least = max(2, self._least_pages() * ids_a_page)
        if not job.newest and min(piece.until, job.until) - covered >= least:
            # The frozen end is the app's, and may be far above.
            job.newest = ids_of(await self._probe(job)).numbers.last
        if (left := min(piece.until, job.until, job.newest) - covered) >= least:
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

    async def _end(self, piece: JobPiece, shown: "ShownIds") -> None:
        """Note the end of a piece; that of a list is proven."""
        job, last, proven = piece.of, shown.last, 0
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - last)
        if job.purpose == "walk" and piece.until >= job.until:
            self.ended.add(job.number)
            if not shown.count:
                self._rules.note_empty(job.source)
            self._progress.done = len(self.ended)
            proven = last if job.until == LAST else job.until
        else:
            last = piece.until  # there is nothing up to there
        page = self._divider.page(job, [])
        await self._backlog.put(
            structs.replace(page, after=shown.covered, last=last, position=piece.position, proven=proven)
        )

    # ── what there is ──

    async def _is_known(self, piece: JobPiece) -> bool:
        """Return whether a list has nothing new: earlier runs have read it, and seen its newest messages."""
        job = piece.of
        is_resumed = job.purpose == "walk" and piece.is_open and (piece.is_guess or piece.position)
        if job.by_time or not is_resumed:
            return False
        try:
            rows = await self._probe(job)
        except BadRequestError:  # the pages decide
            return False
        ids = ids_of(self._divider.held(job, rows))
        await self._see_late(job, ids.numbers, piece.after)
        if await self._never_seen(job, {*ids.others}):
            return False
        is_whole = len(rows) < PROBED
        return await in_thread(
            lambda: self._archive.has_seen_newest(job.number, ids.numbers, is_whole=is_whole)
        )

    async def _unseen(self, piece: JobPiece, shown: "ShownIds") -> list[str]:
        """Ask for the newest messages of a list; return the ids that it should have shown, but has not."""
        job, rows = piece.of, await self._probe(piece.of)
        within = Window(job.since or None).within(self._divider.held(job, rows))
        ids, ids_within = ids_of(rows), ids_of(within)
        if job.by_time:
            return [*map(str, ids.numbers - shown.numbers), *(ids.others.keys() - shown.keys)]
        if ids.numbers.last > shown.covered:
            return [str(ids.numbers.last)]
        keys = ids_within.others.keys() - shown.keys if piece.until >= job.until else set[str]()
        if job.purpose == "walk":  # of a part of a list others may have seen them
            keys = await self._never_seen(job, keys)
        if keys:
            return list(keys)
        # What the newest page has shown is on its way to the journal: nobody need look there.
        await self._see_late(job, ids_within.numbers - shown.newest_page, shown.covered)
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

    async def _probe(self, job: Job) -> list[Row]:
        """Ask for the newest messages of a list: one request."""
        query = self._query(job, "prepend")
        async with aclosing(job.list(self._messages, query).limit(PROBED).pages()) as pages:
            page = await anext(pages, None)
        return [] if page is None else page.items

    def _query(self, job: Job, affix: Affix | None = None) -> MessageQuery:
        """Return the plan's filter, with the times to ask for."""
        query = self._archive.plan.query
        since, until = query.from_timestamp, query.to_timestamp
        if job.purpose != "confirm":  # which is for whatever the service makes of times
            since, until = self.window.asked(job.since if job.purpose == "recheck" else None)
        affix = affix or query.affix
        if (affix, since, until) == (query.affix, query.from_timestamp, query.to_timestamp):
            return query  # a filter that is made anew is checked anew
        return structs.replace(query, affix=affix, from_timestamp=since, to_timestamp=until)


def in_unit_of(window: Window, timestamp: int) -> Window:
    """Return a window in the unit of a timestamp, seconds or milliseconds: no shorter than it is."""
    if timestamp < MILLISECONDS:
        return Window(*(time and seconds(time) for time in window))
    rest = (0, 999)  # of the last second all milliseconds
    return Window(*(
        time if time is None or time >= MILLISECONDS else time * 1000 + more
        for time, more in zip(window, rest, strict=True)
    ))  # fmt: skip


def _by_id(row: Row) -> int:
    return number(row.id) or 0
