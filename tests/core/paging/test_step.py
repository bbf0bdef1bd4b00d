"""The rules of a step, line by line of their table."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import UNSET, structs

from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.paging import BY_ID, BY_PAGE, BY_THREAD, BY_UPDATED, UNPAGED, step as step_module
from chatrest.core.paging.step import Step, step
from chatrest.core.paging.walk_state import Memory, Rules
from chatrest.core.replies.decode import Listing
from chatrest.errors import CursorError
from chatrest.models.meta import Meta, Pagination, Position
from tests.cases import loop_over
from tests.walk.walking import Item, few, many, rules_for

BY_IDS = rules_for(2)
PAGED = rules_for(2, "perPage", BY_PAGE)
THREAD = rules_for(2, "perPage", BY_THREAD)


def page(*ids: Any, **meta: Any) -> Listing[Item]:
    return Listing([Item(str(each)) for each in ids], Meta(**meta), b"{}")


def at(**position: str) -> Cursor:
    direction: Any = position.pop("affix", "append")
    last = position.pop("last", None)
    return Cursor("q", (("affix", direction), *position.items()), direction, last)


def numbered(page: int | None = None, size: int = 2) -> Cursor:
    position = () if page is None else (("page", str(page)), ("perPage", str(size)))
    return Cursor("q", position, by_id=False)


def taken(
    cursor: Cursor, listing: Listing[Item], rules: Rules = BY_IDS, largest: int = 0, **memory: Any
) -> Step[Item]:
    return step(cursor, listing, rules, Memory(**memory), largest)


def onward(
    cursor: Cursor, listing: Listing[Item], rules: Rules = BY_IDS, largest: int = 0, **memory: Any
) -> dict[str, str] | str | None:
    """Return the position where the walk goes on; "error", or None at the end."""
    result = taken(cursor, listing, rules, largest, **memory)
    if result.error is not None:
        assert result.next is None
        return "error"
    return None if result.next is None else dict(result.next.position)


def position(id: Any = UNSET, affix: Any = "append", **more: Any) -> Position:
    return Position(affix, id, **more)


# ── the end ──

NOWHERE = [None, 0, "0", "", UNSET]


@pytest.mark.parametrize("none", NOWHERE)
def test_an_empty_page_that_leads_nowhere_ends(none: Any) -> None:
    assert onward(at(id="5"), page(cursor=position(none))) is None
    assert onward(at(id="5"), page()) is None


@pytest.mark.parametrize("none", NOWHERE)
@pytest.mark.parametrize("ids", [(7,), (7, 8)])
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


@pytest.mark.parametrize(
    ("served", "direction"),
    [(position(6, UNSET), "prepend"), (position(8, UNSET), "append"), (position(6), "append"),
     (position(8, "prepend"), "prepend")],
)  # fmt: skip
def test_a_direction_that_the_first_page_leaves_open_is_asked_for(served: Position, direction: str) -> None:
    result = taken(Cursor("q"), page(6, 7, 8, cursor=served))
    assert result.items == []
    assert result.next is not None
    assert result.next.position == (("affix", direction),)


def test_an_empty_first_page_that_is_asked_for_again_tells_no_direction() -> None:
    result = taken(Cursor("q"), page(pagination=Pagination(900, 0, 2, 1, 2)))
    assert result.next == Cursor("q")


def test_an_empty_page_that_counts_more_pages_but_too_few_items_is_asked_for_again() -> None:
    place = structs.replace(at(id="5"), delivered=5)
    listing = page(pagination=Pagination(4, 0, 2, 1, 2))
    assert onward(place, listing) == {"affix": "append", "id": "5"}
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
    again = taken(at(id="5"), listing)
    assert again.next == at(id="5")
    assert again.memory.has_asked_again
    assert onward(at(id="5"), listing, has_asked_again=True) == "error"
    given_all = structs.replace(at(id="5"), delivered=9)
    assert onward(given_all, listing) is None, "all that it counts was given"


def test_empty_pages_in_a_row_are_counted() -> None:
    assert taken(at(id="5"), page(cursor=position(7)), empty_pages=3).memory.empty_pages == 4
    assert taken(at(id="5"), page(6, cursor=position(7)), empty_pages=3).memory.empty_pages == 0


def test_an_empty_page_whose_meta_is_gone_is_asked_for_again_once() -> None:
    assert onward(at(id="5"), page(), has_meta=True) == {"affix": "append", "id": "5"}
    assert onward(at(id="5"), page(), has_meta=True, has_asked_again=True) is None


def test_the_borders_item_alone_on_a_short_page_ends() -> None:
    assert onward(at(id="5", last="5"), page(5, cursor=position(5))) is None
    assert onward(at(id="5", last="5"), page(5, 5, cursor=position(5))) == "error"
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


def test_one_position_that_can_be_read_is_enough() -> None:
    meta = Meta(cursor=position(7))
    listing = Listing([Item("7")], meta, b"{}", position_fault="meta.next: no object")
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "7"}


def test_a_page_with_items_where_the_walk_stands_is_an_error() -> None:
    result = taken(at(id="5"), page(6, 7, cursor=position(5)))
    assert [item.id for item in result.items] == ["6", "7"]
    assert result.error is not None
    assert "does not move" in result.error


@pytest.mark.parametrize(("affix", "back"), [("append", 4), ("prepend", 6)])
@pytest.mark.parametrize("ids", [(), ("5",)])
def test_a_cursor_that_goes_back_is_an_error(affix: str, back: int, ids: tuple[str, ...]) -> None:
    assert onward(at(affix=affix, id="5", last="5"), page(*ids, cursor=position(back, affix))) == "error"


def test_a_place_that_cannot_be_compared_is_remembered() -> None:
    memory, errors = Memory(), []
    for here, there in pairwise(["a", "b", "c", "a"]):
        result = step(at(id=here), page(here * 2, cursor=position(there)), BY_IDS, memory)
        memory = result.memory
        errors.append(result.error)
    assert errors[:2] == [None, None]
    assert errors[2] is not None
    assert "comes back" in errors[2]


def test_a_page_with_nothing_new_and_nowhere_to_go_is_an_error() -> None:
    cursor = structs.replace(at(id="5", last="5"), delivered=9)
    assert onward(cursor, page(4, 5), ids=["4", "5"]) == "error"


# ── where it goes on ──


def test_a_position_for_the_other_direction_is_passed_over_for_the_last_item() -> None:
    assert onward(at(id="5"), page(6, 7, cursor=position(6, "prepend"))) == {"affix": "append", "id": "7"}
    assert onward(at(affix="prepend", id="5"), page(3, 4, cursor=position(4))) == {
        "affix": "prepend",
        "id": "3",
    }
    timed = page(6, 7, next=position("6", "prepend", sent_at=60))
    assert onward(at(id="5"), timed) == {"affix": "append", "id": "7", "sentAt": "7"}


def test_an_empty_page_with_a_position_for_the_other_direction_ends() -> None:
    assert onward(at(id="5", last="5"), page(cursor=position(9, "prepend"))) is None
    assert onward(at(), page(cursor=position(9, "prepend"))) is None


def test_of_several_positions_the_one_for_the_walks_direction_is_taken() -> None:
    listing = page(6, 7, next=position("7"), previous=position("6", "prepend"))
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "7"}
    assert onward(at(affix="prepend", id="8"), listing) == {"affix": "prepend", "id": "6"}


@pytest.mark.parametrize("affix", [UNSET, None, "sideways", 5])
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


@pytest.mark.parametrize(
    ("ids", "numbers", "largest", "ends"),
    [
        (("a", "b"), Pagination(0, 2, 2, 3, 3), 9, False),  # full: a cap may have cut it off
        (("a",), Pagination(0, 1, 2, 3, 3), 2, True),
        (("a",), Pagination(0, 1, 2, 3, 3), 1, False),
        (("a",), Pagination(0, 1, 2, 2, 3), 2, False),
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
    assert onward(numbered(2), listing, PAGED) == {"page": "2", "perPage": "2"}
    assert onward(numbered(2), listing, PAGED, has_asked_again=True) == {"page": "3", "perPage": "2"}


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


# ── the place in the page ──


def test_the_place_after_some_items_is_on_the_page_and_after_all_behind_it() -> None:
    result = taken(at(id="5"), page(7, 6, cursor=position(9)))
    identify = BY_IDS.identify
    here = at(id="5").position
    assert result.cursor_after(0, identify) == at(id="5")
    assert result.cursor_after(1, identify) == Cursor(
        "q", here, "append", "6", inside=True, time=7, delivered=1
    )
    after = Cursor("q", (("affix", "append"), ("id", "9")), "append", "7", time=7, delivered=2)
    assert result.cursor_after(2, identify) == after
    end = taken(at(id="5"), page(7, 6, pagination=Pagination(0, 2, 9, 1, 1)), rules_for(9), largest=9)
    assert end.next is None
    assert end.cursor_after(2, identify) == Cursor("q", here, "append", "7", inside=True, time=7, delivered=2)


@few
@given(st.lists(st.integers(1, 20), unique=True, max_size=5), st.sampled_from([BY_ID, BY_PAGE]))
def test_a_step_writes_nothing(ids: list[int], paging: Any) -> None:
    cursor, memory = Cursor("q", (), "append", "0", by_id=paging is BY_ID), Memory(ids=["0"])
    listing = page(*ids, cursor=position(99))
    before = repr((cursor, memory, listing.items, listing.meta))
    rules = rules_for(3, paging=paging)
    assert step(cursor, listing, rules, memory) == step(cursor, listing, rules, memory)
    assert repr((cursor, memory, listing.items, listing.meta)) == before


# ── the ordinary page ──


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Draw the usual value three times in four: a page with many oddities is never ordinary."""
    return st.sampled_from([*[usual] * 3 * len(others), *others])


