"""A walk: pages into items, resumable at every one of them.

A walk is an object with a cursor, and its generators are disposable: the state moves only after a page
has come and only as items are handed over, so an error, a `break` or a cancel loses nothing. Nothing is
held open across a `yield`: no response, no timeout, no task.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from operator import length_hint
from typing import Generic, TypeAlias, TypeVar, final

from msgspec import Struct, structs

from .core.cursor import Cursor
from .core.decode import Listing
from .core.endpoint import Pairs
from .core.step import Rules, Trail, Turn, turn
from .errors import CursorError, RequestInvalidError
from .models.meta import Meta

T = TypeVar("T")

Fetch: TypeAlias = Callable[[Pairs], Awaitable[Listing[T]]]
"""Asks for the page at a place."""


@final
class Page(Struct, Generic[T], frozen=True):
    """One reply of a list, as the walk takes it."""

    items: list[T]
    """The items that are new to the walk, in its order."""
    meta: Meta
    raw: bytes
    """The reply's body, byte for byte as served."""
    cursor: Cursor
    """Where the walk goes on after this page: commit it once the items are safe."""
    repairs: tuple[str, ...] = ()
    """What did not have its documented type and was mended, one line each."""

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Not the bytes: they may hold a credential."""
        return [("items", self.items), ("meta", self.meta), ("raw", len(self.raw))]

    def __repr__(self) -> str:
        return f"<Page of {len(self.items)} items, {len(self.raw)} bytes>"


@final
class Walk(Generic[T]):
    """A list of the service, page by page as it is needed: `async for item in walk`.

    Costs a request a page, and the memory of one page. The order is one throughout: ids ascend, or
    descend. `walk.cursor` is right after every item; `str(walk.cursor)` is a token that any process can
    go on from. After an error, a `break` or a cancel the same walk can be taken up again: nothing is lost
    or repeated. Raises `CursorError` where the service's cursors go round in a circle, and the errors of
    a single call.
    """

    def __init__(
        self, fetch: Fetch[T], start: Cursor, rules: Rules, name: str, left: int | None = None
    ) -> None:
        self._fetch = fetch
        self._at = start
        self._rules = rules
        self._name = name
        self._left = left
        self._trail = Trail()
        self._page: Turn[T] | None = None
        self._shown: list[T] = []
        self._rest: Iterator[T] = iter(self._shown)
        self._listing: Listing[T] | None = None
        self._busy = False

    def __repr__(self) -> str:
        here = self.cursor
        told = f"{here.way or 'not begun'}, last id {here.last}" if here.last else (here.way or "not begun")
        return f"<Walk {self._name}: {told}>"

    @property
    def cursor(self) -> Cursor:
        """The walk's place: right after the last item that was handed over."""
        if self._page is None:
            return self._at
        # The list's own iterator knows how much it has left: handing over an item costs no bookkeeping.
        return self._page.after(len(self._shown) - length_hint(self._rest), self._rules.key)

    async def __aiter__(self) -> AsyncIterator[T]:
        """The items, one by one; ends only where the service shows its end."""
        while True:
            for item in self._rest:
                yield item
            if not await self._turn():
                return

    async def pages(self) -> AsyncGenerator[Page[T]]:
        """The pages that hold something new, each with its bytes as served and the cursor after it."""
        while True:
            items = list(self._rest)
            if items and self._listing is not None:
                yield Page(items, self._listing.meta, self._listing.raw, self.cursor, self._listing.repairs)
            if not await self._turn():
                return

    def limit(self, count: int) -> "Walk[T]":
        """A walk from here that ends after `count` items, and asks for no larger page than that."""
        if type(count) is not int or count < 0:
            raise RequestInvalidError(f"limit = {count!r}: allowed is a whole number, 0 or more")
        left = count if self._remaining is None else min(count, self._remaining)
        here, size = self.cursor, self._rules.size
        # In the midst of a page its size stays: the place is counted on a page of that size.
        if not (self._rules.size_asked or here.inside):
            size = max(1, min(size, left))
        return Walk(self._fetch, here, structs.replace(self._rules, size=size), self._name, left)

    def thorough(self) -> "Walk[T]":
        """A walk from here that asks once more even where a short page says that it is the last."""
        rules = structs.replace(self._rules, thorough=True)
        return Walk(self._fetch, self.cursor, rules, self._name, self._remaining)

    def at(self, cursor: Cursor) -> "Walk[T]":
        """A walk of the same list from another place of it."""
        return Walk(self._fetch, cursor, self._rules, self._name, self._remaining)

    async def collect(self) -> list[T]:
        """All that is left, in one list: memory for everything. After an error the walk is where it was."""
        self._refuse_second_reader()
        here, left = self.cursor, self._remaining
        found: list[T] = []
        try:
            async for page in self.pages():
                found.extend(page.items)
        except BaseException:
            self._leave_page(here)
            self._left, self._trail = left, Trail()
            raise
        return found

    @property
    def _remaining(self) -> int | None:
        """How many items a limited walk may still hand over."""
        return None if self._left is None else self._left + length_hint(self._rest)

    async def _turn(self) -> bool:
        """Goes on to the next page; False at the end."""
        self._refuse_second_reader()
        if self._left == 0:
            return False
        if self._page is not None:
            page = self._page
            if page.next is None and page.stuck is None:
                return False
            # The old page goes before the new one comes: the walk holds one at a time.
            self._leave_page(self.cursor)
            if page.stuck is not None:  # taken up again, the walk asks for the same page once more
                raise CursorError(f"{self._name}: {page.stuck}")
            del page
        self._busy = True
        try:
            listing = await self._fetch(self._asked())
            self._take(listing)
        finally:
            self._busy = False
        return True

    def _refuse_second_reader(self) -> None:
        if self._busy:
            raise RuntimeError(f"{self!r} is being read by another task: a walk has one reader at a time")

    def _leave_page(self, here: Cursor) -> None:
        self._at, self._page, self._listing, self._shown = here, None, None, []
        self._rest = iter(self._shown)

    def _take(self, listing: Listing[T]) -> None:
        page = turn(self._at, listing, self._rules, self._trail)
        # From here on nothing can fail: the state moves at once.
        self._page, self._listing = page, listing
        self._shown = page.items if self._left is None else page.items[: self._left]
        self._left = None if self._left is None else self._left - len(self._shown)
        self._rest = iter(self._shown)

    def _asked(self) -> Pairs:
        name = self._rules.size_name
        if self._rules.size_asked or any(pair[0] == name for pair in self._at.at):
            return self._at.at
        return (*self._at.at, (name, str(self._rules.size)))
