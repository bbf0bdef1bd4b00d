"""Several readers on one list: they cut it into small pieces, take them in the list's order, and read them.

The cutting follows the pages: a piece is as large as one to four pages are likely to hold, so readers stay
close together, and what comes out of order waits for a few pages only. The rest of the list is one piece that
a reader cuts the next one from. Where a piece turns out to be denser than expected, its reader gives the
upper part back; it is before all that was not begun, so the readers that come free take it first.

How far a list goes is asked from its other end. Beyond the last item that was there, one reader continues as
any walk does, to the end that the service shows.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic, TypeVar, final

from msgspec import Struct

from ...core.paging.intervals import Gap
from ...core.paging.order import Affix
from ...errors import CursorError, ServerError
from ..tasks import end_tasks
from .piece_buffer import NotSplittableError, PieceBuffer, PieceOutput
from .piece_queue import ListPiece, PieceQueue, cut
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
_REACH: Final = 1.1
"""How much more of a list is asked for than the items that a limit leaves are expected to take."""

_WEIGHT: Final = 0.2
"""The weight of a page in the estimate of the density."""
_MARGIN: Final = 2.5
"""Deviations by which a piece is kept smaller than the pages that are to hold it."""
_SMALLEST: Final = 0.5
"""The smallest part of its pages that a piece is kept down to."""


@final
class Density(Struct, frozen=True):
    """How many ranks the next items are expected to take, by the pages so far.

    The ids of a list are those of the whole app, of which it holds some: all of them, every tenth, or many in
    one hour and none in the next. So the estimate follows the pages, and knows by how much they differ.
    """

    ranks_per_item: float
    deviation: float
    """How much pages differ from it on the average, as a part of it."""
    page_items: int
    """The items of the largest page so far."""

    @classmethod
    def of(cls, ranks: Sequence[int]) -> "Density":
        """Return the estimate after a first page, whose ranks ascend; at least one."""
        middle = len(ranks) // 2
        lower, upper, spacing = _spacing(ranks[: middle + 1]), _spacing(ranks[middle:]), _spacing(ranks)
        return cls(spacing, abs(lower - upper) / (2 * spacing), len(ranks))

    def after(self, first: int, last: int, count: int) -> "Density":
        """Return the estimate after a page of `count` items with ranks from `first` to `last`."""
        if count < 2:
            return self
        change = max(1.0, (last - first) / (count - 1)) - self.ranks_per_item
        spread = min(abs(change) / self.ranks_per_item, 1.0)
        return Density(
            self.ranks_per_item + _WEIGHT * change,
            self.deviation + _WEIGHT * (spread - self.deviation),
            max(self.page_items, count),
        )

    @property
    def ranks_per_page(self) -> float:
        """The ranks that a page is expected to take."""
        return self.ranks_per_item * self.page_items

    def ranks_of_pages(self, count: int) -> int:
        """Return the ranks of a piece that `count` pages are likely to hold.

        The pages show one item more than the piece has: the one before it.
        """
        margin = max(_SMALLEST, 1 - _MARGIN * self.deviation / count**0.5)
        return max(1, int(self.ranks_per_item * (count * self.page_items - 1) * margin))


def _spacing(ranks: Sequence[int]) -> float:
    return max(1.0, (ranks[-1] - ranks[0]) / max(1, len(ranks) - 1))


@final
class ParallelRead(Generic[T]):
    """The tasks that read a list, from where it was continued until it ends or is closed.

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
        self._refusal: NotSplittableError | None = None
        self._end: int | None = None
        """The rank of the item at the list's other end; None until it is known."""
        self.wanted: tuple[int, int] | None = None
        """The rank up to which items were taken, and how many more are wanted; None without a limit."""

    def start(self, gaps: Iterable[Gap], end: asyncio.Task[int | None]) -> None:
        """Start to read the gaps; `end` gives the rank of the list's last item, and is owned from now on."""
        for gap in gaps:
            # A gap after the rank 0 is read from the start of the list: no id is lower.
            is_guess = not gap.position and gap.after != 0
            piece: ListPiece[Any] = ListPiece(
                of=None, after=gap.after, until=gap.until, position=gap.position, is_guess=is_guess
            )
            self._add(piece, is_cut_off=False)
        self._tasks.append(end)
        work = [self._learn_end(end), *(self._read() for _ in range(self._parts))]
        for coroutine in work:
            task = asyncio.create_task(coroutine, name="chatrest: pieces of a list")
            task.add_done_callback(lambda _: self._changed.set())
            self._tasks.append(task)

    async def take(self) -> PiecePage[T] | None:
        """Return the consumer's next page; waits until it has arrived; None at the end of the list.

        Raises the error of a piece where it is its turn, and `NotSplittableError` as soon as it is known. A
        cancel loses nothing.
        """
        while True:
            if self._refusal is not None:
                raise self._refusal
            page = self._buffer.take()
            self._changed.set()  # another piece may have become the first one, which needs no room
            if page is not None or self._buffer.is_empty:
                return page
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        """End the tasks, and drop what waits; returns when they have ended, also if cancelled."""
        tasks, self._tasks = self._tasks, []
        await end_tasks(tasks)

    # ── cutting ──

    def _add(self, piece: ListPiece[PieceOutput[T]], *, is_cut_off: bool = True) -> None:
        self._buffer.add_piece(piece, is_cut_off=is_cut_off)
        self._queue.give(piece)

    def _end_of(self, piece: ListPiece[PieceOutput[T]]) -> int:
        """Return the rank up to which a piece is known to have items."""
        return piece.until if not piece.is_open else piece.after if self._end is None else self._end

    def _piece_ranks(self, after: int) -> int:
        """Return the size of the next piece: smaller towards the end, so that all readers end together."""
        density, last = self._density, self._buffer.last_piece
        end = after if last is None else self._end_of(last)
        pages_left = (end - after) / density.ranks_per_page
        most = max(1, min(MOST_PAGES, _PIECE_ITEMS // density.page_items))
        return density.ranks_of_pages(max(1, min(most, int(pages_left / (_ROUNDS * self._parts)))))

    def _give_back(self, piece: ListPiece[PieceOutput[T]], covered: int) -> None:
        """Give back what is too much for one reader, after the rank `covered`."""
        size, left = self._piece_ranks(covered), self._end_of(piece) - covered
        if left > _TOLERANCE * size:
            self._add(cut(piece, covered + size))
        elif self._queue.is_wanting and not piece.is_open and left >= 2 * self._density.ranks_per_page:
            self._add(cut(piece, covered + left // 2))

    # ── reading ──

    async def _learn_end(self, end: asyncio.Task[int | None]) -> None:
        self._end = await end
        if self._end is None:
            self._refuse(NotSplittableError("its other end could not be read"))
            return
        for output in list(self._buffer):
            if output.piece.is_open:
                self._give_back(output.piece, output.covered)

    async def _read(self) -> None:
        while self._refusal is None and (piece := await self._queue.take()) is not None:
            try:
                self._give_back(piece, piece.entry)
                await self._read_piece(piece)
            except (NotSplittableError, NotOrderedByIdError, PositionRefusedError, CursorError) as error:
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

    async def _read_piece(self, piece: ListPiece[PieceOutput[T]]) -> None:
        async with aclosing(self._reader.pages(piece)) as pages:
            while True:
                while not self._may_read(piece):
                    self._changed.clear()
                    await self._changed.wait()
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

    def _may_read(self, piece: ListPiece[PieceOutput[T]]) -> bool:
        """Return True if the next page of a piece is likely to be wanted, and there is room for it."""
        covered = piece.of.covered
        if self.wanted is not None and covered != self._buffer.first_rank:
            rank, count = self.wanted
            if covered >= rank + int(_REACH * count * self._density.ranks_per_item):
                return False
        return self._buffer.may_read(piece)

    def _note_empty(self, after: int, beyond: int | None) -> None:
        """Note that no item is above `after` and below `beyond`, for the piece that is taken next."""
        piece = self._queue.first
        if piece is not None and beyond is not None and after <= piece.after < beyond - 1 < piece.until:
            piece.empty_until = beyond - 1

    def _accept(self, page: PiecePage[T], piece: ListPiece[PieceOutput[T]]) -> None:
        """Take a page that has arrived, and what it shows of the list."""
        if page.unranked_count:
            raise NotSplittableError("ids in it are no numbers, or occur twice")
        reply = page.page
        if reply is not None:
            if "page" in dict(reply.cursor.position):
                raise NotSplittableError("the service gives it by page numbers")
            if page.shown is not None:
                self._density = self._density.after(*page.shown, len(reply.items))
        self._buffer.add_page(piece.of, page)
        self._changed.set()

    def _refuse(self, error: NotSplittableError) -> None:
        if self._refusal is None:
            self._refusal = error
        self._changed.set()


def _refusal(error: Exception) -> NotSplittableError:
    if isinstance(error, NotSplittableError):
        return error
    if isinstance(error, CursorError):  # counts that a service gives mislead, seen from a piece alone
        return NotSplittableError(f"a page in its midst cannot be taken ({error})")
    if not isinstance(error, PositionRefusedError):
        return NotSplittableError("it goes by time, with ids in any order")
    if error.is_guess:
        return NotSplittableError("the service refuses an id that it has not named")
    return NotSplittableError("the service refuses a position that it had named", is_named_refused=True)
