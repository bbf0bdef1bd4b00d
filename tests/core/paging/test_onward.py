"""Where a walk goes on after a page, rung by rung of the ladder."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import UNSET, Struct, structs

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.step import step
from chatrest._core.paging.walk_state import Memory
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import (
    BY_CREATED,
    BY_CURSOR,
    BY_NEXT,
    BY_PAGE,
    BY_UPDATED,
    UNPAGED,
    Paging,
)
from chatrest._models.meta import Current, Meta, Pagination, Position
from tests.cases import loop_over
from tests.core.paging.stepping import BY_IDS, PAGED, THREAD, again, at, onward, page, placed, position, taken
from tests.walk.walking import Item, rules_for


def numbered(page: int | None = None, size: int = 2, **more: str) -> Cursor:
    """A place in a list by page numbers; by id and in a direction, where it has an `affix`."""
    position = () if page is None else (("page", str(page)), ("perPage", str(size)))
    return Cursor("q", (*more.items(), *position), "append" if more else None, by_id=bool(more))


# ── the end ──

NOWHERE = [None, 0, "0", "", UNSET]


@loop_over("none", NOWHERE)
def test_an_empty_page_that_leads_nowhere_ends(none: Any) -> None:
    assert onward(at(id="5"), page(cursor=position(none))) is None
    assert onward(at(id="5"), page()) is None


@loop_over("none", NOWHERE)
@loop_over("ids", [(7,), (7, 8)])
def test_a_page_that_leads_nowhere_is_gone_on_from_by_its_last_id(ids: tuple[int, ...], none: Any) -> None:
    further = {"affix": "append", "id": str(ids[-1])}
    assert onward(at(id="5"), page(*ids, cursor=position(none))) == further
    assert onward(at(id="5"), page(*ids)) == further


def test_a_position_on_the_page_itself_is_passed_by_the_last_id() -> None:
    """A service that always sends a page's oldest id."""
    assert onward(at(id="5"), page(6, 7, 8, cursor=position(6))) == {"affix": "append", "id": "8"}
    going_down = position(8, "prepend")
    further = {"affix": "prepend", "id": "6"}
    assert onward(at(affix="prepend", id="9"), page(6, 7, 8, cursor=going_down)) == further


def test_a_position_at_the_item_sent_last_is_followed_though_its_id_is_lower() -> None:
    listing = Listing([Item("12", 7), Item("11", 8)], Meta(cursor=position(11, sent_at=8)), b"{}")
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "11", "sentAt": "8"}


@loop_over(
    ("served", "direction"),
    [(position(6, UNSET), "prepend"), (position(8, UNSET), "append"), (position(6), "append"),
     (position(8, "prepend"), "prepend")],
)  # fmt: skip
def test_a_direction_that_the_first_page_leaves_open_is_asked_for(served: Position, direction: str) -> None:
    listing = page(6, 7, 8, cursor=served)
    assert onward(Cursor("q"), listing) == again(affix=direction)
    assert taken(Cursor("q"), listing).items == []
    assert onward(Cursor("q", (("id", "5"),)), listing) == again(affix=direction, id="5")


def test_an_empty_first_page_that_is_asked_for_again_tells_no_direction() -> None:
    result = taken(Cursor("q"), page(pagination=Pagination(900, 0, 2, 1, 2)))
    assert result.next == Cursor("q")


def test_an_empty_page_that_counts_more_pages_but_too_few_items_is_asked_for_again() -> None:
    place = structs.replace(at(id="5"), delivered=5)
    listing = page(pagination=Pagination(4, 0, 2, 1, 2))
    assert onward(place, listing) == again(affix="append", id="5")
    assert onward(place, listing, has_asked_again=True) is None


def test_a_page_below_the_largest_that_leads_nowhere_ends() -> None:
    assert onward(at(id="5"), page(7), largest=2) is None
    more = Pagination(9, 1, 2, 1, 2)
    assert onward(at(id="5"), page(7, pagination=more), largest=2) == {"affix": "append", "id": "7"}


