"""One list read from many positions at once: `async with walk.split() as items`.

| phase      | who reads                                                                               |
|------------|-----------------------------------------------------------------------------------------|
| `new`      | the walk itself, its first page; meanwhile the list's other end is asked for            |
| `alone`    | the walk itself, as long as its pages come faster than it would be worth to ask for     |
|            | several: most of the time is spent on reading them, and not on waiting                  |
| `parallel` | several readers, who cut what is left into pieces (`walk.split.parallel_read`)               |
| `serial`   | the walk itself, as the list cannot be entered in its midst; `reason` says why          |

Whatever ends a phase, the next one goes on behind the last item that was delivered.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from operator import length_hint
from types import TracebackType
from typing import TYPE_CHECKING, Final, Generic, Literal, Self, TypeAlias, TypeVar, final

from msgspec import Struct, structs

from ...core.paging.cursor import Cursor
from ...core.paging.intervals import LAST, rank_of
from ...core.paging.order import Affix, is_number
from ...errors import ChatRestError
from ..source import FetchedPage, Page, WalkSource
from .density import Density
from .parallel_read import MOST_PAGES, ParallelRead, end_tasks
from .piece_buffer import NotSplittableError, PieceBuffer
from .piece_reader import PiecePage, PieceReader
from .progress import Progress

if TYPE_CHECKING:
    from ..walk import Walk

T = TypeVar("T")

LOGGER: Final = logging.getLogger("chatrest")
_REACH: Final = 1.1
"""How much more of a list is asked for than the items that a limit leaves are expected to take."""


Phase: TypeAlias = Literal["unopened", "new", "alone", "parallel", "serial", "closed"]

LEAST_WAIT: Final = 0.002
"""The seconds of waiting for each of the last three pages from which several readers may be worth it."""
SURE_WAIT: Final = 0.01
"""The seconds of waiting for one page from which they may be: less may be due to another process."""
LEAST_RATIO: Final = 2.0
"""The waiting for a page, in CPU seconds of the page, from which several readers are worth it: each page more
that is held at the same time costs CPU, as its memory is out of the processor's cache.
"""
_MOST_CPU: Final = 0.005
"""The CPU seconds of a page at most: what is beyond is done once, such as making a decoder."""


@final
class SplitSource(Struct, Generic[T], frozen=True, kw_only=True):
    """The list that is split, and how."""

    source: WalkSource[T]
    start: "Callable[[Cursor, int | None], Walk[T]]"
    """Gives the walk over the list from a position, with a limit or None."""
    start_far: "Callable[[Cursor], Walk[T]]"
    """Gives the walk over one item of the list from a position, without the beginning of a window."""
    peek: "Callable[[Walk[T]], Awaitable[FetchedPage[T] | None]]"
    """Fetches a walk's next page, and hands over nothing of it; None at the end."""
    parts: int
    is_ordered: bool
    max_bytes: int
    size_name: str
    """The parameter that asks for a page's size; "" for none."""

    async def other_end(self, direction: Affix) -> int | None:
        """Return the rank of the last item of the list in a direction; None where it cannot be read.

        Costs a request for one item. The newest item is asked for without the beginning of a window: with
        `prepend`, some services take that for a position, and return what lies before the window.
        """
        opposite: Affix = "prepend" if direction == "append" else "append"
        # Beside a query that has a position of its own, the far end needs an id that lies behind all others.
        is_pinned = not {"id", "sentAt"}.isdisjoint(name for name, _ in self.source.filters)
        extreme = str(LAST - 1) if direction == "append" else "1"
        pairs = {"affix": opposite, "id": extreme if is_pinned else "", self.size_name: "1"}
        position = tuple((name, value) for name, value in pairs.items() if name and value)
        start = Cursor("", position, opposite)
        walk = self.start_far(start) if direction == "append" else self.start(start, 1)
        try:
            items = await walk.collect()
        except ChatRestError:
            return None
        return rank_of(items[0].id, direction) if items else None  # type: ignore[attr-defined]

    async def is_by_id(self, page: FetchedPage[T], direction: Affix) -> bool:
        """Return True where the list goes by id, though the position after the page has a time, too.

        Costs a request for one item: after the first item's id, with a time beyond the page. What goes by id
        returns the second item. What goes by time returns a later one; then the items between two ids are not
        those between two positions, as soon as a clock went back.
        """
        place = dict(page.after.cursor.position)
        if "sentAt" not in place:
            return True
        if not is_number(place["sentAt"]) or len(page.step.items) < 2:
            return False
        beyond = int(place["sentAt"]) + (1 if direction == "append" else -1)
        pairs = {
            "affix": direction,
            "id": _id(page.step.items[0]),
            "sentAt": str(beyond),
            self.size_name: "1",
        }
        position = tuple((name, value) for name, value in pairs.items() if name)
        try:
            items = await self.start(Cursor("", position, direction), 1).collect()
        except ChatRestError:
            return False
        return bool(items) and _id(items[0]) == _id(page.step.items[1])


