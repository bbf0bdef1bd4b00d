"""The walk against a model of the service: every message once, in one order, whatever happens on the way.

The model keeps records in memory and can be set to every dialect and habit that the specification leaves
open. A walk awaits nothing but its fetch, so the tests drive it by hand: no loop, no sleep.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st
from rich.pretty import pretty_repr

from chatrest.core.cursor import Cursor
from chatrest.core.decode import MESSAGE, Listing, Many
from chatrest.core.turn import Rules
from chatrest.errors import ChatRestError, CursorError, RequestInvalidError, ServerError
from chatrest.models.meta import Mark, Meta, Pagination
from chatrest.walk import Page, Walk

T = TypeVar("T")
few = settings(
    max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.filter_too_much]
)
many = settings(few, max_examples=150)


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
    """How a page is ordered inside: also `descending` or `shuffled`."""
    way: str = "append"
    """The way of a walk that asks for none."""
    inclusive: bool = False
    """Whether the record at the cursor comes again."""
    text: bool = False
    """Whether ids are texts that are no numbers."""
    pagination: bool = False
    ending: str = "stays"
    """The mark of the page after the last record: `stays`, `null`, `zero` or `absent`."""
    foreign: bool = False
    """Whether the marks are always those of the other way."""
    default: int = 100
    """How many records a page holds where nobody says."""
    faults: dict[int, BaseException] = field(default_factory=dict)
    """What goes wrong at which fetch, counted from 0."""
    asked: list[dict[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "perPage" if self.dialect == "pages" else "limit"

    @property
    def loose(self) -> bool:
        """Whether the walk can't compare ids, and keeps the service's order."""
        return self.text or self.dialect == "pages"

    def shown(self, number: int) -> str:
        return f"m-{abs(number):04}" if self.text else str(abs(number))

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(place)
        self.asked.append(asked)
        assert len(self.asked) <= 400, "the walk asks for ever"
        if fault := self.faults.pop(len(self.asked) - 1, None):
            raise fault
        return self.page(asked) if self.dialect == "pages" else self.marked(asked)

    def page(self, asked: dict[str, str]) -> Listing[Item]:
        visible = self.ordered([each for each in self.ids if each > 0])
        number, size = int(asked.get("page", 1)), int(asked.get(self.name, self.default))
        totals = -(-len(visible) // size) if self.pagination else None
        found = visible[(number - 1) * size : number * size]
        meta = Meta(pagination=Pagination(0, len(found), size, number, totals))
        return Listing([Item(self.shown(each)) for each in found], meta, b"{}")

    def marked(self, asked: dict[str, str]) -> Listing[Item]:
        way, size = asked.get("affix", self.way), int(asked.get(self.name, self.default))
        onward = sorted(self.ids, key=abs, reverse=way == "prepend")
        at = self.number(asked["id"]) if "id" in asked else None
        rest = [each for each in onward if at is None or self.is_on(abs(each), at, way)]
        scanned, more = rest[:size], len(rest) > size
        found = self.ordered([each for each in scanned if each > 0])
        items = [Item(self.shown(each)) for each in found]
        return Listing(items, self.meta(asked, way, size, scanned, more=more), b"{}")

    def is_on(self, number: int, at: int, way: str) -> bool:
        return (number > at if way == "append" else number < at) or (self.inclusive and number == at)

    def meta(self, asked: dict[str, str], way: str, size: int, scanned: list[int], *, more: bool) -> Meta:
        numbers = Pagination(0, len([each for each in scanned if each > 0]), size, 1, 2 if more else 1)
        end = (scanned or [self.number(asked.get("id", "0"))])[-1]
        affix = way
        if self.foreign and scanned:
            affix, end = ("prepend" if way == "append" else "append"), scanned[0]
        value: Any = self.shown(end) if self.text or self.dialect == "next" else abs(end)
        if not scanned and self.ending != "stays":
            value = {"null": None, "zero": 0}.get(self.ending)
        mark = Mark(affix, value) if value is not None or self.ending == "null" else None
        pagination = numbers if self.pagination else None
        if self.dialect == "cursor":
            return Meta(pagination=pagination, cursor=mark)
        back = Mark("prepend", self.shown(scanned[0])) if scanned else None
        return Meta(pagination=pagination, next=mark, previous=back) if way == "append" else Meta(
            pagination=pagination, previous=mark
        )  # fmt: skip

    def number(self, shown: str) -> int:
        return int(shown.removeprefix("m-"))

    def ordered(self, found: list[int]) -> list[int]:
        if self.inside == "shuffled":
            return random.Random(str(found)).sample(found, len(found))
        return sorted(found, reverse=self.inside == "descending")

    def walk(
        self, size: int = 3, *, affix: str | None = None, token: str | None = None, **rules: Any
    ) -> Walk:
        paged = self.dialect == "pages"
        start = Cursor("q", (("affix", affix),) if affix else (), affix)  # type: ignore[arg-type]
        told = Rules(
            key=attrgetter("id"), size=size, size_name=self.name, marks=not paged, pages=paged, **rules
        )
        return Walk(self.fetch, Cursor.parse(token) if token else start, told, "messages.list_user")

    def expected(self, way: str) -> list[str]:
        return [
            self.shown(each) for each in sorted(filter(lambda n: n > 0, self.ids), reverse=way == "prepend")
        ]


def run(what: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        what.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the walk waits for something else than its fetch")


async def first(walk: Walk, count: int) -> list[str]:
    """The next `count` ids, then a `break`."""
    found: list[str] = []
    if count:
        async for item in walk:
            found.append(item.id)
            if len(found) == count:
                break
    return found


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
            "way": draw(st.sampled_from(["append", "prepend"])),
            "inclusive": draw(st.booleans()),
            "text": draw(st.booleans()),
            "pagination": draw(st.booleans()),
            "ending": draw(st.sampled_from(["stays", "null", "zero", "absent"])),
            "foreign": not gaps and draw(st.booleans()),
            **fixed,
        }
        service = Service(tuple(-n if n in hide else n for n in sorted(numbers)), **habits)
        assume(not (service.foreign and (service.text or service.dialect != "cursor")))
        return service

    return made()


sizes = st.integers(2, 5)
ways = st.sampled_from(["append", "prepend", None])


def prepared(service: Service, affix: str | None) -> str:
    """The way that the walk will go; leaves out what no walk could find its way through."""
    if service.foreign or (service.dialect == "next" and service.way == "prepend"):
        assume(affix is not None)  # such marks tell no way, or the wrong one
    if service.dialect == "pages":
        assume(affix is None)
        return "append"
    return affix or service.way


def steady(service: Service, way: str) -> None:
    """Leaves out lists whose order hangs on the page size: texts that a page orders against the walk."""
    assume(not service.text or service.inside == ("ascending" if way == "append" else "descending"))


# ── whole walks ──


@many
@given(services(), sizes, ways)
def test_every_message_comes_once_and_in_one_order(service: Service, size: int, affix: str | None) -> None:
    way = prepared(service, affix)
    found = all_of(service.walk(size, affix=affix))
    wanted = service.expected(way)
    assert sorted(found) == sorted(wanted)
    if not service.loose:
        assert found == wanted


@few
@given(services(inclusive=False), ways)
def test_pages_of_one_record_are_a_walk_as_any(service: Service, affix: str | None) -> None:
    way = prepared(service, affix)
    assert sorted(all_of(service.walk(1, affix=affix))) == sorted(service.expected(way))


@few
@given(services(inclusive=True, dialect="cursor", foreign=False, pagination=False), ways)
def test_a_page_that_holds_its_border_alone_is_no_silent_end(service: Service, affix: str | None) -> None:
    """With pages of one record, an inclusive service never gets further: a walk must say so."""
    assume(min(service.ids, default=1) > 0)  # an empty page that stays is an end
    wanted = service.expected(prepared(service, affix))
    found: list[str] = []
    try:
        run(items_of(service.walk(1, affix=affix), into=found))
    except CursorError as error:
        assert "does not move" in str(error)  # noqa: PT017
    else:
        assert found == wanted


@few
@given(services(), sizes, ways)
def test_a_thorough_walk_gives_the_same(service: Service, size: int, affix: str | None) -> None:
    way = prepared(service, affix)
    assert sorted(all_of(service.walk(size, affix=affix).thorough())) == sorted(service.expected(way))


@few
@given(services(), sizes, ways)
def test_pages_hold_what_items_give_and_each_page_can_be_gone_on_from(
    service: Service, size: int, affix: str | None
) -> None:
    prepared(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    found: list[str] = []

    async def read() -> None:
        async for page in service.walk(size, affix=affix).pages():
            assert page.items
            found.extend(item.id for item in page.items)
            rest = await service.walk(size, token=str(page.cursor)).collect()
            assert found + [item.id for item in rest] == whole

    run(read())
    assert found == whole


# ── taken up again ──


@many
@given(services(), sizes, ways)
@example(Service((1, 2, 3, 4), text=True, inclusive=True), 2, "append")
@example(Service((1, 2, 3, 4), text=True, inclusive=True, inside="descending"), 3, "append")
def test_a_token_after_any_item_leads_to_exactly_the_rest(
    service: Service, size: int, affix: str | None
) -> None:
    prepared(service, affix)
    told = run(tokens_of(service.walk(size, affix=affix)))
    whole = [each for each, _ in told]
    assert all_of(service.walk(size, token=str(service.walk(size, affix=affix).cursor), affix=affix)) == whole
    for count, (_, token) in enumerate(told, 1):
        assert all_of(service.walk(size, token=token)) == whole[count:], f"after {count} of {whole}"


@few
@given(services(), sizes, ways)
def test_a_walk_resumed_at_every_item_in_turn_gives_the_same_whole(
    service: Service, size: int, affix: str | None
) -> None:
    """As many processes as items: each delivers one and dies."""
    prepared(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    walk, found = service.walk(size, affix=affix), []
    for _ in range(len(whole) + 1):
        found += run(first(walk, 1))
        walk = service.walk(size, token=str(walk.cursor))
    assert found == whole


@few
@given(services(text=False, dialect="cursor"), sizes, st.integers(2, 6), ways)
def test_a_token_goes_on_with_another_page_size(
    service: Service, size: int, other: int, affix: str | None
) -> None:
    prepared(service, affix)
    told = run(tokens_of(service.walk(size, affix=affix)))
    whole = [each for each, _ in told]
    for count, (_, token) in enumerate(told, 1):
        assert all_of(service.walk(other, token=token)) == whole[count:]


@pytest.mark.parametrize("habits", [{"text": True}, {"dialect": "pages"}], ids=["text ids", "page numbers"])
@pytest.mark.parametrize(("size", "other"), [(4, 2), (2, 4), (3, 5)])
def test_another_page_size_in_the_midst_of_a_page_repeats_nothing(
    habits: dict[str, Any], size: int, other: int
) -> None:
    service = Service(tuple(range(1, 10)), **habits)
    told = run(tokens_of(service.walk(size)))
    whole = [each for each, _ in told]
    for count, (_, token) in enumerate(told, 1):
        try:
            rest = all_of(service.walk(other, token=token))
        except CursorError:
            continue  # an honest way out
        assert rest == whole[count:], f"after {count}"


@many
@given(
    services(), sizes, ways,
    st.sets(st.integers(0, 8), max_size=5), st.lists(st.integers(0, 4), max_size=6), st.booleans(),
)  # fmt: skip
def test_errors_cancels_and_breaks_lose_nothing_and_repeat_nothing(
    service: Service, size: int, affix: str | None, faults: set[int], breaks: list[int], cancel: bool
) -> None:
    prepared(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    kind: Callable[[], BaseException] = asyncio.CancelledError if cancel else lambda: ServerError("503")
    broken = replace(service, faults={each: kind() for each in faults}, asked=[])
    walk = broken.walk(size, affix=affix)
    found: list[str] = []

    async def go_on(count: int) -> None:
        async for item in walk:
            found.append(item.id)
            count -= 1
            if count == 0:
                return

    plan = [*breaks, *[0] * (len(faults) + 1)]  # 0: as far as it goes
    for count in plan:
        with suppress(ServerError, asyncio.CancelledError):
            run(go_on(count))
    assert found == whole


@few
@given(services(), sizes, ways, st.integers(0, 6))
def test_after_an_error_collect_leaves_the_walk_where_it_was(
    service: Service, size: int, affix: str | None, fault: int
) -> None:
    prepared(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    for taken in range(len(whole) + 1):
        broken = replace(service, faults={}, asked=[])
        walk = broken.walk(size, affix=affix)
        assert run(first(walk, taken)) == whole[:taken]
        broken.faults[len(broken.asked) + fault] = ServerError("503")
        before = str(walk.cursor)
        try:
            got = all_of(walk)
        except ServerError:
            assert str(walk.cursor) == before
            got = all_of(walk)
        assert got == whole[taken:]


async def test_a_cancelled_task_leaves_the_walk_ready_for_another() -> None:
    service, gate, waits = Service(tuple(range(1, 8))), asyncio.Event(), asyncio.Event()
    hang = True

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        if hang and len(service.asked) == 1:
            waits.set()
            await gate.wait()
        return await service.fetch(place)

    walk: Walk = Walk(fetch, Cursor("q"), service.walk()._rules, "messages.list")
    found: list[str] = []
    task = asyncio.create_task(items_of(walk, into=found))
    await waits.wait()
    assert found == ["1", "2", "3"]
    with pytest.raises(RuntimeError, match="one reader at a time"):
        await walk.collect()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hang = False
    assert found + [item.id for item in await walk.collect()] == service.expected("append")


def test_a_generator_that_is_left_and_closed_gives_its_place_back() -> None:
    service = Service(tuple(range(1, 8)))
    walk = service.walk()

    async def leave() -> str:
        items: AsyncIterator[Item] = walk.__aiter__()
        item = await anext(items)
        await items.aclose()  # type: ignore[attr-defined]
        return item.id

    assert [run(leave()), run(leave()), *all_of(walk)] == service.expected("append")


def test_a_walk_at_its_end_asks_no_more() -> None:
    service = Service((1, 2, 3, 4))
    walk = service.walk()
    assert all_of(walk) == ["1", "2", "3", "4"]
    asked = len(service.asked)
    assert all_of(walk) == []
    assert len(service.asked) == asked


# ── limit ──


@many
@given(services(), st.integers(2, 6), ways, st.integers(0, 12), st.integers(2, 12), st.integers(0, 9))
def test_limit_gives_the_next_few_and_no_more(
    service: Service, size: int, affix: str | None, taken: int, count: int, more: int
) -> None:
    assume(more != 1)  # see above: a page of one record
    steady(service, prepared(service, affix))
    whole = all_of(service.walk(size, affix=affix))
    walk = replace(service, asked=[]).walk(size, affix=affix)
    taken = len(run(first(walk, min(taken, len(whole)))))
    limited = walk.limit(count)
    assert all_of(limited) == whole[taken : taken + count]
    rest = service.walk(size, token=str(limited.cursor)).limit(more)
    assert all_of(rest) == whole[taken + count :][:more]


@pytest.mark.parametrize("habits", [{}, {"text": True}, {"dialect": "pages"}, {"pagination": True}], ids=str)
@pytest.mark.parametrize(("taken", "count"), [(1, 1), (3, 1), (3, 2), (3, 3), (4, 2), (5, 3)])
def test_limit_goes_on_from_the_midst_of_a_page(habits: dict[str, Any], taken: int, count: int) -> None:
    service = Service(tuple(range(1, 10)), **habits)
    whole = all_of(service.walk(100))
    walk = service.walk(100)
    assert run(first(walk, taken)) == whole[:taken]
    limited = walk.limit(count)
    assert all_of(limited) == whole[taken : taken + count]
    assert all_of(service.walk(100, token=str(limited.cursor))) == whole[taken + count :]


@few
@given(services(), st.integers(2, 6), ways, st.integers(2, 9), st.integers(0, 9), st.integers(2, 9))
def test_a_limit_within_a_limit_counts_what_is_left_of_it(
    service: Service, size: int, affix: str | None, outer: int, taken: int, inner: int
) -> None:
    steady(service, prepared(service, affix))
    whole = all_of(service.walk(size, affix=affix))
    walk = replace(service, asked=[], default=size).walk(size, affix=affix, size_asked=True).limit(outer)
    taken = len(run(first(walk, min(taken, outer, len(whole)))))
    assert all_of(walk.limit(inner)) == whole[taken : min(taken + inner, outer)]


def test_a_thorough_walk_of_a_limited_one_keeps_what_is_left() -> None:
    walk = Service(tuple(range(1, 10))).walk().limit(5)
    assert run(first(walk, 2)) == ["1", "2"]
    assert all_of(walk.thorough()) == ["3", "4", "5"]


@few
@given(services(inclusive=False), st.integers(1, 6), ways, st.integers(0, 12))
def test_limit_sends_no_more_than_its_items_need(
    service: Service, size: int, affix: str | None, count: int
) -> None:
    steady(service, prepared(service, affix))
    whole = all_of(service.walk(size, affix=affix))
    count = min(count, len(whole))
    plain, limited = replace(service, asked=[]), replace(service, asked=[])
    assert all_of(limited.walk(size, affix=affix).limit(count)) == whole[:count]
    if count == 0:
        assert limited.asked == []
        return
    assert all(int(asked[service.name]) <= count for asked in limited.asked)
    same = min(size, count)
    run(first(plain.walk(same, affix=affix), count))
    assert len(limited.asked) == len(plain.asked)


def test_limit_keeps_the_page_size_that_the_caller_named() -> None:
    service = Service(tuple(range(1, 10)))

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        assert "limit" not in dict(place)  # the query itself says it
        return await service.fetch((*place, ("limit", "5")))

    rules = Rules(key=attrgetter("id"), size=5, size_name="limit", size_asked=True)
    assert [i.id for i in run(Walk(fetch, Cursor("q"), rules, "m").limit(2).collect())] == ["1", "2"]


@pytest.mark.parametrize("count", [-1, 1.0, True, None, "3"])
def test_limit_refuses_what_is_no_count(count: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"limit = .*: allowed is a whole number, 0 or more"):
        Service().walk().limit(count)


def test_an_empty_limit_of_a_walk_that_stands_changes_nothing() -> None:
    service = Service((1, 2, 3, 4, 5))
    walk = service.walk(2)
    assert run(first(walk, 3)) == ["1", "2", "3"]
    asked = len(service.asked)
    assert all_of(walk.limit(0)) == []
    assert len(service.asked) == asked
    assert all_of(walk) == ["4", "5"]


# ── ends (design, decision 4) ──


class Script:
    """Pages by their place, as told; the last one for ever."""

    def __init__(self, *pages: tuple[Iterable[Any], Meta]) -> None:
        self.pages = list(pages)
        self.asked: list[dict[str, str]] = []

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.asked.append(dict(place))
        assert len(self.asked) <= 60, "the walk asks for ever"
        ids, meta = self.pages[min(len(self.asked), len(self.pages)) - 1]
        return Listing([Item(str(each)) for each in ids], meta, b"{}")

    def walk(self, size: int = 3, way: Any = "append", **rules: Any) -> Walk:
        start = Cursor("q", (("affix", way),) if way else (), way)
        told = Rules(key=attrgetter("id"), size=size, size_name="limit", **rules)
        return Walk(self.fetch, start, told, "messages.list_user")


def mark(id: Any, affix: Any = "append", **more: Any) -> Meta:
    return Meta(cursor=Mark(affix, id), **more)


@pytest.mark.parametrize("meta", [Meta(), Meta(cursor=Mark()), mark(None), mark(0), mark("0"), mark("")])
@pytest.mark.parametrize("ids", [(1, 2, 3), (1,), ()], ids=["full", "short", "empty"])
def test_a_page_without_a_cursor_is_the_last(meta: Meta, ids: tuple[int, ...]) -> None:
    script = Script((ids, meta))
    assert all_of(script.walk()) == [str(each) for each in ids]
    assert len(script.asked) == 1


def test_an_empty_page_whose_cursor_does_not_move_is_the_last() -> None:
    script = Script(((1, 2, 3), mark(3)), ((), mark(3)))
    assert all_of(script.walk()) == ["1", "2", "3"]
    assert len(script.asked) == 2


def test_an_empty_page_whose_cursor_moves_on_is_passed() -> None:
    script = Script(((1, 2, 3), mark(3)), ((), mark(9)), ((), mark(12)), ((13,), mark(13)), ((), mark(13)))
    assert all_of(script.walk()) == ["1", "2", "3", "13"]


def test_a_short_page_alone_is_not_the_last() -> None:
    script = Script(((1,), mark(1)), ((2, 3, 4), mark(4)), ((), mark(4)))
    assert all_of(script.walk()) == ["1", "2", "3", "4"]


def test_a_short_page_that_says_it_is_the_last_ends_the_walk() -> None:
    script = Script(((1,), mark(1, pagination=Pagination(0, 1, 3, 1, 1))), ((2,), mark(2)))
    assert all_of(script.walk()) == ["1"]
    assert len(script.asked) == 1


def test_a_thorough_walk_asks_once_more_even_then() -> None:
    script = Script(((1,), mark(1, pagination=Pagination(0, 1, 3, 1, 1))), ((2,), mark(2)), ((), mark(2)))
    assert all_of(script.walk().thorough()) == ["1", "2"]


@pytest.mark.parametrize(
    "numbers",
    [Pagination(0, 3, 3, 1, 1), Pagination(0, 1, 3, 1, 2), Pagination(0, 1, 3, None, 1), Pagination()],
    ids=["full", "not the last", "no current page", "nothing said"],
)
def test_pagination_that_does_not_say_short_and_last_ends_nothing(numbers: Pagination) -> None:
    ids = (1, 2, 3)[: numbers.count or 1]
    script = Script((ids, mark(ids[-1], pagination=numbers)), ((7,), mark(7)), ((), mark(7)))
    assert all_of(script.walk()) == [*map(str, ids), "7"]


def test_a_page_as_full_as_the_service_lets_it_be_is_not_short() -> None:
    """A service that caps the size it was asked for fills its pages with less."""
    numbers = Pagination(0, 2, 2, 1, 1)
    script = Script(((1, 2), mark(2, pagination=numbers)), ((3,), mark(3)), ((), mark(3)))
    assert all_of(script.walk(1000)) == ["1", "2", "3"]


@pytest.mark.parametrize("way", ["append", "prepend"])
def test_an_empty_page_where_the_walk_stands_ends_it_though_its_mark_is_for_the_other_way(way: Any) -> None:
    other = "prepend" if way == "append" else "append"
    script = Script(
        ((5,), mark(9 if way == "append" else 2, way)), ((), mark(9 if way == "append" else 2, other))
    )
    assert all_of(script.walk(1, way)) == ["5"]


@pytest.mark.parametrize(
    "cursor",
    [b'"opaque"', b'{"id":{"after":3},"affix":"append"}', b"[3]", b'{"id":[3]}', b"7", b"true"],
)
def test_a_cursor_that_cannot_be_read_is_no_silent_end(cursor: bytes) -> None:
    """The service says that there is more, in a way that is not known: the walk must not end as if done."""
    record = (
        b'{"id":"3","conversationId":"c","sender":"a","receiverType":"user","receiver":"b","category":'
        b'"message","type":"text","data":{"text":"x"},"sentAt":1,"updatedAt":1}'
    )
    body = b'{"data":[' + record + b'],"meta":{"cursor":' + cursor + b"}}"

    async def fetch(_: object) -> Any:
        return Many(MESSAGE)(body)

    walk: Walk = Walk(fetch, Cursor("q"), Script().walk(1)._rules, "messages.list_user")
    with pytest.raises(ChatRestError):
        run(walk.collect())


def test_the_way_is_the_one_that_the_service_says() -> None:
    script = Script(((7, 8, 9), mark(7, "prepend")), ((5, 6), mark(5, "prepend")), ((), mark(5, "prepend")))
    walk = script.walk(way=None)
    assert all_of(walk) == ["9", "8", "7", "6", "5"]
    assert walk.cursor.way == "prepend"


def test_without_a_word_of_the_service_the_way_is_that_of_its_first_page() -> None:
    assert all_of(Script(((9, 8, 7), Meta())).walk(way=None)) == ["9", "8", "7"]
    assert all_of(Script(((7, 9, 8), Meta())).walk(way=None)) == ["7", "8", "9"]


def test_a_record_that_was_skipped_over_is_an_error_and_not_a_loss() -> None:
    script = Script(((1, 5), mark(5)), ((3, 6), mark(6)), ((), mark(6)))
    walk = script.walk(2)
    found: list[str] = []
    with pytest.raises(CursorError, match=r"served id 3 after id 5"):
        run(items_of(walk, into=found))
    assert found == ["1", "5"]


def test_records_without_an_id_number_come_once_among_the_others() -> None:
    """Such as `UnknownMessage` for a record that is null: it has no id."""
    script = Script(((1, ""), mark(2)), (("", 3), mark(3)), ((), mark(3)))
    assert all_of(script.walk(2)) == ["", "1", "", "3"]


def test_a_token_after_a_record_without_an_id_number_does_not_repeat_the_border() -> None:
    pages = {"": ((1, 2), mark(2)), "2": ((2, "broken", 4), mark(4)), "4": ((4,), mark(4))}

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        ids, meta = pages[dict(place).get("id", "")]
        return Listing([Item(str(each)) for each in ids], meta, b"{}")

    rules = Script().walk()._rules
    told = run(tokens_of(Walk(fetch, Cursor("q", (), "append"), rules, "m")))
    whole = [each for each, _ in told]
    assert whole == ["1", "2", "broken", "4"]
    for count, (_, token) in enumerate(told, 1):
        assert all_of(Walk(fetch, Cursor.parse(token), rules, "m")) == whole[count:]


# ── circles ──


@dataclass
class Circle:
    """Goes on well for a while, then round and round, until it is mended."""

    length: int
    before: int = 1
    empty: bool = False
    kind: str = "number"
    """What a mark holds: a `number`, a `text`, or a `time` beside an id that stays."""
    broken: bool = True
    asked: int = 0

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.asked += 1
        assert self.asked <= 200, "the walk asks for ever"
        at = self.step_of(dict(place))
        last = self.before + self.length
        following = at + 1 if at < last or not self.broken else self.before + 1
        if not self.broken and at > last + 1:
            return Listing([], Meta(), b"{}")
        items = [] if self.empty and at else [Item(self.named(at + 1))]
        return Listing(items, Meta(cursor=self.mark(following)), b"{}")

    def mark(self, step: int) -> Mark:
        if self.kind == "time":
            return Mark("append", 500, sent_at=step)
        return Mark("append", self.named(step) if self.kind == "text" else step)

    def named(self, step: int) -> str:
        return f"t{step}" if self.kind == "text" else str(step)

    def step_of(self, place: dict[str, str]) -> int:
        return int(place.get("sentAt" if self.kind == "time" else "id", "0").removeprefix("t"))

    def walk(self, token: str | None = None) -> Walk:
        rules = Rules(key=attrgetter("id"), size=1, size_name="limit")
        start = Cursor.parse(token) if token else Cursor("q", (), "append")
        return Walk(self.fetch, start, rules, "messages.list_user")


lengths = pytest.mark.parametrize("length", [1, 2, 3, 7])
kinds = pytest.mark.parametrize("kind", ["number", "text", "time"])


@lengths
@kinds
@pytest.mark.parametrize("before", [0, 1, 4])
def test_cursors_that_go_round_are_an_error_after_their_items(length: int, kind: str, before: int) -> None:
    circle = Circle(length, before, kind=kind)
    found: list[str] = []
    with pytest.raises(
        CursorError, match=r"messages\.list_user: the cursor (does not move|goes back|comes back)"
    ):
        run(items_of(circle.walk(), into=found))
    assert found == [circle.named(each + 1) for each in range(length + before + 1)]


@pytest.mark.parametrize("length", [2, 3, 7])
@kinds
def test_cursors_that_go_round_over_empty_pages_are_an_error(length: int, kind: str) -> None:
    with pytest.raises(CursorError):
        run(Circle(length, empty=True, kind=kind).walk().collect())


@lengths
@kinds
@pytest.mark.parametrize("empty", [False, True])
def test_a_resumed_walk_finds_the_circle_too(length: int, kind: str, empty: bool) -> None:
    circle = Circle(length, before=3, kind=kind, empty=empty)
    told: list[str] = []

    async def read() -> None:
        walk = circle.walk()
        async for _ in walk:
            told.append(str(walk.cursor))

    if length > 1 or not empty:  # an empty page that stays is an end
        with pytest.raises(CursorError):
            run(read())
        for token in told:
            circle.asked = 0
            with pytest.raises(CursorError):
                run(circle.walk(token).collect())


@lengths
@kinds
def test_after_a_cursor_error_the_walk_asks_again_and_goes_on_if_the_service_has_recovered(
    length: int, kind: str
) -> None:
    circle = Circle(length, before=2, kind=kind)
    walk, found = circle.walk(), []
    for _ in range(2):
        asked = circle.asked
        with pytest.raises(CursorError):
            run(items_of(walk, into=found))
        assert circle.asked > asked
    circle.broken = False
    run(items_of(walk, into=found))
    assert found == [circle.named(each + 1) for each in range(length + 4)]


def test_collect_asks_again_after_a_cursor_error_too() -> None:
    broken, mended = ((3, 4), mark(2)), ((3, 4), mark(4))
    script = Script(((1, 2), mark(2)), broken)
    walk = script.walk(2)
    assert run(first(walk, 3)) == ["1", "2", "3"]
    with pytest.raises(CursorError):
        run(walk.collect())
    script.pages = [mended] * len(script.asked) + [mended, ((), mark(4))]
    try:
        found = all_of(walk)
    except CursorError:
        found = all_of(walk)
    assert found == ["4"]


def test_a_service_that_knows_one_page_number_alone_is_an_error() -> None:
    script = Script((("a", "b"), Meta(pagination=Pagination(0, 2, 2, 1, 9))))
    found: list[str] = []
    with pytest.raises(CursorError, match="nothing but what the page before it held"):
        run(items_of(script.walk(2, None, marks=False, pages=True), into=found))
    assert found == ["a", "b"]


@given(st.integers(0, 30), st.sampled_from([1, -1]))
@few
@example(0, 1)
def test_a_mark_behind_the_walk_is_an_error(back: int, sign: int) -> None:
    way = "append" if sign == 1 else "prepend"
    script = Script(((50,), mark(50, way)), ((50 + sign,), mark(50 - sign * back, way)))
    with pytest.raises(CursorError):
        run(script.walk(1, way).collect())


# ── what is shown ──


def test_a_walk_tells_where_it_stands() -> None:
    walk = Service((1, 2, 3)).walk()
    assert repr(walk) == "<Walk messages.list_user: not begun>"
    run(first(walk, 2))
    assert repr(walk) == "<Walk messages.list_user: append, last id 2>"


def test_a_page_shows_how_much_it_holds_and_not_what() -> None:
    page: Page[Item] = Page([Item("1")], Meta(), b'{"secret":"s3cr3t"}', Cursor("q"))
    assert repr(page) == str(page) == f"{page}" == "<Page of 1 items, 19 bytes>"


def test_rich_shows_no_more_of_a_page() -> None:
    page: Page[Item] = Page([], Meta(), b'{"secret":"s3cr3t"}', Cursor("q"))
    assert "s3cr3t" not in pretty_repr(page)


def test_a_pages_raw_bytes_and_repairs_are_those_of_its_reply() -> None:
    listing = Listing([Item("1")], Meta(), b'{"as":"served"}', ("data[0].id: mended",))

    async def fetch(_: object) -> Listing[Item]:
        return listing

    async def read() -> list[Page[Item]]:
        return [page async for page in Walk(fetch, Cursor("q"), Script().walk()._rules, "m").pages()]

    [page] = run(read())
    assert (page.raw, page.meta, page.repairs) == (listing.raw, listing.meta, listing.repairs)
