from typing import Any

import pytest

from tests.cases import loop_over
from tests.emulator.conftest import Asker

TEXT = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hi ü 👩‍👩‍👧‍👦"}}


def test_media_and_custom(ask: Asker) -> None:
    attachment = {
        "url": "https://a.example/1.png", "name": "1", "mimeType": "image/png", "extension": "png",
        "size": "9",
    }  # fmt: skip
    media = ask.post("/v3/messages", TEXT | {"type": "image", "data": {"attachments": [attachment]}}).json[
        "data"
    ]
    assert media["data"]["attachments"] == [attachment | {"size": 9}]
    assert media["data"]["url"] == attachment["url"]
    body = TEXT | {"category": "custom", "type": "my-type", "data": {"customData": {"a": [1]}}}
    custom = ask.post("/v3/messages", body).json["data"]
    assert (custom["category"], custom["type"], custom["data"]["customData"]) == (
        "custom",
        "my-type",
        {"a": [1]},
    )


@loop_over(
    ("changed", "status", "code"),
    [
        ({"receiver": "nobody", "receiverType": "group"}, 404, "ERR_GUID_NOT_FOUND"),
        ({"receiver": ""}, 400, "ERR_BAD_REQUEST"),
        ({"receiver": 7}, 400, "ERR_BAD_REQUEST"),
        ({"multipleReceivers": {"uids": "ann"}}, 400, "ERR_BAD_REQUEST"),
        ({"quotedMessageId": "77"}, 404, "ERR_MESSAGE_ID_NOT_FOUND"),
        ({"type": "poem"}, 400, "ERR_INVALID_MESSAGE_TYPE"),
        ({"data": {"text": ""}}, 400, "ERR_EMPTY_MESSAGE_TEXT"),
        ({"data": {"text": " \n"}}, 400, "ERR_EMPTY_MESSAGE_TEXT"),
        ({"data": {}}, 400, "ERR_EMPTY_MESSAGE_TEXT"),
        ({"data": {"text": 5}}, 400, "ERR_INVALID_MESSAGE_TEXT"),
        ({"data": {"text": "x" * 70_000}}, 400, "ERR_BAD_REQUEST"),
        ({"data": "x"}, 400, "ERR_BAD_REQUEST"),
        ({"tags": [1]}, 400, "ERR_BAD_REQUEST"),
        ({"tags": ["x"] * 26}, 400, "ERR_BAD_REQUEST"),
        ({"type": "image"}, 400, "ERR_EMPTY_MESSAGE_FILE"),
        ({"type": "file", "data": {"attachments": {"a": 1}}}, 400, "ERR_INVALID_MEDIA_MESSAGE"),
        ({"category": "custom", "data": {}}, 400, "ERR_EMPTY_CUSTOM_DATA"),
        ({"category": "custom", "data": {"customData": "x"}}, 400, "ERR_INVALID_CUSTOM_DATA"),
    ],
)  # fmt: skip
def test_messages_that_are_refused(ask: Asker, changed: dict[str, Any], status: int, code: str) -> None:
    answer = ask.post("/v3/messages", TEXT | changed, acting_user="ann")
    assert (answer.status, answer.code) == (status, code)
    assert ask.store.ids() == []


def test_a_body_nested_beyond_all_bounds_is_refused(ask: Asker) -> None:
    answer = ask.post("/v3/users", b'{"metadata":{"a":' + b"[" * 9000)
    assert (answer.status, list(answer.json["error"]["details"])) == (400, ["body"])


# ── blocks, bans, quotes, resends ──


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


# ── bots ──


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"data": {}}, "ERR_INVALID_MESSAGE_DATA"),
        ({"quotedMessageId": "1"}, "ERR_BAD_REQUEST"),
    ],
)
def test_interactive_messages_that_are_refused(ask: Asker, changed: Any, code: str) -> None:
    ask.store.add_message("bob", "ann", "x")
    body = {"receiver": "ann", "category": "interactive", "type": "form", "data": {"interactiveData": {}}}
    assert ask.post("/v3/bots/bob/messages", body | changed).code == code
    assert ask.post("/v3/bots/robot/messages", body).code == "ERR_BOT_NOT_FOUND"
