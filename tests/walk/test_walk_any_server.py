"""Any list from a server with any habits and wrong claims about its pages: every item once, or an error.

What no client could notice is left out: a server that leaves items out of a page, or whose position leads
past some, and one that can be asked for its first page alone.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import assume, given, strategies as st

from chatrest._core.paging.cursor import Cursor, resumed
from chatrest._core.paging.walk_state import LargestPage
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_NEXT, BY_PAGE, BY_THREAD, BY_UPDATED, Paging
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Walk, WalkSource
from chatrest.errors import CursorError
from tests.session_double import Sender
from tests.walk.service_model import Item, directions, facts_for, many as many_examples, run

PAGINATIONS = ("none", "honest", "always the last", "always one more", "first of one", "only sizes")
POSITIONS = ("cursor", "next", "top level", "none", "other direction", "without affix", "unreadable", "null")


@dataclass
class Server:
    """A list of ids, and how it is served."""

    ids: tuple[str, ...]
    """In the list's own order, as `append` goes."""
    cap: int = 3
    """No page is larger, whatever is asked."""
    paging: Paging = BY_ID
    pagination: str = "none"
    position: str = "cursor"
    default: str = "append"
    """The direction where none is asked for."""
    inside: str = "along"
    """The order inside a page: `along`, `against` or `shuffled`."""
    inclusive: bool = False
    """Whether a page begins with the item at the position."""
    forgets: frozenset[int] = frozenset()
    """At which requests the reply loses its meta, once."""
    empties: frozenset[int] = frozenset()
    """At which requests a page is empty although it is not, once, and says that more follows."""
    takes_pages: bool = False
    largest_before: int = 0
    """The largest page that the session was served before."""
    largest: LargestPage = field(default_factory=LargestPage)
    requests: int = 0

    async def fetch(self, position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(position)
        number, self.requests = self.requests, self.requests + 1
        assert self.requests < 300, "the walk asks for ever"
        direction = asked.get("affix", self.default)
        size = min(self.cap, int(asked.get("limit") or asked.get("perPage") or 1000))
        ordered = self.ids if direction == "append" else self.ids[::-1]
        start = self.start(asked, ordered, size)
        ids = ordered[start : start + size]
        if number in self.empties and ids:
            return Listing([], Meta(pagination=Pagination(0, 0, size, 1, 2)), b"{}")
        items = [Item(text) for text in self.arranged(ids)]
        if number in self.forgets and ids:
            return Listing(items, Meta(), b"{}")
        return self.reply(items, ids, direction, size, start, asked)

    def start(self, asked: dict[str, str], ordered: tuple[str, ...], size: int) -> int:
        place = asked.get("id", asked.get("updatedAt"))
        if place is not None:
            return ordered.index(place) + (not self.inclusive) if place in ordered else 0
        if self.takes_pages and "page" in asked:
            return (int(asked["page"]) - 1) * size
        return 0

    def arranged(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        if self.inside == "shuffled":
            return tuple(random.Random(str(ids)).sample(ids, len(ids)))
        return ids[::-1] if self.inside == "against" else ids

    def reply(
        self, items: list[Item], ids: tuple[str, ...], direction: str, size: int, start: int, asked: Any
    ) -> Listing[Item]:
        pagination = self.pages_of(len(items), size, start)
        if self.position in ("none", "null", "unreadable"):
            cursor = Position(direction, None) if self.position == "null" else None
            fault = "meta.next: no object" if self.position == "unreadable" and items else None
            return Listing(items, Meta(pagination=pagination, cursor=cursor), b"{}", position_fault=fault)
        cursor = self.cursor(ids, direction, asked)
        if self.position == "next":
            return Listing(items, Meta(pagination=pagination, next=cursor), b"{}")
        if self.position == "top level":
            return Listing(items, Meta(pagination=pagination), b"{}", cursor=cursor)
        return Listing(items, Meta(pagination=pagination, cursor=cursor), b"{}")

    def cursor(self, ids: tuple[str, ...], direction: str, asked: dict[str, str]) -> Position | None:
        edge: Any = ids[-1] if ids else asked.get("id", asked.get("updatedAt"))
        affix: Any = direction
        if self.position == "other direction":
            affix, edge = ("prepend" if direction == "append" else "append"), ids[0] if ids else edge
        if edge is None:
            return None
        if self.position == "without affix":
            return Position(id=edge)
        if self.paging.order == "service":
            return Position(affix, updated_at=edge)
        return Position(affix, edge)

    def pages_of(self, count: int, size: int, start: int) -> Pagination | None:
        total, page = len(self.ids), start // size + 1
        pages = -(-total // size)
        return {
            "none": None,
            "honest": Pagination(total, count, size, page, pages),
            "always the last": Pagination(total, count, 1000, pages, pages),
            "always one more": Pagination(total, count, 1000, 1, 2),
            "first of one": Pagination(0, count, 1000, 1, 1),
            "only sizes": Pagination(per_page=1000, count=count),
        }[self.pagination]

    @property
    def is_one_page(self) -> bool:
        return len(self.ids) <= self.largest.count

    def can_be_walked(self, direction: str | None) -> bool:
        """Return whether any request of the specification gives more than the first page."""
        if self.is_one_page:
            return True
        if self.paging.order == "service":
            leads = self.position in ("cursor", "next", "top level", "without affix")
            leads = leads and (self.paging.positions or self.pagination == "none") and len(self.forgets) < 2
            return self.takes_pages or leads
        # A thread that counts its pages and ignores their numbers, without a position or a direction.
        is_mute = self.position in ("none", "null") and self.pagination != "none" and direction is None
        return self.takes_pages or not (self.paging.numbered and is_mute)

    def walk(self, direction: Any = None, size: int = 1000, token: str | None = None) -> Walk[Any]:
        position = (("affix", direction),) if direction else ()
        start = Cursor("q", position, direction, by_id=self.paging.order == "id")
        if token is not None:
            start = resumed(token, start, self.paging, None)
        self.largest.count = max(self.largest.count, min(self.largest_before, size))
        facts = facts_for(size, self.paging.size_name(is_acting=False), self.paging)
        source: WalkSource[Any] = WalkSource(
            fetch=self.fetch, facts=facts, name="messages.list", largest=self.largest, send=Sender()
        )
        return Walk(source, start)


@st.composite
def servers(draw: st.DrawFn, *pagings: Paging) -> Server:
    paging = draw(st.sampled_from(pagings))
    numbers = sorted(draw(st.sets(st.integers(1, 120), max_size=14)))
    names = [str(number) for number in numbers]
    if paging.order == "service":
        names = [f"user-{name}" for name in draw(st.permutations(names))]
    cap = draw(st.integers(1, 6))
    return Server(
        tuple(names),
        cap=cap,
        paging=paging,
        pagination=draw(st.sampled_from(PAGINATIONS)),
        position=draw(st.sampled_from(POSITIONS)),
        default=draw(st.sampled_from(["append", "prepend"])) if paging.order == "id" else "append",
        inside=draw(st.sampled_from(["along", "against", "shuffled"])) if paging.order == "id" else "along",
        inclusive=cap > 1 and draw(st.booleans()),
        forgets=draw(st.frozensets(st.integers(0, 6), max_size=2)),
        empties=draw(st.frozensets(st.integers(0, 6), max_size=1)),
        takes_pages=draw(st.booleans()),
        largest_before=draw(st.integers(0, min(cap, len(names)))),
    )


async def read(walk: Walk[Any], into: list[str]) -> str | None:
    """Read to the end, and return the error's text, or None."""
    try:
        async for item in walk:
            into.append(item.id)
    except CursorError as error:
        return str(error)
    return None


def asked_direction(server: Server, direction: str | None) -> str | None:
    """The requested direction; without one, the direction that the service names."""
    direction = direction if server.paging.order == "id" else None
    assume(direction is not None or server.position != "other direction")
    return direction


by_id = servers(BY_ID, BY_NEXT, BY_THREAD)
in_service_order = servers(BY_PAGE, BY_UPDATED)
page_sizes = st.sampled_from([2, 3, 1000])


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.booleans())
def test_a_list_is_complete_or_ends_with_an_error(
    server: Server, direction: Any, size: int, thorough: bool
) -> None:
    direction = asked_direction(server, direction)
    walk = server.walk(direction, size)
    ids: list[str] = []
    error = run(read(walk.thorough() if thorough else walk, ids))
    assert len(set(ids)) == len(ids), "an item was given twice"
    assert set(ids) <= set(server.ids)
    if error is None and server.can_be_walked(direction):
        assert sorted(ids) == sorted(server.ids), "items were lost without an error"
    if server.paging.order == "id":
        numbers = [int(text) for text in ids]
        assert numbers in (sorted(numbers), sorted(numbers, reverse=True)), "two directions"


def reset(server: Server, **habits: Any) -> Server:
    """The server before any request, without its temporary faults."""
    nothing: frozenset[int] = frozenset()
    return replace(
        server, requests=0, largest=LargestPage(), **{"forgets": nothing, "empties": nothing, **habits}
    )


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.data())
def test_a_token_after_any_item_leads_to_the_rest_or_to_an_error(
    server: Server, direction: Any, size: int, data: st.DataObject
) -> None:
    direction = asked_direction(server, direction)
    first = reset(server)
    pairs = run(tokens_until_error(first.walk(direction, size)))
    ids = [each for each, _ in pairs]
    assume(ids)
    count = data.draw(st.integers(1, len(ids)))
    rest: list[str] = []
    error = run(read(reset(server).walk(direction, size, pairs[count - 1][1]), rest))
    assert not set(ids[:count]) & set(rest), "an item was given again"
    if error is None and first.can_be_walked(direction):
        assert sorted([*ids[:count], *rest]) == sorted(server.ids), "items were lost without an error"


async def tokens_until_error(walk: Walk[Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    try:
        async for item in walk:
            pairs.append((item.id, str(walk.cursor)))
    except CursorError:
        pass
    return pairs


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.booleans())
def test_a_second_loop_after_the_end_returns_nothing(
    server: Server, direction: Any, size: int, thorough: bool
) -> None:
    direction = asked_direction(server, direction)
    walk = reset(server).walk(direction, size)
    walk = walk.thorough() if thorough else walk
    ids: list[str] = []
    assume(run(read(walk, ids)) is None)
    again: list[str] = []
    run(read(walk, again))
    assert again == []


@many_examples
@given(by_id | in_service_order, directions, st.integers(0, 15))
def test_a_limited_walk_gives_the_first_items(server: Server, direction: Any, count: int) -> None:
    assume(server.inside != "shuffled")  # a smaller page may show another direction where none is said
    direction = asked_direction(server, direction)
    ids: list[str] = []
    assume(run(read(reset(server).walk(direction), ids)) is None)
    few: list[str] = []
    limited = reset(server)
    if run(read(limited.walk(direction).limit(count), few)) is None and limited.can_be_walked(direction):
        assert few == ids[:count]
