"""Edits, marks and reactions, each by its reply and by what the lists show of it."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.emulator.conftest import NOW, ServiceClient

PATH = "/v3/messages/1"


@pytest.fixture
def chat(ask: ServiceClient) -> ServiceClient:
    """One message of ann to bob, long ago."""
    ask.store.add_message("ann", "bob", "first", sent_at=50, tags=["x"])
    return ask


def put(ask: ServiceClient, body: Any, user: str | None = "ann", path: str = PATH) -> Any:
    return ask(path, method="PUT", body=body, acting_user=user)


def test_moderators_of_a_group_change_the_messages_in_it(ask: ServiceClient) -> None:
    ask.store.members.add("den", "ann", "moderator")
    ask.store.members.add("den", "bob")
    ask.store.add_message("cat", "den", "hi", receiver_type="group")
    refused = ask(PATH, method="DELETE", acting_user="bob")
    assert refused.code == "ERR_MESSAGE_NOT_A_SENDER"
    assert ask(PATH, method="DELETE", acting_user="ann").status == 200
    assert ask(PATH).json["data"]["deletedBy"] == "ann"


def test_messages_of_blocked_users_can_be_hidden(chat: ServiceClient) -> None:
    chat.store.add_message("bob", "ann", "answer")
    chat.store.relations.add("blocked", "ann", "bob")
    query = "hideMessagesFromBlockedUsers=1"
    assert chat("/v3/users/bob/messages", query, acting_user="ann").ids == [1]
    assert chat("/v3/users/ann/messages", query, acting_user="bob").ids == [1, 2]
    assert chat("/v3/messages", query).ids == [1, 2]


def test_windows_of_changes_skip_unchanged_messages(chat: ServiceClient) -> None:
    chat.store.add_message("bob", "ann", "answer", sent_at=60)
    put(chat, {"data": {"text": "second"}})
    path = "/v3/messages"
    assert chat(path, f"updatedAt[from]={NOW}").ids == [1]
    assert chat(path, f"editedAt[from]=1&editedAt[to]={NOW}").ids == [1]
    assert chat(path, f"updatedAt[to]={NOW - 1}").ids == []
    assert chat(path, "sentAt[from]=55&sentAt[to]=60").ids == [2]
    chat.store.add_message("ann", "bob", "now", sent_at=NOW)
    put(chat, {"data": {"text": "edited in the same second"}}, path="/v3/messages/4")
    chat("/v3/messages/2", method="DELETE")
    assert chat("/v3/messages/2").json["data"]["deletedBy"] == "app_system"
    assert chat(path, f"updatedAt[from]={NOW}").ids == [1, 2, 4]


REACTIONS = "/v3/messages/1/reactions"


@pytest.fixture
def hello(ask: ServiceClient) -> ServiceClient:
    ask.store.add_message("ann", "den", "hi", receiver_type="group")
    return ask


def react(ask: ServiceClient, uid: str, emoji: str, method: str = "POST") -> Any:
    path = f"{REACTIONS}/{quote(emoji)}"
    return ask(path, method=method, acting_user=uid).json["data"]["data"]["reactions"]


def test_a_reaction_that_is_taken_back_is_neither_counted_nor_listed(hello: ServiceClient) -> None:
    react(hello, "ann", "👍")
    react(hello, "bob", "👍")
    assert react(hello, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(hello, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(hello, "bob", "👍", "DELETE") == []
    hello.store.marks.add("save", 1, "ann", NOW)
    assert hello(REACTIONS).json["data"] == []
    assert hello("/v3/messages", "hasReactions=true").ids == []


def test_a_reaction_shows_only_whether_the_user_reacted(hello: ServiceClient) -> None:
    react(hello, "ann", "👍")
    for user, expected in (("ann", {"reactedByMe": True}), ("bob", {}), (None, {})):
        counts = {"reaction": "👍", "count": 1} | expected
        listed = hello("/v3/groups/den/messages", "hasReactions=1", acting_user=user)
        assert listed.json["data"][0]["data"]["reactions"] == [counts]
        assert hello("/v3/messages/1", acting_user=user).json["data"]["data"]["reactions"] == [counts]


def test_reactions_come_in_pages_in_both_directions(hello: ServiceClient) -> None:
    for emoji in "abcde":
        react(hello, "ann", emoji)
    first = hello(REACTIONS, "limit=2")
    assert [row["reaction"] for row in first.json["data"]] == ["a", "b"]
    assert first.json["meta"]["current"] == {"limit": 2, "count": 2}
    assert [row["reaction"] for row in hello(REACTIONS, "limit=2&id=2&affix=append").json["data"]] == [
        "c",
        "d",
    ]
    assert [row["reaction"] for row in hello(REACTIONS, "affix=prepend&id=4").json["data"]] == ["c", "b", "a"]
    empty = hello(REACTIONS, "id=5&affix=append").json
    assert (empty["data"], empty["meta"]["next"]) == ([], {"affix": "append", "id": 5})
