"""A walk: the items of a list, page by page, resumable at every one of them.

A walk is an object with a cursor, and its generators are disposable: the state moves only after a page has
come, and only as items are handed over, so an error, a `break` or a cancel loses nothing. Nothing is held
open across a `yield`: no response, no timeout, no task.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from functools import cached_property
from operator import length_hint
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeAlias, TypeVar, final

from msgspec import Struct, structs

from .core.cursor import Cursor, fingerprint
from .core.cursor_key import CursorKey
from .core.decode import Listing
from .core.endpoint import Pairs
from .core.paging import LargestPage
from .core.step import Step, step
from .core.walk_state import Memory, Rules
from .errors import CursorError, RequestInvalidError
from .models.meta import Meta

T = TypeVar("T")

_NOTHING: Final = Memory()

Fetch: TypeAlias = Callable[[Pairs], Awaitable[Listing[T]]]
"""A function that asks for the page at a position."""


@final
class Page(Struct, Generic[T], frozen=True):
    """One reply of a list, as the walk takes it."""

    items: list[T]
    """The items that are new to the walk, in its order."""
    meta: Meta
    raw: bytes
    """The reply's body, byte for byte as served."""
    cursor: Cursor
    """The position after this page: commit it once the items are safe."""
    repairs: tuple[str, ...] = ()
    """The fields that did not have their documented type and were coerced, one line each."""

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields for rich, without the bytes: they may hold a credential."""
        return [("items", self.items), ("meta", self.meta), ("raw", len(self.raw))]

    def __repr__(self) -> str:
        return f"<Page of {len(self.items)} items, {len(self.raw)} bytes>"


class WalkSource(Struct, Generic[T], frozen=True, kw_only=True, dict=True):
    """The list that a walk reads, with all that stays the same as it goes on."""

    fetch: Fetch[T]
    rules: Rules
    name: str
    """The operation's name."""
    largest: LargestPage
    """Of this list in this session, asked with the same size; a limited walk is measured by it, too."""
    cursor_key: CursorKey | None = None
    """Signs the walk's cursors."""
    identity: tuple[Any, ...] = ()
    """The list that is asked for: operation, path, acting user, app and filters."""

    @cached_property
    def query(self) -> str:
        """The fingerprint of the list, computed when it is first needed: most walks never do."""
        return fingerprint(*self.identity)

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields for rich, without the key."""
        return [("name", self.name), ("rules", self.rules)]

    def __repr__(self) -> str:
        return f"<WalkSource {self.name}>"


class _CurrentPage(Generic[T]):
    """The page whose items are being handed over."""

    __slots__ = ("items", "listing", "rest", "step")

    def __init__(self, listing: Listing[T], step: Step[T], items: list[T]) -> None:
        self.listing = listing
        self.step = step
        self.items = items
        # The list's own iterator knows how much it has left: handing over an item costs no bookkeeping.
        self.rest: Iterator[T] = iter(items)

    @property
    def delivered(self) -> int:
        """The count of items that were handed over."""
        return len(self.items) - length_hint(self.rest)


@final
class Walk(Generic[T]):
    """A list of the service, page by page as it is needed: `async for item in walk`.

    Costs a request a page, and the memory of one page's records and of the bytes of two. The order is one
    throughout: ascending ids (`append`) or descending ones (`prepend`), across all pages; a list that the
    service orders by something else comes in the service's order. `walk.cursor` is right after every item;
    `str(walk.cursor)` is a token that any process can go on from. After an error, a `break` or a cancel the
    same walk can be taken up again with another `async for`: nothing is lost or repeated. After its end,
    another `async for` asks for what is new since.

    Raises `CursorError` where the service's positions repeat or cannot be read, and the errors of a single
    call.
    """

    def __init__(
        self, source: WalkSource[T], start: Cursor, left: int | None = None, rules: Rules | None = None
    ) -> None:
        self._source = source
        self._rules = source.rules if rules is None else rules
        self._start = start
        self._left = left
        self._memory = _NOTHING
        self._page: _CurrentPage[T] | None = None
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
        """The position right after the last item that was handed over."""
        cursor = self._unsigned_cursor
        if not cursor.query:
            cursor = structs.replace(cursor, query=self._source.query)
        return cursor.signed(self._source.cursor_key)

    @property
    def _unsigned_cursor(self) -> Cursor:
        if self._page is None:
            return self._start
        return self._page.step.cursor_after(self._page.delivered, self._rules.identify)

    async def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one; stops only at the last page.

        Where the walk had ended before, asks for what is new since.
        """
        self._reopen()
        while True:
            if self._page is not None:
                for item in self._page.rest:
                    yield item
            if not await self._advance():
                return

    async def pages(self) -> AsyncGenerator[Page[T]]:
        """The pages that hold something new, each with its bytes as served and the cursor after it."""
        self._reopen()
        while True:
            if (page := self._page) is not None and (items := list(page.rest)):
                listing = page.listing
                yield Page(items, listing.meta, listing.raw, self.cursor, listing.repairs)
            if not await self._advance():
                return

    def limit(self, count: int) -> "Walk[T]":
        """A walk from here that ends after `count` items, and asks for no larger page than that."""
        if type(count) is not int or count < 0:
            raise RequestInvalidError(f"limit = {count!r}: allowed is a whole number, 0 or more")
        rules, cursor, left = self._rules, self._unsigned_cursor, self._remaining
        left = count if left is None else min(count, left)
        # In the midst of a page its size stays, and so it does by page numbers: the position is counted in
        # pages of that size.
        is_bound = rules.size_asked or cursor.inside or (cursor.position and "page" in dict(cursor.position))
        if not is_bound:
            rules = structs.replace(rules, size=max(1, min(rules.size, left)))
        return Walk(self._source, cursor, left, rules)

    def thorough(self) -> "Walk[T]":
        """A walk from here that makes one extra request where a short page suggests the end."""
        rules = structs.replace(self._rules, thorough=True)
        return Walk(self._source, self._unsigned_cursor, self._remaining, rules)

    def at(self, cursor: Cursor) -> "Walk[T]":
        """A walk of the same list from another position."""
        return Walk(self._source, structs.replace(cursor, mac=b""), self._remaining, self._rules)

    async def collect(self) -> list[T]:
        """All that is left, in one list: memory for everything. After an error the walk is where it was."""
        self._refuse_second_reader()
        start, left = self._unsigned_cursor, self._remaining
        items: list[T] = []
        try:
            self._reopen()
            while True:
                if self._page is not None:
                    items.extend(self._page.rest)
                if not await self._advance():
                    return items
        except BaseException:
            self._leave_page(start)
            self._left, self._memory = left, _NOTHING
            raise

    @property
    def _remaining(self) -> int | None:
        """The count of items that a limited walk may still hand over."""
        if self._left is None or self._page is None:
            return self._left
        return self._left + length_hint(self._page.rest)

    async def _advance(self) -> bool:
        """Go on to the next page; False at the end."""
        self._refuse_second_reader()
        if self._left == 0:
            return False
        page = self._page
        # Its bytes go only after those of the new page have come. Were they freed before, their memory would
        # go back to the operating system, and to get it again costs a tenth of a large page's time.
        raw = None if page is None else page.listing.raw
        if page is not None:
            error = page.step.error
            if page.step.next is None and error is None:
                return False
            self._leave_page(self._unsigned_cursor)
            del page  # its records go before the new ones come
            if error is not None:  # taken up again, the walk asks for the same page once more
                raise self._cursor_error(error)
        self._is_busy = True
        try:
            self._take(await self._source.fetch(self._position()))
        finally:
            self._is_busy = False
        del raw
        return True

    def _reopen(self) -> None:
        """Stand before the last page again where the walk has ended: what is new comes after its items."""
        page = self._page
        if (
            page is None
            or page.step.next is not None
            or page.step.error is not None
            or length_hint(page.rest)
        ):
            return
        self._refuse_second_reader()
        self._leave_page(self._unsigned_cursor)
        self._memory = _NOTHING

    def _refuse_second_reader(self) -> None:
        if self._is_busy:
            raise RuntimeError(f"{self!r} is being read by another task: a walk has one reader at a time")

    def _leave_page(self, cursor: Cursor) -> None:
        self._start, self._page = cursor, None

    def _take(self, listing: Listing[T]) -> None:
        source = self._source
        try:
            taken = step(self._start, listing, self._rules, self._memory, source.largest.count)
        except CursorError as error:
            fault = self._cursor_error(str(error))
            raise fault from None
        # From here on nothing can fail: the state moves at once.
        source.largest.note(len(listing.items))
        items = taken.items if self._left is None else taken.items[: self._left]
        self._left = None if self._left is None else self._left - len(items)
        self._page, self._memory = _CurrentPage(listing, taken, items), taken.memory

    def _cursor_error(self, words: str) -> CursorError:
        error = CursorError(f"{self._source.name}: {words}")
        error.operation = self._source.name
        return error

    def _position(self) -> Pairs:
        rules, position = self._rules, self._start.position
        if rules.size_asked or not rules.size_name or (position and rules.size_name in dict(position)):
            return position
        return (*position, (rules.size_name, str(rules.size)))
