"""Records against the query: honest pages fit, and each misfit names its filter."""

import json
from typing import Any

from msgspec import structs

from chatrest import Message, MessageQuery, parse
from chatrest._core.replies.expectation import (
    EVERY_RECORD,
    Expectation,
    QueryChecks,
    is_of_others,
    is_sent_by_other,
)
from chatrest._core.replies.rows import Row, row_of
from chatrest._models.conversations import Conversation
from chatrest._resources import conversations, messages, users
from tests.support.cases import loop_over

TEXT: dict[str, Any] = {
    "id": "7", "conversationId": "alice_user_bob", "sender": "alice", "receiver": "bob",
    "receiverType": "user", "category": "message", "type": "text", "data": {"text": "hello"},
    "sentAt": 1_700_000_000, "updatedAt": 1_700_000_000,
}  # fmt: skip
GROUP = {"conversationId": "group_g", "sender": "carol", "receiver": "g", "receiverType": "group"}
OTHERS = {"conversationId": "carol_user_dave", "sender": "carol", "receiver": "dave"}


def forms(**changes: Any) -> list[Any]:
    """The same message as typed record and as row."""
    record = {name: value for name, value in (TEXT | changes).items() if value is not ...}
    return [parse(Message, record), row_of(json.dumps(record).encode())]


def verdict(expectation: Expectation, **changes: Any) -> str | None:
    """The filter that a message does not fit, the same for all its forms and one by one or in bulk."""
    verdicts = {expectation.mismatch(record) for record in forms(**changes)}
    fitting = [record for record in forms() if expectation.mismatch(record) is None]
    for record in forms(**changes):
        same = [each for each in fitting if type(each) is type(record)]
        misfits = expectation.mismatches([*same, record])
        assert misfits == ({} if expectation.mismatch(record) is None else {len(same): next(iter(verdicts))})
    [name] = verdicts
    return name


def asked(query: MessageQuery | None = None, **plain: Any) -> Expectation:
    return Expectation.of_messages(checks=QueryChecks.of(query), **plain)


@loop_over(
    ("query", "misfit", "name"),
    [
        ({"from_timestamp": 1_700_000_000}, {"sentAt": 1_699_999_999}, "from_timestamp"),
        ({"to_timestamp": 1_700_000_000}, {"sentAt": 1_700_000_001}, "to_timestamp"),
        ({"sent_at_from": 1_700_000_000}, {"sentAt": 1_699_999_999}, "sent_at_from"),
        ({"sent_at_to": 1_700_000_000}, {"sentAt": 1_700_000_001}, "sent_at_to"),
        ({"updated_at_from": 1_700_000_000}, {"updatedAt": 1}, "updated_at_from"),
        ({"category": "message"}, {"category": "custom"}, "category"),
        ({"categories": ["message", "call"]}, {"category": "custom"}, "categories"),
        ({"type": "text"}, {"type": "image"}, "type"),
        ({"types": ["text"]}, {"type": "image"}, "types"),
        ({"sender": "alice"}, {"sender": "bob"}, "sender"),
        ({"senders": ["alice"]}, {"sender": "bob"}, "senders"),
        ({"receiver_type": "user"}, {"receiverType": "group"}, "receiver_type"),
    ],
)
def test_a_record_that_does_not_fit_a_filter_names_it(
    query: dict[str, Any], misfit: dict[str, Any], name: str
) -> None:
    expectation = asked(MessageQuery(**query))
    assert verdict(expectation) is None
    assert verdict(expectation, **misfit) == name
    absent: dict[str, Any] = dict.fromkeys(misfit, ...)
    assert verdict(expectation, **absent) is None


@loop_over("sent_at", [1_700_000_000, 1_700_000_000_000, 1_700_000_000_999])
@loop_over("stamp", [1_700_000_000, 1_700_000_000_000])
def test_a_window_includes_both_ends_in_seconds_and_milliseconds(sent_at: int, stamp: int) -> None:
    assert verdict(asked(MessageQuery(from_timestamp=stamp)), sentAt=sent_at) is None
    if (sent_at, stamp) != (1_700_000_000_999, 1_700_000_000_000):
        assert verdict(asked(MessageQuery(to_timestamp=stamp)), sentAt=sent_at) is None


@loop_over(
    "fitting",
    [
        {}, {"sender": "bob", "receiver": "alice"}, {"sender": "ALICE"}, {"sender": "system"},
        {"sender": "app_system", "receiver": "alice"}, GROUP, {"sender": ...}, {"receiver": ...},
        {"receiverType": ...}, {"category": "action", "type": "message", "sender": "moderator"},
        {"category": "action", "type": "message", "sender": "x", "receiver": "y", "conversationId": ...},
        {"category": "call", "type": "audio", "sender": "app", "receiver": "x"},
        {"category": "action", "sender": "x", "receiver": "y", "conversationId": "user_alice_bob"},
    ],
)  # fmt: skip
def test_messages_between_the_two_users_fit_the_filter(fitting: dict[str, Any]) -> None:
    assert verdict(asked(uid="bob", acting_user="alice"), **fitting) is None
    assert verdict(asked(acting_user="alice"), **fitting) is None


