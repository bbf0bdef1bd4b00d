"""Pieces of a list: together they are the list, and positions that a service rejects are reported."""

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._walk.walk import Walk
from chatrest.errors import ChatRestError, CursorError, NotFoundError
from chatrest.export.fetch.jobs import ListPiece
from chatrest.export.fetch.piece_reader import PiecePage, PositionRefusedError, piece_pages
from chatrest.export.plan.message_ids import LAST
from tests.support.cases import loop_over
from tests.walk.service_model import Item, Service, few, run, services, sizes, walk_over

Pairs = tuple[tuple[str, str], ...]


@dataclass
class Strange(Service):
    """A list in which an id that it does not hold is taken in its own way."""

    kind: str = "refuses"
    error: ChatRestError | None = None
    """The error that is raised in place of the own one."""

    async def fetch(self, place: Pairs) -> Listing[Item]:
        asked = dict(place)
        if "id" not in asked or int(asked["id"]) in self.ids:
            return await super().fetch(place)
        if self.kind == "ignores":
            return self.page_by_position({name: value for name, value in asked.items() if name != "id"})
        if self.kind == "is empty":
            position = Position("append", int(asked["id"]))
            return Listing([], Meta(Pagination(0, 0, 3, 1, 1), position), b"{}")
        raise self.error or NotFoundError("no such message")


def by_id(**fixed: Any) -> st.SearchStrategy[Service]:
    return services(dialect="cursor", text=False, **fixed)


def piece(after: int = 0, until: int = LAST, **more: Any) -> ListPiece:
    return ListPiece(job="a list", after=after, until=until, **more)


async def pages_of(walk: Walk[Any], part: ListPiece) -> list[PiecePage]:
    async with aclosing(piece_pages(walk, part)) as pages:
        return [page async for page in pages]


def read(service: Service, size: int, part: ListPiece) -> list[PiecePage]:
    return run(pages_of(service.walk(size), part))


def ids(pages: list[PiecePage]) -> list[str]:
    return [item.id for page in pages for item in page.items]


@few
@given(by_id(), sizes, st.lists(st.integers(1, 60), max_size=5))
def test_the_pieces_of_a_list_are_the_list(service: Service, size: int, cuts: list[int]) -> None:
    expected = service.expected("append")
    assume(expected)
    begins = [0, *sorted({cut for cut in cuts if cut < int(expected[-1])})]
    got = list[str]()
    for after, until in zip(begins, [*begins[1:], LAST], strict=True):
        pages, covered = read(service, size, piece(after, until, is_guess=after > 0)), after
        got += ids(pages)
        for page in pages:
            numbers = [int(item.id) for item in page.items]
            assert numbers == sorted(numbers)
            assert all(covered < number <= page.covered for number in numbers)
            covered = page.covered
        assert covered <= until
    assert got == expected


@few
@given(by_id(), sizes, st.data())
def test_a_piece_continues_after_the_ids_that_any_page_covers(
    service: Service, size: int, data: st.DataObject
) -> None:
    expected = service.expected("append")
    assume(len(expected) > 1)
    end = int(data.draw(st.sampled_from(expected)))
    whole = read(service, size, piece(0, end))
    assert ids(whole) == [text for text in expected if int(text) <= end]
    count = data.draw(st.integers(1, len(whole)))
    last = whole[count - 1]
    if last.covered < end:
        rest = piece(last.covered, end, position=last.position, is_guess=not last.position)
        assert ids(whole[:count]) + ids(read(replace(service, asked=[]), size, rest)) == ids(whole)


@loop_over("odd", ["m-7", "", "9" * 25, "9" * 5000])
def test_items_with_text_ids_are_stored_and_cover_no_interval(odd: str) -> None:
    async def fetch(position: Pairs) -> Listing[Item]:
        if dict(position).get("id") == "1000":
            return Listing([], Meta(), b"{}")
        items = [Item(odd), *(Item(str(number)) for number in range(1, 6))]
        return Listing(items, Meta(cursor=Position("append", 1000)), b"{}")

    [page] = run(pages_of(walk_over(fetch, Cursor("q")), piece(0, 4)))
    assert sorted(ids([page])) == sorted([odd, "1", "2", "3", "4"])
    assert page.covered == 4


EVEN = tuple(range(2, 100, 2))


@loop_over("kind", ["refuses", "ignores", "is empty"])
def test_a_refused_guess_is_distinguished_from_a_piece_without_items(kind: str) -> None:
    with pytest.raises(PositionRefusedError) as caught:
        read(Strange(EVEN, kind=kind), 4, piece(50, 60, is_guess=True))
    assert caught.value.is_guess
    named = (("affix", "append"), ("id", "50"))
    pages = read(Strange(EVEN, kind=kind), 4, piece(50, 60, position=named))
    assert ids(pages) == ["52", "54", "56", "58", "60"]


def test_a_position_that_the_service_had_named_may_be_refused_later() -> None:
    named = (("affix", "append"), ("id", "51"))
    with pytest.raises(PositionRefusedError) as caught:
        read(Strange(EVEN), 4, piece(51, 60, position=named))
    assert not caught.value.is_guess
    assert isinstance(caught.value.__cause__, NotFoundError)


def test_an_error_after_the_first_page_is_no_refusal() -> None:
    service = Service(tuple(range(1, 31)), faults={1: CursorError("lost")})
    with pytest.raises(CursorError, match="lost"):
        read(service, 4, piece(5, 20, is_guess=True))


def test_a_guess_that_shows_only_the_item_before_the_piece_is_its_end() -> None:
    pages = read(Service(tuple(range(1, 31))), 4, piece(30, is_guess=True))
    assert (ids(pages), len(pages)) == ([], 1)
