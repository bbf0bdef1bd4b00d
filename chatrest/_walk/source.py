"""The pages of a list, one by one: the half of a walk that fetches, without any iteration.

`WalkSource.read(state)` fetches the page at a state, and returns it with the state after it. A walk reads its
pages by this, or by another `PageReader` that calls it.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from operator import length_hint
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from .._core.paging.cursor import Cursor, CursorKey, fingerprint
from .._core.paging.step import Step, step
from .._core.paging.walk_state import LargestPage, ListFacts, WalkState
from .._core.replies.decode import Listing
from .._core.replies.envelope import NO_META
from .._core.requests.endpoint import Pairs
from .._core.send import Send
from .._models.meta import Meta
from .._struct_help import StructHelp
from ..error_codes import KINDS
from ..errors import ApiError, CursorError, RequestInvalidError
from .filter_check import FilterCheck

T = TypeVar("T")

_EXPIRED: Final = re.compile(r"CURSOR|PAGE_?TOKEN")
_OF_MESSAGE: Final = re.compile(r"MESSAGE|MSG")

Fetch: TypeAlias = Callable[[Pairs], Awaitable[Listing[T]]]
"""A function that asks for the page at a position."""


class Page(Struct, Generic[T], metaclass=StructHelp, frozen=True):
    """The items of one reply of a list, in the walk's order."""

    items: list[T]
    """The items that are new to the walk, in its order."""
    meta: Meta
    raw: bytes
    """The reply's body, byte for byte as served."""
    cursor: Cursor
    """The position after this page: commit it once the items are safe."""
    repairs: tuple[str, ...] = ()
    """The fields that did not have their documented type and were coerced, one line each."""
    unordered_count: int = 0
    """The number of first items that are in the service's order, and not placed by their id: those whose id
    is no number, or is another one's, too.
    """

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields for rich, without the bytes: they may hold a credential."""
        return [("items", self.items), ("meta", self.meta), ("raw", len(self.raw))]

    def __repr__(self) -> str:
        return f"<Page of {len(self.items)} items, {len(self.raw)} bytes>"


class TokenPage(Struct, Generic[T], metaclass=StructHelp, frozen=True):
    """Some items of a list, and the token to continue from: `await walk.page(n)`."""

    items: list[T]
    next: str | None
    """The token of the items that follow, as `str(walk.cursor)`; None at the list's end."""


class PageReader(Protocol[T]):
    """The origin of a walk's pages: the list itself, or a reader that is ahead of it."""

    async def read(self, state: WalkState) -> "PendingPage[T]":
        """Return the page at `state`; an error changes nothing, and the same page can be asked for again."""
        ...


class PendingPage(Struct, Generic[T]):
    """A page that was fetched and accepted, whose items are handed over or wait for it."""

    listing: Listing[T]
    step: Step[T]
    count: int
    """The number of its items: a walk with a limit may take fewer than the step has."""
    waiting_items: Iterator[T]
    """The items that were not handed over yet. A list's iterator knows how many, so nothing counts them."""
    after: WalkState
    """The state once all of its items are handed over."""
    is_end: bool
    """True for the last page of the list, where no limit has cut items from it."""
    identify: Callable[[T], str]

    @property
    def cursor(self) -> Cursor:
        """The position right after the last item that was handed over."""
        return self.step.cursor_after(self.count - length_hint(self.waiting_items), self.identify)

    def page(self, items: list[T], cursor: Cursor) -> Page[T]:
        """Return the page with its last `items`, and the position after them."""
        listing, unordered_count = self.listing, self.step.unordered_count - (self.count - len(items))
        return Page(items, listing.meta, listing.raw, cursor, listing.repairs, max(0, unordered_count))

    @property
    def is_last(self) -> bool:
        """True if no page is wanted after this one: the list ends, or the walk's limit is reached."""
        return self.is_end or self.after.remaining == 0

    @property
    def leads_on(self) -> bool:
        return not self.is_last and self.step.error is None


