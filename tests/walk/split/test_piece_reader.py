"""Pieces of a list: together they are the list, wherever it is cut, and no position is believed blindly."""

from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.intervals import LAST, first_rank, rank_of
from chatrest.core.paging.order import Affix
from chatrest.core.replies.decode import Listing
from chatrest.errors import (
    AuthenticationError,
    ChatRestError,
    CursorError,
    NotFoundError,
    RateLimitError,
    ServerError,
)
from chatrest.models.meta import Meta, Position
from chatrest.walk.split.piece_queue import ListPiece
from chatrest.walk.split.piece_reader import NotOrderedByIdError, PiecePage, PieceReader, PositionRefusedError
from tests.cases import loop_over
from tests.walk.split.splitting import Strange
from tests.walk.walking import Item, Service, few, run, services, sizes, walk_over

Pairs = tuple[tuple[str, str], ...]
directions = st.sampled_from(["append", "prepend"])


def by_id(**fixed: Any) -> st.SearchStrategy[Service]:
    return services(dialect="cursor", text=False, **fixed)


def reader_of(service: Service, size: int, direction: Affix) -> PieceReader[Item]:
    return PieceReader(service.walk(size), direction)


async def pages_of(reader: PieceReader[Any], piece: ListPiece[Any]) -> list[PiecePage[Any]]:
    async with aclosing(reader.pages(piece)) as pages:
        return [page async for page in pages]


def read(reader: PieceReader[Any], piece: ListPiece[Any]) -> list[PiecePage[Any]]:
    return run(pages_of(reader, piece))


def ids(pages: list[PiecePage[Any]]) -> list[str]:
    return [item.id for page in pages for item in page.items]


def pieces_at(cuts: list[int], direction: Affix) -> list[ListPiece[str]]:
    """The pieces of a whole list that is cut at these ids."""
    ranks = sorted({rank_of(str(cut), direction) or 0 for cut in cuts})
    ends = [*ranks, LAST]
    starts = [first_rank(direction), *ranks]
    return [
        ListPiece(of="a list", after=after, until=until, is_guess=after != starts[0])
        for after, until in zip(starts, ends, strict=True)
    ]


# ── a list in pieces ──


@few
@given(by_id(), sizes, directions, st.lists(st.integers(1, 60), max_size=5))
def test_the_pieces_of_a_list_are_the_list(
    service: Service, size: int, direction: Affix, cuts: list[int]
) -> None:
    expected = service.expected(direction)
    assume(expected)
    last = rank_of(expected[-1], direction) or 0
    cuts = [cut for cut in cuts if (rank_of(str(cut), direction) or 0) < last]
    reader, got = reader_of(service, size, direction), list[str]()
    for piece in pieces_at(cuts, direction):
        pages = read(reader, piece)
        got += ids(pages)
        covered = piece.after
        for page in pages:
            ranks = [rank_of(item.id, direction) for item in page.items]
            assert (page.after, ranks) == (covered, sorted(ranks, key=int))  # type: ignore[arg-type]
            assert all(rank is not None and covered < rank <= page.covered for rank in ranks)
            covered = page.covered
        assert covered == piece.until or pages[-1].is_end
    assert got == expected


@few
@given(by_id(), sizes, directions, st.data())
def test_a_piece_goes_on_from_what_any_page_covers(
    service: Service, size: int, direction: Affix, data: st.DataObject
) -> None:
    expected = service.expected(direction)
    assume(len(expected) > 1)
    reader = reader_of(service, size, direction)
    end = rank_of(data.draw(st.sampled_from(expected)), direction) or 0
    whole = read(reader, ListPiece(of="a list", after=first_rank(direction), until=end))
    assert ids(whole) == [text for text in expected if (rank_of(text, direction) or 0) <= end]
    count = data.draw(st.integers(1, len(whole)))
    last = whole[count - 1]
    if last.covered < end:
        rest = ListPiece(
            of="a list", after=last.covered, until=end, position=last.position, is_guess=not last.position
        )
        assert ids(whole[:count]) + ids(read(reader, rest)) == ids(whole)


@few
@given(by_id(), sizes, directions, st.integers(1, 60))
def test_both_sides_of_a_cut_show_the_same_item(
    service: Service, size: int, direction: Affix, cut: int
) -> None:
    expected = [rank_of(text, direction) or 0 for text in service.expected(direction)]
    rank = rank_of(str(cut), direction) or 0
    assume(expected and expected[0] < rank < expected[-1] and rank != 1)
    reader = reader_of(service, size, direction)
    lower, upper = (read(reader, piece) for piece in pieces_at([cut], direction))
    assert upper[0].first_rank == next(each for each in expected if each >= rank)
    if ids(lower)[-1] != str(cut):
        beyond = [page.beyond for page in lower if page.beyond is not None]
        assert beyond in ([], [upper[0].first_rank])


def test_a_piece_that_is_cut_while_it_is_read_ends_there() -> None:
    service = Service(tuple(range(1, 31)))
    piece = ListPiece(of="a list", after=0, until=30)

    async def read_and_cut() -> list[str]:
        got: list[str] = []
        async with aclosing(reader_of(service, 4, "append").pages(piece)) as pages:
            async for page in pages:
                got += [item.id for item in page.items]
                piece.until = min(piece.until, 10)
        return got

    assert run(read_and_cut()) == [str(number) for number in range(1, 11)]
    assert len(service.asked) == 3


def test_a_piece_that_ends_with_a_page_asks_for_no_more() -> None:
    service = Service(tuple(range(1, 31)))
    pages = read(reader_of(service, 5, "append"), ListPiece(of="a list", after=0, until=10))
    assert [page.covered for page in pages] == [5, 10]
    assert pages[-1].position == (("affix", "append"), ("id", "10"))
    assert len(service.asked) == 2


