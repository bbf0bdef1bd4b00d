"""One list read from many positions at once: `async with walk.split() as items`.

The rule: a list that goes by id and has a second page is read from many positions, from that page on. Any
other list, and one whose service does not take an id that it has not named, is read serially, from one
position as a walk does; `reason` says why.

| part            | what it does                                                                             |
|-----------------|------------------------------------------------------------------------------------------|
| `Split`         | what the user holds: a walk whose pages come from a `SplitReader`                        |
| `SplitReader`   | reads the first page, meanwhile asks for the list's other end, and starts the readers or |
|                 | goes on serially                                                                         |
| `SplitPosition` | the cursor after every item: a rank, and with `ordered=False` intervals ahead of it      |
| `parallel_read` | the readers, who cut what is left of the list into pieces (`piece_queue`)                |
| `piece_reader`  | reads one piece, page by page                                                            |
| `piece_buffer`  | the pages that wait for the consumer; the check that nothing is left out at a cut        |

An error, and the end of the list, stop the readers; what comes then begins with a first page again, right
after the last item that was handed over.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, final

from msgspec import Struct, structs

from ...core.paging.cursor import Cursor
from ...core.paging.intervals import LAST, Gap, Interval, gaps, merge, rank_of, subtract
from ...core.paging.order import Affix, is_number
from ...core.paging.walk_state import WalkState
from ...errors import ChatRestError
from ...models.meta import Meta
from ..source import Page, PendingPage, WalkSource
from ..tasks import end_tasks
from .parallel_read import MOST_PAGES, Density, ParallelRead
from .piece_buffer import NotSplittableError, PieceBuffer
from .piece_reader import PagedList, PiecePage, PieceReader, id_of

T = TypeVar("T")

LOGGER: Final = logging.getLogger("chatrest")


@final
class Split(Generic[T]):
    """A list that is read from many positions at once: `walk.split()`, used with `async with`, once."""

    def __init__(self, walk: PagedList[T], reader: "SplitReader[T]") -> None:
        """`walk` is moved by this split alone, and has its pages from `reader`."""
        self._walk = walk
        self._reader = reader

    def __repr__(self) -> str:
        return f"<Split {self._reader!r}>"

    @property
    def cursor(self) -> Cursor:
        """The position right after the last item that was handed over, for a walk or for another split.

        With `ordered=False` it holds the intervals of ids ahead that are done, too.
        """
        return self._walk.cursor

    @property
    def reason(self) -> str | None:
        """Why the list cannot be entered in the middle, and is read serially; None while nothing says so."""
        return self._reader.reason

    async def __aenter__(self) -> Self:
        if self._reader.is_open is not None:
            raise RuntimeError(f"{self!r} was opened before: split the walk at its cursor once more")
        self._reader.is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.is_open = False
        await self._reader.close()

    def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one. After an error, a `break` or a cancel, another loop continues from there."""
        self._reader.check_open()
        return aiter(self._walk)

    def pages(self) -> AsyncGenerator[Page[T]]:
        """The pages, each cut to what the split gives of it, with the cursor after it."""
        self._reader.check_open()
        return self._walk.pages()


