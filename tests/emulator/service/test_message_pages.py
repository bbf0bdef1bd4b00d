from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest.emulator.service.context import PageFormat
from tests.emulator.conftest import Asker

PATH = "/v3/users/ann/messages"


@pytest.fixture
def seven(ask: Asker) -> Asker:
    """Seven messages between ann and bob, ids 1 to 7, sent at 10 to 70."""
    for number in range(1, 8):
        ask.store.add_message("ann", "bob", str(number), sent_at=number * 10)
    return ask


@pytest.mark.parametrize(
    ("query", "ids", "cursor", "left"),
    [
        ("", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=append", [1, 2, 3], {"id": 3, "affix": "append"}, 7),
        ("id=3", [4, 5, 6], {"id": 6, "affix": "append"}, 4),
        ("id=3&affix=append", [4, 5, 6], {"id": 6, "affix": "append"}, 4),
        ("id=6&affix=append", [7], {"id": 7, "affix": "append"}, 1),
        ("id=7&affix=append", [], {"id": 7, "affix": "append"}, 0),
        ("id=0&affix=append", [1, 2, 3], {"id": 3, "affix": "append"}, 7),
        ("id=5&affix=prepend", [2, 3, 4], {"id": 2, "affix": "prepend"}, 4),
        ("id=2&affix=prepend", [1], {"id": 1, "affix": "prepend"}, 1),
        ("id=1&affix=prepend", [], {"id": 1, "affix": "prepend"}, 0),
        ("id=99&affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("type=image", [], {"affix": "prepend"}, 0),
    ],
)
def test_pages(seven: Asker, query: str, ids: list[int], cursor: dict[str, Any], left: int) -> None:
    answer = seven(PATH, f"perPage=3&{query}")
    assert answer.ids == ids
    pages = max(1, -(-left // 3))
    assert answer.json["meta"] == {
        "pagination": {
            "total": left,
            "count": len(ids),
            "per_page": 3,
            "current_page": 1,
            "total_pages": pages,
        },
        "cursor": cursor,
    }


@pytest.mark.parametrize(
    ("query", "ids", "position"),
    [
        ("", [6, 7], {"affix": "prepend", "sentAt": 60, "id": "6"}),
        ("affix=append", [1, 2], {"affix": "append", "sentAt": 20, "id": "2"}),
        ("affix=append&id=6&sentAt=60", [7], {"affix": "append", "sentAt": 70, "id": "7"}),
        ("affix=append&id=7&sentAt=70", [], {"affix": "append", "sentAt": 70, "id": "7"}),
        ("affix=append&id=999", [], {"affix": "append", "id": "999"}),
        ("type=image", [], {"affix": "prepend"}),
    ],
)
def test_the_other_envelope(seven: Asker, query: str, ids: list[int], position: dict[str, Any]) -> None:
    answer = seven("/v3/messages", f"limit=2&{query}")
    assert answer.ids == ids
    assert answer.json["meta"] == {"current": {"limit": 2, "count": len(ids)}, "next": position}


def test_pages_may_be_descending(seven: Asker, make_asker: Callable[..., Asker]) -> None:
    ask = make_asker(users=PageFormat("cursor", "descending"))
    answer = ask(PATH, "perPage=3")
    assert answer.ids == [7, 6, 5]
    assert answer.json["meta"]["cursor"] == {"id": 5, "affix": "prepend"}
    assert ask(PATH, "perPage=3&affix=append").json["meta"]["cursor"] == {"id": 3, "affix": "append"}


@pytest.mark.parametrize(
    ("query", "acting_user", "size"),
    [
        ("", None, 100),
        ("limit=3", None, 3),
        ("limit=3&perPage=4", None, 4),
        ("", "bob", 10),
        ("perPage=4", "bob", 4),
        ("limit=3&perPage=4", "bob", 3),
    ],
)
def test_limit_goes_with_an_acting_user_and_per_page_without(
    seven: Asker, query: str, acting_user: str | None, size: int
) -> None:
    assert seven(PATH, query, acting_user=acting_user).json["meta"]["pagination"]["per_page"] == size


@given(size=st.integers(1, 60), affix=st.sampled_from(["append", "prepend", ""]), filtered=st.booleans())
def test_following_the_cursor_covers_every_message_once(
    generated: Asker, size: int, affix: str, filtered: bool
) -> None:
    path, query = "/v3/users/user-01/messages", "&category=custom" if filtered else "&type=video"
    walked: list[int] = []
    position = f"affix={affix}" if affix else ""
    while True:
        answer = generated(path, f"perPage={size}&{position}{query}")
        cursor, pagination = answer.json["meta"]["cursor"], answer.json["meta"]["pagination"]
        forwards = cursor["affix"] == "append"
        walked += answer.ids if forwards else reversed(answer.ids)
        if pagination["current_page"] >= pagination["total_pages"]:
            break
        position = f"affix={cursor['affix']}&id={cursor['id']}"
    assert walked == sorted(generated(path, f"perPage=1000{query}").ids, reverse=not forwards)
    assert generated(path, f"affix={cursor['affix']}&id={cursor['id']}{query}").ids == []


def test_counts_per_other_side(seven: Asker) -> None:
    seven.store.add_message("bob", "ann", "8")
    seven.store.add_message("cat", "ann", "9")
    seven.store.add_message("ann", "den", "10", receiver_type="group")

    def counted(path: str, query: str = "", acting_user: str | None = None) -> list[tuple[str, str, int]]:
        answer = seven(path, f"count=true{query}", acting_user=acting_user)
        return [(row["entityType"], row["entityId"], row["count"]) for row in answer.json["data"]]

    assert counted(PATH) == [("group", "den", 1), ("user", "bob", 8), ("user", "cat", 1)]
    assert counted(PATH, acting_user="bob") == [("user", "bob", 8)]
    assert counted(PATH, "&unread=1") == [("user", "bob", 1), ("user", "cat", 1)]
    assert counted("/v3/messages", acting_user="ann") == counted(PATH)
    assert counted("/v3/groups/den/messages") == [("group", "den", 1)]
    meta = seven(PATH, "count=1").json["meta"]
    assert (meta["pagination"]["total"], meta["pagination"]["total_pages"]) == (3, 1)
    assert seven("/v3/messages", "count=1").json["meta"]["current"]["count"] == 3
