"""Deliveries of every trigger become typed events; unknown triggers are `UnknownEvent`s."""

import gzip
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from chatrest import ActionMessage, CallMessage, ReplyUnreadableError, RequestInvalidError, TextMessage, parse
from chatrest._models.messages import Message, UnknownMessage
from chatrest.webhooks import Event, MessageEvent, UnknownEvent, parse as parse_event
from chatrest.webhooks.events import EVENT_CLASSES
from tests.resources.operation_table import DOCUMENTED
from tests.support.cases import loop_over
from tests.webhooks.samples import CALL, CURRENT, FAILURE, LEGACY, MESSAGE, WITHOUT_ID, delivery

SAMPLES = [*CURRENT, *LEGACY]
BY_TRIGGER = {trigger: (data, extras) for trigger, data, _, extras in CURRENT}


def event_of(trigger: str, data: Any = None, **extras: Any) -> Any:
    return parse_event(delivery(trigger, BY_TRIGGER[trigger][0] if data is None else data, **extras))


def test_every_documented_trigger_has_a_class_and_no_other() -> None:
    assert sorted(EVENT_CLASSES) == DOCUMENTED["triggers"]


@loop_over(("trigger", "data", "kind", "extras"), SAMPLES)
def test_a_delivery_of_each_trigger_is_a_typed_event(
    trigger: str, data: Any, kind: type[Any], extras: dict[str, Any]
) -> None:
    body = delivery(trigger, data, **extras)
    event = parse_event(body)
    assert type(event) is kind
    assert isinstance(event, Event)
    assert (event.trigger, event.app_id, event.region, event.webhook) == (trigger, "app1", "eu", "w1")
    assert event.raw == event.to_json() == body
    assert event.to_dict() == json.loads(body)
    assert "s3cr3t" not in repr(event)


def test_other_members_of_the_envelope_are_preserved() -> None:
    assert event_of("call_ended", type="call").type == "call"
    legacy = parse_event(delivery("after_message", MESSAGE, origin={"platform": "web"}, chatAPIVersion="v3"))
    assert (legacy.origin, legacy.chat_api_version) == ({"platform": "web"}, "v3")
    bare = parse_event(json.dumps({"trigger": "message_sent", "data": {"message": MESSAGE}, "appId": 5}))
    assert (bare.app_id, bare.region, bare.webhook, bare.type) == ("5", "", "", msgspec.UNSET)


@pytest.mark.parametrize("trigger", ["message_sent", "message_edited", "call_initiated"])
def test_a_message_is_that_of_a_list(trigger: str) -> None:
    event = event_of(trigger)
    record = BY_TRIGGER[trigger][0].get("message") or BY_TRIGGER[trigger][0]["call"]
    message = event.data.call if trigger == "call_initiated" else event.message
    assert message == parse(Message, record)
    assert type(message) is {"17": TextMessage, "18": ActionMessage, "19": CallMessage}[message.id]


def test_a_message_before_it_is_sent_has_no_id() -> None:
    event = event_of("message_sent")
    before = parse_event(delivery("before_message", WITHOUT_ID))
    assert isinstance(before, MessageEvent)
    assert before.message == msgspec.structs.replace(event.message, id="")
    numbered = parse_event(delivery("before_message", MESSAGE | {"id": 17}))
    assert isinstance(numbered, MessageEvent)
    assert numbered.message.id == "17"
    sent = parse_event(delivery("message_sent", WITHOUT_ID))
    assert isinstance(sent, MessageEvent)
    assert isinstance(sent.message, UnknownMessage), "it has no id"


def test_receipts_of_both_kinds_have_the_same_names() -> None:
    current = event_of("message_read_receipt").data
    legacy = parse_event(delivery(*LEGACY[3][:2])).data
    delivered = parse_event(delivery(*LEGACY[2][:2])).data
    for data in (current, legacy):
        assert (data.body.action, data.body.message_id) == ("read", "17")
        assert (data.sender, data.receiver, data.message_sender) == ("bob", "alice", "alice")
    times = (current.body.timestamp, legacy.body.timestamp, delivered.body.timestamp)
    assert times == (1700000004, 6, 5)
    assert current.body.user.name == "Bob"


def test_users_groups_and_calls_are_typed() -> None:
    scope = event_of("group_member_scope_changed").data
    assert (scope.group.guid, scope.by.uid) == ("team", "alice")
    assert (scope.members["bob"].scope, scope.members["bob"].old_scope) == ("admin", "participant")
    assert event_of("group_owner_transferred").data.old_owner == "bob"
    assert event_of("user_blocked").data.users["bob"].name == "Bob"
    connection = event_of("user_connection_status_changed").data
    assert (connection.user.uid, connection.current_connection.connected_at) == ("alice", 1700000000100)
    ended = event_of("call_ended").data
    assert (ended.session_id, ended.all_occupants[0].audio_call) == ("v1.s", True)
    assert event_of("recording_generated").data.duration == "12.5"
    assert event_of("sms-notification-payload-generated").data.messages == (
        parse(Message, MESSAGE),
        parse(Message, CALL),
    )


def test_a_failed_moderation_may_be_the_data_itself() -> None:
    nested = event_of("moderation_engine_failed").data
    alone = event_of("moderation_engine_failed", FAILURE).data
    assert nested.failed == alone.failed
    assert nested.failed.content_type == "text"
    assert (nested.message.id, alone.message) == ("17", msgspec.UNSET)


