"""Groups, friends and blocked users: what the wire shows."""

from typing import Any

import pytest

from tests.emulator.conftest import NOW, Asker

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


REFUSED: list[tuple[str, str, Any, str]] = [
    ("POST", "/v3/groups", {"name": "Hall", "type": "public"}, "guid"),
    ("POST", "/v3/groups", {**GROUP, "type": "protected"}, "type"),
    ("POST", "/v3/groups", {**GROUP, "description": "d" * 256}, "description"),
    ("POST", "/v3/groups", {**GROUP, "members": {"admins": []}}, "members"),
    ("POST", "/v3/groups", {**GROUP, "members": {"admins": ["ann"], "owners": ["bob"]}}, "members"),
    ("PUT", "/v3/groups/den", {"unset": ["name"]}, "unset"),
    ("PUT", "/v3/groups/den", {"tags": ["t"] * 26}, "tags"),
    ("PUT", "/v3/users/ann", {"name": ""}, "name"),
    ("PUT", "/v3/users/ann", {"unset": "avatar"}, "unset"),
    ("DELETE", "/v3/users/ann", {"permanent": "yes"}, "permanent"),
    ("DELETE", "/v3/users", {}, "uidsToDeactivate"),
    ("PUT", "/v3/users", {"uidsToActivate": "ann"}, "uidsToActivate"),
    ("PUT", "/v3/users/ann/auth_tokens/TOKEN", {"platform": 5}, "platform"),
    ("POST", "/v3/users/ann/friends", {}, "accepted"),
    ("DELETE", "/v3/users/ann/friends", {"friends": [5]}, "friends"),
    ("POST", "/v3/users/ann/blockedusers", {}, "blockedUids"),
    ("POST", "/v3/roles", {"role": "guest"}, "name"),
    ("POST", "/v3/apikeys", {"name": "n" * 101}, "name"),
    ("PUT", "/v3/apikeys/auth", {"scope": "all"}, "scope"),
    ("POST", "/v3/roles/default/restrictedfeatures", {}, "featuresToRestrict"),
    ("PUT", "/v3/roles/default/permissions", {"permissions": {}}, "permissions"),
]


@pytest.mark.parametrize(("method", "path", "body", "field"), REFUSED)
def test_wrong_bodies_are_refused_by_their_field(
    ask: Asker, method: str, path: str, body: Any, field: str
) -> None:
    token = ask.post("/v3/users/ann/auth_tokens", {}).json["data"]["authToken"]
    answer = ask(path.replace("TOKEN", token), method=method, body=body)
    assert (answer.status, answer.code) == (400, "ERR_BAD_REQUEST")
    assert list(answer.json["error"]["details"]) == [field]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/v3/groups", "sortBy=uid"), ("/v3/groups", "sortOrder=down"), ("/v3/groups", "affix=after"),
        ("/v3/groups", "type=open"), ("/v3/groups", "createdAt[from]=x"),
        ("/v3/groups", "membersCount[gte]=-1"), ("/v3/groups", "hasJoined=maybe"),
        ("/v3/users", "updatedAt[to]=now"), ("/v3/users/ann/auth_tokens", "perPage=0"),
        ("/v3/users/ann/friends", "perPage=1001"), ("/v3/users/ann/blockedusers", "page=0"),
        ("/v3/groups/den/bannedusers", "page=0"), ("/v3/roles", "page=x"), ("/v3/apikeys", "scope=all"),
    ],
)  # fmt: skip
def test_wrong_filters_are_refused_by_their_name(ask: Asker, path: str, query: str) -> None:
    answer = ask(path, query)
    assert (answer.status, list(answer.json["error"]["details"])) == (400, [query.split("=")[0]])
