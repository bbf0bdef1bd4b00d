"""A server with any habits and any wrong claims about its pages."""

import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import assume, strategies as st

from chatrest._core.paging.cursor import Cursor, resumed
from chatrest._core.paging.walk_state import LargestPage
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_NEXT, BY_PAGE, BY_THREAD, BY_UPDATED, Paging
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Walk, WalkSource
from tests.support.session_double import Sender
from tests.walk.service_model import Item, facts_for

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
    """True if a page begins with the item at the position."""
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


def asked_direction(server: Server, direction: str | None) -> str | None:
    """The requested direction; without one, the direction that the service names."""
    direction = direction if server.paging.order == "id" else None
    assume(direction is not None or server.position != "other direction")
    return direction


by_id = servers(BY_ID, BY_NEXT, BY_THREAD)
in_service_order = servers(BY_PAGE, BY_UPDATED)
page_sizes = st.sampled_from([2, 3, 1000])