@final
class SplitReader(Generic[T]):
    """The pages of a list that is split: a `PageReader`, which owns tasks until `close`."""

    def __init__(
        self, source: WalkSource[T], walk: PagedList[T], parts: int, is_ordered: bool, max_bytes: int
    ) -> None:
        """`walk` is one over the whole list, without a limit: its pieces are read by it."""
        self._source = source
        self._walk = walk
        self._parts = parts
        self._is_ordered = is_ordered
        self._max_bytes = max_bytes
        self._read: ParallelRead[T] | None = None
        self._position: SplitPosition | None = None
        """After the last page that was read; None if the list was never read in parallel."""
        self._next: WalkState | None = None
        """The state after the last page that was read."""
        self._is_by_id = False
        """True once the list was seen to go by id, and not by time."""
        self.is_open: bool | None = None
        """None before the block of the split is entered."""
        self.reason: str | None = None

    def __repr__(self) -> str:
        return f"{self._source.name}: {f'serial: {self.reason}' if self.reason else f'{self._parts} parts'}"

    def check_open(self) -> None:
        """Raise `RuntimeError` outside the block of the split."""
        if not self.is_open:
            raise RuntimeError(f"<Split {self!r}> is not open: read it inside its `async with`")

    async def read(self, state: WalkState) -> PendingPage[T]:
        """Return the page at `state`. A cancel loses nothing, nor does an error."""
        self.check_open()
        if self._read is not None and state is not self._next:
            await self.close()
        page = await (self._first_page(state) if self._read is None else self._next_page(self._read, state))
        self._next = page.after
        return page

    async def close(self) -> None:
        """End the tasks; returns when they have ended, also if cancelled."""
        read, self._read = self._read, None
        if read is not None:
            await read.close()

    async def _first_page(self, state: WalkState) -> PendingPage[T]:
        """Read a page as the walk does, and start the readers if the list can be split."""
        source, direction = self._source, state.cursor.direction
        if source.rules.paging.order != "id" and self._parts > 1 and self.reason is None:
            self._go_serial("the service orders it, and not by id")
        if self._parts == 1 or self.reason is not None:
            return await source.read(state)
        directions: list[Affix] = ["append", "prepend"] if direction is None else [direction]
        ends = {each: asyncio.create_task(other_end(source, each)) for each in directions}
        try:
            page = await source.read(state)
            while page.leads_on and not page.reply.items:
                page = await source.read(page.after)
            if page.leads_on:
                await self._split(page, ends)
        finally:
            await end_tasks(ends.values())
        return page

    async def _split(self, page: PendingPage[T], ends: "dict[Affix, asyncio.Task[int | None]]") -> None:
        """Start to read in parallel what comes after a page; takes the task that it needs out of `ends`."""
        cursor = page.after.cursor
        direction = cursor.direction
        if direction is None:
            return self._go_serial("its direction is not known")
        if fault := _fault(page.reply, cursor, direction):
            return self._go_serial(fault)
        if not (self._is_by_id or await goes_by_id(self._source, page.reply.items, cursor, direction)):
            return self._go_serial("it goes by time: a position in it is a time, and then an id")
        self._is_by_id = True
        self._position = position = SplitPosition.of(cursor, direction)
        max_pages = MOST_PAGES * self._parts
        self._read = read = ParallelRead(
            PieceReader(self._walk.at(position.begin), direction),
            direction,
            self._parts,
            PieceBuffer(is_ordered=self._is_ordered, max_pages=max_pages, max_bytes=self._max_bytes),
            Density.of([rank for item in page.reply.items if (rank := rank_of(id_of(item), direction))]),
        )
        read.wanted = None if page.after.left is None else (position.rank, page.after.left)
        read.start(position.gaps, ends.pop(direction))
        return None

    async def _next_page(self, read: ParallelRead[T], state: WalkState) -> PendingPage[T]:
        """Take the next page of the readers."""
        position, left = self._position, state.left
        assert position is not None
        try:
            page = await read.take()
        except NotSplittableError as refusal:
            await self.close()
            self._go_serial(str(refusal))
            return _empty(position.taken_back(refusal).cursor, state)
        except Exception:
            await self.close()
            raise
        if page is None:
            await self.close()
            return _empty(position.cursor, state, is_end=True)
        # In order, all that is before it was given, pieces without an item included.
        if self._is_ordered and page.after != position.rank:
            page = structs.replace(page, after=position.rank)
        items = page.items if left is None else page.items[:left]
        self._position = after = position.after(page, len(items))
        if left is not None:
            left -= len(items)
            read.wanted = (after.rank, left)
        reply = Page(items, Meta(), b"", after.cursor)
        if page.page is not None:
            reply = structs.replace(page.page, items=items, cursor=after.cursor)
        return PendingPage(
            reply, WalkState(after.cursor, left=left), lambda count: position.after(page, count).cursor
        )

    def _go_serial(self, reason: str) -> None:
        self.reason = reason
        LOGGER.warning("%s: the list is read serially, from one position: %s", self._source.name, reason)


def _empty(cursor: Cursor, state: WalkState, *, is_end: bool = False) -> PendingPage[Any]:
    """Return a page without items, after which the list continues at `cursor`.

    Right after the first page the walk remembers that page, and continues as if it had never been split.
    """
    after = structs.replace(state, cursor=cursor)
    return PendingPage(Page([], Meta(), b"", cursor), after, lambda _: cursor, is_end=is_end)


# ── what a list is ──


def _fault(page: Page[Any], after: Cursor, direction: Affix) -> str | None:
    """Return why the list with this first page cannot be entered in the middle; None if it may be."""
    if not after.by_id:
        return "it goes by time, with ids in any order"
    if "page" in dict(after.position):
        return "the service gives it by page numbers"
    ids = [id_of(page.items[0]), id_of(page.items[-1]), after.last or ""]
    if page.unordered_count or any(rank_of(text, direction) is None for text in ids):
        return "ids in it are no numbers, or occur twice"
    return None


async def _first_item(source: WalkSource[T], position: dict[str, str], direction: Affix) -> T | None:
    """Return the first item of a list at a position; None if there is none, or it cannot be read."""
    pairs = position | {source.rules.size_name: "1"}
    cursor = Cursor("", tuple((name, value) for name, value in pairs.items() if name and value), direction)
    state = WalkState(cursor, left=1)
    try:
        while (page := await source.read(state)).leads_on:
            state = page.after
    except ChatRestError:
        return None
    return page.reply.items[0] if page.reply.items else None


