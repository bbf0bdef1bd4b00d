"""Records read again: `chatrest.parse` of what `to_json` and `to_dict` gave, and of anything else."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

import chatrest
from chatrest import (
    AppInfo,
    CallMessage,
    CustomMessage,
    Group,
    MediaMessage,
    Member,
    Message,
    ReplyUnreadableError,
    RequestInvalidError,
    TextMessage,
    UnknownMessage,
    User,
    parse,
)
from tests.core.replies.documented import CALL_MESSAGE, CUSTOM, GOOD, KINDS, MEDIA, PAGE, TEXT, body, mutants
from tests.support.cases import TOO_DEEP, loop_over


@loop_over(("record", "kind"), list(zip(GOOD, KINDS, strict=True)))
def test_a_message_is_read_from_bytes_text_and_dict(record: dict[str, Any], kind: type) -> None:
    text = json.dumps(record)
    [expected] = PAGE(body([record])).items
    for data in (text, text.encode(), record, b"\xef\xbb\xbf " + text.encode() + b"\r\n"):
        message = parse(Message, data)
        assert message == expected
        assert type(message) is kind


def test_a_message_class_accepts_only_records_of_that_class() -> None:
    assert type(parse(TextMessage, TEXT)) is TextMessage
    assert type(parse(MediaMessage, MEDIA)) is MediaMessage
    assert type(parse(CallMessage, CALL_MESSAGE)) is CallMessage
    with pytest.raises(ReplyUnreadableError, match="no TextMessage: it is a MediaMessage"):
        parse(TextMessage, MEDIA)
    with pytest.raises(ReplyUnreadableError, match="no CustomMessage: category"):
        parse(CustomMessage, {**CUSTOM, "category": "poll"})
    assert parse(UnknownMessage, {**TEXT, "category": "poll"}).category == "poll"
    assert parse(UnknownMessage, TEXT).data == TEXT["data"]


@loop_over("data", ["", b"", "<html>", b"{", "{}{}", b"\xff\xfe", {"a": object()}])
def test_a_body_that_is_not_json_is_unreadable(data: Any) -> None:
    for kind in (Message, User):
        with pytest.raises(ReplyUnreadableError):
            parse(kind, data)


@pytest.mark.parametrize("data", ["{}", "[]", "5", "null", '{"name":"Bob"}', '{"uid":null}', '{"uid":{}}'])
def test_a_record_that_fits_no_type_is_unreadable(data: str) -> None:
    with pytest.raises(ReplyUnreadableError):
        parse(User, data)


def test_a_record_nested_too_deeply_is_an_unknown_message_and_no_user() -> None:
    deep = b'{"uid":"bob","id":"5","metadata":' + b'{"a":' * TOO_DEEP + b"1" + b"}" * (TOO_DEEP + 1)
    message = parse(Message, deep)
    assert isinstance(message, UnknownMessage)
    assert (message.id, message.to_json()) == ("5", deep)
    with pytest.raises(ReplyUnreadableError, match="nested too deeply"):
        parse(User, deep)


@loop_over("kind", [int, dict, "Message", None, str | int, chatrest.Page])
def test_a_kind_that_is_not_a_class_of_records_is_refused(kind: Any) -> None:
    with pytest.raises(RequestInvalidError, match="kind = "):
        parse(kind, b"{}")


@loop_over("data", [None, 5, [TEXT], object()])
def test_data_of_another_type_is_refused(data: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"data = .*: expected bytes, a text or a dict"):
        parse(Message, data)


@given(mutants())
def test_every_message_round_trips(raw: bytes) -> None:
    message = parse(Message, raw)
    if "nan" in repr(message):  # is not equal to itself
        return
    assert parse(Message, message.to_json()) == message
    if type(message) is UnknownMessage:
        assert message.to_json() == raw
    else:
        again = parse(Message, message.to_dict())
        assert again == message


metadata = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None, categories=None), max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=3), metadata, max_size=3), st.sampled_from(GOOD))
def test_any_metadata_round_trips(served: dict[str, Any], record: dict[str, Any]) -> None:
    given_record = {**record, "data": {**record["data"], "metadata": served}, "quotedMessage": served}
    message = parse(Message, given_record)
    assert parse(Message, message.to_json()) == message
    assert parse(Message, message.to_dict()) == message
    assert message.to_dict()["quotedMessage"] == served
    assert message.quoted_message is not None


@loop_over("record", GOOD)
def test_a_documented_record_round_trips(record: dict[str, Any]) -> None:
    message = parse(Message, record)
    assert message.to_dict() == record
    assert json.loads(message.to_json()) == record


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_preserved(value: float) -> None:
    message = parse(Message, {**TEXT, "data": {"text": "t", "metadata": {"a": value, "b": None}}})
    assert message.to_dict()["data"]["metadata"] == {"a": value, "b": None}
    assert parse(Message, message.to_json()) == message


@loop_over(
    ("kind", "record", "text"),
    [
        (User, {"uid": "u"}, "name"),
        (Member, {"uid": "u"}, "name"),
        (Group, {"guid": "g"}, "name"),
        (AppInfo, {"id": "a"}, "name"),
        (Message, {"id": "7", "category": "message", "data": {"text": "hi"}}, "sender"),
        (Message, {"id": "7", "category": "action", "receiver": "", "data": {}, "updatedAt": 0}, "sender"),
    ],
)
def test_an_empty_text_is_written_and_an_absent_one_is_not(
    kind: Any, record: dict[str, Any], text: str
) -> None:
    for served in (record, {**record, text: ""}, {**record, text: "x"}):
        held = parse(kind, served)
        assert getattr(held, text) == served.get(text, "")
        assert isinstance(getattr(held, text), str)
        assert held.to_dict() == json.loads(held.to_json()) == served
        assert parse(kind, held.to_json()) == held