@loop_over("current", [1, 2, 3])
@loop_over("largest", [0, 1, 2])
@loop_over("ids", [(7,), (7, 8)])
def test_a_short_page_that_says_it_is_the_last_ends_below_the_largest(
    ids: tuple[int, ...], largest: int, current: int
) -> None:
    numbers = Pagination(0, len(ids), 2, current, 2)
    listing = page(*ids, cursor=position(9), pagination=numbers)
    ends = len(ids) < largest and current >= 2
    assert (onward(at(id="5"), listing, largest=largest) is None) == ends
    thorough = rules_for(2, thorough=True)
    assert onward(at(id="5"), listing, thorough, largest) == {"affix": "append", "id": "9"}


def test_a_last_page_that_was_not_the_last_makes_all_others_doubtful() -> None:
    last = page(7, cursor=position(7), pagination=Pagination(0, 1, 2, 1, 1))
    assert onward(at(id="5"), last, largest=2) is None
    assert onward(at(id="5"), last, largest=2, claimed_last=True) == {"affix": "append", "id": "7"}
    assert taken(at(id="5"), last, largest=2, claimed_last=True).memory.is_doubted
    assert onward(at(id="5"), last, largest=2, is_doubted=True) == {"affix": "append", "id": "7"}


def test_an_empty_page_where_the_walk_stands_ends() -> None:
    assert onward(at(id="5"), page(cursor=position(5))) is None


def test_an_empty_page_that_counts_more_pages_is_asked_for_again_once() -> None:
    listing = page(cursor=position(5), pagination=Pagination(9, 0, 2, 1, 2))
    assert onward(at(id="5"), listing) == again(affix="append", id="5")
    assert "an empty page, twice" in str(onward(at(id="5"), listing, has_asked_again=True))
    given_all = structs.replace(at(id="5"), delivered=9)
    assert onward(given_all, listing) is None, "all that it counts was given"


def test_empty_pages_in_a_row_are_counted() -> None:
    assert taken(at(id="5"), page(cursor=position(7)), empty_pages=3).memory.empty_pages == 4
    assert taken(at(id="5"), page(6, cursor=position(7)), empty_pages=3).memory.empty_pages == 0


def test_an_empty_page_of_a_thread_is_passed_by_number_only_where_it_was_asked_by_number() -> None:
    listing = page(pagination=Pagination(9, 0, 2, 2, 3))
    assert "an empty page, twice" in str(onward(at(id="5"), listing, THREAD, has_asked_again=True))
    further = {"affix": "append", "page": "3", "perPage": "2"}
    assert onward(numbered(2, affix="append"), listing, THREAD, has_asked_again=True) == further


def test_an_empty_page_whose_meta_is_gone_is_asked_for_again_once() -> None:
    assert onward(at(id="5"), page(), has_meta=True) == again(affix="append", id="5")
    assert onward(at(id="5"), page(), has_meta=True, has_asked_again=True) is None


def test_the_borders_item_alone_on_a_short_page_ends() -> None:
    assert onward(at(id="5", last="5"), page(5, cursor=position(5))) is None
    assert "does not move" in str(onward(at(id="5", last="5"), page(5, 5, cursor=position(5))))
    assert onward(structs.replace(at(id="5", last="5"), delivered=9), page(5), ids=["5"]) is None


def test_a_list_that_is_documented_as_one_reply_ends_with_it() -> None:
    rules = rules_for(2, "perPage", UNPAGED)
    assert onward(Cursor("q", by_id=False), page("a", "b"), rules) is None
    led = onward(Cursor("q", by_id=False), page("a", "b", cursor=position(7)), rules)
    assert led == {"affix": "append", "id": "7"}


# ── errors ──


def test_a_position_that_cannot_be_read_is_an_error() -> None:
    listing = Listing([Item("7")], Meta(), b"{}", position_fault="meta.next: no object")
    result = taken(at(id="5"), listing, largest=9)
    assert (result.error, result.next) == ("meta.next: no object", None)
    assert [item.id for item in result.items] == ["7"]


