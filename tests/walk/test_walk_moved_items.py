"""Walks over a list whose items are deleted or moved between its pages; the service looks for its places."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_UPDATED
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Walk
from chatrest.errors import CursorError, NotFoundError
from tests.support.cases import loop_over
from tests.walk.service_model import all_of, facts_for, first, items_of, run, walk_over

DIRECTIONS = st.sampled_from(["append", "prepend"])
DIALECTS = ("id", "sentAt", "updatedAt")
COUNTS = ("left", "more", "pages", "whole", "position")


@dataclass(frozen=True)
class Entry:
    id: str
    sent_at: int
    updated_at: int


@dataclass
class ShiftingService:
    """A list whose place is looked for by the entry at it: without that entry, the page is empty."""

    count: int
    dialect: str = "id"
    """Also `sentAt`, with the time beside the id, and `updatedAt`, in the order of the last change."""
    counts: str = "left"
    """A page announces more by what is `left`, one `more` than the page has, the number of `pages`, the total
    of the `whole` list, or a `position`, which the last page lacks."""
    direction: Any = "append"
    is_missing_an_error: bool = False
    before: dict[int, Callable[["ShiftingService"], object]] = field(default_factory=dict)
    """Changes right before a request, by its number from 0."""
    asked: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries = [Entry(str(number), 1000 + number, 5000 + number) for number in self.ids]
        self.given = 0

    @property
    def ids(self) -> range:
        return range(1, self.count + 1)

    def delete(self, *ids: int) -> None:
        self.entries = [each for each in self.entries if int(each.id) not in ids]

    def edit(self, *ids: int) -> None:
        for number in ids:
            self.entries = [
                Entry(each.id, each.sent_at, 9000 + len(self.asked)) if int(each.id) == number else each
                for each in self.entries
            ]

    def walk(self, size: int = 3, token: str | None = None, **facts: Any) -> Walk[Any]:
        by_id = self.dialect != "updatedAt"
        start = Cursor("q", (("affix", self.direction),), self.direction, by_id=by_id)
        paging = BY_ID if by_id else BY_UPDATED
        facts_of = facts_for(size, "limit", paging, beginning=start.position, **facts)
        return walk_over(self.fetch, Cursor.parse(token) if token else start, facts_of)

    async def fetch(self, place: tuple[tuple[str, str], ...]) -> Listing[Any]:
        asked = dict(place)
        self.asked.append(asked)
        assert len(self.asked) <= 300, "the walk asks for ever"
        self.before.pop(len(self.asked) - 1, lambda _: None)(self)
        by_change = self.dialect == "updatedAt"
        ordered = sorted(self.entries, key=lambda each: (each.updated_at if by_change else 0, int(each.id)))
        if asked["affix"] == "prepend":
            ordered.reverse()
        name, size = "updatedAt" if by_change else "id", int(asked.get("limit", 3))
        keys = [str(each.updated_at) if by_change else each.id for each in ordered]
        if name in asked and asked[name] not in keys:
            if self.is_missing_an_error:
                raise NotFoundError("no such message", status=404, code="ERR_MESSAGE_ID_NOT_FOUND")
            return Listing([], self.meta([], [], size, asked["affix"]), b"{}")
        ahead = ordered[keys.index(asked[name]) + 1 :] if name in asked else ordered
        page = ahead[:size]
        return Listing(page, self.meta(page, ahead, size, asked["affix"]), b"{}")

    def meta(self, page: list[Entry], ahead: list[Entry], size: int, direction: str) -> Meta:
        has_more = len(ahead) > len(page)
        totals = {"left": len(ahead), "more": len(page) + has_more, "pages": 0, "whole": len(self.entries)}
        pages = -(-len(ahead) // size) if self.counts == "pages" else 1
        numbers = Pagination(totals.get(self.counts, 0), len(page), size, 1, pages)
        if self.counts == "position":
            return Meta(next=self.position(page[-1], direction)) if page and has_more else Meta()
        return Meta(pagination=numbers, cursor=self.position(page[-1], direction) if page else None)

    def position(self, entry: Entry, direction: str) -> Position:
        if self.dialect == "updatedAt":
            return Position(direction, updated_at=entry.updated_at)
        if self.dialect == "sentAt":
            return Position(direction, entry.id, sent_at=entry.sent_at)
        return Position(direction, int(entry.id))


def expected(service: ShiftingService) -> list[str]:
    return [
        str(number) for number in (service.ids if service.direction == "append" else reversed(service.ids))
    ]


@loop_over("dialect", DIALECTS)
@loop_over("counts", COUNTS)
@loop_over("direction", ["append", "prepend"])
@loop_over("thorough", [False, True])
@loop_over("is_missing_an_error", [False, True])
def test_a_walk_continues_if_the_item_of_the_position_is_deleted(
    dialect: str, counts: str, direction: str, thorough: bool, is_missing_an_error: bool
) -> None:
    service = ShiftingService(15, dialect, counts, direction, is_missing_an_error)
    border = 5 if direction == "append" else 11
    service.before = {1: lambda service: service.delete(border)}
    assert all_of(service.walk(5, thorough=thorough)) == expected(service)


@loop_over("dialect", DIALECTS)
@loop_over("counts", COUNTS)
@loop_over("direction", ["append", "prepend"])
@loop_over("size", [3, 4, 5, 20])
def test_the_check_costs_no_request_for_an_ordinary_list(
    dialect: str, counts: str, direction: str, size: int
) -> None:
    service = ShiftingService(15, dialect, counts, direction)
    assert all_of(service.walk(size)) == expected(service)
    sign = 1 if direction == "append" else -1
    # A lost position is asked for once more, and never an earlier one.
    places = [sign * int(asked.get("id") or asked.get("updatedAt") or 0) for asked in service.asked[1:]]
    assert places == sorted(places)


@loop_over("direction", ["append", "prepend"])
def test_a_token_resumes_although_its_item_is_deleted(direction: str) -> None:
    service = ShiftingService(9, direction=direction)
    border = 6 if direction == "append" else 4
    walk = service.walk(3)
    assert run(first(walk, 6)) == expected(service)[:6]
    token = str(walk.cursor)
    run(first(walk, 1))  # the token after the page
    service.delete(border)
    assert all_of(service.walk(3, token=token)) == expected(service)[6:]


def test_an_unordered_list_without_the_known_positions_is_an_error() -> None:
    service = ShiftingService(12, "updatedAt")
    service.before = {3: lambda service: service.delete(9, 6)}
    ids: list[str] = []
    with pytest.raises(CursorError, match="from an earlier position, too, though the page before it"):
        run(items_of(service.walk(3), into=ids))
    assert ids == expected(service)[:9]


def test_a_promise_that_is_always_made_costs_a_few_requests_at_the_end() -> None:
    service = ShiftingService(9)
    service.meta = lambda page, ahead, size, direction: Meta(  # type: ignore[method-assign]
        pagination=Pagination(5000, len(page), size, 1, 500),
        cursor=Position(direction, int(page[-1].id)) if page else None,
    )
    with pytest.raises(CursorError, match="an empty page, twice"):
        all_of(service.walk(3))
    assert len(service.asked) <= 9


CHANGES = st.lists(
    st.tuples(
        st.integers(1, 12), st.sampled_from(["delete", "edit"]), st.lists(st.integers(1, 20), max_size=4)
    ),
    max_size=6,
)


@given(
    st.sampled_from(DIALECTS), st.sampled_from(COUNTS), DIRECTIONS, st.integers(2, 6), st.integers(0, 20),
    CHANGES, st.booleans(), st.booleans(),
)  # fmt: skip
def test_every_remaining_item_is_returned_once(
    dialect: str, counts: str, direction: str, size: int, count: int, changes: list[Any], thorough: bool,
    is_missing_an_error: bool,
) -> None:  # fmt: skip
    service = ShiftingService(count, dialect, counts, direction, is_missing_an_error)
    changed: set[str] = set()
    for number, kind, ids in changes:
        service.before[number] = lambda service, kind=kind, ids=ids: getattr(service, kind)(*ids)  # type: ignore[misc]
        changed |= {str(each) for each in ids if kind == "delete" or dialect == "updatedAt"}
    ids = []
    try:
        run(items_of(service.walk(size, thorough=thorough), into=ids))
    except CursorError:
        assert dialect == "updatedAt"  # both of its places are gone
        return
    stayed = [each for each in expected(service) if each not in changed]
    assert [each for each in ids if each not in changed] == stayed
