"""Groups, their members, and what the wire shows of both."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.emulator.conftest import NOW, Answer, Asker

PATH = "/v3/groups/den/members"


@pytest.fixture
def den(ask: Asker) -> Asker:
    """The group den with ann (admin) and bob (participant); cat is no member, dan is switched off."""
    ask.store.add_user("eve", "Eve", status="available", updatedAt=77, tags=["x"])
    ask.store.add_user("dan", deactivatedAt=5)
    ask.store.add_member("den", "ann", "admin", joined_at=10)
    ask.store.add_member("den", "bob", joined_at=20)
    ask.store.add_member("den", "eve", "moderator", joined_at=30)
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
def test_filters(den: Asker, query: str, expected: str) -> None:
    answer = den(PATH, query)
    assert uids(answer) == expected.split()
    assert answer.json["meta"]["pagination"]["total"] == len(expected.split())


def test_a_changed_scope_is_listed(den: Asker) -> None:
    answer = den(f"{PATH}/bob", method="PUT", body={"scope": "moderator"})
    assert answer.json == {"data": {"guid": "den", "uid": "bob", "scope": "moderator", "joinedAt": 20}}
    assert uids(den(PATH, "scopes=moderator")) == ["bob", "eve"]
    again = den(f"{PATH}/bob", method="PUT", body={"scope": "moderator"})
    assert (again.status, again.code) == (400, "ERR_SAME_SCOPE")
    assert den(f"{PATH}/bob", method="PUT").code == "ERR_BAD_REQUEST"
    wrong = den(f"{PATH}/bob", method="PUT", body={"scope": "boss"})
    assert (wrong.status, list(wrong.json["error"]["details"])) == (400, ["scope"])


ADMIN = {"scope": "admin"}
Requester = Callable[[Asker, str], Answer]
CALLS: dict[str, Requester] = {
    "list": lambda ask, guid: ask(f"/v3/groups/{guid}/members"),
    "add": lambda ask, guid: ask.post(f"/v3/groups/{guid}/members", {"admins": ["ann"]}),
    "change_scope": lambda ask, guid: ask(f"/v3/groups/{guid}/members/ann", method="PUT", body=ADMIN),
    "kick": lambda ask, guid: ask(f"/v3/groups/{guid}/members/ann", method="DELETE"),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_group_is_not_found(den: Asker, name: str) -> None:
    answer = CALLS[name](den, "none")
    assert (answer.status, answer.code) == (404, "ERR_GUID_NOT_FOUND")


@pytest.mark.parametrize(("uid", "code"), [("cat", "ERR_NOT_A_MEMBER"), ("nobody", "ERR_UID_NOT_FOUND")])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_user_who_is_no_member_has_no_scope_and_is_not_kicked(
    den: Asker, method: str, uid: str, code: str
) -> None:
    answer = den(f"{PATH}/{uid}", method=method, body={"scope": "admin"})
    assert (answer.status, answer.code) == (404, code)


def test_the_list_ignores_an_acting_user(den: Asker) -> None:
    assert den(PATH, acting_user="nobody").status == 200
    assert den.post(PATH, {"admins": ["cat"]}, acting_user="nobody").code == "ERR_UID_NOT_FOUND"


# ── pages of groups ──


GROUP = {"guid": "hall", "name": "Hall", "type": "public"}


@pytest.mark.parametrize(
    ("query", "guids", "cursor"),
    [
        ("perPage=1", "den", {"updatedAt": 0, "affix": "append"}),
        ("perPage=1&affix=prepend", "hall", {"updatedAt": NOW, "affix": "prepend"}),
        ("updatedAt=0&affix=append", "hall", {"updatedAt": NOW, "affix": "append"}),
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