def test_a_position_that_cannot_be_read_does_not_matter_beside_page_numbers() -> None:
    listing = structs.replace(page("a", "b"), position_fault="cursor: no object")
    further = {"page": "2", "perPage": "2"}
    assert onward(numbered(), listing, PAGED) == "cursor: no object", "it may be the only way on"
    assert onward(numbered(1), listing, PAGED) == further
    counted = structs.replace(listing, meta=Meta(pagination=Pagination(9, 2, 2, 1, 5)))
    assert onward(numbered(), counted, PAGED) == further


def test_one_position_that_can_be_read_is_enough() -> None:
    meta = Meta(cursor=position(7))
    listing = Listing([Item("7")], meta, b"{}", position_fault="meta.next: no object")
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "7"}


def test_a_page_with_items_where_the_walk_stands_is_an_error() -> None:
    result = taken(at(id="5"), page(6, 7, cursor=position(5)))
    assert [item.id for item in result.items] == ["6", "7"]
    assert result.error is not None
    assert "does not move" in result.error


@loop_over(("affix", "back"), [("append", 4), ("prepend", 6)])
@loop_over("ids", [(), ("5",)])
def test_a_cursor_that_goes_back_is_an_error(affix: str, back: int, ids: tuple[str, ...]) -> None:
    assert "goes back" in str(
        onward(at(affix=affix, id="5", last="5"), page(*ids, cursor=position(back, affix)))
    )


def test_a_place_that_cannot_be_compared_is_remembered() -> None:
    memory, errors = Memory(), []
    for here, there in pairwise(["a", "b", "c", "a"]):
        result = step(at(id=here), page(here * 2, cursor=position(there)), BY_IDS, memory)
        memory = result.memory
        errors.append(result.error)
    assert errors[:2] == [None, None]
    assert errors[2] is not None
    assert "repeats" in errors[2]


def test_a_page_with_nothing_new_and_nowhere_to_go_is_an_error() -> None:
    cursor = structs.replace(at(id="5", last="5"), delivered=9)
    assert "holds nothing new" in str(onward(cursor, page(4, 5), ids=["4", "5"]))


# ── where it goes on ──


def test_a_position_for_the_other_direction_is_passed_over_for_the_last_item() -> None:
    assert onward(at(id="5"), page(6, 7, cursor=position(6, "prepend"))) == {"affix": "append", "id": "7"}
    assert onward(at(affix="prepend", id="5"), page(3, 4, cursor=position(4))) == {
        "affix": "prepend",
        "id": "3",
    }
    timed = page(6, Item("7", 1), next=position("6", "prepend", sent_at=60))
    assert onward(at(id="5"), timed) == {"affix": "append", "id": "7", "sentAt": "1"}
    untimed = page(6, Item("7", 0), next=position("6", "prepend", sent_at=60))
    assert onward(at(id="5"), untimed) == {"affix": "append", "id": "7"}


def test_an_empty_page_with_a_position_for_the_other_direction_ends() -> None:
    assert onward(at(id="5", last="5"), page(cursor=position(9, "prepend"))) is None
    assert onward(at(), page(cursor=position(9, "prepend"))) is None


def test_of_several_positions_the_one_for_the_walks_direction_is_taken() -> None:
    listing = page(6, 7, next=position("7"), previous=position("6", "prepend"))
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "7"}
    assert onward(at(affix="prepend", id="8"), listing) == {"affix": "prepend", "id": "6"}


@loop_over("affix", [UNSET, None, "sideways", 5])
def test_a_position_without_a_direction_is_for_the_walks_own(affix: Any) -> None:
    assert onward(at(affix="prepend", id="9"), page(7, 8, cursor=position(7, affix))) == {
        "affix": "prepend",
        "id": "7",
    }


def test_a_position_hands_back_all_that_it_holds() -> None:
    listing = page(6, next=position("6", sent_at=60, updated_at="61"))
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "6", "sentAt": "60", "updatedAt": "61"}
    assert onward(at(), page(6, cursor=position(updated_at=61))) == {"affix": "append", "updatedAt": "61"}
    updated = Cursor("q", by_id=False)
    assert onward(updated, page("a", cursor=position(updated_at=61)), rules_for(2, paging=BY_UPDATED)) == {
        "affix": "append",
        "updatedAt": "61",
    }