@loop_over(
    ("plain", "misfit", "name"),
    [
        ({"uid": "bob", "acting_user": "alice"}, OTHERS, "on_behalf_of"),
        ({"uid": "bob", "acting_user": "alice"}, {"sender": "carol"}, "on_behalf_of"),
        ({"uid": "bob", "acting_user": "alice"}, {"receiver": "carol"}, "uid"),
        ({"uid": "bob", "acting_user": "alice"}, {"sender": "system", "receiver": "carol"}, "uid"),
        ({"uid": "bob", "acting_user": "alice"}, OTHERS | {"category": "call"}, "on_behalf_of"),
        ({"uid": "bob"}, OTHERS, "uid"),
        ({"uid": "bob", "acting_user": "bob"}, OTHERS, "uid"),
        ({"acting_user": "alice"}, OTHERS, "on_behalf_of"),
        ({"acting_user": "alice"}, OTHERS | {"category": "action"}, "on_behalf_of"),
    ],
)
def test_messages_of_other_users_do_not_fit_the_filter(
    plain: dict[str, Any], misfit: dict[str, Any], name: str
) -> None:
    assert verdict(asked(**plain)) is None
    assert verdict(asked(**plain), **misfit) == name


def test_filters_across_conversations_are_not_compared_with_the_user() -> None:
    expectation = asked(MessageQuery(unread=True), uid="bob", acting_user="alice")
    assert verdict(expectation, receiver="carol") is None
    assert verdict(expectation, **OTHERS) == "on_behalf_of"


def test_a_group_and_a_thread() -> None:
    assert verdict(asked(guid="g"), **GROUP) is None
    assert verdict(asked(guid="g"), **(GROUP | {"receiver": "h"})) == "guid"
    assert verdict(asked(guid="g")) == "guid"
    kicked = GROUP | {"category": "action", "type": "groupMember", "receiver": "dave"}
    assert verdict(asked(guid="g"), **kicked) is None
    for fitting in ({"parentId": "5"}, {"parentId": 5}, {"parentId": "05"}, {"id": "5", "parentId": "1"}):
        assert verdict(asked(parent_id="5"), **fitting) is None
    for misfit in ({"parentId": "6"}, {}, {"parentId": None}):
        assert [asked(parent_id="5").mismatch(each) for each in forms(**misfit)] == ["message_id"] * 2


def test_a_call_has_the_expectation_of_the_filters() -> None:
    def of(endpoint: Any, acting_user: str | None = None, query: Any = None, **path: str) -> Expectation:
        return Expectation.of(endpoint(query=query, **path), acting_user)

    others = forms(**OTHERS)[0]
    assert of(messages.LIST_USER, uid="bob").mismatch(others) == "uid"
    assert of(messages.LIST_USER, "alice", uid="bob").mismatch(others) == "on_behalf_of"
    assert of(messages.LIST_GROUP, guid="a/b c").mismatch(forms(**(GROUP | {"receiver": "a/b c"}))[0]) is None
    assert of(messages.LIST_THREAD, id="5").mismatch(forms(parentId="6")[0]) == "message_id"
    assert of(messages.LIST, query=MessageQuery(type="image")).mismatch(others) == "type"
    for nothing in (of(messages.LIST), of(users.USERS_LIST), of(messages.LIST_REACTIONS, "alice", id="1")):
        assert nothing == EVERY_RECORD
        assert nothing.mismatches([others]) == {}
    assert of(messages.LIST_USER, "alice", MessageQuery(count=True), uid="bob") == EVERY_RECORD
    bot = structs.replace(messages.LIST_USER, name="messages.list_bot", path="/bots/{uid}/messages")
    assert of(bot, "alice", uid="bot").mismatch(others) == "on_behalf_of"


@loop_over(
    ("conversation", "name"),
    [
        ({"conversationId": "alice_user_bob", "conversationWith": {"uid": "bob"}}, None),
        ({"conversationId": "user_alice_bob", "conversationType": "user"}, None),
        ({"conversationId": "group_g", "conversationWith": {"guid": "g"}}, None),
        ({"conversationId": "opaque"}, None),
        ({"conversationId": "alice_user_alice", "conversationWith": {"uid": "alice"}}, None),
        ({"conversationId": "alice_user_bob", "conversationWith": {"uid": "alice"}}, "on_behalf_of"),
        ({"conversationId": "bob_user_carol", "conversationWith": {"uid": "carol"}}, "on_behalf_of"),
        ({"conversationId": "user_bob_carol"}, "on_behalf_of"),
    ],
)
def test_a_conversation_of_other_users_does_not_fit(conversation: dict[str, Any], name: str | None) -> None:
    expectation = Expectation.of(conversations.LIST(on_behalf_of="alice"))
    record, row = parse(Conversation, conversation), row_of(json.dumps(conversation).encode())
    assert type(row) is Row
    for each in (record, row):
        assert expectation.mismatch(each) == name
        assert expectation.mismatches([each]) == ({} if name is None else {0: name})


def test_a_row_of_strange_json_fits() -> None:
    expectation = asked(MessageQuery(type="text"), uid="bob", acting_user="alice")
    for raw in (
        b"7",
        b"{}",
        b'{"id":"1","type":"\\ud800"',
        b'{"type":NaN}',
        b'{"sender":"\\ud800","receiver":7}',
    ):
        assert expectation.mismatch(row_of(raw)) is None


def message(**changes: Any) -> Any:
    return parse(Message, TEXT | changes)


def test_a_message_of_another_sender_is_recognised() -> None:
    assert not is_sent_by_other(message(), "ALICE")
    assert is_sent_by_other(message(sender="system"), "alice")
    assert not is_sent_by_other(message(sender=""), "alice")
    assert not is_sent_by_other(object(), "alice")


def test_messages_of_a_user_are_sent_received_or_in_a_group() -> None:
    assert not is_of_others(message(), "bob")
    assert is_of_others(message(), "carol")
    assert not is_of_others(message(**GROUP), "bob")
    conversation = parse(Conversation, {"conversationId": "alice_user_bob"})
    assert is_of_others(conversation, "carol")
    assert not is_of_others(conversation, "bob")
    assert not is_of_others(None, "bob")