class _PageTimer:
    """The waiting for the last three pages: the seconds in which this thread computed nothing.

    Used with `with` around the request for a page.
    """

    def __init__(self) -> None:
        self._began: tuple[float, float] | None = None
        self._waits: deque[float] = deque(maxlen=3)

    @property
    def is_running(self) -> bool:
        """True while a page is waited for."""
        return self._began is not None

    def __enter__(self) -> None:
        self._began = asyncio.get_running_loop().time(), time.thread_time()

    def __exit__(self, *error: object) -> None:
        self._began = None

    def is_worth_readers(self) -> bool:
        """Note that the page has come; True where several readers would save more than they cost."""
        assert self._began is not None
        began, cpu_began = self._began
        cpu = time.thread_time() - cpu_began
        wait = asyncio.get_running_loop().time() - began - cpu
        self._waits.append(wait if wait >= LEAST_RATIO * min(cpu, _MOST_CPU) else -1.0)
        is_steady = len(self._waits) == self._waits.maxlen and min(self._waits) >= LEAST_WAIT
        return is_steady or self._waits[-1] >= SURE_WAIT


class _Delivery(Generic[T]):
    """A page whose items are handed over."""

    __slots__ = ("items", "page", "rest")

    def __init__(self, page: PiecePage[T], left: int | None) -> None:
        self.page = page
        self.items = page.items if left is None else page.items[:left]
        self.rest = iter(self.items)

    @property
    def count(self) -> int:
        """The count of items that were handed over."""
        return len(self.items) - length_hint(self.rest)


