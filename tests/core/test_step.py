"""The rules of a page, line by line of their table."""

from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any

import pytest
from msgspec import UNSET

from chatrest.core.cursor import Cursor
from chatrest.core.decode import Listing
from chatrest.core.step import Rules, Trail, Turn, start_of, turn
from chatrest.models.meta import Mark, Meta, Pagination


@dataclass(frozen=True)
class Item:
    id: str
    sent_at: int = 70


RULES = Rules(key=attrgetter("id"), size=2, size_name="limit")
PAGED = Rules(key=attrgetter("id"), size=2, size_name="perPage", marks=False, pages=True)
BOTH = Rules(key=attrgetter("id"), size=2, size_name="perPage", pages=True)


def page(*ids: Any, **meta: Any) -> Listing[Item]:
    return Listing([Item(str(each)) for each in ids], Meta(**meta), b"{}")


def at(**place: str) -> Cursor:
    way: Any = place.pop("way", "append")
    last = place.pop("last", None)
    return Cursor("q", (("affix", way), *place.items()), way, last)


def told(cursor: Cursor, listing: Listing[Item], rules: Rules = RULES) -> Turn[Item]:
    return turn(cursor, listing, rules, Trail())


def onward(cursor: Cursor, listing: Listing[Item], rules: Rules = RULES) -> dict[str, str] | str | None:
    """Where the walk goes on; "stuck", or None at the end."""
    result = told(cursor, listing, rules)
    if result.stuck is not None:
        assert result.next is None
        return "stuck"
    return None if result.next is None else dict(result.next.at)


def mark(id: Any = UNSET, affix: Any = "append", **more: Any) -> Mark:
    return Mark(affix, id, **more)


@pytest.mark.parametrize("ids", [(), (7,), (7, 8)])
@pytest.mark.parametrize("none", [None, 0, "0", "", UNSET])
def test_no_cursor_ends(ids: tuple[int, ...], none: Any) -> None:
    assert onward(at(id="5"), page(*ids, cursor=mark(none))) is None
    assert onward(at(id="5"), page(*ids)) is None


@pytest.mark.parametrize("current", [1, 2, 3])
@pytest.mark.parametrize("ids", [(), (7,), (7, 8)])
def test_a_short_page_that_says_it_is_the_last_ends(ids: tuple[int, ...], current: int) -> None:
    numbers = Pagination(0, len(ids), 2, current, 2)
    ends = len(ids) < 2 and current >= 2
    listing = page(*ids, cursor=mark(9), pagination=numbers)
    assert (onward(at(id="5"), listing) is None) == ends
    thorough = Rules(key=attrgetter("id"), size=2, size_name="limit", thorough=True)
    assert onward(at(id="5"), listing, thorough) == {"affix": "append", "id": "9"}


def test_an_empty_page_where_the_walk_stands_ends() -> None:
    assert onward(at(id="5"), page(cursor=mark(5))) is None


def test_the_borders_item_alone_on_a_short_page_ends() -> None:
    assert onward(at(id="5", last="5"), page(5, cursor=mark(5))) is None
    assert onward(at(id="5", last="5"), page(5, 5, cursor=mark(5))) == "stuck"


def test_a_page_with_items_where_the_walk_stands_is_stuck() -> None:
    result = told(at(id="5"), page(6, 7, cursor=mark(5)))
    assert [item.id for item in result.items] == ["6", "7"]
    assert result.stuck is not None
    assert "does not move" in result.stuck


@pytest.mark.parametrize(("way", "back"), [("append", 4), ("prepend", 6)])
@pytest.mark.parametrize("ids", [(), ("5",)])
def test_a_cursor_that_goes_back_is_stuck(way: str, back: int, ids: tuple[str, ...]) -> None:
    assert onward(at(way=way, id="5", last="5"), page(*ids, cursor=mark(back, way))) == "stuck"


def test_a_place_that_cannot_be_compared_is_remembered() -> None:
    trail = Trail()
    steps = ["a", "b", "c", "a"]
    results = [
        turn(at(id=here), page(here * 2, cursor=mark(there)), RULES, trail) for here, there in pairwise(steps)
    ]
    assert [result.stuck is None for result in results] == [True, True, False]


def test_a_mark_for_the_other_way_is_passed_over_for_the_last_item() -> None:
    assert onward(at(id="5"), page(6, 7, cursor=mark(6, "prepend"))) == {"affix": "append", "id": "7"}
    assert onward(at(way="prepend", id="5"), page(3, 4, cursor=mark(4))) == {"affix": "prepend", "id": "3"}
    sent = page(6, 7, next=mark("6", "prepend", sent_at=60))
    assert onward(at(id="5"), sent) == {"affix": "append", "id": "7", "sentAt": "70"}


def test_an_empty_page_with_a_mark_for_the_other_way_ends() -> None:
    assert onward(at(id="5", last="5"), page(cursor=mark(9, "prepend"))) is None
    assert onward(at(), page(cursor=mark(9, "prepend"))) is None


def test_of_several_marks_the_one_for_the_walks_way_is_taken() -> None:
    listing = page(6, 7, next=mark("7"), previous=mark("6", "prepend"))
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "7"}
    assert onward(at(way="prepend", id="8"), listing) == {"affix": "prepend", "id": "6"}


