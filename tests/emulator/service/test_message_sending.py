"""Messages that are sent: their data, what they quote, and whom they do not reach."""

from tests.emulator.conftest import ServiceClient

TEXT = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hi ü 👩‍👩‍👧‍👦"}}


def test_sizes_of_attachments_become_numbers_and_custom_data_is_unchanged(ask: ServiceClient) -> None:
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


def test_blocked_users_and_banned_members_do_not_reach_each_other(ask: ServiceClient) -> None:
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


def test_a_message_has_the_message_that_it_quotes(ask: ServiceClient) -> None:
    first = ask.post("/v3/messages", TEXT, acting_user="ann").json["data"]
    second = ask.post("/v3/messages", TEXT | {"quotedMessageId": "1"}, acting_user="ann").json["data"]
    assert second["quotedMessage"] == first
    third = ask.post("/v3/messages", TEXT | {"quotedMessageId": "2"}, acting_user="ann").json["data"]
    assert third["quotedMessage"]["id"] == "2"
    assert "quotedMessage" not in third["quotedMessage"]
    assert ask("/v3/users/bob/messages", "hideQuotedMessages=1", acting_user="ann").ids == [1]
