"""A model of the service for tests of the walk, and what drives a walk against it.

The model keeps records in memory and can be set to every dialect and habit that the specification leaves
open. A walk awaits nothing but its fetch, so the tests drive it by hand: no loop, no sleep.
"""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Coroutine
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

from hypothesis import HealthCheck, assume, settings, strategies as st

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.walk_state import LargestPage, ListFacts
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_PAGE, Paging
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Fetch, Walk, WalkSource
from tests.support.session_double import Sender

T = TypeVar("T")
_EXAMPLES = settings().max_examples
few = settings(max_examples=_EXAMPLES // 3, suppress_health_check=[HealthCheck.filter_too_much])
many = settings(few, max_examples=_EXAMPLES // 2)


@dataclass(frozen=True)
class Item:
    id: str
    sent_at: int = 7


@dataclass
class Service:
    """A list of the service, with the habits that a real one might have."""

    ids: tuple[int, ...] = ()
    """Ascending; a negative one is scanned but not served, as a filter leaves gaps."""
    dialect: str = "cursor"
    """`cursor`, `next` or `pages`."""
    inside: str = "ascending"
    """The order inside a page: also `descending` or `shuffled`."""
    direction: str = "append"
    """The direction of a walk that asks for none."""
    inclusive: bool = False
    """True if a page begins with the record at the cursor."""
    text: bool = False
    """True if ids are texts that are no numbers."""
    pagination: bool = False
    ending: str = "stays"
    """The position of the page after the last record: `stays`, `null`, `zero` or `absent`."""
    opposite: bool = False
    """True if positions always have the opposite direction."""
    default: int = 100
    """The records of a page if no size is asked for."""
    faults: dict[int, BaseException] = field(default_factory=dict)
    """Errors by the number of the fetch, from 0."""
    asked: list[dict[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "perPage" if self.dialect == "pages" else "limit"

    @property
    def unordered(self) -> bool:
        """True if the walk can't compare ids, and keeps the service's order."""
        return self.text or self.dialect == "pages"

    def shown(self, number: int) -> str:
        return f"m-{abs(number):04}" if self.text else str(abs(number))

    async def fetch(self, position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(position)
        self.asked.append(asked)
        assert len(self.asked) <= 400, "the walk asks for ever"
        if fault := self.faults.pop(len(self.asked) - 1, None):
            raise fault
        return self.page_by_number(asked) if self.dialect == "pages" else self.page_by_position(asked)

    def page_by_number(self, asked: dict[str, str]) -> Listing[Item]:
        visible = self.ordered([each for each in self.ids if each > 0])
        number, size = int(asked.get("page", 1)), int(asked.get(self.name, self.default))
        totals = -(-len(visible) // size) if self.pagination else None
        ids = visible[(number - 1) * size : number * size]
        meta = Meta(pagination=Pagination(0, len(ids), size, number, totals))
        return Listing([Item(self.shown(each)) for each in ids], meta, b"{}")

    def page_by_position(self, asked: dict[str, str]) -> Listing[Item]:
        direction, size = asked.get("affix", self.direction), int(asked.get(self.name, self.default))
        rest = sorted(self.ids, key=abs)
        if "id" in asked:
            skips_equal = (direction == "append") != self.inclusive
            border = (bisect_right if skips_equal else bisect_left)(rest, self.number(asked["id"]), key=abs)
            rest = rest[border:] if direction == "append" else rest[:border]
        if direction == "prepend":
            rest.reverse()
        scanned, more = rest[:size], len(rest) > size
        ids = self.ordered([each for each in scanned if each > 0])
        items = [Item(self.shown(each)) for each in ids]
        return Listing(items, self.meta(asked, direction, size, scanned, more=more), b"{}")

    def meta(
        self, asked: dict[str, str], direction: str, size: int, scanned: list[int], *, more: bool
    ) -> Meta:
        numbers = Pagination(0, len([each for each in scanned if each > 0]), size, 1, 2 if more else 1)
        end = (scanned or [self.number(asked.get("id", "0"))])[-1]
        affix = direction
        if self.opposite and scanned:
            affix, end = ("prepend" if direction == "append" else "append"), scanned[0]
        value: Any = self.shown(end) if self.text or self.dialect == "next" else abs(end)
        if not scanned and self.ending != "stays":
            value = {"null": None, "zero": 0}.get(self.ending)
        position = Position(affix, value) if value is not None or self.ending == "null" else None
        pagination = numbers if self.pagination else None
        if self.dialect == "cursor":
            return Meta(pagination=pagination, cursor=position)
        back = Position("prepend", self.shown(scanned[0])) if scanned else None
        return Meta(pagination=pagination, next=position, previous=back) if direction == "append" else Meta(
            pagination=pagination, previous=position
        )  # fmt: skip

    def number(self, shown: str) -> int:
        return int(shown.removeprefix("m-"))

    def ordered(self, ids: list[int]) -> list[int]:
        if self.inside == "shuffled":
            return random.Random(str(ids)).sample(ids, len(ids))
        return sorted(ids, reverse=self.inside == "descending")

    def walk(
        self, size: int = 3, *, affix: str | None = None, token: str | None = None, **facts: Any
    ) -> Walk:
        paging = BY_PAGE if self.dialect == "pages" else BY_ID
        start = Cursor("q", (("affix", affix),) if affix else (), affix, by_id=paging is BY_ID)  # type: ignore[arg-type]
        facts_of = facts_for(size, self.name, paging, **facts)
        return walk_over(self.fetch, Cursor.parse(token) if token else start, facts_of)

    def expected(self, direction: str) -> list[str]:
        return [
            self.shown(each)
            for each in sorted(filter(lambda n: n > 0, self.ids), reverse=direction == "prepend")
        ]


def facts_for(size: int = 3, name: str = "limit", paging: Paging = BY_ID, **facts: Any) -> ListFacts:
    return ListFacts(paging=paging, identify=attrgetter("id"), size=size, size_name=name, **facts)


def walk_over(
    fetch: Fetch[Any],
    start: Cursor,
    facts: ListFacts | None = None,
    name: str = "messages.list_user",
    largest: int = 0,
) -> Walk[Any]:
    """A walk over pages that `fetch` gives; `largest` is what the session has seen of the list before."""
    source: WalkSource[Any] = WalkSource(
        fetch=fetch, facts=facts or facts_for(), name=name, largest=LargestPage(largest), send=Sender()
    )
    return Walk(source, start)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the walk waits for something else than its fetch")


async def first(walk: Walk, count: int) -> list[str]:
    """The next `count` ids, then a `break`."""
    ids: list[str] = []
    if count:
        async for item in walk:
            ids.append(item.id)
            if len(ids) == count:
                break
    return ids


def all_of(walk: Walk) -> list[str]:
    return [item.id for item in run(walk.collect())]


async def items_of(walk: Walk, *, into: list[str]) -> None:
    async for item in walk:
        into.append(item.id)


async def tokens_of(walk: Walk) -> list[tuple[str, str]]:
    return [(item.id, str(walk.cursor)) async for item in walk]


def services(**fixed: Any) -> st.SearchStrategy[Service]:
    """Every habit, in every combination that a service could live with."""

    @st.composite
    def made(draw: st.DrawFn) -> Service:
        gaps = draw(st.booleans())
        numbers = draw(st.sets(st.integers(1, 60), max_size=11))
        hide = draw(st.sets(st.sampled_from(sorted(numbers)), max_size=9)) if gaps and numbers else set()
        habits = {
            "dialect": draw(st.sampled_from(["cursor", "next", "pages"])),
            "inside": draw(st.sampled_from(["ascending", "descending", "shuffled"])),
            "direction": draw(st.sampled_from(["append", "prepend"])),
            "inclusive": draw(st.booleans()),
            "text": draw(st.booleans()),
            "pagination": draw(st.booleans()),
            "ending": draw(st.sampled_from(["stays", "null", "zero", "absent"])),
            "opposite": not gaps and draw(st.booleans()),
            **fixed,
        }
        service = Service(tuple(-n if n in hide else n for n in sorted(numbers)), **habits)
        assume(not (service.opposite and (service.text or service.dialect != "cursor")))
        return service

    return made()


sizes = st.integers(2, 5)
directions = st.sampled_from(["append", "prepend", None])


def direction_of(service: Service, affix: str | None) -> str:
    """Return the direction of the walk; lists that no walk can read are left out."""
    if service.opposite or (service.dialect == "next" and service.direction == "prepend"):
        assume(affix is not None)  # such positions show no direction, or the wrong one
    if service.dialect == "pages":
        assume(affix is None)
        return "append"
    return affix or service.direction


def assume_stable_order(service: Service, direction: str) -> None:
    """Leave out lists whose order depends on the page size: texts that a page orders against the walk."""
    assume(not service.text or service.inside == ("ascending" if direction == "append" else "descending"))
