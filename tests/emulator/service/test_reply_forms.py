"""Pages of lists that continue by a position or by a cursor."""

import json
from typing import Any

from chatrest.emulator.service.reply_forms import ListForm, encode_page

PAGES, CURSORS = ListForm("position", "at", "from", 2), ListForm("cursor", "id", "cursor")
ENTRIES = [{"id": name, "at": at} for name, at in zip("abcdef", (1, 2, 2, 3, 10, 11), strict=True)]


def page(form: ListForm = PAGES, **query: Any) -> tuple[str, Any]:
    sent = {name.rstrip("_"): value for name, value in query.items()}
    reply = json.loads(encode_page(sent, ENTRIES[:5] if form is CURSORS else ENTRIES, form))
    return "".join(entry["id"] for entry in reply["data"]), reply["meta"]


def test_pages_continue_from_a_position_in_both_directions() -> None:
    ids, meta = page()
    assert (ids, meta["current"]) == ("abc", {"limit": 2, "count": 3})
    assert (meta["previous"], meta["next"]) == ({"affix": "prepend", "at": ""}, {"affix": "append", "at": 2})
    assert page(from_=2)[0] == "de"
    assert page(from_=10)[1]["next"] == {"affix": "append", "at": 11}
    ids, meta = page(from_=11)
    assert (ids, meta["current"], meta["next"]) == (
        "",
        {"limit": 2, "count": 0},
        {"affix": "append", "at": 11},
    )
    assert page(affix="prepend")[0] == "fe"
    ids, meta = page(affix="prepend", from_=10, limit=3)
    assert (sorted(ids), meta["next"]) == (["b", "c", "d"], {"affix": "prepend", "at": 2})
    assert meta["previous"] == {"affix": "append", "at": 3}


def test_pages_by_a_cursor_name_a_next_one_where_there_is_one() -> None:
    for affix, expected in (("append", ["ed", "cb", "a"]), ("prepend", ["ab", "cd", "e"])):
        shown, query = [], {"limit": 2, "affix": affix}
        while query:
            ids, meta = page(CURSORS, **query)
            shown.append(ids)
            query = {"limit": 2, **meta["next"]} if "next" in meta else {}
        assert shown == expected


def test_the_size_of_a_numbered_page_may_be_limit() -> None:
    ids, meta = page(ListForm("number"), page=2, limit=4)
    assert (ids, meta["pagination"]["total_pages"]) == ("ef", 2)
