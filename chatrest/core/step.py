"""What a page means for a walk: which items are new, in which order, and where the walk goes on.

A pure state machine: `turn(cursor, page)` gives a `Turn`, and touches nothing. The rules, first match:

| the page                       | its cursor                    | the walk                             |
|--------------------------------|-------------------------------|--------------------------------------|
| any                            | none, null or 0               | ends                                 |
| short, and says it is the last | any                           | ends, unless `thorough`              |
| empty                          | where the walk stands         | ends                                 |
| short, the border's item alone | where the walk stands         | ends: the service includes the id    |
| not empty                      | where the walk stands         | `CursorError`: it would ask for ever |
| any                            | back, or where it was before  | `CursorError`                        |
| empty                          | for the other way             | ends                                 |
| not empty                      | for the other way             | goes on from its own last item       |
| any                            | further on                    | goes on                              |

Short: fewer records than were asked for, and than the service's own `per_page`. Last: `current_page` has
reached `total_pages`. A short page alone is no end. An id behind the walk is dropped, as the border's item
that comes twice; one that the page before did not hold would be lost, so it is a `CursorError`.

Two dialects. `marks`: `meta.cursor`, `meta.next` or `meta.previous` with `id`, `affix` and perhaps
`sentAt`, taken by what is there and not by operation. `pages`: `meta.pagination` and page numbers.
"""

from collections.abc import Callable, Iterable
from operator import gt
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from ..models.meta import Mark, Meta, Pagination
from .cursor import Cursor, Way
from .decode import Listing
from .endpoint import Pairs
from .order import ahead, fresh, is_new, last_of, numbers_of, rises, split

T = TypeVar("T")


class Rules(Struct, frozen=True, kw_only=True):
    """What a walk is told of its list."""

    key: Callable[[Any], str]
    """An item's id."""
    size: int
    """How many records a page is asked for."""
    size_name: str
    """The parameter that asks for a page's size: `limit` or `perPage`."""
    size_asked: bool = False
    """Whether the caller named the size; if not, the walk may choose a smaller one."""
    marks: bool = True
    pages: bool = False
    thorough: bool = False
    """Ask once more even where a short page says that it is the last."""


class Trail:
    """What a walk remembers within a process: the page before, and the places it cannot compare."""

    def __init__(self) -> None:
        self.ids: list[str] | None = None
        self.places: set[Pairs] = set()


class Turn(Struct, Generic[T], frozen=True):
    """What a page means."""

    start: Cursor
    """The page itself, with the way that the walk goes."""
    items: list[T]
    """The new ones, in the walk's order."""
    loose: int
    """How many of the first items have no number for an id: they keep the service's order."""
    next: Cursor | None
    """Where the walk goes on; None at the end."""
    stuck: str | None = None
    """Why the walk cannot honestly go on after these items."""

    def after(self, count: int, key: Callable[[T], str]) -> Cursor:
        """The walk's place once `count` of the items are delivered."""
        if count == len(self.items) and self.next is not None:
            return self.next
        if count == 0:
            return self.start
        skip = self.start.skip + min(count, self.loose)
        last = last_of([key(self.items[count - 1])], self.start.last)
        return structs.replace(self.start, last=last, skip=skip, inside=True)


def turn(cursor: Cursor, page: Listing[T], rules: Rules, trail: Trail) -> Turn[T]:
    """What `page` means for a walk that stands at `cursor` and asked for it."""
    ids = list(map(rules.key, page.items))
    way, items, loose = _ordered(cursor, page, ids, rules, trail)
    start = structs.replace(cursor, way=way)
    last = last_of([rules.key(items[-1])], cursor.last) if items else cursor.last
    at = _onward(cursor, page, rules, way, items[-1] if items else None)
    if at is None or _is_end(cursor, page, rules, at, ids):
        return Turn(start, items, loose, None)
    stuck = _stuck(cursor.at, at, way, trail)
    if not items and ids and not cursor.skip and "page" in dict(at):
        stuck = "a page held nothing but what the page before it held"
    if ids and (items or trail.ids is not None):
        # Until something new has come, what is behind was delivered before the walk was taken up.
        trail.ids = ids
    return Turn(start, items, loose, Cursor(cursor.query, at, way, last) if stuck is None else None, stuck)


def _ordered(
    cursor: Cursor, page: Listing[T], ids: list[str], rules: Rules, trail: Trail
) -> tuple[Way, list[T], int]:
    """The walk's way, and the page's new items in its order; those without a number for an id are first."""
    if rules.marks and rises(ids):  # as pages are served: no id has to become a number
        way = cursor.way or _way(page.meta, None)
        if is_new(ids, way, cursor.last):
            return way, page.items if way == "append" else page.items[::-1], 0
    numbers = numbers_of(ids) if rules.marks else None
    way = cursor.way or _way(page.meta, numbers)
    if numbers is not None:
        return way, ahead(page.items, numbers, way, cursor.last, trail.ids), 0
    items, loose = _mixed(page.items, ids, way, cursor, rules, trail)
    return way, items, loose


def _way(meta: Meta, numbers: list[int] | None) -> Way:
    """The way of a walk that asked for none: what the service says, else how its page runs."""
    for mark in (meta.cursor, meta.next):
        if mark is not None and mark.affix in ("append", "prepend"):
            return "append" if mark.affix == "append" else "prepend"
    falling = numbers is not None and len(numbers) > 1 and all(map(gt, numbers, numbers[1:]))
    return "prepend" if falling else "append"


