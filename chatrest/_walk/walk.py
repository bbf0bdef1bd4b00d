"""A walk: the items of a list, page by page, resumable at every one of them.

A walk is an object with a cursor, and its generators are disposable: the state moves only after a page has
come, and only as items are handed over, so an error, a `break` or a cancel loses nothing. Nothing is held
open across a `yield`: no response, no timeout, no task.

The pages come from a `PageReader`: the list itself (`source`), or one that reads it ahead (`ahead`) or
beyond its end (`follow`). What owns tasks is a context manager.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from operator import length_hint
from typing import TYPE_CHECKING, Final, Generic, NoReturn, TypeVar, final

from msgspec import structs

from .._core.paging.cursor import Cursor
from .._core.paging.walk_state import WalkState
from .._core.requests.arguments import check_count, check_seconds
from ..errors import RequestInvalidError
from .source import (
    Fetch as Fetch,
    Page as Page,
    PageReader,
    PendingPage,
    TokenPage as TokenPage,
    WalkSource as WalkSource,
)

if TYPE_CHECKING:
    from .ahead import ReadAhead

T = TypeVar("T")

AHEAD_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the bodies of pages that wait for the consumer of a walk that is read ahead."""


@final
class Walk(Generic[T]):
    """A list of the service, page by page as it is needed: `async for item in walk`.

    Costs one request per page, and the memory of one page's records and of the bytes of two. The order is one
    throughout: ascending ids (`append`) or descending ones (`prepend`), across all pages; a list that the
    service orders by something else is given in the service's order. `walk.cursor` is right after every item;
    `str(walk.cursor)` is a token from which any process can continue. After an error, a `break` or a
    cancel another `async for` continues the same walk: nothing is lost or repeated. After its end, another
    `async for` asks for what is new since.

    Raises `CursorError` where the service's positions repeat or cannot be read, and the errors of a single
    call.
    """

    __slots__ = ("__weakref__", "_is_busy", "_page", "_reader", "_source", "_state")

    def __init__(self, source: WalkSource[T], start: Cursor, remaining: int | None = None) -> None:
        self._source = source
        self._reader: PageReader[T] = source
        self._state = WalkState(start, remaining=remaining)
        self._page: PendingPage[T] | None = None
        self._is_busy = False

    def __repr__(self) -> str:
        cursor = self._unsigned_cursor
        state = cursor.direction or "not begun"
        return f"<Walk {self._source.name}: {state}{f', last id {cursor.last}' if cursor.last else ''}>"

    if not TYPE_CHECKING:  # a type checker refuses both by itself, if it does not see the methods

        def __await__(self) -> NoReturn:
            raise TypeError(
                "a walk cannot be awaited: use `async for item in walk`, or `await walk.collect()`"
            )

        def __iter__(self) -> NoReturn:
            raise TypeError("a walk is asynchronous: use `async for item in walk`, or `await walk.collect()`")

    @property
    def cursor(self) -> Cursor:
        """The position right after the last item that was given; `str(cursor)` is its token."""
        cursor = self._unsigned_cursor
        if not cursor.query:
            cursor = structs.replace(cursor, query=self._source.query)
        return cursor.signed(self._source.cursor_key)

    @property
    def _unsigned_cursor(self) -> Cursor:
        return self._state.cursor if self._page is None else self._page.cursor

    def __aiter__(self) -> AsyncIterator[T]:
        """Iterate over the items; stops only at the last page, and asks for new items if it ended before."""
        return self._items()

    async def _items(self, reader: PageReader[T] | None = None) -> AsyncGenerator[T]:
        self._reopen()
        while True:
            if self._page is not None:
                for item in self._page.waiting_items:
                    yield item
            if not await self._advance(reader):
                return

    async def pages(self) -> AsyncGenerator[Page[T]]:
        """Iterate over the pages that have new items, each with its bytes as served and the cursor after it.

        Costs one request per page. After an error, a `break` or a cancel, iterate again: the walk continues
        after the last page that it gave. Raises the errors of the walk.
        """
        self._reopen()
        while True:
            if (page := self._page) is not None and (items := list(page.waiting_items)):
                yield page.page(items, self.cursor)
            if not await self._advance():
                return

    async def page(self, count: int) -> TokenPage[T]:
        """Return the next `count` items, with a token to continue from: for an endpoint that serves pages.

        Moves this walk after them: `page` again gives the next ones, as does `cursor=token` in another
        process. Costs one request, and one more where a short reply does not prove the end. The token is None
        at the end; where the reply does not show that nothing follows, the next page is empty. After an error
        or a cancel the walk is where it was. Raises `RequestInvalidError` for a `count` that is not a whole
        number from 1, the errors of the walk, and `RuntimeError` while another task reads it.
        """
        check_count("count", count)
        if self._is_busy:
            raise self._second_reader()
        cursor, remaining = self._unsigned_cursor, self._remaining
        wanted = count if remaining is None else min(count, remaining)
        items: list[T] = []
        last = await self._read(self._in_pages_of(wanted, cursor), WalkState(cursor, remaining=wanted), items)
        remaining = None if remaining is None else remaining - len(items)
        is_end = len(items) < count or remaining == 0 or last is None or last.is_end
        end_cursor = cursor if last is None else last.after.cursor
        self._state, self._page = WalkState(end_cursor, remaining=remaining), None
        return TokenPage(items, None if is_end else str(self.cursor))

    def limit(self, count: int) -> "Walk[T]":
        """Return another walk from here that ends after `count` items, and requests no larger page than that.

        This walk does not move, so its cursor and its next `limit` are the same as before: for one page after
        another use `page`. Raises `RequestInvalidError` for a `count` that is not a whole number from 0.
        """
        if type(count) is not int or count < 0:
            raise RequestInvalidError(f"limit = {count!r}: expected a whole number, 0 or more", name="limit")
        cursor, remaining = self._unsigned_cursor, self._remaining
        if remaining is None or count < remaining:
            remaining = count
        return Walk(self._in_pages_of(remaining, cursor), cursor, remaining)

    def _in_pages_of(self, count: int, cursor: Cursor) -> WalkSource[T]:
        """Return the list, from `cursor` on, in pages of no more than `count` items where that can be."""
        source, facts = self._source, self._source.facts
        if count >= facts.size or facts.size_asked:
            return source
        # In the middle of a page its size stays, and so it does by page numbers: the position is counted in
        # pages of that size.
        if cursor.is_inside or (cursor.position and "page" in dict(cursor.position)):
            return source
        return structs.replace(source, facts=structs.replace(facts, size=count or 1))

    def thorough(self) -> "Walk[T]":
        """Return a walk from here that makes one extra request where a short page suggests the end."""
        facts = structs.replace(self._source.facts, thorough=True)
        return Walk(structs.replace(self._source, facts=facts), self._unsigned_cursor, self._remaining)

    def at(self, cursor: Cursor) -> "Walk[T]":
        """Return a walk of the same list from another position."""
        return Walk(self._source, cursor.unsigned, self._remaining)

    def ahead(self, pages: int = 2, max_bytes: int = AHEAD_BYTES) -> AbstractAsyncContextManager["Walk[T]"]:
        """Read the next pages while the consumer works: `async with walk.ahead() as items`.

        Gives this walk: the same items in the same order, with the cursor after every item, and the error of
        a page only after all items before it. Each page is asked for as soon as the one before it arrived,
        up to `pages` pages before the consumer, and as long as the bodies of those that wait have fewer than
        `max_bytes` bytes; one page more may always be on its way. Memory: the bodies and the records of all
        of these; records take about four times the bytes of their body, and a page at most some 200 MB, from
        a hostile service. Of a `limit`, no page beyond its items is asked for.

        The block owns one task; it has ended when the block is left, in any way. Pages that no one has read
        are dropped, and the walk continues after the last item that was given. Raises
        `RequestInvalidError` for arguments that are not whole numbers from 1, and `RuntimeError` where the
        walk is being read ahead already.
        """
        from .ahead import ReadAhead  # the only part of a walk that needs asyncio

        pages, max_bytes = check_count("pages", pages), check_count("max_bytes", max_bytes)
        return self._reading_ahead(ReadAhead(self._source, pages, max_bytes))

    @asynccontextmanager
    async def _reading_ahead(self, reader: "ReadAhead[T]") -> AsyncIterator["Walk[T]"]:
        if self._reader is not self._source:
            raise RuntimeError(f"{self!r} is being read ahead already: leave that block first")
        self._reader = reader
        try:
            if self._page is not None and self._page.leads_on:
                reader.start(self._page.after)
            yield self
        finally:
            self._reader = self._source
            await reader.close()

    def follow(self, every: float = 10.0) -> "Follower[T]":
        """Iterate over the items, and then over new ones as they arrive: `async for item in walk.follow()`.

        After the end it asks again at intervals of at most `every` seconds, and at least an eighth of that:
        half as long after a request that returned new items, twice as long after one that returned none.
        Costs one request an interval, under the same pace, retries and deadlines as every call. Moves this
        walk, whose cursor is right after every item. It ends only with a `limit`; after a final error, a
        `break` or a cancel, `follow` again, also in another process from the cursor.

        Raises `RequestInvalidError`, before anything is sent, for a list that has no end at which something
        new is added: one with page numbers, in one reply, or not known to go `append`.
        """
        from .follow import follow_fault  # as above

        seconds = check_seconds("every", every)
        if (fault := follow_fault(self._unsigned_cursor, self._source.facts.paging)) is not None:
            raise RequestInvalidError(f"{self._source.name}: the list cannot be followed: {fault}")
        return Follower(self, seconds)

    async def collect(self) -> list[T]:
        """Return all further items in one list, whose memory is that of all of them.

        Costs one request per page. After an error or a cancel the walk is where it was. Raises the errors of
        the walk, and `RuntimeError` while another task reads it.
        """
        if self._is_busy:
            raise self._second_reader()
        self._reopen()
        items: list[T] = []
        page, state = self._page, self._state
        if page is not None:
            state = WalkState(page.cursor, remaining=self._remaining)
            items.extend(page.waiting_items)
            if page.is_last:
                return items
        try:
            last = await self._read(self._reader, state if page is None else self._after(page), items)
        except BaseException:
            self._state, self._page = state, None
            raise
        if last is not None:
            self._page = last
        return items

    async def _read(self, reader: PageReader[T], state: WalkState, items: list[T]) -> PendingPage[T] | None:
        """Append all items from `state` on to `items`, and return the last page; None if the limit is 0."""
        if state.remaining == 0:
            return None
        self._is_busy = True
        try:
            while True:
                page = await reader.read(state)
                items.extend(page.waiting_items)
                if page.is_last:
                    return page
                state = self._after(page)
        finally:
            self._is_busy = False

    def _after(self, page: PendingPage[T]) -> WalkState:
        if page.step.error is not None:
            raise self._source.cursor_error(page.step.error)
        return page.after

    @property
    def _remaining(self) -> int | None:
        page = self._page
        if page is None or page.after.remaining is None:
            return self._state.remaining
        return page.after.remaining + length_hint(page.waiting_items)

    async def _advance(self, reader: PageReader[T] | None = None) -> bool:
        """Read the next page, by the walk's own reader or another one; return False at the end."""
        if self._is_busy:
            raise self._second_reader()
        page = self._page
        # Its bytes are freed only after those of the new page were received: else their memory would go back
        # to the operating system, and to get it again costs a tenth of a large page's time.
        raw = None if page is None else page.listing.raw
        if page is not None:
            if length_hint(page.waiting_items):  # another loop over this walk left the page in the middle
                return True
            if page.is_last:
                return False
            error = page.step.error
            self._state, self._page = page.after, None
            del page  # its records go before the new ones come
            if error is not None:  # continued, the walk asks for the same page again
                raise self._source.cursor_error(error)
        if self._state.remaining == 0:
            return False
        self._is_busy = True
        try:
            # Only a page that came and was taken moves the walk, and then all of its state at once.
            self._page = await (reader or self._reader).read(self._state)
        finally:
            self._is_busy = False
        del raw
        return True

    def _reopen(self) -> None:
        """Move to the last item if the walk has ended, so that the next request asks for new items."""
        page = self._page
        if page is None or not page.is_end or length_hint(page.waiting_items):
            return
        if self._is_busy:
            raise self._second_reader()
        self._state, self._page = WalkState(self._unsigned_cursor, remaining=page.after.remaining), None

    def _second_reader(self) -> RuntimeError:
        return RuntimeError(f"{self!r} is being read by another task: a walk has one reader at a time")


@final
class Follower(Generic[T]):
    """A list that is followed: `async for item in walk.follow()` continues until it is left.

    Moves the walk: its cursor is right after every item, and after an error or a `break` the walk, or another
    `follow` of it, continues from there.
    """

    def __init__(self, walk: Walk[T], every: float) -> None:
        self._walk = walk
        self._every = every

    @property
    def cursor(self) -> Cursor:
        """The walk's position: right after the last item that was handed over."""
        return self._walk.cursor

    def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one, as they arrive."""
        from .follow import FollowReader  # it needs asyncio

        walk = self._walk
        return walk._items(FollowReader(walk._reader, self._every, walk._source.send))
