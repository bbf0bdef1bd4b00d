"""The end of a walk: at the last page, and nowhere else; cycles, and how an end is shown."""

import weakref
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.walk_state import LargestPage
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_NEXT, BY_PAGE
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Fetch, Page, Walk
from chatrest.errors import ApiError, CursorError, NotFoundError, api_error_class
from tests.support.cases import loop_over
from tests.walk.any_server import Server
from tests.walk.service_model import (
    Item,
    Service,
    all_of,
    facts_for,
    few,
    first,
    items_of,
    run,
    tokens_of,
    walk_over,
)


def meta_at(id: Any, affix: Any = "append", **more: Any) -> Meta:
    return Meta(cursor=Position(affix, id), **more)


def test_a_token_after_a_record_without_a_number_repeats_no_item() -> None:
    pages = {"": ((1, 2), meta_at(2)), "2": ((2, "broken", 4), meta_at(4)), "4": ((4,), meta_at(4))}

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        ids, meta = pages[dict(place).get("id", "")]
        return Listing([Item(str(each)) for each in ids], meta, b"{}")

    pairs = run(tokens_of(walk_over(fetch, Cursor("q", (), "append"))))
    whole = [each for each, _ in pairs]
    assert whole == ["1", "2", "broken", "4"]
    for count, (_, token) in enumerate(pairs, 1):
        assert all_of(walk_over(fetch, Cursor.parse(token))) == whole[count:]


@dataclass
class Circle:
    """A list that continues for a while, and then repeats its pages until it is mended."""

    length: int
    before: int = 1
    empty: bool = False
    kind: str = "number"
    """The value of a position: a `number`, a `text`, or a `time` beside an id that stays."""
    broken: bool = True
    requests: int = 0

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.requests += 1
        assert self.requests <= 200, "the walk asks for ever"
        at = self.step_of(dict(place))
        last = self.before + self.length
        following = at + 1 if at < last or not self.broken else self.before + 1
        if not self.broken and at > last + 1:
            return Listing([], Meta(), b"{}")
        items = [] if self.empty and at else [Item(self.named(at + 1))]
        return Listing(items, Meta(cursor=self.position_at(following)), b"{}")

    def position_at(self, step: int) -> Position:
        if self.kind == "time":
            return Position("append", 500, sent_at=step)
        return Position("append", self.named(step) if self.kind == "text" else step)

    def named(self, step: int) -> str:
        return f"t{step}" if self.kind == "text" else str(step)

    def step_of(self, place: dict[str, str]) -> int:
        return int(place.get("sentAt" if self.kind == "time" else "id", "0").removeprefix("t"))

    def walk(self, token: str | None = None) -> Walk:
        start = Cursor.parse(token) if token else Cursor("q", (), "append")
        return walk_over(self.fetch, start, facts_for(1))


lengths = loop_over("length", [1, 2, 3, 7])
kinds = loop_over("kind", ["number", "text", "time"])


@lengths
@kinds
@loop_over("before", [0, 1, 4])
@loop_over("empty", [False, True])
def test_repeated_cursors_are_an_error_after_their_items(
    length: int, kind: str, before: int, empty: bool
) -> None:
    if length == 1 and empty:  # an empty page that stays is an end
        return
    circle = Circle(length, before, kind=kind, empty=empty)
    pairs: list[tuple[str, str]] = []

    async def read() -> None:
        walk = circle.walk()
        async for item in walk:
            pairs.append((item.id, str(walk.cursor)))

    words = r"messages\.list_user: the cursor (does not move|goes back|repeats)"
    with pytest.raises(CursorError, match=words):
        run(read())
    assert [each for each, _ in pairs] == [
        circle.named(n + 1) for n in range(1 if empty else length + before + 1)
    ]
    for _, token in pairs:
        circle.requests = 0
        with pytest.raises(CursorError, match=words):
            run(circle.walk(token).collect())


