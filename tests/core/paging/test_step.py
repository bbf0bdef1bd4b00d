"""A step of a walk: its items, its place inside the page, and what it drops."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET, structs

from chatrest._core.paging import step as step_module
from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.step import Step, step
from chatrest._core.paging.walk_state import ListFacts, Memory
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_PAGE, BY_UPDATED
from chatrest._models.meta import Meta, Pagination, Position
from chatrest.errors import CursorError
from tests.core.paging.steps import BY_IDS, PAGED, THREAD, at, page, position, step_over
from tests.walk.service_model import Item, facts_for, few, many, run, walk_over


def test_a_cursor_is_on_the_page_until_all_items_are_read() -> None:
    result = step_over(at(id="5"), page(7, 6, cursor=position(9)))
    identify = BY_IDS.identify
    here = at(id="5").position
    assert result.cursor_after(0, identify) == at(id="5")
    assert result.cursor_after(1, identify) == Cursor(
        "q", here, "append", "6", is_inside=True, last_time=7, delivered=1
    )
    after = Cursor("q", (("affix", "append"), ("id", "9")), "append", "7", last_time=7, delivered=2)
    assert result.cursor_after(2, identify) == after
    end = step_over(at(id="5"), page(7, 6, pagination=Pagination(0, 2, 9, 1, 1)), facts_for(9), largest=9)
    assert end.next is None
    assert end.cursor_after(2, identify) == Cursor(
        "q", here, "append", "7", is_inside=True, last_time=7, delivered=2
    )


def test_earlier_pages_are_remembered_up_to_a_bound_or_the_end() -> None:
    """The `earlier` of a cursor is the page to ask for again, if the page at it is empty."""
    before = at(id="5")
    promising = page(6, 7, cursor=position(7), pagination=Pagination(9, 2, 2, 1, 5))
    following = step_over(before, promising).next
    assert following is not None
    assert following.earlier == before.position
    end = step_over(following, page(8, pagination=Pagination(0, 1, 2, 5, 5)), largest=2)
    assert (end.next, end.start.earlier) == (None, None)
    places = frozenset((("affix", "append"), ("id", str(number))) for number in range(20, 30))
    following = step_over(before, promising, ids=["5"], empty_positions=places).next
    assert following is not None
    assert following.earlier == before.position
    nothing_new = page(5, cursor=position(7), pagination=Pagination(9, 1, 2, 1, 5))
    result = step_over(at(id="5", last="5"), nothing_new, ids=["5"], empty_positions=places)
    assert result.next is not None
    assert result.next.earlier is None


def test_a_resumed_walk_is_no_longer_inside_of_a_page_after_an_empty_one() -> None:
    resumed = structs.replace(at(id="5", last="6"), is_inside=True)
    for listing, is_inside in ((page(6, cursor=position(7)), True), (page(cursor=position(7)), False)):
        following = step_over(resumed, listing).next
        assert following is not None
        assert following.is_inside is is_inside


@few
@given(st.lists(st.integers(1, 20), unique=True, max_size=5), st.sampled_from([BY_ID, BY_PAGE]))
def test_a_step_writes_nothing(ids: list[int], paging: Any) -> None:
    cursor, memory = Cursor("q", (), "append", "0", by_id=paging is BY_ID), Memory(ids=["0"])
    listing = page(*ids, cursor=position(99))
    before = repr((cursor, memory, listing.items, listing.meta))
    facts = facts_for(3, paging=paging)
    assert step(cursor, listing, facts, memory) == step(cursor, listing, facts, memory)
    assert repr((cursor, memory, listing.items, listing.meta)) == before


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Draw the usual value three times in four: a page with many oddities is never ordinary."""
    return st.sampled_from([*[usual] * 3 * len(others), *others])


