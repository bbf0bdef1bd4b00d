"""Several readers on one list: they cut it into small pieces, take them in the list's order, and read them.

The cutting follows the pages: a piece is as large as one to four pages are likely to hold, so readers stay
close together, and what comes out of order waits for a few pages only. The rest of the list is one piece that
a reader cuts the next one from. Where a piece turns out to be denser than expected, its reader gives the
upper part back; it lies before all that was not begun, so the readers that come free take it first.

How far a list goes is asked from its other end. Beyond the last item that was there, one reader goes on as
any walk does, to the end that the service shows.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, Final, Generic, TypeVar, final

from ...core.paging.intervals import LAST, Gap, rank_of
from ...core.paging.order import Affix
from ...errors import ServerError
from .density import Density
from .piece_buffer import NotSplittableError, PieceBuffer, PieceOutput
from .piece_queue import Piece, PieceQueue, cut, divide, piece_of
from .piece_reader import NotOrderedByIdError, PiecePage, PieceReader, PositionRefusedError

T = TypeVar("T")

MOST_PAGES: Final = 4
"""The pages of a piece at most, for the bound of what waits."""
_PIECE_ITEMS: Final = 400
"""The items of a piece at most, where a page has fewer: of small pages, several are read in a row."""
_ROUNDS: Final = 2
"""The pieces that every reader has still to read, at least, before they become as small as a page."""
_TOLERANCE: Final = 1.5
"""A piece is cut where more than so many of its usual size are left."""


@final
class ParallelRead(Generic[T]):
    """The tasks that read a list, from where it was gone on with until it ends or is closed.

    Started by `start`; owns tasks until `close`.
    """

    def __init__(
        self, reader: PieceReader[T], direction: Affix, parts: int, buffer: PieceBuffer[T], density: Density
    ) -> None:
        self._reader = reader
        self._direction: Affix = direction
        self._parts = parts
        self._buffer = buffer
        self._density = density
        self._queue: PieceQueue[PieceOutput[T]] = PieceQueue(key=lambda piece: piece.after)
        self._tasks: list[asyncio.Task[Any]] = []
        self._changed = asyncio.Event()
        self.end: int | None = None
        """The rank of the item at the list's other end; None until it is known."""
        self.reach: Callable[[float], int] = lambda _: LAST
        """Gives the rank that the consumer wants to read up to at most, for the ranks of an item."""
        self.refusal: NotSplittableError | None = None

    def start(self, gaps: Iterable[Gap], end: asyncio.Task[int | None]) -> None:
        """Start to read the gaps; `end` gives the rank of the list's last item, and is owned from now on."""
        for gap in gaps:
            self._add(piece_of(gap, PieceOutput()), is_cut_off=False)
        self._tasks.append(end)
        work = [self._learn_end(end), *(self._read() for _ in range(self._parts))]
        for coroutine in work:
            task = asyncio.create_task(coroutine, name="chatrest: pieces of a list")
            task.add_done_callback(lambda _: self._changed.set())
            self._tasks.append(task)

    async def take(self) -> PiecePage[T] | None:
        """Return the consumer's next page; waits until it has come; None at the end of the list.

        Raises the error of a piece where it is its turn, and `NotSplittableError` as soon as it is known. A
        cancel loses nothing.
        """
        while True:
            if self.refusal is not None:
                raise self.refusal
            page = self._buffer.take()
            if page is not None or self._buffer.is_empty:
                self._changed.set()
                return page
            self._changed.set()  # another piece may have become the first one, which needs no room
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        """End the tasks, and drop what waits; returns when they have ended, also where cancelled."""
        tasks, self._tasks = self._tasks, []
        await end_tasks(tasks)

    # ── cutting ──

    def _add(self, piece: Piece[PieceOutput[T]], *, is_cut_off: bool = True) -> None:
        self._buffer.add_piece(piece, is_cut_off=is_cut_off)
        self._queue.give(piece)

    def _end_of(self, piece: Piece[PieceOutput[T]]) -> int:
        """Return the rank up to which a piece is known to have items."""
        return piece.until if not piece.is_open else piece.after if self.end is None else self.end

    def _piece_ranks(self, after: int) -> int:
        """Return the size of the next piece: smaller towards the end, so that all readers end together."""
        density = self._density
        end = max((self._end_of(output.piece) for output in self._buffer), default=after)
        pages_left = (end - after) / density.ranks_per_page
        most = max(1, min(MOST_PAGES, _PIECE_ITEMS // density.page_items))
        return density.ranks_of_pages(max(1, min(most, int(pages_left / (_ROUNDS * self._parts)))))

    def _give_back(self, piece: Piece[PieceOutput[T]], covered: int) -> None:
        """Give back what is too much for one reader, behind the rank `covered`."""
        size, left = self._piece_ranks(covered), self._end_of(piece) - covered
        if left > _TOLERANCE * size:
            self._add(cut(piece, covered + size))
        elif self._queue.is_wanting:
            upper = divide(piece, covered, self._density.ranks_per_page, least_pages=2)
            if upper is not None:
                self._add(upper)

    # ── reading ──

    async def _learn_end(self, end: asyncio.Task[int | None]) -> None:
        self.end = await end
        if self.end is None:
            self._refuse(NotSplittableError("its other end could not be read"))
            return
        for output in list(self._buffer):
            if output.piece.is_open:
                self._give_back(output.piece, output.covered)

    async def _read(self) -> None:
        while self.refusal is None and (piece := await self._queue.take()) is not None:
            try:
                self._give_back(piece, piece.entry)
                await self._read_piece(piece)
            except NotSplittableError as error:
                self._refuse(error)
            except NotOrderedByIdError:
                self._refuse(NotSplittableError("it goes by time, with ids in any order"))
            except PositionRefusedError as error:
                self._refuse(_refusal(error))
            except BaseException as error:
                if isinstance(error, ServerError) and piece.is_guess and piece.of.first_rank is None:
                    self._refuse(NotSplittableError("the service fails at an id that it has not named"))
                piece.of.error = error
                if not isinstance(error, Exception):
                    raise
            finally:
                self._queue.done()
                self._changed.set()

    async def _read_piece(self, piece: Piece[PieceOutput[T]]) -> None:
        async with aclosing(self._reader.pages(piece)) as pages:
            while True:
                await self._wait_for_room(piece)
                self._buffer.requests += 1
                try:
                    page = await anext(pages)
                finally:
                    self._buffer.requests -= 1
                self._accept(page, piece)
                if page.is_end or page.covered >= piece.until:
                    self._buffer.finish(piece.of, page, self._direction)
                    self._note_empty(piece.until, page.beyond)
                    return
                self._give_back(piece, page.covered)

    def _note_empty(self, after: int, beyond: int | None) -> None:
        """Note that no item lies above `after` and below `beyond`, for the piece that is taken next."""
        piece = self._queue.first
        if piece is not None and beyond is not None and after <= piece.after < beyond - 1 < piece.until:
            piece.empty_until = beyond - 1

    async def _wait_for_room(self, piece: Piece[PieceOutput[T]]) -> None:
        while not self._may_read(piece):
            self._changed.clear()
            await self._changed.wait()

    def _may_read(self, piece: Piece[PieceOutput[T]]) -> bool:
        is_first = piece.of.covered == self._buffer.first_rank
        is_within_reach = piece.of.covered < self.reach(self._density.ranks_per_item)
        return (is_first or is_within_reach) and self._buffer.may_read(piece)

    def _accept(self, page: PiecePage[T], piece: Piece[PieceOutput[T]]) -> None:
        """Take a page that has come, and what it shows of the list."""
        if page.unranked_count:
            raise NotSplittableError("ids in it are no numbers, or occur twice")
        reply = page.page
        if reply is not None:
            if "page" in dict(reply.cursor.position):
                raise NotSplittableError("the service gives it by page numbers")
            ends = [rank_of(item.id, self._direction) for item in (reply.items[0], reply.items[-1])]  # type: ignore[attr-defined]
            if None not in ends:
                self._density = self._density.after(ends[0] or 0, ends[1] or 0, len(reply.items))
        self._buffer.add_page(piece.of, page)
        self._changed.set()

    def _refuse(self, error: NotSplittableError) -> None:
        if self.refusal is None:
            self.refusal = error
        self._changed.set()


def _refusal(error: PositionRefusedError) -> NotSplittableError:
    if error.is_guess:
        return NotSplittableError("the service refuses an id that it has not named")
    refusal = NotSplittableError("the service refuses a position that it had named")
    refusal.is_named_refused = True
    return refusal


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when they have ended, also where cancelled meanwhile."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    interrupt: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            interrupt = error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # it was raised to the consumer, or is of no use any more
    if interrupt is not None:
        raise interrupt