def test_a_page_that_passes_the_end_says_what_it_saw_there() -> None:
    service = Service(tuple(range(10, 310, 10)))
    [page] = read(reader_of(service, 5, "append"), ListPiece(of="a list", after=0, until=35))
    assert (ids([page]), page.covered, page.position, page.beyond) == (["10", "20", "30"], 35, (), 40)


def test_a_page_that_claims_to_be_the_last_ends_no_piece_before_its_end() -> None:
    class AlwaysLast(Service):
        def meta(self, *args: Any, more: bool, **kwargs: Any) -> Meta:
            return super().meta(*args, more=False, **kwargs)

    service = AlwaysLast(tuple(range(1, 31)), pagination=True)
    walk = walk_over(service.fetch, Cursor("q"), largest=9)
    assert len(ids(read(PieceReader(walk), ListPiece(of="a list", after=4, until=20, is_guess=True)))) == 16


def test_the_walk_itself_does_not_move() -> None:
    walk = Service(tuple(range(1, 31))).walk(4)
    before = str(walk.cursor)
    read(PieceReader(walk), ListPiece(of="a list", after=4, until=20, is_guess=True))
    assert str(walk.cursor) == before


def test_from_its_start_a_list_is_read_without_what_is_known() -> None:
    service = Service(tuple(range(1, 31)))
    assert ids(read(reader_of(service, 4, "append"), ListPiece(of="a list", after=17, until=21))) == [
        "18", "19", "20", "21",
    ]  # fmt: skip
    assert "id" not in service.asked[0]


# ── ids that are no numbers ──


@loop_over("direction", ["append", "prepend"])
@loop_over("odd", ["m-7", "", "9" * 25, "9" * 5000])
def test_items_without_a_rank_stay_and_cover_nothing(odd: str, direction: Affix) -> None:
    numbers = range(1, 6) if direction == "append" else range(5, 0, -1)

    async def fetch(position: Pairs) -> Listing[Item]:
        if dict(position).get("id") == "1000":
            return Listing([], Meta(), b"{}")
        items = [Item(odd), *(Item(str(number)) for number in numbers)]
        return Listing(items, Meta(cursor=Position(direction, 1000)), b"{}")

    start, until = first_rank(direction), rank_of("4", direction) or 0
    [page] = read(
        PieceReader(walk_over(fetch, Cursor("q")), direction),
        ListPiece(of="a list", after=start, until=until),
    )
    assert sorted(ids([page])) == sorted(
        [odd, *(str(n) for n in numbers if (n <= 4) is (numbers[0] == 1) or n == 4)]
    )
    assert (page.unranked_count, page.covered) == (1, until)


# ── positions that a service does not take ──


EVEN = tuple(range(2, 100, 2))


@pytest.mark.parametrize("kind", ["refuses", "ignores", "is empty"])
def test_a_guess_that_the_service_does_not_take_is_told_from_a_piece_without_items(kind: str) -> None:
    with pytest.raises(PositionRefusedError) as caught:
        read(
            reader_of(Strange(EVEN, kind=kind), 4, "append"),
            ListPiece(of="a list", after=50, until=60, is_guess=True),
        )
    assert caught.value.is_guess
    named = (("affix", "append"), ("id", "50"))
    pages = read(
        reader_of(Strange(EVEN, kind=kind), 4, "append"),
        ListPiece(of="a list", after=50, until=60, position=named),
    )
    assert ids(pages) == ["52", "54", "56", "58", "60"]


def test_a_position_that_the_service_had_named_may_be_refused_later() -> None:
    service = Strange(EVEN)
    named = (("affix", "append"), ("id", "51"))
    with pytest.raises(PositionRefusedError) as caught:
        read(reader_of(service, 4, "append"), ListPiece(of="a list", after=51, until=60, position=named))
    assert not caught.value.is_guess
    assert isinstance(caught.value.__cause__, NotFoundError)


@pytest.mark.parametrize("error", [AuthenticationError("x"), RateLimitError("x"), ServerError("x")])
def test_an_error_that_says_nothing_of_the_position_is_the_error_of_the_piece(error: ChatRestError) -> None:
    with pytest.raises(type(error)):
        read(
            reader_of(Strange(EVEN, error=error), 4, "append"),
            ListPiece(of="a list", after=50, until=60, is_guess=True),
        )


def test_an_error_after_the_first_page_is_no_refusal() -> None:
    service = Service(tuple(range(1, 31)), faults={1: CursorError("lost")})
    with pytest.raises(CursorError, match="lost"):
        read(reader_of(service, 4, "append"), ListPiece(of="a list", after=5, until=20, is_guess=True))


def test_a_guess_that_shows_the_item_before_the_piece_alone_is_an_end() -> None:
    service = Service(tuple(range(1, 31)))
    pages = read(reader_of(service, 4, "append"), ListPiece(of="a list", after=30, is_guess=True))
    assert (ids(pages), pages[0].first_rank, pages[-1].is_end) == ([], 30, True)


def test_a_list_that_goes_by_time_has_no_pieces() -> None:
    async def fetch(position: Pairs) -> Listing[Item]:
        items = [Item(text, sent_at) for text, sent_at in (("5", 1), ("9", 2), ("7", 3), ("8", 4))]
        return Listing(items, Meta(cursor=Position("append", 8)), b"{}")

    with pytest.raises(NotOrderedByIdError):
        read(PieceReader(walk_over(fetch, Cursor("q"))), ListPiece(of="a list", after=0, until=20))