def test_both_spellings_of_a_session_are_read() -> None:
    assert event_of("call_started", {"sessionid": "s"}).data.session_id == "s"


def test_a_reaction_without_an_id_is_typed() -> None:
    reaction = {"messageId": 17, "reaction": "😀", "uid": "bob", "reactedAt": "1700000003"}
    data = event_of("message_reaction_added", {"reaction": reaction}).data
    assert (data.reaction.id, data.reaction.message_id, data.reaction.reacted_at) == ("", "17", 1700000003)


@loop_over(
    ("trigger", "data", "reason"),
    [
        ("brand_new", {"a": 1}, "the trigger is not known"),
        ("brand_new", [1], "the trigger is not known"),
        ("message_sent", {"massage": {}}, "data.message: expected a value, got nothing"),
        ("message_sent", {"message": "17"}, "data.message: expected object, got text"),
        ("message_sent", {"message": None}, "data.message: expected a value, got null"),
        ("message_sent", [], "data: expected object, got array"),
        ("message_sent", None, "data: expected object, got null"),
        ("group_created", {"group": {"name": "no guid"}}, "data.group.guid: expected text, got nothing"),
        ("group_created", {"group": {"guid": "g"}, "by": 5}, "data.by: expected object, got whole number"),
        ("call_ended", {"sessionId": {}}, "data.sessionId: expected text, got object"),
        ("message_read_receipt", {"sender": "a"}, "data.body: expected a value, got nothing"),
        ("message_reaction_added", {"reaction": 5}, "data.reaction: expected object, got whole number"),
        ("sms-notification-payload-generated", {"to": {"uid": "a"}, "messages": 5},
         "data.messages: expected array, got whole number"),
    ],
)  # fmt: skip
def test_a_record_of_no_class_is_an_unknown_event(trigger: str, data: Any, reason: str) -> None:
    body = delivery(trigger, data)
    event = parse_event(body)
    assert isinstance(event, UnknownEvent)
    assert (event.trigger, event.data, event.raw, event.reason) == (trigger, data, body, reason)
    without = parse_event(b'{"trigger": "message_sent"}')
    assert (without.data, without.reason) == (None, "data: expected object, got nothing")  # type: ignore[union-attr]


@pytest.mark.parametrize("trigger", ["group_updated", "after_campaign_failed", "brand_new"])
def test_data_that_is_nested_too_deeply_is_an_unknown_event(trigger: str) -> None:
    deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    body = b'{"trigger":"%b","data":{"group":{"guid":"g","metadata":%b},"n":7}}' % (trigger.encode(), deep)
    event = parse_event(body)
    assert isinstance(event, UnknownEvent)
    assert event.raw == body
    assert (event.data, "deeply" in event.reason) == ({"n": 7}, trigger != "brand_new")
    with pytest.raises(ReplyUnreadableError, match="cannot be read as a dict"):
        event.to_dict()


def test_texts_and_buffers_are_parsed_too() -> None:
    body = delivery("message_sent", {"message": MESSAGE})
    for form in (body.decode(), bytearray(body), memoryview(body)):
        assert parse_event(form) == parse_event(body)
    marked = b"\xef\xbb\xbf \n" + body
    assert parse_event(marked).raw == marked


@loop_over(
    ("body", "text"),
    [
        (b"", "the body is empty"),
        (b" \n", "the body is empty"),
        (gzip.compress(b"{}", mtime=0), "compressed with gzip"),
        (b"[]", "expected an object, got array"),
        (b'"text"', "expected an object, got text"),
        (b"null", "expected an object, got null"),
        (b"{}", "trigger: expected text, got nothing"),
        (b'{"trigger": 5}', "trigger: expected text, got whole number"),
        (b'{"trigger": ""}', "trigger: expected text, got an empty text"),
        (b'{"trigger": "message_sent", "data": {', "cut off"),
        (b'{"trigger": "message_sent"} {}', "not JSON"),
        (b"trigger=message_sent", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "got array"),
    ],
)
def test_a_body_that_is_not_a_delivery_is_a_clear_error(body: bytes, text: str) -> None:
    with pytest.raises(ReplyUnreadableError, match=f"^not a delivery of an event: .*{text}") as caught:
        parse_event(body)
    assert "reply" not in str(caught.value)


def test_a_body_of_too_many_values_is_not_decoded() -> None:
    body = b'{"trigger":"strange","data":[' + b"{}," * 1_500_000 + b"0]}"
    with pytest.raises(ReplyUnreadableError, match="the body has too many values"):
        parse_event(body)


def test_another_argument_than_a_body_is_named() -> None:
    with pytest.raises(RequestInvalidError, match="body: expected bytes or a text, not dict"):
        parse_event({})  # type: ignore[arg-type]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(SAMPLES), st.data())
def test_a_member_of_another_type_never_breaks_the_parser(sample: Any, data: st.DataObject) -> None:
    trigger, payload, _, extras = sample
    payload = json.loads(json.dumps(payload))
    target = payload
    while True:
        name = data.draw(st.sampled_from(sorted(target)))
        if not (isinstance(target[name], dict) and target[name] and data.draw(st.booleans())):
            break
        target = target[name]
    target[name] = data.draw(JSON)
    body = delivery(trigger, payload, **extras)
    assert parse_event(body).raw == body


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_event_or_a_clear_error(body: bytes) -> None:
    try:
        raw, text = parse_event(body).raw, ""
    except ReplyUnreadableError as error:
        raw, text = body, str(error)
    assert raw == body
    assert text == "" or text.startswith("not a delivery of an event: ")
