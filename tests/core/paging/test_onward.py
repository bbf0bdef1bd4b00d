"""Where a walk goes on from what it is shown of a page."""

from typing import Any

import pytest
from msgspec import Struct, structs

from chatrest.core.paging.arrange import OrderedPage
from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.onward import Onward, PageView, landmark_of, onward, place_of
from chatrest.core.paging.paging import (
    BY_CREATED,
    BY_CURSOR,
    BY_ID,
    BY_NEXT,
    BY_PAGE,
    BY_THREAD,
    BY_UPDATED,
    Paging,
)
from chatrest.core.paging.walk_state import Memory
from chatrest.core.replies.decode import Listing
from chatrest.models.meta import Current, Meta, Pagination, Position
from tests.walk.walking import Item, rules_for

NOTHING = Memory()
END = Onward()


def view(
    place: Cursor,
    *ids: Any,
    paging: Paging = BY_ID,
    new: int | None = None,
    memory: Memory = NOTHING,
    largest: int = 0,
    has_order: bool = True,
    top_level: Position | None = None,
    size: int = 3,
    **meta: Any,
) -> PageView:
    """A page of these ids, the last `new` of them new to the walk."""
    texts = [str(each) for each in ids]
    items = [Item(text) for text in texts]
    fresh = items if new is None else items[len(items) - new :]
    arranged = OrderedPage(fresh, place.direction or "append", has_order, place.by_id)
    listing = Listing(items, Meta(**meta), b"{}", cursor=top_level)
    rules = rules_for(size, paging.size_name(None), paging)
    return PageView(place, listing, texts, arranged, rules, memory, largest)


def at(*position: tuple[str, str], direction: Any = "append", **more: Any) -> Cursor:
    return Cursor("q", position, direction, **more)


def led(page: PageView) -> dict[str, str] | None:
    way = onward(page)
    assert way.error is None
    assert not way.is_again
    return None if way.position is None else dict(way.position)


# ── positions that say no direction ──


def test_a_page_that_shows_no_direction_is_asked_for_in_one() -> None:
    start = Cursor("q")
    position = Position(id=7)
    assert onward(view(start, 7, has_order=False, cursor=position)) == Onward(
        (("affix", "append"),), is_again=True
    )
    begun = Cursor("q", (("id", "5"),))
    again = Onward((("affix", "append"), ("id", "5")), is_again=True)
    assert onward(view(begun, 7, has_order=False, cursor=position)) == again
    assert led(view(at(("affix", "append")), 7, has_order=False, cursor=position)) == {
        "affix": "append",
        "id": "7",
    }


def test_a_page_without_any_position_is_asked_for_in_a_direction_first() -> None:
    first = view(Cursor("q"), 1, 2, 3, has_order=False)
    assert onward(first) == Onward((("affix", "append"),), is_again=True)
    assert led(view(at(("affix", "append")), 1, 2, 3)) == {"affix": "append", "id": "3"}


# ── positions in the midst that are lost ──


@pytest.mark.parametrize("paging", [BY_PAGE, BY_UPDATED])
def test_a_page_in_the_services_order_that_lost_its_position_is_asked_for_again(paging: Paging) -> None:
    cursor = at(("affix", "append"), ("updatedAt", "7"), last="a", by_id=False)
    page = view(cursor, "b", "c", "d", paging=paging, size=9)
    assert onward(page) == Onward(cursor.position, is_again=True)
    way = onward(structs.replace(page, memory=Memory(has_asked_again=True)))
    assert way.error == "the page at updatedAt=7 has no position that leads on, asked for twice"
    assert onward(structs.replace(page, largest=4)) == END


def test_a_page_by_time_that_lost_its_position_twice_is_gone_on_from_by_its_last_item() -> None:
    cursor = at(("affix", "append"), ("id", "9"), ("sentAt", "5"), last="9", by_id=False)
    page = view(cursor, "4", "2", "8", paging=BY_NEXT, memory=Memory(has_asked_again=True))
    assert led(page) == {"affix": "append", "id": "8", "sentAt": "7"}


def test_items_that_are_gone_when_they_are_asked_for_again_are_an_error() -> None:
    memory = Memory(has_asked_again=True, is_withheld=True)
    assert onward(view(at(), memory=memory)).error == (
        "a page with items came empty when it was asked for once more"
    )


# ── an end that is documented ──


@pytest.mark.parametrize("place", [Cursor("q"), at(("cursor", "c"), last="a", by_id=False)])
@pytest.mark.parametrize("meta", [{"current": Current(3, 3)}, {"previous": Position("prepend", cursor="b")}])
def test_a_page_that_names_no_next_one_is_the_last_where_that_is_documented(place: Cursor, meta: Any) -> None:
    page = view(place, "x", "y", "z", paging=BY_CURSOR, **meta)
    assert onward(page) == END
    assert onward(structs.replace(page, rules=rules_for(3, "limit", BY_UPDATED))) != END


def test_a_page_that_lost_its_meta_is_no_documented_end() -> None:
    cursor = at(("cursor", "c"), last="a", by_id=False)
    assert onward(view(cursor, "x", paging=BY_CURSOR)) == Onward(cursor.position, is_again=True)
    further = view(cursor, "x", paging=BY_CURSOR, current=Current(3, 1), next=Position("append", cursor="d"))
    assert led(further) == {"affix": "append", "cursor": "d"}


# ── items that have a position themselves ──


class Dated(Struct, frozen=True):
    """An item with the time of its creation."""

    id: str
    created_at: int | None


