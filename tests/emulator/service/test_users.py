"""Users, groups, their members, and what the wire shows of them."""

from typing import Any

import pytest

from chatrest.emulator import Store
from tests.cases import loop_over
from tests.emulator.conftest import NOW, Answer, Asker, asker


@pytest.fixture
def directory(ask: Asker) -> Asker:
    """Beside ann, bob and cat: users that differ in all that can be filtered for."""
    ask.store.add_user("dan_x", "Anna", status="available", role="boss", tags=["a", "b"], updatedAt=77)
    ask.store.add_user("danyx", "Ölaf", role="guest", tags=["b"])
    ask.store.add_user("eve", "Eve", deactivatedAt=5)
    return ask


@loop_over(
    ("query", "uids"),
    [
        ("", "ann bob cat dan_x danyx"),
        ("searchKey=AN", "ann dan_x"),
        ("searchKey=an&searchIn=uid", "ann"),
        ("searchKey=an&searchIn=name,uid", "ann dan_x"),
        ("searchKey=dan_", "dan_x"),
        ("searchKey=%C3%B6", "danyx"),
        ("searchKey=nn", ""),
        ("status=available", "dan_x"),
        ("status=offline", "ann bob cat danyx"),
        ("role=boss", "dan_x"),
        ("roles=boss,guest", "dan_x danyx"),
        ("tags=a", "dan_x"),
        ("tags=a&tags=b", "dan_x danyx"),
        ("onlyDeactivated=true", "eve"),
        ("withDeactivated=true", "ann bob cat dan_x danyx eve"),
        ("roles=boss,guest&tags=b&searchKey=dany", "danyx"),
    ],
)
def test_filters(directory: Asker, query: str, uids: str) -> None:
    answer = directory("/v3/users", query)
    assert [user["uid"] for user in answer.json["data"]] == uids.split()
    assert answer.json["meta"]["pagination"]["total"] == len(uids.split())


def test_a_user_who_does_not_exist_is_answered_with_those_who_do(generated: Asker, store: Store) -> None:
    sentence = "The user with UID user-1 does not exist; known: user-001 to user-012."
    assert generated("/v3/users/user-1").json["error"]["message"] == sentence
    assert generated("/v3/users/user-001/messages", acting_user="user-1").json["error"]["message"] == sentence
    assert asker(store)("/v3/users/user-1").json["error"]["message"].endswith("known: none.")


PATH = "/v3/groups/den/members"


@pytest.fixture
def den(ask: Asker) -> Asker:
    """The group den with ann (admin) and bob (participant); cat is not a member, dan is switched off."""
    ask.store.add_user("eve", "Eve", status="available", updatedAt=77, tags=["x"])
    ask.store.add_user("dan", deactivatedAt=5)
    ask.store.members.add("den", "ann", "admin", joined_at=10)
    ask.store.members.add("den", "bob", joined_at=20)
    ask.store.members.add("den", "eve", "moderator", joined_at=30)
    return ask


def uids(answer: Answer) -> list[str]:
    return [record["uid"] for record in answer.json["data"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=available", "eve"), ("status=offline", "ann bob"), ("scopes=admin", "ann"),
        ("scopes=admin,moderator", "ann eve"), ("scopes=participant&status=available", ""),
        ("scopes=moderator&scopes=participant", "bob eve"),
    ],
)  # fmt: skip
def test_filters_of_members(den: Asker, query: str, expected: str) -> None:
    answer = den(PATH, query)
    assert uids(answer) == expected.split()
    assert answer.json["meta"]["pagination"]["total"] == len(expected.split())


GROUP = {"guid": "hall", "name": "Hall", "type": "public"}


@loop_over(
    ("query", "guids", "cursor"),
    [
        ("perPage=1", "den", {"updatedAt": 0, "affix": "append"}),
        ("perPage=1&affix=prepend", "hall", {"updatedAt": NOW, "affix": "prepend"}),
        ("updatedAt=0&affix=append", "hall", {"updatedAt": NOW, "affix": "append"}),
        (f"updatedAt={NOW - 1}", "hall", {"updatedAt": NOW, "affix": "append"}),
        (f"updatedAt={NOW}", "", None),
    ],
)
def test_a_page_of_groups_has_pagination_and_a_position(
    ask: Asker, query: str, guids: str, cursor: Any
) -> None:
    ask.post("/v3/groups", GROUP)
    answer = ask("/v3/groups", query).json
    assert [group["guid"] for group in answer["data"]] == guids.split()
    assert answer["meta"]["pagination"]["count"] == len(guids.split())
    assert answer.get("cursor") == cursor


def test_one_record_that_is_none_does_not_stop_an_import(ask: Asker) -> None:
    users = {"zoe": {"uid": "zoe", "name": "Zoe"}, "odd": {"uid": 7}}
    outcomes = ask.post("/v3/data_import/users", {"users": users}).json["data"]
    assert (outcomes["zoe"]["success"], outcomes["odd"]["success"]) == (True, False)
    assert outcomes["odd"]["error"]["code"] == "ERR_IMPORT_INVALID_USER_FORMAT"
