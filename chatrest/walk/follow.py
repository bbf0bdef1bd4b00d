"""Following a list: the walk goes on after its end, and asks at intervals for what is new."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic, TypeVar, final

from ..core.paging.cursor import Cursor
from .polling import Polling
from .source import Page, WalkSource

T = TypeVar("T")


@final
class Poller:
    """The waits of one walk that is followed, by the session's sleep and dice."""

    def __init__(self, longest: float, source: WalkSource[Any]) -> None:
        self._sleep, self._dice = (asyncio.sleep, random.random) if source.timing is None else source.timing()
        self._polling = Polling.begin(longest)
        self._delivered: int | None = None
        """The count of items at the last wait; None before the first."""

    async def wait(self, delivered: int) -> None:
        """Wait until the next request is due; `delivered` is the count of items that the walk has given."""
        if self._delivered is not None:
            self._polling = self._polling.after(has_new=delivered > self._delivered)
        self._delivered = delivered
        await self._sleep(self._polling.wait(self._dice()))


@final
class Follower(Generic[T]):
    """A list that is followed: `async for item in walk.follow()` goes on until it is left.

    Moves the walk: its cursor is right after every item, and after an error or a `break` the walk, or another
    `follow` of it, goes on from there.
    """

    def __init__(
        self,
        cursor: Callable[[], Cursor],
        items: Callable[[Poller], AsyncIterator[T]],
        pages: Callable[[Poller], AsyncGenerator[Page[T]]],
        make_poller: Callable[[], Poller],
    ) -> None:
        self._cursor = cursor
        self._items = items
        self._pages = pages
        self._make_poller = make_poller

    @property
    def cursor(self) -> Cursor:
        """The walk's place: right after the last item that was handed over."""
        return self._cursor()

    def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one, as they come."""
        return self._items(self._make_poller())

    def pages(self) -> AsyncGenerator[Page[T]]:
        """The pages that hold something new, as they come."""
        return self._pages(self._make_poller())
