"""The end of a walk: at the last page, and nowhere else; cycles, and how an end is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing
from chatrest._models.meta import Meta, Position
from chatrest._walk.walk import Fetch, Page, Walk
from chatrest.errors import ApiError, CursorError, NotFoundError, api_error_class
from tests.cases import loop_over
from tests.walk.service_model import (
    Item,
    Service,
    all_of,
    first,
    items_of,
    rules_for,
    run,
    tokens_of,
    walk_over,
)

# ── ends (design, decision 4) ──


class Script:
    """The given pages in order, and then the last one for ever."""

    def __init__(self, *pages: tuple[Iterable[Any], Meta]) -> None:
        self.pages = list(pages)
        self.requests: list[dict[str, str]] = []

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.requests.append(dict(place))
        assert len(self.requests) <= 60, "the walk asks for ever"
        ids, meta = self.pages[min(len(self.requests), len(self.pages)) - 1]
        return Listing([Item(str(each)) for each in ids], meta, b"{}")

    def walk(self, size: int = 3, way: Any = "append", largest: int = 0, **rules: Any) -> Walk[Any]:
        start = Cursor("q", (("affix", way),) if way else (), way)
        return walk_over(self.fetch, start, rules_for(size, **rules), largest=largest)


def mark(id: Any, affix: Any = "append", **more: Any) -> Meta:
    return Meta(cursor=Position(affix, id), **more)


@pytest.mark.parametrize(
    ("ids", "direction"), [((9, 8, 7), "prepend"), ((7, 9, 8), "append"), ((7, 8, 9), "append")]
)
def test_a_list_that_says_no_direction_is_asked_again_in_that_of_its_first_page(
    ids: tuple[int, ...], direction: str
) -> None:
    script = Script((ids, Meta()), (ids, Meta()), ((), Meta()))
    assert all_of(script.walk(way=None)) == sorted(map(str, ids), reverse=direction == "prepend")
    last = {"append": "9", "prepend": "7"}[direction]
    assert [request.get("affix") for request in script.requests] == [None, direction, direction]
    assert script.requests[2]["id"] == last


def test_records_without_an_id_number_come_once_among_the_others() -> None:
    """Such as `UnknownMessage` for a record that is null: it has no id."""
    script = Script(((1, ""), mark(2)), (("", 3), mark(3)), ((), mark(3)))
    assert all_of(script.walk(2)) == ["", "1", "", "3"]


def test_a_token_after_a_record_without_an_id_number_does_not_repeat_the_border() -> None:
    pages = {"": ((1, 2), mark(2)), "2": ((2, "broken", 4), mark(4)), "4": ((4,), mark(4))}

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        ids, meta = pages[dict(place).get("id", "")]
        return Listing([Item(str(each)) for each in ids], meta, b"{}")

    pairs = run(tokens_of(walk_over(fetch, Cursor("q", (), "append"))))
    whole = [each for each, _ in pairs]
    assert whole == ["1", "2", "broken", "4"]
    for count, (_, token) in enumerate(pairs, 1):
        assert all_of(walk_over(fetch, Cursor.parse(token))) == whole[count:]


# ── circles ──


@dataclass
class Circle:
    """A list that continues for a while, and then repeats its pages until it is mended."""

    length: int
    before: int = 1
    empty: bool = False
    kind: str = "number"
    """What a mark holds: a `number`, a `text`, or a `time` beside an id that stays."""
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
        return Listing(items, Meta(cursor=self.mark(following)), b"{}")

    def mark(self, step: int) -> Position:
        if self.kind == "time":
            return Position("append", 500, sent_at=step)
        return Position("append", self.named(step) if self.kind == "text" else step)

    def named(self, step: int) -> str:
        return f"t{step}" if self.kind == "text" else str(step)

    def step_of(self, place: dict[str, str]) -> int:
        return int(place.get("sentAt" if self.kind == "time" else "id", "0").removeprefix("t"))

    def walk(self, token: str | None = None) -> Walk:
        start = Cursor.parse(token) if token else Cursor("q", (), "append")
        return walk_over(self.fetch, start, rules_for(1))


lengths = loop_over("length", [1, 2, 3, 7])
kinds = loop_over("kind", ["number", "text", "time"])


@lengths
@kinds
@loop_over("before", [0, 1, 4])
def test_cursors_that_go_round_are_an_error_after_their_items(length: int, kind: str, before: int) -> None:
    circle = Circle(length, before, kind=kind)
    ids: list[str] = []
    with pytest.raises(
        CursorError, match=r"messages\.list_user: the cursor (does not move|goes back|repeats)"
    ):
        run(items_of(circle.walk(), into=ids))
    assert ids == [circle.named(each + 1) for each in range(length + before + 1)]


@lengths
@kinds
@pytest.mark.parametrize("empty", [False, True])
def test_a_resumed_walk_finds_the_circle_too(length: int, kind: str, empty: bool) -> None:
    circle = Circle(length, before=3, kind=kind, empty=empty)
    tokens: list[str] = []

    async def read() -> None:
        walk = circle.walk()
        async for _ in walk:
            tokens.append(str(walk.cursor))

    if length > 1 or not empty:  # an empty page that stays is an end
        with pytest.raises(CursorError):
            run(read())
        for token in tokens:
            circle.requests = 0
            with pytest.raises(CursorError):
                run(circle.walk(token).collect())


@lengths
@kinds
def test_after_a_cursor_error_the_walk_asks_again_and_goes_on_if_the_service_has_recovered(
    length: int, kind: str
) -> None:
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


# ── what is shown ──


def test_a_walk_tells_where_it_stands() -> None:
    walk = Service((1, 2, 3)).walk()
    assert repr(walk) == "<Walk messages.list_user: not begun>"
    run(first(walk, 2))
    assert repr(walk) == "<Walk messages.list_user: append, last id 2>"


def test_a_page_shows_how_much_it_holds_and_not_what() -> None:
    page: Page[Item] = Page([Item("1")], Meta(), b'{"secret":"s3cr3t"}', Cursor("q"))
    assert repr(page) == str(page) == f"{page}" == "<Page of 1 items, 19 bytes>"


# ── replies that stand for an empty page ──


def failing(first: Listing[Item] | None, error: ApiError) -> Fetch[Item]:
    """A fetch of a list with one page or none, and an error in the place of any other."""

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        if first is None or "id" in dict(place):
            raise error
        return first

    return fetch


def missing(code: str | None, status: int = 404) -> ApiError:
    return api_error_class(status, code)("x", status=status, code=code)


FIRST = Listing([Item("1"), Item("2"), Item("3")], mark(3), b"{}")
START = Cursor("q", (("affix", "append"),), "append")


@loop_over(
    "error",
    [missing(None), missing("ERR_MESSAGE_ID_NOT_FOUND"), missing("ERR_X"), missing("A_NO_MESSAGES", 400)],
)
def test_an_error_after_a_page_that_says_that_nothing_follows_is_the_end(error: ApiError) -> None:
    assert all_of(walk_over(failing(FIRST, error), START)) == ["1", "2", "3"]


def test_a_code_of_no_messages_is_an_empty_list() -> None:
    assert all_of(walk_over(failing(None, missing("ERR_NO_MESSAGES", 400)), START)) == []


@loop_over(
    ("first", "code"),
    [
        (None, None),
        (None, "ERR_UID_NOT_FOUND"),
        (FIRST, "ERR_GUID_NOT_FOUND"),
        (FIRST, "ERR_ROUTE_NOT_FOUND"),
    ],
)
def test_what_is_missing_itself_is_no_end(first: Listing[Item] | None, code: str | None) -> None:
    with pytest.raises(NotFoundError):
        all_of(walk_over(failing(first, missing(code)), START))


@loop_over("code", ["ERR_CURSOR_EXPIRED", "ERR_INVALID_CURSOR", "ERR_PAGE_TOKEN_EXPIRED"])
def test_a_code_of_an_expired_cursor_is_a_cursor_error(code: str) -> None:
    with pytest.raises(CursorError, match="the service refuses the position") as caught:
        all_of(walk_over(failing(FIRST, missing(code, 400)), START))
    assert isinstance(caught.value.__cause__, ApiError)