def test_page_numbers_go_on_by_one_whatever_the_service_counts() -> None:
    numbers = Pagination(0, 2, 2, 3, 9)
    for pagination in (numbers, Pagination(), None):
        second = {"page": "2", "perPage": "2"}
        assert onward(numbered(), page("a", "b", pagination=pagination), PAGED) == second
    assert onward(numbered(7), page("a", "b", pagination=numbers), PAGED) == {"page": "8", "perPage": "2"}


def test_page_numbers_keep_the_size_that_the_walk_began_with() -> None:
    listing = page("d", "e", "f", pagination=Pagination(0, 3, 3, 2, 9))
    assert onward(numbered(2, size=3), listing, PAGED) == {"page": "3", "perPage": "3"}


@loop_over(
    ("ids", "numbers", "largest", "ends"),
    [
        (("a", "b"), Pagination(0, 2, 2, 3, 3), 9, False),  # full: a cap may have cut it off
        (("a",), Pagination(0, 1, 2, 3, 3), 2, True),
        (("a",), Pagination(0, 1, 2, 3, 3), 1, False),
        (("a",), Pagination(0, 1, 2, 2, 3), 2, False),
        (("a",), Pagination(0, 1, 2, 1, 0), 2, False),
        (("a",), Pagination(0, 1, 2, None, None), 2, False),
        (("a", "b"), Pagination(0, 2, 2, 1, 0), 9, False),
        (("a", "b"), None, 9, False),
        ((), Pagination(0, 0, 2, 2, 9), 0, False),  # an empty page in the midst is asked for again
        ((), Pagination(0, 0, 2, 9, 9), 0, True),
        ((), None, 0, True),
    ],
)
def test_page_numbers_end_at_an_empty_page_or_at_a_short_last_one(
    ids: tuple[str, ...], numbers: Pagination | None, largest: int, ends: bool
) -> None:
    assert (onward(numbered(), page(*ids, pagination=numbers), PAGED, largest) is None) == ends


def test_an_empty_page_in_the_midst_is_asked_for_again_and_passed() -> None:
    listing = page(pagination=Pagination(9, 0, 2, 2, 9))
    assert onward(numbered(2), listing, PAGED) == again(page="2", perPage="2")
    assert onward(numbered(2), listing, PAGED, has_asked_again=True) == {"page": "3", "perPage": "2"}
    first = page(pagination=Pagination(9, 0, 2, 1, 9))
    assert onward(numbered(), first, PAGED, has_asked_again=True) == {"page": "2", "perPage": "2"}


def test_a_numbered_page_that_repeats_another_gives_nothing_and_ends() -> None:
    first = taken(numbered(1), page("a", "b"), PAGED)
    second = step(numbered(2), page("c", "d"), PAGED, first.memory)
    third = step(numbered(3), page("a", "b"), PAGED, second.memory)
    assert (third.items, third.next, third.error) == ([], None, None)


def test_a_list_of_both_dialects_takes_what_is_there() -> None:
    numbers = Pagination(0, 2, 2, 1, 9)
    by_position = onward(at(), page(1, 2, next=position("2"), pagination=numbers), THREAD)
    assert by_position == {"affix": "append", "id": "2"}
    by_number = {"affix": "append", "page": "2", "perPage": "2"}
    assert onward(at(), page(1, 2, pagination=numbers), THREAD) == by_number


def test_a_page_without_any_position_is_asked_for_in_a_direction_first() -> None:
    assert onward(Cursor("q"), page(1, 2, 3)) == again(affix="append")
    assert onward(at(), page(1, 2, 3)) == {"affix": "append", "id": "3"}


def test_a_size_is_no_place() -> None:
    for name in ("limit", "perPage"):
        assert "does not move" in str(onward(at(id="5", **{name: "2"}), page(6, 7, cursor=position(5))))


# ── positions that are lost ──


