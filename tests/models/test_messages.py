"""Messages: which class holds what, and the common fields that all have."""

import json
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET, structs

from chatrest._core.replies.one_record import parse
from chatrest._models.messages import (
    MEDIA_TYPES,
    CustomMessage,
    MediaMessage,
    Message,
    TextMessage,
    TypedMessage,
    UnknownMessage,
    read_leniently,
    retype_media,
    unknown_message,
)
from chatrest.errors import ReplyUnreadableError
from tests.support.cases import TOO_DEEP, loop_over

RECORD = {
    "id": "1", "conversationId": "c", "sender": "a", "receiverType": "user", "receiver": "b",
    "category": "message", "type": "text", "data": {"text": "t"}, "sentAt": 1, "updatedAt": 2,
}  # fmt: skip
MORE = {
    "muid": "m", "parentId": "p", "editedAt": 3, "editedBy": "e", "deletedAt": 4, "deletedBy": "d",
    "deliveredAt": 5, "readAt": 6, "tags": ["x"], "receipts": {"data": [[]]}, "pinnedAt": 7,
    "pinnedBy": "z", "savedAt": 8, "quotedMessage": {"id": "0"},
}  # fmt: skip


def message(**changes: Any) -> Any:
    decoded = [msgspec.json.decode(json.dumps({**RECORD, **changes}), type=TypedMessage)]
    retype_media(decoded)
    return decoded[0]


@loop_over("kind", get_args(Message))
def test_messages_are_frozen_and_untracked(kind: type) -> None:
    config = kind.__struct_config__  # type: ignore[attr-defined]
    assert config.frozen
    assert not config.gc


@loop_over("type_", sorted(MEDIA_TYPES))
def test_a_media_type_makes_a_media_message_with_every_field(type_: str) -> None:
    decoded = message(type=type_, data={"text": "caption", "attachments": [{"url": "u"}]}, **MORE)
    assert type(decoded) is MediaMessage
    served = {**RECORD, **MORE, "type": type_, "data": {"text": "caption", "attachments": [{"url": "u"}]}}
    assert json.loads(msgspec.json.encode(decoded)) == served


def test_attachments_make_a_media_message_of_any_type_but_text() -> None:
    files = {"attachments": [{"url": "u"}]}
    assert type(message(type="scan", data=files)) is MediaMessage
    assert type(message(type="scan", data={"attachments": []})) is TextMessage
    assert type(message(type="scan", data={"attachments": None})) is TextMessage
    assert type(message(type="scan", data={})) is TextMessage
    assert type(message(type="text", data=files)) is TextMessage
    custom = message(category="custom", type="image", data={})
    decoded = [custom]
    retype_media(decoded)
    assert type(custom) is CustomMessage
    assert decoded[0] is custom


def test_an_unknown_message_has_all_readable_fields() -> None:
    decoded = unknown_message({**RECORD, "id": 5, "category": "poll"}, b"raw", "why")
    assert decoded == UnknownMessage(
        id="5",
        conversation_id="c",
        sender="a",
        receiver_type="user",
        receiver="b",
        category="poll",
        type="text",
        data={"text": "t"},
        sent_at=1,
        updated_at=2,
        raw=b"raw",
        reason="why",
    )


@loop_over("record", [None, 5, "x", [1], True])
def test_an_unknown_message_has_a_record_that_is_no_object_as_its_data(record: Any) -> None:
    decoded = unknown_message(record, b"raw", "why")
    assert decoded == UnknownMessage(data=record, raw=b"raw", reason="why")


def test_an_unknown_message_returns_its_bytes_and_its_dict() -> None:
    raw = b'{"id": 5,  "a":[1, NaN], "b":"\\ud800\xff"}'
    decoded = unknown_message({"id": 5}, raw, "why")
    assert decoded.to_json() == raw
    assert (decoded.to_dict()["id"], decoded.to_dict()["b"]) == (5, "\ud800\udcff")


@loop_over("raw", [b"null", b"5", b"[1]", b'{"a":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP])
def test_an_unknown_message_that_is_no_object_has_no_dict(raw: bytes) -> None:
    with pytest.raises(ReplyUnreadableError, match="cannot be read as a dict: why"):
        unknown_message(None, raw, "why").to_dict()


def test_an_unknown_message_has_the_optional_fields_that_can_be_read() -> None:
    decoded = unknown_message(
        {**RECORD, **MORE, "category": "poll", "parentId": 8, "readAt": "x"}, b"raw", "why"
    )
    assert (decoded.muid, decoded.parent_id, decoded.edited_at, decoded.tags) == ("m", "8", 3, ("x",))
    assert (decoded.quoted_message.id, decoded.receipts) == ("0", {"data": [[]]})
    assert (decoded.read_at, decoded.app_id) == (UNSET, UNSET)
    wrong = unknown_message(
        {"id": True, "conversationId": 5, "sender": None, "sentAt": "1", "category": []}, b"", ""
    )
    assert (wrong.id, wrong.conversation_id, wrong.sender, wrong.category) == ("", "", "", "")
    assert wrong.sent_at == 0
    assert unknown_message({"muid": None, "sender": "\ud800"}, b"", "").muid is None
    assert unknown_message({"sender": "\ud800"}, b"", "").sender == "\ud800"


def test_a_record_that_stays_unknown_has_no_coercions() -> None:
    notes: list[str] = []
    decoded = read_leniently({**RECORD, "conversationId": 5, "data": 5}, b"raw", notes)
    assert (type(decoded), notes) == (UnknownMessage, [])


def test_every_message_has_the_same_optional_fields() -> None:
    optional = {field.name for field in structs.fields(TextMessage) if field.default is UNSET}
    for kind in get_args(Message):
        assert optional <= {field.name for field in structs.fields(kind)}


def test_the_repr_of_an_unknown_message_shows_only_the_size_of_its_bytes() -> None:
    shown = repr(unknown_message({"secret": "s3cr3t"}, b'{"secret":"s3cr3t"}', "why"))
    assert "<19 bytes>" in shown
    assert "s3cr3t" not in shown


@loop_over(
    ("record", "text"),
    [
        ({"data": {"text": "t"}}, "t"),
        ({"data": {"text": ""}}, None),
        ({"type": "image", "data": {"attachments": [{"url": "u"}], "text": "c"}}, "c"),
        ({"type": "image", "data": {"attachments": [{"url": "u"}], "caption": "c"}}, "c"),
        ({"type": "image", "data": {"attachments": [{"url": "u"}]}}, None),
        ({"category": "custom", "type": "x", "data": {"customData": {}, "text": "t"}}, "t"),
        ({"category": "custom", "type": "x", "data": {"customData": {}}}, None),
        ({"category": "interactive", "type": "form", "data": {"text": None}}, None),
        ({"category": "action", "data": {"action": "joined"}}, None),
        ({"category": "poll", "data": {"text": "t"}}, "t"),
        ({"category": "poll", "data": {"text": 5, "caption": "c"}}, "c"),
        ({"category": "poll", "data": "t"}, None),
    ],
)
def test_every_message_has_its_text_or_none(record: dict[str, Any], text: str | None) -> None:
    read = parse(Message, {**RECORD, **record})
    assert read.text == text