def _mixed(
    items: list[T], ids: list[str], way: Way, cursor: Cursor, rules: Rules, trail: Trail
) -> tuple[list[T], int]:
    """Items without a number for an id keep the service's order, and come before the numbered ones."""
    loose, names, numbered = split(items, ids) if rules.marks else (items, ids, {})
    border = {_place(cursor.at).get("id", ""), *(trail.ids or ())}
    if trail.ids is None and cursor.last is not None and not cursor.inside:
        border.add(cursor.last)
    new = fresh(loose, names, cursor.skip, border)
    rest = ahead(list(numbered.values()), list(numbered), way, cursor.last, trail.ids)
    return [*new, *rest], len(new)


def _onward(cursor: Cursor, page: Listing[Any], rules: Rules, way: Way, newest: Any) -> Pairs | None:
    """The parameters of the next page; None where the service shows no way on."""
    if rules.marks:
        other: Mark | None = None
        for mark in (page.meta.cursor, page.meta.next, page.meta.previous):
            if mark is not None and _leads(mark):
                if mark.affix not in _OTHER[way]:
                    return _pairs(way, mark)
                other = other or mark
        if other is not None:
            return _own(way, other, newest, cursor.last) if page.items else None
        if not rules.pages:
            return None
    return _next_page(cursor, page.meta.pagination, rules)


_OTHER: dict[Way, tuple[str, ...]] = {"append": ("prepend",), "prepend": ("append",)}


def _leads(mark: Mark) -> bool:
    return _real(mark.id) or _real(mark.sent_at) or _real(mark.updated_at)


def _real(value: object) -> bool:
    return isinstance(value, int | str) and value not in (0, "", "0")


def _pairs(way: Way, mark: Mark) -> Pairs:
    named = (("id", mark.id), ("sentAt", mark.sent_at), ("updatedAt", mark.updated_at))
    return (("affix", way), *((name, str(value)) for name, value in named if _real(value)))


def _own(way: Way, mark: Mark | None, newest: Any, last: str | None) -> Pairs | None:
    """Where the served mark is for the other way: the specification's own `affix` and `id`."""
    if newest is None:
        return None if last is None else (("affix", way), ("id", last))
    sent = (("sentAt", str(newest.sent_at)),) if mark is not None and _real(mark.sent_at) else ()
    return (("affix", way), ("id", newest.id), *sent)


def _next_page(cursor: Cursor, numbers: Pagination | None, rules: Rules) -> Pairs | None:
    if numbers is None:
        return None
    asked = dict(cursor.at)
    page = int(asked.get("page", numbers.current_page or 1))
    # Page numbers count pages of one size: the one that the walk began with.
    return (("page", str(page + 1)), (rules.size_name, asked.get(rules.size_name, str(rules.size))))


def _is_end(cursor: Cursor, page: Listing[Any], rules: Rules, at: Pairs, ids: list[str]) -> bool:
    short = _is_short(len(ids), page.meta.pagination, rules.size)
    if not rules.thorough and _says_last(page.meta.pagination, short, paged="page" in dict(at)):
        return True
    if "page" in dict(at):
        return not ids and not _says_more(page.meta.pagination)
    if ids and not short:
        return False
    return _place(at) == _place(cursor.at) and (not ids or set(ids) == {_place(at).get("id")})


def _is_short(count: int, numbers: Pagination | None, size: int) -> bool:
    served = numbers.per_page if numbers is not None else None
    return count < size and (served is None or count < served)


def _says_last(numbers: Pagination | None, short: bool, *, paged: bool) -> bool:
    """Whether the pagination shows the end. By page numbers a full page may; by marks a short one alone."""
    if numbers is None or numbers.current_page is None or numbers.total_pages is None:
        return False
    reached = numbers.current_page >= numbers.total_pages
    return reached and numbers.total_pages > 0 and (short or paged)


def _says_more(numbers: Pagination | None) -> bool:
    """Whether the page numbers show that an empty page is one in the middle."""
    if numbers is None or numbers.current_page is None or numbers.total_pages is None:
        return False
    return numbers.current_page < numbers.total_pages


def _stuck(old: Pairs, new: Pairs, way: Way, trail: Trail) -> str | None:
    """Why `new` is no place to go on from after `old`; None where it is."""
    before, after = _place(old), _place(new)
    if "page" in after:
        return None
    numbers = numbers_of([before.get("id", ""), after.get("id", "")])
    if numbers and (numbers[1] > numbers[0] if way == "append" else numbers[1] < numbers[0]):
        return None
    told = f"{_told(before)}, and its page's cursor was {_told(after)}"
    if before == after:
        return f"the cursor does not move: the walk stood at {told}, though the page was not empty"
    # Equal ids with another time are compared as a whole, by having been there.
    if numbers and numbers[0] != numbers[1]:
        return f"the cursor goes back: going {way}, the walk stood at {told}"
    trail.places.add(tuple(before.items()))
    if tuple(after.items()) in trail.places:
        return f"the cursor comes back: the walk stood at {told}, where it had been before"
    return None


def _place(at: Pairs) -> dict[str, str]:
    return {name: value for name, value in at if name not in ("affix", "perPage", "limit")}


def _told(place: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in place.items()) or "its start"


def start_of(query: str, pairs: Iterable[tuple[str, str]]) -> Cursor:
    """The cursor of a walk's start; an `id`, `affix` or `page` in the query is where it begins."""
    named = dict(pairs)
    at = tuple((name, named[name]) for name in ("affix", "id", "page") if name in named)
    affix = named.get("affix")
    way: Way | None = None if affix is None else ("append" if affix == "append" else "prepend")
    return Cursor(query, at, way)