def dated(place: Cursor, *times: int | None, new: int | None = None, size: int = 3, **meta: Any) -> PageView:
    """A page of items of these times, which names no next position."""
    items = [Dated(f"x{number}", time) for number, time in enumerate(times)]
    page = view(place, *(item.id for item in items), new=new, paging=BY_CREATED, size=size, **meta)
    return structs.replace(page, page=structs.replace(page.page, items=items))


@pytest.mark.parametrize("meta", [{}, {"previous": Position("prepend", created_at=5)}])
@pytest.mark.parametrize(
    ("asked", "times", "position"),
    [
        ((), (5, 6, 7), ("append", "7")),
        ((), (7, 6, 5), ("prepend", "5")),
        ((), (5,), ("append", "5")),
        ((("affix", "append"), ("createdAt", "4")), (7, 6, 5), ("append", "7")),
        ((("affix", "prepend"), ("createdAt", "8")), (7, 6, 5), ("prepend", "5")),
    ],
)
def test_a_list_goes_on_from_its_last_item_where_no_next_position_is_named(
    asked: Any, times: tuple[int, ...], position: tuple[str, str], meta: Any
) -> None:
    page = dated(at(*asked, by_id=False), *times, **meta)
    assert led(page) == dict(zip(("affix", "createdAt"), position, strict=True))


def test_a_list_of_dated_items_ends_where_nothing_new_comes() -> None:
    cursor = at(("affix", "append"), ("createdAt", "7"), last="x2", by_id=False)
    assert onward(dated(cursor, 7, new=0)) == END
    assert onward(dated(cursor, 7)) == END
    assert onward(dated(cursor)) == END
    assert onward(dated(at(by_id=False), None)) == END
    assert onward(structs.replace(dated(at(by_id=False), 5), largest=3)) == END


@pytest.mark.parametrize(("times", "new"), [((5, 6, 7), 0), ((7, 7, 7), None), ((5, None, 7), None)])
def test_a_full_page_of_dated_items_that_leads_nowhere_is_an_error(times: Any, new: int | None) -> None:
    cursor = at(("affix", "append"), ("createdAt", "7"), last="x2", by_id=False)
    assert "leads nowhere" in str(onward(dated(cursor, *times, new=new)).error)


def test_a_way_back_is_none_onward() -> None:
    cursor = at(("affix", "append"), ("updatedAt", "7"), last="a", by_id=False)
    page = view(cursor, "b", "c", paging=BY_UPDATED, previous=Position("prepend", updated_at=8))
    assert onward(page) == Onward(cursor.position, is_again=True)


# ── page numbers that are ignored ──


def test_a_thread_that_ignores_page_numbers_is_read_by_its_last_id() -> None:
    cursor = at(("affix", "append"), ("page", "2"), ("perPage", "3"), last="3")
    page = view(cursor, 1, 2, 3, new=0, paging=BY_THREAD, pagination=Pagination(0, 3, 3, 1, 1))
    assert led(page) == {"affix": "append", "id": "3"}
    asked = Memory(visited=frozenset({(("affix", "append"), ("id", "3"))}))
    assert onward(structs.replace(page, memory=asked)).error is not None


def test_a_numbered_list_whose_position_leads_on_is_followed_where_numbers_bring_nothing_new() -> None:
    cursor = Cursor("q", (("page", "2"), ("perPage", "3")), "append", "c", by_id=False)
    page = view(cursor, "a", "b", "c", new=0, paging=BY_PAGE, top_level=Position("append", updated_at=9))
    assert led(page) == {"affix": "append", "updatedAt": "9"}
    counted = structs.replace(
        page, page=structs.replace(page.page, meta=Meta(pagination=Pagination(1, 3, 3, 1, 1)))
    )
    assert onward(counted) == END


def test_a_numbered_list_that_counts_more_and_repeats_a_page_is_an_error() -> None:
    cursor = Cursor("q", (("page", "2"), ("perPage", "3")), "append", "c", by_id=False)
    page = view(cursor, "a", "b", "c", new=0, paging=BY_PAGE, pagination=Pagination(9, 3, 3, 2, 3))
    way = onward(page)
    assert way.error is not None
    assert "page 2 holds nothing but what the page before it held" in way.error


def test_page_numbers_stop_at_a_hundred_empty_pages_in_a_row() -> None:
    numbers = Pagination(10**9, 0, 3, 7, 10**6)
    cursor = Cursor("q", (("page", "7"), ("perPage", "3")), by_id=False)
    memory = Memory(has_asked_again=True, empty_pages=99)
    page = view(cursor, paging=BY_PAGE, memory=memory, pagination=numbers)
    assert led(page) == {"page": "8", "perPage": "3"}
    assert (
        onward(structs.replace(page, memory=Memory(has_asked_again=True, empty_pages=100))).error is not None
    )


# ── what tells pages and places apart ──


def test_a_place_is_a_position_without_its_direction_and_size() -> None:
    position = (("affix", "append"), ("id", "5"), ("limit", "3"), ("perPage", "3"), ("sentAt", "9"))
    assert place_of(position) == {"id": "5", "sentAt": "9"}


def test_a_landmark_tells_pages_of_ids_apart() -> None:
    assert landmark("a", "b") == landmark("a", "b")
    assert landmark("a", "b") != landmark("b", "a")
    assert landmark("a", "b") != landmark("a", "b", "c")
    assert landmark() is None


def landmark(*ids: str) -> object:
    page = view(Cursor("q"), *ids)
    return landmark_of(page.page, page.ids)