@pytest.mark.parametrize("paging", [BY_PAGE, BY_UPDATED])
def test_a_page_in_the_services_order_that_lost_its_position_is_asked_for_again(paging: Paging) -> None:
    cursor, listing, rules = (
        placed(affix="append", updatedAt="7"),
        page("b", "c", "d"),
        rules_for(9, paging=paging),
    )
    assert onward(cursor, listing, rules) == again(affix="append", updatedAt="7")
    error = onward(cursor, listing, rules, has_asked_again=True)
    assert error == "the page at updatedAt=7 has no position that leads on, asked for twice"
    assert onward(cursor, listing, rules, 4) is None
    way_back = page("b", "c", "d", previous=position(affix="prepend", updated_at=8))
    assert onward(cursor, way_back, rules) == again(affix="append", updatedAt="7")


def test_a_page_by_time_that_lost_its_position_twice_is_gone_on_from_by_its_last_item() -> None:
    cursor, rules = placed(affix="append", id="9", sentAt="5", last="9"), rules_for(3, paging=BY_NEXT)
    listing = page("4", "2", "8")
    assert onward(cursor, listing, rules) == again(affix="append", id="9", sentAt="5")
    further = {"affix": "append", "id": "8", "sentAt": "7"}
    assert onward(cursor, listing, rules, has_asked_again=True) == further


def test_items_that_are_gone_when_they_are_asked_for_again_are_an_error() -> None:
    error = onward(at(), page(), has_asked_again=True, is_withheld=True)
    assert error == "a page with items came empty when it was asked for again"


# ── an end that is documented ──


@loop_over("place", [Cursor("q", by_id=False), placed(cursor="c")])
@loop_over("meta", [{"current": Current(3, 3)}, {"previous": Position("prepend", cursor="b")}])
def test_a_page_that_names_no_next_one_is_the_last_where_that_is_documented(place: Cursor, meta: Any) -> None:
    listing = page("u", "v", "w", **meta)
    assert onward(place, listing, rules_for(3, paging=BY_CURSOR)) is None
    assert onward(place, listing, rules_for(3, paging=BY_UPDATED)) is not None


def test_a_page_that_lost_its_meta_is_no_documented_end() -> None:
    rules = rules_for(3, paging=BY_CURSOR)
    assert onward(placed(cursor="c"), page("u"), rules) == again(cursor="c")
    listing = page("u", current=Current(3, 1), next=Position("append", cursor="d"))
    assert onward(placed(cursor="c"), listing, rules) == {"affix": "append", "cursor": "d"}


# ── items that have a position themselves ──


class Dated(Struct, frozen=True):
    """An item with the time of its creation."""

    id: str
    created_at: int | None


DATED = rules_for(3, paging=BY_CREATED)


def dated(*times: int | None, **meta: Any) -> Listing[Any]:
    """A page of items of these times, which names no next position."""
    items = [Dated(f"x{number}", time) for number, time in enumerate(times)]
    return Listing(items, Meta(**meta), b"{}")


@loop_over(
    ("asked", "times", "goal"),
    [
        ({}, (5, 6, 7), ("append", "7")),
        ({}, (7, 6, 5), ("prepend", "5")),
        ({}, (5,), ("append", "5")),
        ({"affix": "append", "createdAt": "4"}, (7, 6, 5), ("append", "7")),
        ({"affix": "prepend", "createdAt": "8"}, (7, 6, 5), ("prepend", "5")),
    ],
)
def test_a_list_goes_on_from_its_last_item_where_no_next_position_is_named(
    asked: Any, times: tuple[int, ...], goal: tuple[str, str]
) -> None:
    cursor = Cursor("q", tuple(asked.items()), asked.get("affix"), by_id=False)
    further = dict(zip(("affix", "createdAt"), goal, strict=True))
    assert onward(cursor, dated(*times), DATED) == further
    if asked:
        way_back = Position("prepend" if goal[0] == "append" else "append", created_at=times[0])
        assert onward(cursor, dated(*times, previous=way_back), DATED) == further