@st.composite
def nearly_ordinary(draw: Any) -> tuple[Cursor, Listing[Item], ListFacts, Memory, int]:
    """A page of a list by id that continues from its last id, with a few oddities."""
    down = draw(st.booleans())
    direction = "prepend" if down else "append"
    ids = draw(mostly(["7", "8"], ["6"], ["8", "7"], ["4", "8"], ["7", "7"], ["7", "12"], ["x", "8"], []))
    last, behind = (min(ids, default="1"), "9") if down else (max(ids, default="9"), "5")
    affix = draw(mostly(direction, "append", "prepend", UNSET))
    served = Position(affix, draw(mostly(last, "7", 8, 0, UNSET)), draw(mostly(UNSET, 70)))
    absent = mostly(None, Position(direction, last), Position("append", 70), Position(UNSET, "x"))
    pages = Pagination(4, 2, 2, draw(mostly(1, 2, None)), draw(mostly(2, 0, None)))
    meta = Meta(draw(mostly(None, pages)), draw(mostly(served, None)), draw(absent))
    items = [Item(each, draw(mostly(7, 8))) for each in ids]
    fault = draw(mostly(None, "meta.next: no object"))
    listing = Listing(items, meta, b"{}", cursor=draw(absent), position_fault=fault)
    start = (("affix", direction), ("id", behind))
    more = draw(st.sampled_from([(), (("sentAt", "70"),), (("limit", "2"),), (("page", "2"),)]))
    cursor = Cursor(
        "q",
        draw(st.sampled_from([start, start, (*start, *more), start[:1], more, ()])),
        draw(mostly(direction, None, "append")),
        draw(mostly(behind, None, "7", "x")),
        is_inside=draw(mostly(False, True)),
        by_id=draw(mostly(True, False)),
        delivered=draw(st.sampled_from([0, 3])),
    )
    memory = Memory(
        draw(mostly(None, [behind])),
        last_claim=draw(mostly("none", "made", "wrong")),
        asked_again=draw(mostly("no", "empty", "withheld")),
        after_items=draw(mostly(None, cursor)),
    )
    facts = draw(mostly(BY_IDS, PAGED, THREAD, facts_for(2, "limit", BY_UPDATED), facts_for(3)))
    return cursor, listing, facts, memory, draw(st.sampled_from([0, 2, 3]))


def outcome(*arguments: Any) -> Step[Item] | str:
    try:
        return step(*arguments)
    except CursorError as error:
        return str(error)


@many
@given(arguments=nearly_ordinary())
def test_an_ordinary_page_is_taken_as_by_all_rules(arguments: tuple[Any, ...]) -> None:
    quick = outcome(*arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_module, "_ordinary_step", lambda *_: None)
        assert outcome(*arguments) == quick


@pytest.mark.parametrize(
    ("cursor", "listing"),
    [
        (Cursor("q"), page(7, 8, cursor=position(8))),
        (
            at(id="5", last="5"),
            page(7, 8, cursor=position("8"), pagination=Pagination(current_page=1, total_pages=3)),
        ),
        (at(affix="prepend", id="9", last="9"), page(8, 7, next=position(7, "prepend"))),
    ],
)
def test_most_pages_are_ordinary(
    cursor: Cursor, listing: Listing[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_module, "next_page", None)  # all other rules
    assert step_over(cursor, listing).next is not None


def read(*pages: list[Item], paging: Any = BY_ID) -> list[tuple[str, int]]:
    """Return the items of a walk over pages that do not depend on the query, each as its id and time."""
    rest = list(pages)

    async def fetch(position: Any) -> Listing[Item]:
        items = rest.pop(0) if rest else []
        last = int(items[-1].id) if items and items[-1].id.isdecimal() else None
        meta = Meta(cursor=Position("append", last)) if last is not None and paging is BY_ID else Meta()
        return Listing(items, meta, b"{}")

    start = Cursor("q", (("affix", "append"),), "append") if paging is BY_ID else Cursor("q", by_id=False)
    walk = walk_over(fetch, start, facts_for(3, paging=paging))
    return [(item.id, item.sent_at) for item in run(walk.collect())]


def test_two_texts_of_one_number_on_two_pages_are_an_error() -> None:
    with pytest.raises(CursorError, match="served id 5 after id 05, and not before"):
        read([Item("4"), Item("05")], [Item("5"), Item("6")])


def test_the_first_of_two_records_with_one_id_is_returned() -> None:
    assert read([Item("4"), Item("5", 1)], [Item("5", 2), Item("6")]) == [("4", 7), ("5", 1), ("6", 7)]
    pages = [Item("a", 1), Item("a", 2), Item("b")], [Item("c")]
    assert read(*pages, paging=BY_PAGE) == [("a", 1), ("b", 7), ("c", 7)]


@pytest.mark.parametrize("ids", [("05", "5"), ("5", "5")])
def test_on_one_page_both_are_given(ids: tuple[str, str]) -> None:
    items = read([Item(ids[0], 1), Item(ids[1], 2), Item("6")])
    assert sorted(items) == sorted([(ids[0], 1), (ids[1], 2), ("6", 7)])
