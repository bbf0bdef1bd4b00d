"""The next page of a walk, by each rule of the ladder."""

from typing import Any

from msgspec import UNSET, Struct, structs

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.step import step
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_CREATED, BY_CURSOR, BY_NEXT, BY_PAGE, BY_UPDATED, UNPAGED
from chatrest._models.meta import Meta, PageCounts, Pagination, Position
from tests.core.paging.steps import (
    PAGED,
    THREAD,
    again,
    at,
    next_position,
    page,
    position,
    step_over,
    unordered,
)
from tests.support.cases import loop_over
from tests.walk.service_model import Item, facts_for

TWICE = {"asked_again": "empty"}
IN_SERVICE_ORDER = Cursor("q", by_id=False)


def numbered(page: int | None = None, size: int = 2, **more: str) -> Cursor:
    """The cursor of a list by page numbers; by id and in a direction, where it has an `affix`."""
    position = () if page is None else (("page", str(page)), ("perPage", str(size)))
    return Cursor("q", (*more.items(), *position), "append" if more else None, by_id=bool(more))


def up(**position: str) -> dict[str, str]:
    return {"affix": "append", **position}


def down(**position: str) -> dict[str, str]:
    return {"affix": "prepend", **position}


def by_number(page: int, size: int = 2) -> dict[str, str]:
    return {"page": str(page), "perPage": str(size)}


def cases(*rows: tuple[str, Cursor, Listing[Any], Any] | tuple[str, Cursor, Listing[Any], Any, Any]) -> Any:
    """Rows of a table: the case, cursor, page, the next position (None: the end), and options of it.

    A goal that is a text is a part of the error's text.
    """
    return loop_over(("case", "cursor", "listing", "goal", "options"), [(*row, {})[:5] for row in rows])


def check(cursor: Cursor, listing: Listing[Any], goal: Any, options: Any) -> None:
    result = next_position(cursor, listing, **options)
    assert result == goal or (isinstance(goal, str) and isinstance(result, str) and goal in result)


NOWHERE = [None, 0, "0", "", UNSET]


@loop_over("none", NOWHERE)
def test_a_page_without_a_next_position_continues_after_the_last_id(none: Any) -> None:
    for meta in ({"cursor": position(none)}, {}):
        assert next_position(at(id="5"), page(**meta)) is None
        assert next_position(at(id="5"), page(7, **meta)) == up(id="7")
        assert next_position(at(id="5"), page(7, 8, **meta)) == up(id="8")


FIVE = at(id="5")
MORE = Pagination(9, 0, 2, 1, 2)
GIVEN_ALL = structs.replace(at(id="5", last="5"), delivered=9)