@lengths
@kinds
def test_a_walk_continues_after_a_cursor_error_if_the_service_recovers(length: int, kind: str) -> None:
    circle = Circle(length, before=2, kind=kind)
    walk, ids = circle.walk(), []
    for _ in range(2):
        asked = circle.requests
        with pytest.raises(CursorError):
            run(items_of(walk, into=ids))
        assert circle.requests > asked
    circle.broken = False
    run(items_of(walk, into=ids))
    assert ids == [circle.named(each + 1) for each in range(length + 4)]


def test_a_walk_shows_the_position() -> None:
    walk = Service((1, 2, 3)).walk()
    assert repr(walk) == "<Walk messages.list_user: not begun>"
    run(first(walk, 2))
    assert repr(walk) == "<Walk messages.list_user: append, last id 2>"
    assert weakref.ref(walk)() is walk


def test_the_repr_of_a_page_shows_counts_and_no_items() -> None:
    page: Page[Item] = Page([Item("1")], Meta(), b'{"secret":"s3cr3t"}', Cursor("q"))
    assert repr(page) == str(page) == f"{page}" == "<Page of 1 items, 19 bytes>"


def failing(first: Listing[Item] | None, error: ApiError) -> Fetch[Item]:
    """A fetch of a list with one page or none, and an error in the place of any other."""

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        if first is None or "id" in dict(place):
            raise error
        return first

    return fetch


def missing(code: str | None, status: int = 404) -> ApiError:
    return api_error_class(status, code)("x", status=status, code=code)


FIRST = Listing([Item("1"), Item("2"), Item("3")], meta_at(3), b"{}")
START = Cursor("q", (("affix", "append"),), "append")


def test_a_code_of_no_messages_is_an_empty_list() -> None:
    for page, ids in ((None, []), (FIRST, ["1", "2", "3"])):
        assert all_of(walk_over(failing(page, missing("ERR_NO_MESSAGES", 400)), START)) == ids


@loop_over(
    ("first", "code"),
    [
        (None, None),
        (None, "ERR_UID_NOT_FOUND"),
        (FIRST, "ERR_GUID_NOT_FOUND"),
        (FIRST, "ERR_ROUTE_NOT_FOUND"),
    ],
)
def test_a_404_of_the_collection_is_no_end(first: Listing[Item] | None, code: str | None) -> None:
    with pytest.raises(NotFoundError):
        all_of(walk_over(failing(first, missing(code)), START))


@loop_over("code", [None, "ERR_MESSAGE_NOT_FOUND", "ERR_X"])
@loop_over("size", [3, 9])  # a full page with a position, and a short one
@loop_over("counted", [250, 3, None])
def test_a_position_that_is_not_found_is_no_end_unless_all_was_counted(
    code: str | None, size: int, counted: int | None
) -> None:
    page = Listing([Item("1"), Item("2"), Item("3")], meta_at(3, pagination=Pagination(total=counted)), b"{}")
    walk = walk_over(failing(page, missing(code)), START, facts_for(size, thorough=True))
    if counted == 3:
        assert all_of(walk) == ["1", "2", "3"]
        return
    items = list[str]()
    with pytest.raises(CursorError, match="what follows id=3 cannot be asked for"):
        run(items_of(walk, into=items))
    assert items == ["1", "2", "3"], "all that was given before comes first"


def test_a_page_number_beyond_the_last_one_may_be_not_found() -> None:
    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        if dict(position).get("page", "1") != "1":
            raise missing(None)
        return Listing([Item("a"), Item("b")], Meta(), b"{}")

    assert all_of(walk_over(fetch, Cursor("q", by_id=False), facts_for(2, "perPage", BY_PAGE))) == ["a", "b"]


