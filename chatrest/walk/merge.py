"""A merge: many walks as one stream in the order of a key, such as the time of their messages.

Each walk must be in that order by itself. The head of each, its next item, is held; the least of them is
given, and then the next item of its walk is due. At the beginning all heads are due, and are asked for at the
same time. Equal keys come in the order of the walks, and nothing is left out, not even an item of two walks.

A walk that fails is asked again when its item is asked for again: the others keep their heads.
"""

import asyncio
import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from functools import cmp_to_key
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, final

from ..core.paging.cursor import Cursor
from ..core.requests.arguments import check_unquoted
from ..errors import CursorError, RequestInvalidError
from .tasks import end_tasks

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Resumable(Protocol[T_co]):
    """A walk, or another stream with a cursor that is right after every item."""

    @property
    def cursor(self) -> Cursor:
        """The place after the last item."""

    def __aiter__(self) -> AsyncIterator[T_co]: ...


_descending: Callable[[Any], Any] = cmp_to_key(lambda one, other: -1 if other < one else int(one != other))
"""A key in the opposite order."""


class _Source(Generic[T]):
    """One walk of a merge, and its head."""

    __slots__ = ("_iterator", "_walk", "heads", "is_ended", "last", "position")

    def __init__(self, walk: Resumable[T]) -> None:
        self._walk = walk
        self._iterator: AsyncIterator[T] | None = None
        self.position: Cursor | None = None
        """The place before the head; None if the walk's own is right."""
        self.heads: list[T] = []
        """The head, or nothing."""
        self.last: tuple[Any, ...] = ()
        """The order of the item before, and its key; or nothing."""
        self.is_ended = False

    @property
    def cursor(self) -> Cursor:
        return self._walk.cursor if self.position is None else self.position

    @property
    def is_due(self) -> bool:
        """True if the next item has to be asked for."""
        return not self.heads and not self.is_ended

    async def fetch(self) -> None:
        """Ask for the next item; after an error the same item can be asked for again."""
        position = self._walk.cursor
        if self._iterator is None:
            self._iterator = aiter(self._walk)
        try:
            head = await anext(self._iterator)
        except StopAsyncIteration:
            self.is_ended = True
        except BaseException:
            self._iterator = None  # it is finished; the walk is not
            raise
        else:
            self.heads.append(head)
            self.position = position

    def take(self) -> T:
        """Return the head, which is given now."""
        self.position = None
        return self.heads.pop()

    async def close(self) -> None:
        iterator, self._iterator = self._iterator, None
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()

    def __repr__(self) -> str:
        return repr(self._walk)


@final
class Merge(Generic[T]):
    """Many walks as one stream: `chatrest.merge(…)`. Used with `async with`; one task reads at a time."""

    def __init__(self, walks: list[Resumable[T]], key: Callable[[T], Any], reverse: bool) -> None:
        self._sources = [_Source(walk) for walk in walks]
        self._key = key
        self._reverse = reverse
        self._heap: list[tuple[Any, int]] = []
        self._due = list(range(len(walks)))
        self._is_open = False
        self._is_busy = False

    def __repr__(self) -> str:
        ended = sum(source.is_ended for source in self._sources)
        return f"<Merge of {len(self._sources)} walks, {ended} at their end>"

    @property
    def cursors(self) -> list[Cursor]:
        """The place of each walk, right after the last item that was given, in the order of the walks.

        `chatrest.merge([walk.at(cursor) for walk, cursor in zip(walks, items.cursors)], key=…)` continues.
        The walks' own cursors are up to one item further, and so is the count of a walk with a limit: make
        it again with what it has left.
        """
        return [source.cursor for source in self._sources]

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        for source in self._sources:
            await source.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if not self._is_open:
            raise RuntimeError(f"{self!r} is not open: read it inside its `async with`")
        if self._is_busy:
            raise RuntimeError(f"{self!r} is being read by another task: it has one reader at a time")
        if self._due:
            self._is_busy = True
            try:
                await self._fetch()
            finally:
                self._is_busy = False
        if not self._heap:
            raise StopAsyncIteration
        _, index = heapq.heappop(self._heap)
        self._due.append(index)
        return self._sources[index].take()

    async def _fetch(self) -> None:
        """Ask for the items that are due, all at the same time, and put them in order."""
        sources = [source for index in self._due if (source := self._sources[index]).is_due]
        if len(sources) == 1:
            await sources[0].fetch()
        elif sources:
            await _fetch_all(sources)
        for index in self._due[:]:
            source = self._sources[index]
            if source.heads:
                heapq.heappush(self._heap, (self._checked(index, source), index))
            self._due.remove(index)

    def _checked(self, index: int, source: _Source[T]) -> Any:
        """Return the key of a head; `CursorError` if it does not come after the item before."""
        key = self._key(source.heads[0])
        order: Any = _descending(key) if self._reverse else key
        if source.last and order < source.last[0]:
            hint = "" if self._reverse else "; a walk with descending keys needs reverse=True"
            raise CursorError(
                f"merge: walks[{index}] ({source!r}) is not in the order of the key: {key!r} comes after "
                f"{source.last[1]!r}{hint}"
            )
        source.last = (order, key)
        return order


async def _fetch_all(sources: list[_Source[Any]]) -> None:
    """Ask for several items at once; when all have arrived or failed, raise the first walk's error."""
    tasks = [asyncio.create_task(source.fetch()) for source in sources]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        await end_tasks(tasks)
        raise
    for error in [task.exception() for task in tasks if not task.cancelled()]:
        if error is not None:
            raise error
    for task in tasks:  # cancelled by somebody else
        task.result()


def merge(walks: Iterable[Resumable[T]], *, key: Callable[[T], Any], reverse: bool = False) -> Merge[T]:
    """Merge many walks into one stream, in ascending order of `key(item)`.

        walks = [session.messages.list_user(uid, query=MessageQuery(affix="append")) for uid in uids]
        async with chatrest.merge(walks, key=lambda message: int(message.id)) as items:
            async for message in items:
                ...

    Each walk must be in the order of the key; with `reverse`, in descending order, as walks are that go
    `prepend`. Equal keys come in the order of the walks, and duplicates are kept. The first items are asked
    for all at once; later ones as they are due. Memory is that of a page a walk.

    `items.cursors` are right after every item. The walks themselves are read by the merge until the block is
    left. An error of a walk is raised where its next item is due; if the stream is read again, it is asked
    for again, and nothing is lost. Raises `CursorError` for a walk that is not in the order of the key, and
    `RequestInvalidError` for a wrong argument.
    """
    check_unquoted(callable(key), "key", key, "a function of an item")
    check_unquoted(isinstance(reverse, bool), "reverse", reverse, "True or False")
    check_unquoted(isinstance(walks, Iterable), "walks", walks, "an iterable of walks")
    sources = list(walks)
    first: dict[int, int] = {}
    for index, walk in enumerate(sources):
        is_walk = hasattr(walk, "__aiter__") and hasattr(walk, "cursor")
        check_unquoted(is_walk, f"walks[{index}]", walk, "a walk")
        if first.setdefault(id(walk), index) != index:
            raise RequestInvalidError(
                f"walks[{index}] is the same object as walks[{first[id(walk)]}]: allowed are different walks"
            )
    return Merge(sources, key, reverse)