@pytest.mark.parametrize("affix", [UNSET, None, "sideways", 5])
def test_a_mark_without_a_way_is_for_the_walks_own(affix: Any) -> None:
    assert onward(at(way="prepend", id="9"), page(7, 8, cursor=mark(7, affix))) == {
        "affix": "prepend",
        "id": "7",
    }


def test_a_mark_hands_back_all_that_it_holds() -> None:
    listing = page(6, next=mark("6", sent_at=60, updated_at="61"))
    assert onward(at(id="5"), listing) == {"affix": "append", "id": "6", "sentAt": "60", "updatedAt": "61"}
    assert onward(at(), page(6, cursor=mark(updated_at=61))) == {"affix": "append", "updatedAt": "61"}


def test_page_numbers_go_on_by_one() -> None:
    numbers = Pagination(0, 2, 2, 3, 9)
    assert onward(Cursor("q"), page("a", "b", pagination=numbers), PAGED) == {"page": "4", "perPage": "2"}
    here = Cursor("q", (("page", "7"), ("perPage", "2")))
    assert onward(here, page("a", "b", pagination=numbers), PAGED) == {"page": "8", "perPage": "2"}
    assert onward(Cursor("q"), page("a", "b", pagination=Pagination()), PAGED) == {
        "page": "2",
        "perPage": "2",
    }


def test_page_numbers_keep_the_size_that_the_walk_began_with() -> None:
    here = Cursor("q", (("page", "2"), ("perPage", "3")))
    listing = page("d", "e", "f", pagination=Pagination(0, 3, 3, 2, 9))
    assert onward(here, listing, PAGED) == {"page": "3", "perPage": "3"}


@pytest.mark.parametrize(
    ("ids", "numbers", "ends"),
    [
        (("a", "b"), Pagination(0, 2, 2, 3, 3), True),
        (("a", "b"), Pagination(0, 2, 2, 2, 3), False),
        (("a",), Pagination(0, 1, 2, 3, 3), True),
        (("a",), Pagination(0, 1, 2, None, None), False),
        (("a", "b"), Pagination(0, 2, 2, 1, 0), False),
        ((), Pagination(0, 0, 2, 2, 9), False),  # an empty page in the middle
        ((), Pagination(0, 0, 2, 9, 9), True),
        (("a", "b"), None, True),
    ],
)
def test_page_numbers_end_where_they_say_so_or_at_an_empty_page(
    ids: tuple[str, ...], numbers: Pagination | None, ends: bool
) -> None:
    assert (onward(Cursor("q"), page(*ids, pagination=numbers), PAGED) is None) == ends


def test_a_list_of_both_dialects_takes_what_is_there() -> None:
    numbers = Pagination(0, 2, 2, 1, 9)
    assert onward(at(), page(1, 2, next=mark("2"), pagination=numbers), BOTH) == {
        "affix": "append",
        "id": "2",
    }
    assert onward(at(), page(1, 2, pagination=numbers), BOTH) == {"page": "2", "perPage": "2"}


@pytest.mark.parametrize(
    ("meta", "ids", "way"),
    [
        ({"cursor": mark(1, "prepend")}, (1, 2), "prepend"),
        ({"next": mark("1", "append")}, (2, 1), "append"),
        ({"cursor": mark(1, "odd"), "next": mark(1, "prepend")}, (1,), "prepend"),
        ({}, (3, 2, 1), "prepend"),
        ({}, (1, 2, 3), "append"),
        ({}, (3, 1, 2), "append"),
        ({}, (3,), "append"),
        ({}, (), "append"),
        ({}, ("b", "a"), "append"),
    ],
)
def test_a_walk_that_asked_for_no_way_is_told_one(
    meta: dict[str, Any], ids: tuple[Any, ...], way: str
) -> None:
    assert told(Cursor("q"), page(*ids, **meta)).start.way == way


def test_the_place_after_some_items_is_on_the_page_and_after_all_behind_it() -> None:
    result = told(at(id="5"), page(7, 6, cursor=mark(9)))
    assert result.after(0, RULES.key) == at(id="5")
    assert result.after(1, RULES.key) == Cursor("q", at(id="5").at, "append", "6", inside=True)
    assert result.after(2, RULES.key) == Cursor("q", (("affix", "append"), ("id", "9")), "append", "7")
    end = told(at(id="5"), page(7, 6))
    assert end.after(2, RULES.key) == Cursor("q", at(id="5").at, "append", "7", inside=True)


def test_a_turn_touches_no_cursor() -> None:
    cursor = at(id="5")
    told(cursor, page(7, 6, cursor=mark(9)))
    assert cursor == at(id="5")


def test_a_walk_starts_where_its_query_says() -> None:
    assert start_of("q", []) == Cursor("q")
    pairs = [("id", "5"), ("tags", "a"), ("affix", "prepend"), ("page", "3")]
    assert start_of("q", pairs) == Cursor("q", (("affix", "prepend"), ("id", "5"), ("page", "3")), "prepend")
    assert start_of("q", [("affix", "append")]).way == "append"
