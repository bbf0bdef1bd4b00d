"""The input of a step beside its page: facts of its list, memory of earlier steps, the largest page."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..requests.dialects import Paging
from ..requests.endpoint import Pairs
from .cursor import Cursor

LastClaim: TypeAlias = Literal["none", "made", "wrong"]
"""The claim to be the last page: `made` by the page before, or `wrong` if more came after one, in this walk.
After a wrong one all such claims are ignored.
"""
AskedAgain: TypeAlias = Literal["no", "empty", "withheld"]
"""Pages that are asked for again, once: one that was `empty`, or one whose items were `withheld`, and are
expected again.
"""


class ListFacts(Struct, frozen=True, kw_only=True):
    """The facts of a list that a walk knows before it asks."""

    paging: Paging
    identify: Callable[[Any], str]
    size: int
    """The number of records that a page is asked for."""
    size_name: str
    size_asked: bool = False
    """True if the caller named the size; if not, the walk may choose a smaller one."""
    beginning: Pairs = ()
    """The position that the list's query names: the walk's first page is asked for by it."""
    thorough: bool = False
    """True to ask again after a short page that claims to be the last."""


class Memory(Struct, frozen=True):
    """The memory of a walk within a process.

    A resumed walk begins with an empty one, and loses nothing by it.
    """

    ids: Sequence[str] | None = None
    """The ids of the page before; None if no page was seen.

    After an earlier page was asked for, the ids of all pages since then, until one has only new items.
    """
    visited: frozenset[Hashable] = frozenset()
    """The landmarks of pages before: positions that cannot be compared, and pages by number."""
    has_meta: bool = False
    """True if a page had a position or pagination."""
    last_claim: LastClaim = "none"
    asked_again: AskedAgain = "no"
    after_items: Cursor | None = None
    """Of a list by page numbers, the cursor after the items of the last page that had any.

    A walk that ends continues from there later, as new items may come on that page.
    """
    empty_pages: int = 0
    """The number of empty pages in a row."""
    total: int | None = None
    """The total that the page before counted."""
    has_changed: bool = False
    """True if that total was another one on a page before it."""
    earlier: Pairs | None = None
    """As `Cursor.earlier`, if the page before made a likely promise: see `step`."""
    keeps_ids: bool = False
    """True if the next page's ids are added to `ids`: an earlier page was asked for again."""
    empty_positions: frozenset[Hashable] = frozenset()
    """The positions of empty pages after which an earlier page was asked for, since the last new item."""


class WalkState(Struct, frozen=True):
    """The state of a walk between two pages: all that the next one needs."""

    cursor: Cursor
    """The position that the next page is asked for by."""
    memory: Memory = Memory()
    remaining: int | None = None
    """The number of items that a limited walk may still give; None for no limit."""


class LargestPage(Struct):
    """The count of records of the largest page that one list gave, asked in one way.

    Services cap pages at their own sizes, claim on every page that it is the last, and repeat the size that
    was asked as theirs. A page that is smaller than another of the same list was not cut off by a cap.
    """

    count: int = 0


class PageSizes(dict[tuple[Hashable, ...], LargestPage]):
    """The largest pages that a session was served, by app, operation, the size's parameter and the size."""

    def __missing__(self, key: tuple[Hashable, ...]) -> LargestPage:
        return self.setdefault(key, LargestPage())
