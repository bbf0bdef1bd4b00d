"""The input of a step beside its page: its list's rules, the state of earlier steps, the largest page."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from msgspec import Struct

from ..requests.dialects import Paging
from ..requests.endpoint import Pairs
from .cursor import Cursor


class Rules(Struct, frozen=True, kw_only=True):
    """The facts of a list that a walk knows before it asks."""

    paging: Paging
    identify: Callable[[Any], str]
    """An item's id."""
    size: int
    """How many records a page is asked for."""
    size_name: str
    """The parameter that asks for a page's size."""
    size_asked: bool = False
    """Whether the caller named the size; if not, the walk may choose a smaller one."""
    beginning: Pairs = ()
    """The position that the list's query names: the walk's first page is asked for by it."""
    thorough: bool = False
    """Ask again even where a short page says that it is the last."""


class Memory(Struct, frozen=True):
    """The memory of a walk within a process.

    A resumed walk begins with an empty one, and loses nothing by it.
    """

    ids: Sequence[str] | None = None
    """Of the page before; None if none was seen. After going back, those of all pages until one is new."""
    visited: frozenset[Hashable] = frozenset()
    """Positions that cannot be compared, and pages by number, that the walk has been at."""
    has_meta: bool = False
    """Whether a page had a position or pagination."""
    claimed_last: bool = False
    """Whether the page before said that it was the last."""
    is_doubted: bool = False
    """Whether a page said that it was the last, and more came."""
    has_asked_again: bool = False
    """True if the next page was asked for again."""
    is_withheld: bool = False
    """Whether that page had items before, which were not given."""
    last_place: Cursor | None = None
    """By page numbers: after the items of the last page that had any, for what is new may come there."""
    empty_pages: int = 0
    """How many pages in a row were empty."""
    total: int | None = None
    """The total that the page before counted."""
    has_changed: bool = False
    """Whether that total was another one on a page before it."""
    earlier: Pairs | None = None
    """As `Cursor.earlier`, where the page before only seemed to promise more: see `promise`."""
    keeps_ids: bool = False
    """Whether the next page's ids are added to `ids`: an earlier page was asked for again."""
    empty_places: frozenset[Hashable] = frozenset()
    """The positions of empty pages after which an earlier page was asked for, since anything new came."""


class WalkState(Struct, frozen=True):
    """The state of a walk between two pages: all that the next one needs."""

    cursor: Cursor
    """Where the next page is asked for."""
    memory: Memory = Memory()
    left: int | None = None
    """How many items a limited walk may still give; None for no limit."""


class LargestPage(Struct):
    """The count of records of the largest page that one list gave, asked in one way.

    Services cap pages at their own sizes, say "last" on every page, and repeat the size that was asked as
    theirs. A page that is smaller than another of the same list was not cut off by a cap.
    """

    count: int = 0


class PageSizes(dict[tuple[Hashable, ...], LargestPage]):
    """The largest pages that a session was served, by app, operation, the size's parameter and the size."""

    def __missing__(self, key: tuple[Hashable, ...]) -> LargestPage:
        return self.setdefault(key, LargestPage())
