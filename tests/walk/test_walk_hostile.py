"""Services that mislead a walk: the walk gives the complete list, or an error."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.page_sizes import LargestPage
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_NEXT, BY_PAGE
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Walk
from tests.cases import loop_over
from tests.walk.service_model import Item, all_of, few, rules_for, run, tokens_of, walk_over
from tests.walk.test_walk_any_server import Server

# ── small lists ──


def test_small_lists_cost_next_to_no_request_more() -> None:
    largest, requests = LargestPage(), 0
    for number in range(300):
        names = tuple(map(str, range(1, 1 + number * 37 % 61)))
        service = Server(names, 100, pagination="first of one", largest=largest)
        assert len(all_of(service.walk("append"))) == len(names)
        requests += service.requests
    assert requests <= 330


# ── orders ──


@few
@given(st.permutations(range(1, 13)), st.integers(1, 5), st.sampled_from(["append", "prepend"]))
def test_a_list_that_goes_by_time_comes_in_that_order_and_is_resumable(
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
    rules = rules_for(size, paging=BY_NEXT)
    tokens = run(tokens_of(walk_over(fetch, start, rules)))
    assert {each for each, _ in tokens} == times.keys()
    assert len(tokens) == len(items)
    for count, (_, token) in enumerate(tokens, 1):
        rest = all_of(walk_over(fetch, Cursor.parse(token), rules))
        assert rest == [each for each, _ in tokens[count:]]


def test_a_list_by_time_and_page_numbers_keeps_the_direction_that_was_asked_for() -> None:
    """A service that pages by number only, and the other way where no affix is sent."""
    ids = [3, 1, 4, 15, 9, 2, 6, 5]
    rising = [Item(str(each), 100 + place) for place, each in enumerate(ids)]

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        asked = dict(position)
        items = rising if asked.get("affix") == "append" else rising[::-1]
        place = 3 * (int(asked.get("page", 1)) - 1)
        page = sorted(items[place : place + 3], key=lambda item: item.sent_at)
        return Listing(page, Meta(pagination=Pagination(0, len(page), 3, 1, 1)), b"{}")

    walk = walk_over(fetch, Cursor("q"), rules_for(3))
    assert sorted(map(int, all_of(walk))) == sorted(ids)


def test_two_records_of_one_id_that_differ_both_arrive_and_are_resumable() -> None:
    items = [Item("1"), Item("5", 7), Item("5", 8), Item("05", 7), Item("5", 7), Item("6")]

    async def fetch(position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        return Listing(items if "id" not in dict(position) else [], Meta(cursor=Position("append", 6)), b"{}")

    start = Cursor("q", (("affix", "append"),), "append")
    walk = walk_over(fetch, start, rules_for(6))
    given_items = run(walk.collect())
    assert sorted(given_items, key=repr) == sorted({*items}, key=repr)
    tokens = run(tokens_of(walk_over(fetch, start, rules_for(6))))
    for count, (_, token) in enumerate(tokens, 1):
        assert run(walk_over(fetch, Cursor.parse(token), rules_for(6)).collect()) == given_items[count:]


# ── taken up again ──


@dataclass
class WholeCounted:
    """Counts the whole list on every page: each is page 1 of all of them."""

    count: int

    async def fetch(self, position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        place = int(dict(position).get("id", 0))
        ids = range(place + 1, min(place + 3, self.count + 1))
        numbers = Pagination(self.count, len(ids), 2, 1, -(-self.count // 2))
        cursor = Position("append", ids[-1] if ids else place)
        return Listing([Item(str(each)) for each in ids], Meta(pagination=numbers, cursor=cursor), b"{}")


def test_a_walk_resumed_on_a_list_that_counts_the_whole_of_it_ends_without_an_error() -> None:
    service = WholeCounted(7)
    tokens = run(tokens_of(walk_over(service.fetch, Cursor("q", (), "append"), rules_for(2))))
    for place, (_, token) in enumerate(tokens, 1):
        rest = all_of(walk_over(service.fetch, Cursor.parse(token), rules_for(2)))
        assert rest == [str(each) for each in range(place + 1, 8)]


def test_a_second_loop_over_a_list_that_counts_the_whole_of_it_gives_what_is_new() -> None:
    service = WholeCounted(5)
    walk = walk_over(service.fetch, Cursor("q", (), "append"), rules_for(2))
    assert all_of(walk) == list("12345")
    assert all_of(walk) == []
    service.count = 8
    assert all_of(walk) == list("678")


@dataclass
class Numbered:
    """A list by page numbers that changes between two requests, or ignores them."""

    names: str
    ignores: bool = False
    inserts: dict[int, str] = field(default_factory=dict)
    """What comes to its front before which request, counted from 0."""
    requests: int = 0

    async def fetch(self, position: tuple[tuple[str, str], ...]) -> Listing[Item]:
        self.names = self.inserts.get(self.requests, "") + self.names
        self.requests += 1
        assert self.requests < 40, "the walk asks for ever"
        page = 1 if self.ignores else int(dict(position).get("page", 1))
        return Listing([Item(name) for name in self.names[(page - 1) * 3 : page * 3]], Meta(), b"{}")

    def walk(self, token: str | None = None) -> Walk[Any]:
        start = Cursor("q", by_id=False) if token is None else Cursor.parse(token)
        return walk_over(self.fetch, start, rules_for(3, "perPage", BY_PAGE))


@loop_over("inserts", [{1: "x"}, {1: "xy"}, {2: "x"}, {1: "x", 2: "y"}])
def test_a_numbered_list_that_grows_at_its_front_repeats_nothing_and_loses_nothing(inserts: Any) -> None:
    names = all_of(Numbered("abcdefgh", inserts=inserts).walk())
    assert names == list("abcdefgh")


@pytest.mark.parametrize("inserts", ["", "x", "xy"])
def test_a_token_of_a_numbered_list_that_has_grown_since_goes_on_behind_its_last_item(inserts: str) -> None:
    tokens = run(tokens_of(Numbered("abcdefgh").walk()))
    for place, (name, token) in enumerate(tokens, 1):
        service = Numbered(inserts + "abcdefgh")
        rest = all_of(service.walk(token))
        is_on_the_page = (place - 1) % 3 + len(inserts) < 3
        if is_on_the_page or place % 3 == 0:  # else a page further on, where nothing recognises it
            assert rest == list("abcdefgh"[place:]), f"after {name}"
