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