@loop_over("is_refused", [True, False])
@loop_over("direction", ["append", "prepend"])
@loop_over("cap", [4, 10, 100])
@loop_over("counted", [None, 25])
def test_an_item_that_is_listed_and_cannot_be_asked_from_hides_nothing(
    is_refused: bool, direction: str, cap: int, counted: int | None
) -> None:
    """As of a message that was deleted softly: the walk asks from the item before it."""
    ids = list(range(1, 26)) if direction == "append" else list(range(25, 0, -1))
    asked = list[str]()

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        place = dict(position).get("id", "")
        asked.append(place)
        assert len(asked) < 60, "the walk asks for ever"
        if place and ids.index(int(place)) % cap == cap - 1:
            if is_refused:
                raise missing("ERR_MESSAGE_NOT_FOUND")
            return Listing([], Meta(), b"{}")
        start = ids.index(int(place)) + 1 if place else 0
        page = ids[start : start + cap]
        pagination = None if counted is None else Pagination(counted, len(page), 1000, 1, 7)
        return Listing(
            [Item(str(each)) for each in page],
            meta_at(page[-1] if page else int(place), direction, pagination=pagination),
            b"{}",
        )

    start = Cursor("q", (("affix", direction),), direction)  # type: ignore[arg-type]
    for size in (cap, 1000) if is_refused else (cap,):  # of a short page an empty one is the end
        asked.clear()
        assert all_of(walk_over(fetch, start, facts_for(size))) == [str(each) for each in ids]


@loop_over("has_cursor", [True, False])
@loop_over(("count", "size"), [(1, 1000), (2, 1000), (5, 2), (101, 100), (4, 2)])
def test_a_refused_page_after_the_last_item_is_the_end(has_cursor: bool, count: int, size: int) -> None:
    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        place = int(dict(position).get("id", "0"))
        page = list(range(place + 1, count + 1))[:size]
        if not page:
            raise missing("ERR_MESSAGE_NOT_FOUND")
        return Listing(
            list(map(Item, map(str, page))), meta_at(page[-1], "append") if has_cursor else Meta(), b"{}"
        )

    start = Cursor("q", (("affix", "append"),), "append")
    assert len(all_of(walk_over(fetch, start, facts_for(size)))) == count


@loop_over(("size", "at"), [(2, 3), (2, 4), (3, 3), (3, 2)])
def test_an_item_that_is_deleted_between_two_pages_hides_nothing(size: int, at: int) -> None:
    """A page begins with the item that is asked from, and what is gone is refused."""
    ids, requests = set(range(1, 13)), 0

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        nonlocal requests
        requests += 1
        place = int(dict(position).get("id", "0"))
        if place and place not in ids:
            raise missing("ERR_MESSAGE_NOT_FOUND")
        page = sorted(each for each in ids if each >= place)[:size]
        if requests == at:
            ids.discard(page[-1])
        return Listing(list(map(Item, map(str, page))), Meta(), b"{}")

    start = Cursor("q", (("affix", "append"),), "append")
    assert len(all_of(walk_over(fetch, start, facts_for(size)))) == 12


@loop_over("code", ["ERR_CURSOR_EXPIRED", "ERR_INVALID_CURSOR", "ERR_PAGE_TOKEN_EXPIRED"])
def test_a_code_of_an_expired_cursor_is_a_cursor_error(code: str) -> None:
    with pytest.raises(CursorError, match="the service refuses the position") as caught:
        all_of(walk_over(failing(FIRST, missing(code, 400)), START))
    assert isinstance(caught.value.__cause__, ApiError)


def test_small_lists_cost_next_to_no_request_more() -> None:
    largest, requests = LargestPage(), 0
    for number in range(300):
        names = tuple(map(str, range(1, 1 + number * 37 % 61)))
        service = Server(names, 100, pagination="first of one", largest=largest)
        assert len(all_of(service.walk("append"))) == len(names)
        requests += service.requests
    assert requests <= 330