@st.composite
def nearly_ordinary(draw: Any) -> tuple[Cursor, Listing[Item], Rules, Memory, int]:
    """A page of a list by id that goes on from its last id, with a few oddities, and how it is taken."""
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
        inside=draw(mostly(False, True)),
        by_id=draw(mostly(True, False)),
        delivered=draw(st.sampled_from([0, 3])),
    )
    memory = Memory(
        draw(mostly(None, [behind])),
        claimed_last=draw(mostly(False, True)),
        is_doubted=draw(mostly(False, True)),
        has_asked_again=draw(mostly(False, True)),
        last_place=draw(mostly(None, cursor)),
    )
    rules = draw(mostly(BY_IDS, PAGED, THREAD, rules_for(2, "limit", BY_UPDATED), rules_for(3)))
    return cursor, listing, rules, memory, draw(st.sampled_from([0, 2, 3]))


def outcome(*arguments: Any) -> Step[Item] | str:
    try:
        return step(*arguments)
    except CursorError as error:
        return str(error)


@settings(many, max_examples=200)
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
        (at(id="5"), page(7, 8, cursor=position("8"), pagination=Pagination(current_page=1, total_pages=3))),
        (at(affix="prepend", id="9"), page(8, 7, next=position(7, "prepend"))),
    ],
)
def test_most_pages_are_ordinary(
    cursor: Cursor, listing: Listing[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_module, "onward", None)  # all other rules
    assert taken(cursor, listing).next is not None