class WalkSource(Struct, Generic[T], frozen=True, kw_only=True, dict=True):
    """The list that a walk reads, with all that stays the same as it continues."""

    fetch: Fetch[T]
    facts: ListFacts
    name: str
    send: Send
    """Has the session's sleep and dice."""
    largest: LargestPage
    """Of this list in this session, asked with the same size; a limited walk is measured by it, too."""
    cursor_key: CursorKey | None = None
    identity: tuple[Any, ...] = ()
    """The list that is asked for: operation, path, acting user, app and filters."""
    check: FilterCheck | None = None
    """Compares the records with what was asked; None for lists where nothing can be compared."""

    @property
    def query(self) -> str:
        """The fingerprint of the list, computed when it is first needed: most walks never do."""
        known = self.__dict__.get("_query")  # a `cached_property` takes a lock for as long as the hash takes
        if known is None:
            known = self.__dict__["_query"] = fingerprint(*self.identity)
        return known

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields for rich, without the key."""
        return [("name", self.name), ("facts", self.facts)]

    def __repr__(self) -> str:
        return f"<WalkSource {self.name}>"

    async def read(self, state: WalkState) -> PendingPage[T]:
        """Return the page at `state`, fetched with one call.

        Raises `CursorError` if the positions repeat or cannot be read, `ActingUserIgnoredError`, and the
        errors of the call. None of them changes anything.
        """
        cursor, memory, facts = state.cursor, state.memory, self.facts
        position, size_name = cursor.position, facts.size_name
        if size_name and not facts.size_asked and size_name not in dict(position):
            position = (*position, (size_name, str(facts.size)))
        try:
            listing = await self.fetch(position)
        except (RequestInvalidError, ApiError) as error:
            listing = self._refused(error, position, state)
        if self.check is not None:
            listing = self.check.check(listing, is_start=cursor.last is None)
        largest = self.largest
        try:
            result = step(cursor, listing, facts, memory, largest.count)
        except CursorError as error:
            raise self.cursor_error(str(error)) from None
        items, remaining, served_count = result.items, state.remaining, len(listing.items)
        if served_count > largest.count:
            largest.count = served_count
        if remaining is not None:
            items = items[:remaining]
            remaining -= len(items)
        count, next_cursor = len(items), result.next
        is_complete = count == len(result.items)
        if next_cursor is None or not is_complete:
            next_cursor = result.cursor_after(count, facts.identify)
        is_end = is_complete and result.next is None and result.error is None
        after = WalkState(next_cursor, result.memory, remaining)
        return PendingPage(listing, result, count, iter(items), after, is_end, facts.identify)

    def _refused(
        self, error: ApiError | RequestInvalidError, position: Pairs, state: WalkState
    ) -> Listing[T]:
        """Return the empty page that an error stands for; raise any other error.

        It says that nothing follows, or that the item that was asked from is not found.
        """
        if isinstance(error, RequestInvalidError):
            try:  # only a service can have given a lone surrogate
                "".join([value for _, value in position]).encode()
            except UnicodeEncodeError:
                reason = "the service gave a position that cannot be sent in an address"
                raise self.cursor_error(reason) from None
            raise error
        if _EXPIRED.search(error.code or ""):
            raise self.cursor_error(f"the service refuses the position: {error}") from error
        code = error.code or ""
        if code.endswith("NO_MESSAGES"):
            return Listing([], NO_META, b"")
        # Not for the code of a user, a group or a route that is missing, nor where no page came before.
        is_of_position = code not in KINDS or _OF_MESSAGE.search(code) is not None
        if error.status != 404 or not state.cursor.delivered or not is_of_position:
            raise error
        return Listing([], NO_META, b"", is_refusal=True)

    def cursor_error(self, reason: str) -> CursorError:
        error = CursorError(f"{self.name}: {reason}")
        error.operation = self.name
        return error