@few
@given(st.permutations(range(1, 13)), st.integers(1, 5), st.sampled_from(["append", "prepend"]))
def test_a_list_by_time_is_returned_in_that_order_and_resumable(
    ids: list[int], size: int, direction: Any
) -> None:
    items = [Item(str(each), 100 + place) for place, each in enumerate(ids)]
    ordered = items if direction == "append" else items[::-1]
    times = {item.id: item.sent_at for item in items}

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(position)
        place = next((n + 1 for n, item in enumerate(ordered) if str(item.sent_at) == asked.get("sentAt")), 0)
        page = ordered[place : place + size]
        edge = page[-1] if page else None
        cursor = Position(direction, edge.id, edge.sent_at) if edge else None
        return Listing(sorted(page, key=lambda item: item.sent_at), Meta(next=cursor), b"{}")

    start = Cursor("q", (("affix", direction),), direction)
    facts = facts_for(size, paging=BY_NEXT)
    tokens = run(tokens_of(walk_over(fetch, start, facts)))
    assert {each for each, _ in tokens} == times.keys()
    assert len(tokens) == len(items)
    for count, (_, token) in enumerate(tokens, 1):
        rest = all_of(walk_over(fetch, Cursor.parse(token), facts))
        assert rest == [each for each, _ in tokens[count:]]


def test_a_list_by_time_and_page_numbers_has_the_requested_direction() -> None:
    """A service that pages by number only, and the opposite direction where no affix is sent."""
    ids = [3, 1, 4, 15, 9, 2, 6, 5]
    rising = [Item(str(each), 100 + place) for place, each in enumerate(ids)]

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(position)
        items = rising if asked.get("affix") == "append" else rising[::-1]
        place = 3 * (int(asked.get("page", 1)) - 1)
        page = sorted(items[place : place + 3], key=lambda item: item.sent_at)
        return Listing(page, Meta(pagination=Pagination(0, len(page), 3, 1, 1)), b"{}")

    walk = walk_over(fetch, Cursor("q"), facts_for(3))
    assert sorted(map(int, all_of(walk))) == sorted(ids)


@dataclass
class Numbered:
    """A list by page numbers that changes between two requests, or ignores them."""

    names: str
    ignores: bool = False
    inserts: dict[int, str] = field(default_factory=dict)
    """Items that are added to the front, by the number of the request after them, from 0."""
    requests: int = 0

    async def fetch(self, position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.names = self.inserts.get(self.requests, "") + self.names
        self.requests += 1
        assert self.requests < 40, "the walk asks for ever"
        page = 1 if self.ignores else int(dict(position).get("page", 1))
        return Listing([Item(name) for name in self.names[(page - 1) * 3 : page * 3]], Meta(), b"{}")

    def walk(self, token: str | None = None) -> Walk[Any]:
        start = Cursor("q", by_id=False) if token is None else Cursor.parse(token)
        return walk_over(self.fetch, start, facts_for(3, "perPage", BY_PAGE))


@loop_over("inserts", [{1: "x"}, {1: "xy"}, {2: "x"}, {1: "x", 2: "y"}])
def test_a_numbered_list_that_grows_at_the_front_loses_and_repeats_no_item(inserts: Any) -> None:
    names = all_of(Numbered("abcdefgh", inserts=inserts).walk())
    assert names == list("abcdefgh")


@pytest.mark.parametrize("inserts", ["", "x", "xy"])
def test_a_token_of_a_grown_numbered_list_resumes_after_the_last_item(inserts: str) -> None:
    tokens = run(tokens_of(Numbered("abcdefgh").walk()))
    for place, (name, token) in enumerate(tokens, 1):
        service = Numbered(inserts + "abcdefgh")
        rest = all_of(service.walk(token))
        is_on_the_page = (place - 1) % 3 + len(inserts) < 3
        if is_on_the_page or place % 3 == 0:  # else a page further on, where nothing recognises it
            assert rest == list("abcdefgh"[place:]), f"after {name}"
