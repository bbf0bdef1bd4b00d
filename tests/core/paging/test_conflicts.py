"""Two records of one id that differ: a walk gives both, or the page's repairs say it."""

from typing import Any

import pytest

from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.paging import BY_ID, BY_PAGE
from chatrest.core.replies.decode import Listing
from chatrest.models.meta import Meta, Position
from tests.walk.walking import Item, rules_for, run, walk_over


def read(*pages: list[Item], paging: Any = BY_ID) -> tuple[list[Item], list[str]]:
    """Return the items and the repairs of a walk over pages that come whatever is asked for."""
    rest = list(pages)

    async def fetch(position: Any) -> Listing[Item]:
        items = rest.pop(0) if rest else []
        last = int(items[-1].id) if items and items[-1].id.isdecimal() else None
        meta = Meta(cursor=Position("append", last)) if last is not None and paging is BY_ID else Meta()
        return Listing(items, meta, b"{}")

    start = Cursor("q", (("affix", "append"),), "append") if paging is BY_ID else Cursor("q", by_id=False)
    walk = walk_over(fetch, start, rules_for(3, paging=paging))

    async def collect() -> list[Any]:
        return [page async for page in walk.pages()]

    served = run(collect())
    return [item for page in served for item in page.items], [
        line for page in served for line in page.repairs
    ]


def test_two_texts_of_one_number_on_two_pages() -> None:
    items, repairs = read([Item("4"), Item("05")], [Item("5"), Item("6")])
    assert [item.id for item in items] == ["4", "05", "6"]
    assert repairs == ["data[0]: its id 5 is the number of another id, which is given"]


def test_one_id_with_another_text_at_a_border() -> None:
    items, repairs = read([Item("4"), Item("5", 1)], [Item("5", 2), Item("6")])
    assert [(item.id, item.sent_at) for item in items] == [("4", 7), ("5", 1), ("6", 7)]
    assert repairs == ["data[0]: another record of the id 5 came before, which is given"]


def test_the_same_record_again_is_no_conflict() -> None:
    items, repairs = read([Item("4"), Item("5")], [Item("5"), Item("6")])
    assert [item.id for item in items] == ["4", "5", "6"]
    assert repairs == []


@pytest.mark.parametrize("ids", [("05", "5"), ("5", "5")])
def test_on_one_page_both_are_given(ids: tuple[str, str]) -> None:
    items, repairs = read([Item(ids[0], 1), Item(ids[1], 2), Item("6")])
    assert sorted((item.id, item.sent_at) for item in items) == sorted([(ids[0], 1), (ids[1], 2), ("6", 7)])
    assert repairs == []


def test_a_list_in_the_services_order() -> None:
    items, repairs = read([Item("a", 1), Item("a", 2), Item("b")], [Item("c")], paging=BY_PAGE)
    assert [(item.id, item.sent_at) for item in items] == [("a", 1), ("b", 7), ("c", 7)]
    assert repairs == ["data[1]: another record of the id a came before, which is given"]