@cases(
    ("an empty page that counts too few items", structs.replace(FIVE, delivered=5),
     page(pagination=Pagination(4, 0, 2, 1, 2)), again(**up(id="5"))),
    ("… asked for twice", structs.replace(FIVE, delivered=5), page(pagination=Pagination(4, 0, 2, 1, 2)),
     None, TWICE),
    ("below the largest, and leads nowhere", FIVE, page(7), None, {"largest": 2}),
    ("… but counts more", FIVE, page(7, pagination=Pagination(9, 1, 2, 1, 2)), up(id="7"), {"largest": 2}),
    ("… but has as many as the service's `per_page`, and claims to be the last", FIVE,
     page(7, 8, cursor=position(8), pagination=Pagination(0, 2, 2, 1, 1)), up(id="8"),
     {"largest": 3, "facts": facts_for(5)}),
    ("empty, where the walk is", FIVE, page(cursor=position(5)), None),
    ("… and counts more pages", FIVE, page(cursor=position(5), pagination=MORE), again(**up(id="5"))),
    ("… twice", FIVE, page(cursor=position(5), pagination=MORE), "an empty page, twice", TWICE),
    ("… and all that it counts was given", structs.replace(FIVE, delivered=9),
     page(cursor=position(5), pagination=MORE), None),
    ("an empty page of a thread by id, twice", FIVE, page(pagination=Pagination(9, 0, 2, 2, 3)),
     "an empty page, twice", {"facts": THREAD, **TWICE}),
    ("… that was asked by number is passed", numbered(2, affix="append"),
     page(pagination=Pagination(9, 0, 2, 2, 3)), up(**by_number(3)), {"facts": THREAD, **TWICE}),
    ("an empty page whose meta is gone", FIVE, page(), again(**up(id="5")), {"has_meta": True}),
    ("… twice", FIVE, page(), None, {"has_meta": True, **TWICE}),
    ("the border's item alone on a short page", at(id="5", last="5"), page(5, cursor=position(5)), None),
    ("… and again", at(id="5", last="5"), page(5, 5, cursor=position(5)), "does not move"),
    ("… which was given before", GIVEN_ALL, page(5), None, {"ids": ["5"]}),
    ("a list that is documented as one reply", IN_SERVICE_ORDER, page("a", "b"), None,
     {"facts": facts_for(2, "perPage", UNPAGED)}),
    ("… but leads on", IN_SERVICE_ORDER, page("a", "b", cursor=position(7)), up(id="7"),
     {"facts": facts_for(2, "perPage", UNPAGED)}),
    ("empty, with a position for the other direction", at(id="5", last="5"),
     page(cursor=position(9, "prepend")), None),
    ("… at the beginning", at(), page(cursor=position(9, "prepend")), None),
)  # fmt: skip
def test_ends(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


def test_a_repeated_empty_first_page_shows_no_direction() -> None:
    result = step_over(Cursor("q"), page(pagination=Pagination(900, 0, 2, 1, 2)))
    assert result.next == Cursor("q")


@loop_over("current", [1, 2, 3])
@loop_over("largest", [0, 1, 2])
@loop_over("ids", [(7,), (7, 8)])
def test_a_short_last_page_ends_the_walk_below_the_largest_size(
    ids: tuple[int, ...], largest: int, current: int
) -> None:
    numbers = Pagination(0, len(ids), 2, current, 2)
    listing = page(*ids, cursor=position(9), pagination=numbers)
    ends = len(ids) < largest and current >= 2
    assert (next_position(FIVE, listing, largest=largest) is None) == ends
    assert next_position(FIVE, listing, facts_for(2, thorough=True), largest) == up(id="9")


def test_a_last_page_that_was_not_the_last_makes_all_others_doubtful() -> None:
    last = page(7, cursor=position(7), pagination=Pagination(0, 1, 2, 1, 1))
    assert next_position(FIVE, last, largest=2) is None
    assert next_position(FIVE, last, largest=2, last_claim="made") == up(id="7")
    assert step_over(FIVE, last, largest=2, last_claim="made").memory.last_claim == "wrong"
    assert next_position(FIVE, last, largest=2, last_claim="wrong") == up(id="7")


def test_empty_pages_in_a_row_are_counted() -> None:
    assert step_over(FIVE, page(cursor=position(7)), empty_pages=3).memory.empty_pages == 4
    assert step_over(FIVE, page(6, cursor=position(7)), empty_pages=3).memory.empty_pages == 0


def test_the_items_of_a_page_are_returned_before_an_error() -> None:
    unreadable = Listing([Item("7")], Meta(), b"{}", position_fault="meta.next: no object")
    for listing, ids, error in (
        (unreadable, ["7"], "meta.next: no object"),
        (page(6, 7, cursor=position(5)), ["6", "7"], "does not move"),
    ):
        result = step_over(FIVE, listing, largest=9)
        assert ([item.id for item in result.items], result.next) == (ids, None)
        assert error in str(result.error)


UNREADABLE = structs.replace(page("a", "b"), position_fault="cursor: no object")
COUNTED = structs.replace(UNREADABLE, meta=Meta(pagination=Pagination(9, 2, 2, 1, 5)))


@cases(
    ("an unreadable position, which may be the only one", numbered(), UNREADABLE, "cursor: no object",
     {"facts": PAGED}),
    ("… beside page numbers", numbered(1), UNREADABLE, by_number(2), {"facts": PAGED}),
    ("… and where pages are counted", numbered(), COUNTED, by_number(2), {"facts": PAGED}),
    ("… beside one that can be read", FIVE,
     structs.replace(page(7, cursor=position(7)), position_fault="meta.next: no object"), up(id="7")),
    ("nothing new, and nowhere to go", GIVEN_ALL, page(4, 5), "holds nothing new", {"ids": ["4", "5"]}),
    ("a limit is no place", at(id="5", limit="2"), page(6, 7, cursor=position(5)), "does not move"),
    ("nor is a page's size", at(id="5", perPage="2"), page(6, 7, cursor=position(5)), "does not move"),
    ("items that are gone when they are asked for again", at(), page(),
     "a page with items came empty when it was asked for again", {"asked_again": "withheld"}),
)  # fmt: skip
def test_errors(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


@loop_over(("affix", "back"), [("append", 4), ("prepend", 6)])
@loop_over("ids", [(), ("5",)])
def test_a_cursor_that_goes_back_is_an_error(affix: str, back: int, ids: tuple[str, ...]) -> None:
    result = next_position(at(affix=affix, id="5", last="5"), page(*ids, cursor=position(back, affix)))
    assert "goes back" in str(result)


DOWN = at(affix="prepend", id="9")
BOTH = page(6, 7, next=position("7"), previous=position("6", "prepend"))
NUMBERS = Pagination(0, 2, 2, 3, 9)
EMPTY_OF_9 = page(pagination=Pagination(9, 0, 2, 2, 9))


@cases(
    ("a position on the page itself: a service that always sends a page's oldest id", FIVE,
     page(6, 7, 8, cursor=position(6)), up(id="8")),
    ("… going down", DOWN, page(6, 7, 8, cursor=position(8, "prepend")), down(id="6")),
    ("… but at the item sent last, though its id is lower", FIVE,
     Listing([Item("12", 7), Item("11", 8)], Meta(cursor=position(11, sent_at=8)), b"{}"),
     up(id="11", sentAt="8")),
    ("a position for the other direction", FIVE, page(6, 7, cursor=position(6, "prepend")), up(id="7")),
    ("… of a page below the largest", FIVE, page(7, cursor=position(7, "prepend")), up(id="7"),
     {"largest": 2}),
    ("… going down", at(affix="prepend", id="5"), page(3, 4, cursor=position(4)), down(id="3")),
    ("… with a time", FIVE, page(6, Item("7", 1), next=position("6", "prepend", sent_at=60)),
     up(id="7", sentAt="1")),
    ("… and the item without a time", FIVE, page(6, Item("7", 0), next=position("6", "prepend", sent_at=60)),
     up(id="7")),
    ("of several positions that of the walk's direction", FIVE, BOTH, up(id="7")),
    ("… going down", at(affix="prepend", id="8"), BOTH, down(id="6")),
    *((f"a position whose direction is {affix!r}", DOWN, page(7, 8, cursor=position(7, affix)), down(id="7"))
      for affix in (UNSET, None, "sideways", 5)),
    ("all that a position holds", FIVE, page(6, next=position("6", sent_at=60, updated_at="61")),
     up(id="6", sentAt="60", updatedAt="61")),
    ("… without an id", at(), page(6, cursor=position(updated_at=61)), up(updatedAt="61")),
    ("… in the service's order", IN_SERVICE_ORDER, page("a", cursor=position(updated_at=61)),
     up(updatedAt="61"), {"facts": facts_for(2, paging=BY_UPDATED)}),
    *(("page numbers, whatever the service counts", numbered(), page("a", "b", pagination=pagination),
       by_number(2), {"facts": PAGED}) for pagination in (NUMBERS, Pagination(), None)),
    ("the next page number", numbered(7), page("a", "b", pagination=NUMBERS), by_number(8), {"facts": PAGED}),
    ("the size that the walk began with", numbered(2, size=3),
     page("d", "e", "f", pagination=Pagination(0, 3, 3, 2, 9)), by_number(3, 3), {"facts": PAGED}),
    ("an empty page in the middle", numbered(2), EMPTY_OF_9, again(**by_number(2)), {"facts": PAGED}),
    ("… is passed", numbered(2), EMPTY_OF_9, by_number(3), {"facts": PAGED, **TWICE}),
    ("… as the first one", numbered(), page(pagination=Pagination(9, 0, 2, 1, 9)), by_number(2),
     {"facts": PAGED, **TWICE}),
    ("both dialects, by position", at(), page(1, 2, next=position("2"), pagination=Pagination(0, 2, 2, 1, 9)),
     up(id="2"), {"facts": THREAD}),
    ("… by number", at(), page(1, 2, pagination=Pagination(0, 2, 2, 1, 9)), up(**by_number(2)),
     {"facts": THREAD}),
    ("records between the last one and the position, fewer than are counted: they may be missing", FIVE,
     page(6, cursor=position(9), pagination=Pagination(9, 3, 9, 1, 1)), up(id="6")),
    ("… none between: the position, with all its members", FIVE,
     page(6, cursor=position(6, updated_at="61"), pagination=Pagination(9, 3, 9, 1, 1)),
     up(id="6", updatedAt="61")),
    ("… none: the page again", FIVE, page(cursor=position(9), pagination=Pagination(9, 3, 9, 1, 1)),
     again(**up(id="5"))),
    ("… once", FIVE, page(cursor=position(9), pagination=Pagination(9, 3, 9, 1, 1)), up(id="9"), TWICE),
    ("… on a page that claims to be the last, and smaller than the largest", FIVE,
     page(6, cursor=position(9), pagination=Pagination(9, 3, 9, 2, 2)), up(id="6"), {"largest": 3}),
    ("… and has no position", FIVE, page(6, pagination=Pagination(9, 3, 9, 2, 2)), up(id="6"),
     {"largest": 3}),
    ("a page by number with fewer records than it counts", numbered(2),
     page("a", pagination=Pagination(9, 2, 2, 2, 2)), again(**by_number(2)), {"facts": PAGED, "largest": 2}),
    ("… the first one", numbered(), page("a", pagination=Pagination(9, 2, 2, 1, 2)), {"again": "yes"},
     {"facts": PAGED}),
    ("… twice", numbered(2), page("a", pagination=Pagination(9, 2, 2, 2, 2)), by_number(3),
     {"facts": PAGED, "largest": 2, **TWICE}),
    ("… as many as are counted", FIVE, page(6, cursor=position(9), pagination=Pagination(9, 1, 9, 1, 1)),
     up(id="9")),
    ("a page without any position is asked for in a direction", Cursor("q"), page(1, 2, 3), again(**up())),
    ("… and then gone on from", at(), page(1, 2, 3), up(id="3")),
)  # fmt: skip
def test_positions(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


@loop_over(
    ("served", "direction"),
    [(position(6, UNSET), "prepend"), (position(8, UNSET), "append"), (position(6), "append"),
     (position(8, "prepend"), "prepend")],
)  # fmt: skip
def test_a_direction_that_the_first_page_leaves_open_is_asked_for(served: Position, direction: str) -> None:
    listing = page(6, 7, 8, cursor=served)
    assert next_position(Cursor("q"), listing) == again(affix=direction)
    assert step_over(Cursor("q"), listing).items == []
    assert next_position(Cursor("q", (("id", "5"),)), listing) == again(affix=direction, id="5")


def test_a_numbered_page_that_repeats_another_gives_nothing_and_ends() -> None:
    first = step_over(numbered(1), page("a", "b"), PAGED)
    second = step(numbered(2), page("c", "d"), PAGED, first.memory)
    third = step(numbered(3), page("a", "b"), PAGED, second.memory)
    assert (third.items, third.next, third.error) == ([], None, None)


BCD = page("b", "c", "d")
WAY_BACK = page("b", "c", "d", previous=position(affix="prepend", updated_at=8))
BY_TIME = {"facts": facts_for(3, paging=BY_NEXT)}
AT_SEVEN = unordered(affix="append", updatedAt="7")
TIMED = unordered(affix="append", id="9", sentAt="5", last="9")
CURSORS, UPDATES = facts_for(3, paging=BY_CURSOR), facts_for(3, paging=BY_UPDATED)


@cases(
    *(row for paging in (BY_PAGE, BY_UPDATED)
      for facts in ({"facts": facts_for(9, paging=paging)},)
      for row in (
        ("a page that lost its position", AT_SEVEN, BCD, again(**up(updatedAt="7")), facts),
        ("… twice", AT_SEVEN, BCD, "the page at updatedAt=7 has no position that leads on, asked for twice",
         {**facts, **TWICE}),
        ("… below the largest", AT_SEVEN, BCD, None, {**facts, "largest": 4}),
        ("… but the way back", AT_SEVEN, WAY_BACK, again(**up(updatedAt="7")), facts),
        ("… below the largest, and has the way back", AT_SEVEN, WAY_BACK, None, {**facts, "largest": 4}),
    )),
    ("a page by time", TIMED, page("4", "2", "8"), again(**up(id="9", sentAt="5")), BY_TIME),
    ("… twice: by its last item", TIMED, page("4", "2", "8"), up(id="8", sentAt="7"), {**BY_TIME, **TWICE}),
    ("its meta is lost, which is no documented end", unordered(cursor="c"), page("u"), again(cursor="c"),
     {"facts": CURSORS}),
    ("nothing but the item of the time that was asked from", TIMED,
     page("9", next=position("9", sent_at=5)), None, {**BY_TIME, "ids": ["9"]}),
    ("a next position", unordered(cursor="c"), page("u", current=PageCounts(3, 1), next=position(cursor="d")),
     up(cursor="d"), {"facts": CURSORS}),
)  # fmt: skip
def test_lost_positions(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


@loop_over("place", [IN_SERVICE_ORDER, unordered(cursor="c")])
@loop_over("meta", [{"current": PageCounts(3, 3)}, {"previous": Position("prepend", cursor="b")}])
def test_a_page_that_names_no_next_one_is_the_last_where_that_is_documented(place: Cursor, meta: Any) -> None:
    listing = page("u", "v", "w", **meta)
    assert next_position(place, listing, CURSORS) is None
    assert next_position(place, listing, UPDATES) is not None


class Dated(Struct, frozen=True):
    id: str
    created_at: int | None


DATED = facts_for(3, paging=BY_CREATED)


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
def test_a_list_without_a_next_position_continues_after_the_last_item(
    asked: Any, times: tuple[int, ...], goal: tuple[str, str]
) -> None:
    cursor = Cursor("q", tuple(asked.items()), asked.get("affix"), by_id=False)
    further = dict(zip(("affix", "createdAt"), goal, strict=True))
    assert next_position(cursor, dated(*times), DATED) == further
    if asked:
        way_back = Position("prepend" if goal[0] == "append" else "append", created_at=times[0])
        assert next_position(cursor, dated(*times, previous=way_back), DATED) == further


AT_7 = unordered(affix="append", createdAt="7", last="x2")


@cases(
    *(("nothing new", AT_7, listing, None, {"facts": DATED, "ids": ids})
      for listing in (dated(7), dated()) for ids in (["x0"], None)),
    ("an item without a time", IN_SERVICE_ORDER, dated(None), None, {"facts": DATED}),
    ("below the largest", IN_SERVICE_ORDER, dated(5), None, {"facts": DATED, "largest": 3}),
    ("fewer items than are counted, where only the last page has no next position", IN_SERVICE_ORDER,
     dated(5, previous=position(), pagination=Pagination(9, 3, 9, 1, 1)), up(createdAt="5"),
     {"facts": facts_for(5, paging=structs.replace(BY_CREATED, smallest_cap=2))}),
    *(("a full page", unordered(affix="append", createdAt="7"), dated(*times), "cannot be continued",
       {"facts": DATED, "ids": ids})
      for times, ids in (((5, 6, 7), ["x0", "x1", "x2"]), ((7, 7, 7), None), ((5, None, 7), None))),
)  # fmt: skip
def test_dated_items(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


LED = page("a", "b", top_level=Position("append", updated_at=9))
LED_AND_COUNTED = structs.replace(LED, meta=Meta(pagination=Pagination(1, 2, 2, 1, 1)))
REPEATED = "page 2 holds nothing but what the page before it held"
OF_3 = page(1, 2, 3, pagination=Pagination(0, 3, 3, 1, 1))
ASKED = frozenset({(("affix", "append"), ("id", "3"))})
AFTER_3 = {"facts": THREAD, "ids": ["1", "2", "3"]}
MANY_EMPTY = page(pagination=Pagination(10**9, 0, 2, 7, 10**6))


def filtered(**filters: str) -> Any:
    """Options of a numbered list with these filters, which repeats its first page."""
    paging = structs.replace(BY_PAGE, filters=tuple(filters.items()))
    return {"facts": facts_for(2, "perPage", paging), "ids": ["a", "b"]}


@cases(
    *(row for number in (2, 3) for cursor in (structs.replace(numbered(number, affix="append"), last="3"),)
      for row in (
        ("a thread is read by its last id", cursor, OF_3, up(id="3"), AFTER_3),
        ("… which was asked for", cursor, OF_3, "page numbers are ignored", {**AFTER_3, "visited": ASKED}),
    )),
    ("a position that leads on", numbered(2), LED, up(updatedAt="9"), {"facts": PAGED, "ids": ["a", "b"]}),
    ("… after all that is counted", numbered(2), LED_AND_COUNTED, None, {"facts": PAGED, "ids": ["a", "b"]}),
    ("… by which the list is filtered", numbered(2), LED, "is filtered by (updatedAt)",
     filtered(updatedAt="5")),
    ("… in a direction that was asked for", numbered(2), LED, up(updatedAt="9"),
     filtered(affix="append", updatedAt="5")),
    ("a list that counts more", numbered(2), page("a", "b", pagination=Pagination(9, 2, 2, 2, 3)), REPEATED,
     {"facts": PAGED, "ids": ["a", "b"]}),
    # From the last id a thread would go on, but a filter's hole there is no end.
    ("a thread that counts more", structs.replace(numbered(2, affix="append"), last="2"),
     page(1, 2, pagination=Pagination(4, 2, 2, 1, 2)), REPEATED, {"facts": THREAD, "ids": ["1", "2"]}),
    ("99 empty pages in a row", numbered(7), MANY_EMPTY, by_number(8),
     {"facts": PAGED, "empty_pages": 99, **TWICE}),
    ("a hundred", numbered(7), MANY_EMPTY, "an empty page, twice",
     {"facts": PAGED, "empty_pages": 100, **TWICE}),
)  # fmt: skip
def test_ignored_page_numbers(case: str, cursor: Cursor, listing: Any, goal: Any, options: Any) -> None:
    check(cursor, listing, goal, options)


def test_a_thread_of_records_without_an_id_is_not_asked_for_an_empty_one() -> None:
    first = step_over(numbered(1, affix="append"), page("", ""), THREAD)
    assert first.next is not None
    second = step(first.next, page("", ""), THREAD, first.memory)
    assert (second.items, second.next) == ([], None)
    assert "page numbers are ignored" in str(second.error)