def test_a_list_of_dated_items_ends_where_nothing_new_comes() -> None:
    cursor = placed(affix="append", createdAt="7", last="x2")
    for listing in (dated(7), dated()):
        assert onward(cursor, listing, DATED, ids=["x0"]) is None
        assert onward(cursor, listing, DATED) is None
    assert onward(Cursor("q", by_id=False), dated(None), DATED) is None
    assert onward(Cursor("q", by_id=False), dated(5), DATED, 3) is None


@pytest.mark.parametrize(
    ("times", "before"), [((5, 6, 7), ["x0", "x1", "x2"]), ((7, 7, 7), None), ((5, None, 7), None)]
)
def test_a_full_page_of_dated_items_that_leads_nowhere_is_an_error(times: Any, before: Any) -> None:
    cursor = placed(affix="append", createdAt="7")
    assert "leads nowhere" in str(onward(cursor, dated(*times), DATED, ids=before))


# ── page numbers that are ignored ──


@pytest.mark.parametrize("number", [2, 3])
def test_a_thread_that_ignores_page_numbers_is_read_by_its_last_id(number: int) -> None:
    cursor = structs.replace(numbered(number, affix="append"), last="3")
    listing, before = page(1, 2, 3, pagination=Pagination(0, 3, 3, 1, 1)), ["1", "2", "3"]
    assert onward(cursor, listing, THREAD, ids=before) == {"affix": "append", "id": "3"}
    asked = frozenset({(("affix", "append"), ("id", "3"))})
    assert "page numbers are ignored" in str(onward(cursor, listing, THREAD, ids=before, visited=asked))


def test_a_thread_of_records_without_an_id_is_not_asked_for_an_empty_one() -> None:
    first = taken(numbered(1, affix="append"), page("", ""), THREAD)
    assert first.next is not None
    second = step(first.next, page("", ""), THREAD, first.memory)
    assert (second.items, second.next) == ([], None)
    assert "page numbers are ignored" in str(second.error)


def test_a_numbered_list_whose_position_leads_on_is_followed_where_numbers_bring_nothing_new() -> None:
    cursor, served = numbered(2), Position("append", updated_at=9)
    listing = page("a", "b", top_level=served)
    assert onward(cursor, listing, PAGED, ids=["a", "b"]) == {"affix": "append", "updatedAt": "9"}
    counted = page("a", "b", top_level=served, pagination=Pagination(1, 2, 2, 1, 1))
    assert onward(cursor, counted, PAGED, ids=["a", "b"]) is None


def test_a_numbered_list_that_counts_more_and_repeats_a_page_is_an_error() -> None:
    words = "page 2 holds nothing but what the page before it held"
    listing = page("a", "b", pagination=Pagination(9, 2, 2, 2, 3))
    assert words in str(onward(numbered(2), listing, PAGED, ids=["a", "b"]))
    # From the last id a thread would go on, but a filter's hole there is no end.
    cursor, counts = structs.replace(numbered(2, affix="append"), last="2"), Pagination(4, 2, 2, 1, 2)
    assert words in str(onward(cursor, page(1, 2, pagination=counts), THREAD, ids=["1", "2"]))


def test_a_position_that_the_list_is_filtered_by_is_followed_only_in_a_direction_that_was_asked_for() -> None:
    listing = page("a", "b", top_level=Position("append", updated_at=9))
    for filters, goal in (
        ((("updatedAt", "5"),), None),
        ((("affix", "append"), ("updatedAt", "5")), {"affix": "append", "updatedAt": "9"}),
    ):
        rules = rules_for(2, "perPage", structs.replace(BY_PAGE, filters=filters))
        result = onward(numbered(2), listing, rules, ids=["a", "b"])
        assert result == goal or (goal is None and "is filtered by (updatedAt)" in str(result))


def test_page_numbers_stop_at_a_hundred_empty_pages_in_a_row() -> None:
    listing = page(pagination=Pagination(10**9, 0, 2, 7, 10**6))
    further = {"page": "8", "perPage": "2"}
    assert onward(numbered(7), listing, PAGED, has_asked_again=True, empty_pages=99) == further
    error = onward(numbered(7), listing, PAGED, has_asked_again=True, empty_pages=100)
    assert "an empty page, twice" in str(error)