async def other_end(source: WalkSource[Any], direction: Affix) -> int | None:
    """Return the rank of the last item of a list in a direction; None if it cannot be read.

    Costs a request for one item. The newest item is asked for without the beginning of a window: with
    `prepend`, some services take that for a position, and return what is before the window.
    """
    opposite: Affix = "prepend" if direction == "append" else "append"
    # Beside a query that has a position of its own, the far end needs an id that lies after all others.
    is_pinned = not {"id", "sentAt"}.isdisjoint(name for name, _ in source.filters)
    extreme = str(LAST - 1) if direction == "append" else "1"
    if direction == "append":
        source = source.without_beginning
    item = await _first_item(source, {"affix": opposite, "id": extreme if is_pinned else ""}, opposite)
    return None if item is None else rank_of(id_of(item), direction)


async def goes_by_id(source: WalkSource[T], items: list[T], after: Cursor, direction: Affix) -> bool:
    """Return True if the list goes by id, though the position `after` a page of `items` has a time, too.

    Costs a request for one item: after the first item's id, with a time beyond the page. What goes by id
    returns the second item. What goes by time returns a later one; then the items between two ids are not
    those between two positions, as soon as a clock went back.
    """
    position = dict(after.position)
    if "sentAt" not in position:
        return True
    if not is_number(position["sentAt"]) or len(items) < 2:
        return False
    beyond = int(position["sentAt"]) + (1 if direction == "append" else -1)
    asked = {"affix": direction, "id": id_of(items[0]), "sentAt": str(beyond)}
    item = await _first_item(source, asked, direction)
    return item is not None and id_of(item) == id_of(items[1])


# ── where it stands ──


@final
class SplitPosition(Struct, frozen=True):
    """The items of a list that were delivered: all up to a rank, and those of intervals ahead."""

    begin: Cursor
    """Where the list continues after the rank; without the intervals."""
    rank: int
    done: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, cursor: Cursor, direction: Affix) -> "SplitPosition":
        """Return the position right after the last item of a cursor, which has one with a rank."""
        rank = rank_of(cursor.last or "", direction)
        assert rank is not None
        return cls(structs.replace(cursor, done=()), rank, cursor.done)

    @property
    def cursor(self) -> Cursor:
        """The cursor for a walk, or for another split."""
        return structs.replace(self.begin, done=self.done) if self.done else self.begin

    @property
    def gaps(self) -> list[Gap]:
        """The ranks that are to be read, up to the open end of the list."""
        first, *others = gaps(self.done, LAST, self.rank)
        position = self.begin.position if first.after == self.rank else first.position
        return [first._replace(position=position), *others]

    def after(self, page: PiecePage[Any], count: int) -> "SplitPosition":
        """Return the position once the first `count` items of a page are delivered."""
        is_whole = count == len(page.items)
        rank = page.covered
        if not is_whole:
            last = rank_of(id_of(page.items[count - 1]), self.begin.direction or "append") if count else None
            rank = page.after if last is None else last
        if rank <= page.after:
            return self
        if page.after > self.rank:
            position = page.position if is_whole else ()
            done = merge([*self.done, Interval(page.after + 1, rank, position)])
            begin = structs.replace(self.begin, delivered=self.begin.delivered + count)
            return SplitPosition(begin, self.rank, tuple(done))
        begin = self._begin_after(page, count, is_whole=is_whole)
        done = [interval for interval in self.done if interval.last > rank]
        if done and done[0].first <= rank + 1:  # the first interval ahead is reached
            reached = done.pop(0)
            begin, rank = _behind(begin, reached), reached.last
        return SplitPosition(begin, rank, tuple(done))

    def taken_back(self, refusal: NotSplittableError) -> "SplitPosition":
        """Return the position without what a refusal makes doubtful of the intervals ahead."""
        done = self.done
        if refusal.is_named_refused:
            done = tuple(each._replace(position=()) for each in done)
        if refusal.suspect is not None:
            done = tuple(subtract(done, *refusal.suspect))
        return structs.replace(self, done=done)

    def _begin_after(self, page: PiecePage[Any], count: int, *, is_whole: bool) -> Cursor:
        begin, delivered = self.begin, self.begin.delivered + count
        if not count:
            return begin
        last = page.items[count - 1]
        is_named = is_whole and bool(page.position)
        # After the last item, ranks may be covered that were delivered before: they must not come again.
        return structs.replace(
            begin,
            # Where no position is known after the page, the page itself is asked for again.
            position=page.position if is_named else page.start,
            inside=not is_named,
            last=str(abs(page.covered)) if is_named else id_of(last),
            time=getattr(last, "sent_at", None),
            skip=0,
            delivered=delivered,
        )


def _behind(begin: Cursor, interval: Interval) -> Cursor:
    """Return the cursor that continues after an interval."""
    last, direction = str(abs(interval.last)), begin.direction or "append"
    position = interval.position or (("affix", direction), ("id", last))
    return structs.replace(begin, position=position, last=last, time=None, inside=True, skip=0)
