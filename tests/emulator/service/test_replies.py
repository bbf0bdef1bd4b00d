"""Lists that go on by a position."""

import json
from typing import Any

from chatrest.emulator.service.context import Context
from chatrest.emulator.service.replies import ListForm, by_cursor, by_position
from chatrest.emulator.store import Store
from tests.emulator.conftest import NOW

PAGES, CURSORS = ListForm("position", "at", "from", 2), ListForm("cursor", "id")
ENTRIES = [{"id": name, "at": at} for name, at in zip("abcdef", (1, 2, 2, 3, 10, 11), strict=True)]


def page(**query: Any) -> tuple[str, Any]:
    reply = json.loads(
        by_position(PAGES, {name.rstrip("_"): value for name, value in query.items()}, ENTRIES)
    )
    return "".join(entry["id"] for entry in reply["data"]), reply["meta"]


def test_pages_go_on_from_a_position_and_never_part_those_of_one() -> None:
    ids, meta = page()
    assert (ids, meta["current"], meta["next"]) == (
        "abc", {"limit": 2, "count": 3}, {"affix": "append", "at": 2}
    )  # fmt: skip
    assert page(from_=2)[0] == "de"
    assert page(from_=10)[1]["next"] == {"affix": "append", "at": 11}
    ids, meta = page(from_="11")
    assert (ids, meta) == (
        "", {"current": {"limit": 2, "count": 0}, "next": {"affix": "append", "at": 11}}
    )  # fmt: skip


def test_pages_go_backwards_with_prepend() -> None:
    assert page(affix="prepend")[0] == "fe"
    ids, meta = page(affix="prepend", from_=10, limit=3)
    assert (sorted(ids), meta["next"]) == (["b", "c", "d"], {"affix": "prepend", "at": 2})
    assert meta["previous"] == {"affix": "append", "at": 3}


def test_pages_by_a_cursor_name_a_next_one_where_there_is_one() -> None:
    for affix, expected in (("append", ["ed", "cb", "a"]), ("prepend", ["ab", "cd", "e"])):
        shown, query = [], {"limit": 2, "affix": affix}
        while query:
            reply = json.loads(by_cursor(CURSORS, query, ENTRIES[:5]))
            shown.append("".join(entry["id"] for entry in reply["data"]))
            query = {"limit": 2, **reply["meta"]["next"]} if "next" in reply["meta"] else {}
        assert shown == expected


def test_times(store: Store) -> None:
    context = Context(store, {}, lambda: NOW + 0.9)
    assert (context.now, context.now_ms) == (NOW, NOW * 1000 + 900)
