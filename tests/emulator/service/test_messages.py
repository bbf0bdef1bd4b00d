"""Messages that are sent, edits, marks and reactions, each by its reply and by what the lists show of it."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.emulator.conftest import NOW, Asker

PATH = "/v3/messages/1"


@pytest.fixture
def chat(ask: Asker) -> Asker:
    """One message of ann to bob, long ago."""
    ask.store.add_message("ann", "bob", "first", sent_at=50, tags=["x"])
    return ask


def put(ask: Asker, body: Any, user: str | None = "ann", path: str = PATH) -> Any:
    return ask(path, method="PUT", body=body, acting_user=user)


def test_moderators_of_a_group_change_the_messages_in_it(ask: Asker) -> None:
    ask.store.members.add("den", "ann", "moderator")
    ask.store.members.add("den", "bob")
    ask.store.add_message("cat", "den", "hi", receiver_type="group")
    refused = ask(PATH, method="DELETE", acting_user="bob")
    assert refused.code == "ERR_MESSAGE_NOT_A_SENDER"
    assert ask(PATH, method="DELETE", acting_user="ann").status == 200
    assert ask(PATH).json["data"]["deletedBy"] == "ann"


def test_messages_of_blocked_users_can_be_hidden(chat: Asker) -> None:
    chat.store.add_message("bob", "ann", "answer")
    chat.store.relations.add("blocked", "ann", "bob")
    query = "hideMessagesFromBlockedUsers=1"
    assert chat("/v3/users/bob/messages", query, acting_user="ann").ids == [1]
    assert chat("/v3/users/ann/messages", query, acting_user="bob").ids == [1, 2]
    assert chat("/v3/messages", query).ids == [1, 2]
    assert chat("/v3/messages", "hideMessagesFromBlockedUsers=maybe").status == 400


def test_the_windows_of_changes_skip_what_was_never_changed(chat: Asker) -> None:
    chat.store.add_message("bob", "ann", "answer", sent_at=60)
    put(chat, {"data": {"text": "second"}})
    path = "/v3/messages"
    assert chat(path, f"updatedAt[from]={NOW}").ids == [1]
    assert chat(path, f"editedAt[from]=1&editedAt[to]={NOW}").ids == [1]
    assert chat(path, f"updatedAt[to]={NOW - 1}").ids == []
    assert chat(path, "sentAt[from]=55&sentAt[to]=60").ids == [2]
    wrong = chat(path, "updatedAt[from]=soon")
    assert list(wrong.json["error"]["details"]) == ["updatedAt[from]"]
    chat.store.add_message("ann", "bob", "now", sent_at=NOW)
    put(chat, {"data": {"text": "edited in the same second"}}, path="/v3/messages/4")
    chat("/v3/messages/2", method="DELETE")
    assert chat("/v3/messages/2").json["data"]["deletedBy"] == "app_system"
    assert chat(path, f"updatedAt[from]={NOW}").ids == [1, 2, 4]


REACTIONS = "/v3/messages/1/reactions"


@pytest.fixture
def hello(ask: Asker) -> Asker:
    ask.store.add_message("ann", "den", "hi", receiver_type="group")
    return ask


def react(ask: Asker, uid: str, emoji: str, method: str = "POST") -> Any:
    path = f"{REACTIONS}/{quote(emoji)}"
    return ask(path, method=method, acting_user=uid).json["data"]["data"]["reactions"]


def test_a_reaction_that_is_taken_back_is_neither_counted_nor_listed(hello: Asker) -> None:
    react(hello, "ann", "👍")
    react(hello, "bob", "👍")
    assert react(hello, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(hello, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(hello, "bob", "👍", "DELETE") == []
    hello.store.marks.add("save", 1, "ann", NOW)
    assert hello(REACTIONS).json["data"] == []
    assert hello("/v3/messages", "hasReactions=true").ids == []


def test_others_do_not_see_whose_reactions_they_are(hello: Asker) -> None:
    react(hello, "ann", "👍")
    for user, expected in (("ann", {"reactedByMe": True}), ("bob", {}), (None, {})):
        counts = {"reaction": "👍", "count": 1} | expected
        listed = hello("/v3/groups/den/messages", "hasReactions=1", acting_user=user)
        assert listed.json["data"][0]["data"]["reactions"] == [counts]
        assert hello("/v3/messages/1", acting_user=user).json["data"]["data"]["reactions"] == [counts]


def test_reactions_come_in_pages_in_both_directions(hello: Asker) -> None:
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


TEXT = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hi ü 👩‍👩‍👧‍👦"}}


def test_media_and_custom(ask: Asker) -> None:
    attachment = {
        "url": "https://a.example/1.png", "name": "1", "mimeType": "image/png", "extension": "png",
        "size": "9",
    }  # fmt: skip
    image = TEXT | {"type": "image", "data": {"attachments": [attachment]}}
    media = ask.post("/v3/messages", image).json["data"]
    assert media["data"]["attachments"] == [attachment | {"size": 9}]
    assert media["data"]["url"] == attachment["url"]
    image["data"]["attachments"] = [attachment | {"size": "9 kB"}]
    assert ask.post("/v3/messages", image).json["data"]["data"]["attachments"][0]["size"] == "9 kB"
    body = TEXT | {"category": "custom", "type": "my-type", "data": {"customData": {"a": [1]}}}
    custom = ask.post("/v3/messages", body).json["data"]
    assert (custom["category"], custom["type"]) == ("custom", "my-type")
    assert custom["data"]["customData"] == {"a": [1]}


def test_a_body_nested_beyond_all_bounds_is_refused(ask: Asker) -> None:
    answer = ask.post("/v3/users", b'{"metadata":{"a":' + b"[" * 9000)
    assert (answer.status, list(answer.json["error"]["details"])) == (400, ["body"])


def test_blocked_users_and_banned_members_do_not_reach_each_other(ask: Asker) -> None:
    ask.store.relations.add("blocked", "ann", "bob")
    for sender, receiver, code in (
        ("ann", "bob", "ERR_BLOCKED_RECEIVER"),
        ("bob", "ann", "ERR_BLOCKED_SENDER"),
    ):
        answer = ask.post("/v3/messages", TEXT | {"receiver": receiver}, acting_user=sender)
        assert (answer.status, answer.code) == (403, code)
    ask.store.members.ban("den", "bob")
    answer = ask.post("/v3/messages", TEXT | {"receiver": "den", "receiverType": "group"}, acting_user="bob")
    assert answer.code == "ERR_BANNED_GROUPMEMBER"


def test_a_quoted_message_stands_in_the_one_that_quotes_it(ask: Asker) -> None:
    first = ask.post("/v3/messages", TEXT, acting_user="ann").json["data"]
    second = ask.post("/v3/messages", TEXT | {"quotedMessageId": "1"}, acting_user="ann").json["data"]
    assert second["quotedMessage"] == first
    third = ask.post("/v3/messages", TEXT | {"quotedMessageId": "2"}, acting_user="ann").json["data"]
    assert third["quotedMessage"]["id"] == "2"
    assert "quotedMessage" not in third["quotedMessage"]
    assert ask("/v3/users/bob/messages", "hideQuotedMessages=1", acting_user="ann").ids == [1]
