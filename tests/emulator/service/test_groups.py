"""Groups in pages, and members by the filters of their list."""

from typing import Any

import pytest

from tests.emulator.conftest import NOW, ServiceClient
from tests.support.cases import loop_over

PATH = "/v3/groups/den/members"


@pytest.fixture
def den(ask: ServiceClient) -> ServiceClient:
    """The group den with ann (admin) and bob (participant); cat is not a member, dan is switched off."""
    ask.store.add_user("eve", "Eve", status="available", updatedAt=77, tags=["x"])
    ask.store.add_user("dan", deactivatedAt=5)
    ask.store.members.add("den", "ann", "admin", joined_at=10)
    ask.store.members.add("den", "bob", joined_at=20)
    ask.store.members.add("den", "eve", "moderator", joined_at=30)
    return ask


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=available", "eve"), ("status=offline", "ann bob"), ("scopes=admin", "ann"),
        ("scopes=admin,moderator", "ann eve"), ("scopes=participant&status=available", ""),
        ("scopes=moderator&scopes=participant", "bob eve"),
    ],
)  # fmt: skip
def test_filters_of_members(den: ServiceClient, query: str, expected: str) -> None:
    answer = den(PATH, query)
    assert [record["uid"] for record in answer.json["data"]] == expected.split()
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
    ask: ServiceClient, query: str, guids: str, cursor: Any
) -> None:
    ask.post("/v3/groups", GROUP)
    answer = ask("/v3/groups", query).json
    assert [group["guid"] for group in answer["data"]] == guids.split()
    assert answer["meta"]["pagination"]["count"] == len(guids.split())
    assert answer.get("cursor") == cursor