@final
class Split(Generic[T]):
    """A list that is read from many positions at once: `walk.split()`, used with `async with`, once."""

    def __init__(self, source: SplitSource[T], cursor: Cursor, left: int | None) -> None:
        self._source = source
        self._left = left
        self._walk = source.start(cursor, left)
        """The walk that stands where the split stands, unless the list is read in parallel."""
        self._progress: Progress | None = None
        self._read: ParallelRead[T] | None = None
        self._delivery: _Delivery[T] | FetchedPage[T] | None = None
        self._phase: Phase = "unopened"
        self._timer = _PageTimer()
        self._is_by_id = False
        """True once the list was seen to go by id, and not by time."""
        self.reason: str | None = None
        """Why the list cannot be entered in its midst, and is read serially; None while nothing says so."""

    def __repr__(self) -> str:
        how = f"serial: {self.reason}" if self.reason else f"{self._source.parts} parts"
        return f"<Split {self._source.source.name}: {how}>"

    @property
    def cursor(self) -> Cursor:
        """The position right after the last item that was handed over, for a walk or for another split.

        With `ordered=False` it holds the intervals of ids ahead that are done, too.
        """
        if (progress := self._standing) is None:
            return self._walk.cursor
        cursor, source = progress.cursor, self._source.source
        if not cursor.query:
            cursor = structs.replace(cursor, query=source.query)
        return cursor.signed(source.cursor_key)

    @property
    def _standing(self) -> Progress | None:
        """The progress with the items of the page that is being handed over."""
        progress, delivery = self._progress, self._delivery
        if progress is None or not isinstance(delivery, _Delivery):
            return progress
        return progress.after(delivery.page, delivery.count)

    async def __aenter__(self) -> Self:
        if self._phase != "unopened":
            raise RuntimeError(f"{self!r} was opened before: split the walk at its cursor once more")
        self._phase = "new"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stand("closed")
        await self._stop()

    def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one. After an error, a `break` or a cancel, another loop goes on from there."""
        return self._items()

    def pages(self) -> AsyncGenerator[Page[T]]:
        """The pages, each cut to what the split gives of it, with the cursor after it."""
        return self._pages()

    async def _items(self) -> AsyncGenerator[T]:
        while True:
            if self._delivery is not None:
                for item in self._delivery.rest:
                    yield item
            if not await self._advance():
                return

    async def _pages(self) -> AsyncGenerator[Page[T]]:
        while True:
            if (delivery := self._delivery) is not None and (rest := list(delivery.rest)):
                reply = delivery.page.page if isinstance(delivery, _Delivery) else _reply(delivery)
                assert reply is not None
                yield structs.replace(reply, items=rest, cursor=self.cursor)
            if not await self._advance():
                return

    # ── the next page ──

    async def _advance(self) -> bool:
        """Go on to the next page; False at the end."""
        if self._phase in ("unopened", "closed"):
            raise RuntimeError(f"{self!r} is not open: read it inside its `async with`")
        if self._timer.is_running:
            raise RuntimeError(f"{self!r} is being read by another task: it has one reader at a time")
        if self._delivery is not None:
            if length_hint(self._delivery.rest):  # another loop left the page in its midst
                return True
            self._left = None if self._left is None else self._left - len(self._delivery.items)
            # No name may hold the page while the next one comes: its records go before the new ones are made.
            self._progress, self._delivery = self._standing, None
        if self._left == 0:
            return False
        with self._timer:
            return await (self._read_alone() if self._read is None else self._take(self._read))

    async def _take(self, read: ParallelRead[T]) -> bool:
        try:
            page = await read.take()
        except NotSplittableError as refusal:
            self._suspect(refusal)
            self._stand("serial", str(refusal))
            await self._stop()
            return True
        except Exception:
            self._stand("new")
            await self._stop()
            raise
        if page is not None:
            self._delivery = _Delivery(page, self._left)
            return True
        self._stand("new")
        await self._stop()
        return False

    async def _read_alone(self) -> bool:
        """Read the next page as the walk does, and start the readers if the list can be split."""
        source, begin = self._source, self._walk.cursor
        if self._phase == "new" and (source.parts == 1 or source.source.rules.paging.order != "id"):
            self._stand("serial", "the service orders it, and not by id" if source.parts > 1 else None)
        is_new = self._phase == "new"
        directions: list[Affix] = ["append", "prepend"] if begin.direction is None else [begin.direction]
        ends = {each: self._find_end(each) for each in directions if is_new}
        try:
            page = self._delivery = await source.peek(self._walk)
            if page is not None and page.leads_on and self._phase != "serial":
                await self._choose_phase(begin, page, ends)
        finally:
            await end_tasks(ends.values())
        return page is not None

    async def _choose_phase(
        self, begin: Cursor, page: FetchedPage[T], ends: "dict[Affix, asyncio.Task[int | None]]"
    ) -> None:
        """Go on as the page at `begin` allows it; takes the task that it needs out of `ends`."""
        direction, is_worth_readers = page.step.start.direction, self._timer.is_worth_readers()
        if direction is None or (fault := _fault(page, direction)):
            self._stand("serial", "its direction is not known" if direction is None else fault)
            self._delivery = page
        elif is_worth_readers and not (self._is_by_id or await self._source.is_by_id(page, direction)):
            self._stand("serial", "it goes by time: a position in it is a time, and then an id")
            self._delivery = page
        elif is_worth_readers:
            self._is_by_id = True
            end = ends.pop(direction) if direction in ends else self._find_end(direction)
            self._start(begin, page, direction, end)
        else:
            self._phase = "alone"

    def _find_end(self, direction: Affix) -> "asyncio.Task[int | None]":
        return asyncio.create_task(self._source.other_end(direction), name="chatrest: other end of a list")

    def _start(
        self, begin: Cursor, first: FetchedPage[T], direction: Affix, end: "asyncio.Task[int | None]"
    ) -> None:
        """Start to read in parallel what comes behind the first page."""
        source = self._source
        progress = Progress.of(begin, direction)
        page = _first_page(first, progress.rank, direction)
        ahead = progress.after(page, len(page.items))
        buffer: PieceBuffer[T] = PieceBuffer(
            ordered=source.is_ordered, max_pages=MOST_PAGES * source.parts, max_bytes=source.max_bytes
        )
        reader = PieceReader(source.start(ahead.begin, None), direction)
        density = Density.of([rank for item in page.items if (rank := rank_of(_id(item), direction))])
        read = ParallelRead(reader, direction, source.parts, buffer, density)
        read.reach = self._reach
        read.start(ahead.gaps, end)
        self._progress, self._read, self._phase = progress, read, "parallel"
        self._delivery = _Delivery(page, self._left)

    def _reach(self, ranks_per_item: float) -> int:
        """Return the rank up to which the items that a limit leaves are likely to lie."""
        if self._left is None:
            return LAST
        progress, delivery, wanted = self._progress, self._delivery, self._left
        if isinstance(delivery, _Delivery) and progress is not None:
            progress = progress.after(delivery.page, len(delivery.page.items))
            wanted -= len(delivery.items)
        begin = 0 if progress is None else progress.rank
        return begin + int(_REACH * wanted * ranks_per_item)

    # ── the way back to a plain walk ──

    def _stand(self, phase: Phase, reason: str | None = None) -> None:
        """Let a plain walk stand where the split stands, and go on in `phase`."""
        if self._progress is not None:
            count = self._delivery.count if isinstance(self._delivery, _Delivery) else 0
            self._left = None if self._left is None else self._left - count
            self._walk = self._source.start(self.cursor, self._left)
        self._phase, self._progress, self._delivery = phase, None, None
        if reason is not None:
            self.reason = reason
            LOGGER.warning(
                "%s: the list is read serially, from one position: %s", self._source.source.name, reason
            )

    def _suspect(self, refusal: NotSplittableError) -> None:
        """Take back what a refusal makes doubtful of the intervals ahead."""
        assert self._progress is not None
        if refusal.is_named_refused:
            self._progress = self._progress.without_positions()
        if refusal.suspect is not None:
            self._progress = self._progress.without(*refusal.suspect)

    async def _stop(self) -> None:
        read, self._read = self._read, None
        if read is not None:
            await read.close()


def _fault(page: FetchedPage[T], direction: Affix) -> str | None:
    """Return why the list with this first page cannot be entered in its midst; None where it may be."""
    goal = page.after.cursor
    if not page.step.start.by_id:
        return "it goes by time, with ids in any order"
    if "page" in dict(goal.position):
        return "the service gives it by page numbers"
    ids = [_id(page.items[0]), _id(page.items[-1]), goal.last or ""] if page.items else [""]
    if page.step.unordered_count or any(rank_of(text, direction) is None for text in ids):
        return "ids in it are no numbers, or occur twice"
    return None


def _first_page(first: FetchedPage[T], after: int, direction: Affix) -> PiecePage[T]:
    """Return the first page as one of a piece that begins behind the rank `after`."""
    goal = first.after.cursor
    covered = rank_of(goal.last or "", direction) or after
    place = rank_of(dict(goal.position).get("id", ""), direction)
    position = goal.position if place is not None and place >= covered else ()
    return PiecePage(first.items, after, covered, position, first.step.start, _reply(first))


def _reply(page: FetchedPage[T]) -> Page[T]:
    listing = page.listing
    return Page(page.items, listing.meta, listing.raw, page.after.cursor, listing.repairs)


def _id(item: object) -> str:
    text: str = item.id  # type: ignore[attr-defined]
    return text
