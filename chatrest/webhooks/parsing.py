"""From the body of a delivery to an event.

Records in an event are read as those in a list are: strictly where they fit, else leniently. The members of
`data` themselves must have their documented type. If one has not, the event is an `UnknownEvent` with the
reason, so that nothing is dropped without notice.
"""

from contextlib import suppress
from types import NoneType
from typing import Any, Final, TypeAlias, cast, get_args

from msgspec import UNSET, structs

from .._core.replies.bounds import check_values
from .._core.replies.one_record import parse as parse_record
from .._core.replies.scanner import TooDeep, elements, members, read_record
from .._models.lenient import CoercionError, coerced, shape, type_name
from .._models.messages import Message, UnknownMessage
from .._models.raw_json import bytes_of
from .._models.record import Json, Record
from .._secrets import hide_in_repr
from ..errors import ReplyUnreadableError, RequestInvalidError
from .events import (
    EVENT_CLASSES,
    CampaignEvent,
    Event,
    MessageData,
    MessageEvent,
    ModerationEvent,
    ReactionEvent,
    ReceiptEvent,
    UnknownEvent,
)

RawMembers: TypeAlias = dict[str, bytes]

_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_MESSAGES: Final = frozenset(get_args(Message))
_MESSAGE_LIST: Final = tuple[Message, ...]
_MESSAGE_MEMBERS: Final = frozenset({"category", "receiver", "sender"})
_ENVELOPE: Final = [
    field for field in structs.fields(UnknownEvent) if field.name not in ("trigger", "data", "raw", "reason")
]
_RECEIPT_BODY: Final = {
    "messageId": "messageId", "receiptType": "action", "deliveredAt": "timestamp", "readAt": "timestamp"
}  # fmt: skip
_RECEIPT: Final = {"receiptSender": "sender", "receiptReceiver": "receiver"}
"""Names in a legacy receipt, and the current ones: of its body, and of the receipt itself."""


def parse(body: bytes | bytearray | memoryview | str) -> Event:
    """Return the typed event of a delivery's body.

    A trigger that is not known, and `data` that is not of its trigger's shape, give an `UnknownEvent`. Raises
    `ReplyUnreadableError` for what is no delivery: not JSON, cut off, compressed, not an object, without a
    text `trigger`, or of more than a million values; `RequestInvalidError` for a `body` that is neither bytes
    nor text.
    """
    if isinstance(body, str):
        body = bytes_of(body)
    if not isinstance(body, bytes | bytearray | memoryview):
        raise RequestInvalidError(f"body: expected bytes or a text, not {type(body).__name__}")
    raw = bytes(body)
    try:
        return _read_event(raw)
    except ReplyUnreadableError as error:
        fault = str(error)
    raise ReplyUnreadableError(f"not a delivery of an event: {fault}")


def _read_event(raw: bytes) -> Event:
    check_values(raw)
    body = raw.removeprefix(_BOM).strip(b" \t\r\n")
    if not body:
        raise ReplyUnreadableError("the body is empty")
    if body.startswith(_GZIP):
        raise ReplyUnreadableError("the body is compressed with gzip")
    if not body.startswith(b"{"):
        raise ReplyUnreadableError(f"expected an object, got {_type_name(body)}")
    envelope = members(body)
    trigger = _read_value(envelope, "trigger")
    if not isinstance(trigger, str) or not trigger:
        got = "an empty text" if trigger == "" else type_name(trigger)
        raise ReplyUnreadableError(f"trigger: expected text, got {got}")
    fields = _envelope_fields(envelope) | {"trigger": trigger, "raw": raw}
    cls, reason = EVENT_CLASSES.get(trigger), "the trigger is not known"
    if cls is not None:
        try:
            event: Event = cls(data=_read_data(cls, trigger, envelope.get("data", b"")), **fields)
            return event
        except CoercionError as error:
            reason = str(error)
    return UnknownEvent(data=hide_in_repr(_read_value(envelope, "data", None), raw), reason=reason, **fields)


def _read_value(raw_members: RawMembers, name: str, absent: Any = UNSET) -> Any:
    return read_record(raw_members[name]) if name in raw_members else absent


def _envelope_fields(envelope: RawMembers) -> dict[str, Any]:
    """Return the envelope's other members, without those that have another type than documented."""
    fields: dict[str, Any] = {}
    for field in _ENVELOPE:
        value = _read_value(envelope, field.encode_name)
        with suppress(CoercionError):
            if value is not UNSET and value is not None and not isinstance(value, TooDeep):
                fields[field.name] = coerced(value, shape(field.type), "", [])
    return fields


def _read_data(cls: type[Any], trigger: str, raw: bytes) -> Any:
    """Return the typed `data` of an event; raises `CoercionError` where it is not of its shape."""
    if raw[:1] != b"{":
        raise CoercionError(f"data: expected object, got {_type_name(raw)}")
    if cls is CampaignEvent:
        return _read_member("data", Json, raw)
    raw_members = members(raw)
    if cls is MessageEvent:
        return _message_data(trigger, raw, raw_members)
    if cls is ReceiptEvent and "receiptType" in raw_members:
        raw_members = _current_receipt(raw_members)
    if cls is ReactionEvent and raw_members.get("reaction", b"").startswith(b"{"):
        raw_members["reaction"] = _with_id(raw_members["reaction"], b"")
    if cls is ModerationEvent and "failed" not in raw_members and "failures" in raw_members:
        raw_members["failed"] = raw
    if "sessionid" in raw_members:  # both spellings occur in events of calls
        raw_members.setdefault("sessionId", raw_members["sessionid"])
    return _read_struct(cls.__annotations__["data"], raw_members)


def _message_data(trigger: str, raw: bytes, raw_members: RawMembers) -> MessageData:
    if "message" not in raw_members and not _MESSAGE_MEMBERS.isdisjoint(raw_members):
        raw_members = {"message": raw}
    record = raw_members.get("message", b"")
    if trigger != "before_message" or not record.startswith(b"{"):
        return cast("MessageData", _read_struct(MessageData, raw_members))
    message = parse_record(Message, _with_id(record, b"0"))  # to be typed, a message must have an id
    if "id" not in members(record):
        message = structs.replace(message, id="")
    return MessageData(
        structs.replace(message, raw=record) if isinstance(message, UnknownMessage) else message
    )


def _current_receipt(receipt: RawMembers) -> RawMembers:
    values = {new: receipt[old] for old, new in _RECEIPT_BODY.items() if receipt.get(old, b"null") != b"null"}
    body = b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in values.items())
    return {_RECEIPT.get(name, name): raw for name, raw in receipt.items()} | {"body": b"{%b}" % body}


def _with_id(record: bytes, id: bytes) -> bytes:
    names = members(record).keys()
    if "id" in names:
        return record
    return b'{"id":"%b"%b%b' % (id, b"," if names else b"", record[1:].lstrip())


def _read_struct(cls: type[Record], raw_members: RawMembers) -> Any:
    values: dict[str, Any] = {}
    for field in structs.fields(cls):
        path = f"data.{field.encode_name}"
        if field.encode_name in raw_members:
            values[field.name] = _read_member(path, field.type, raw_members[field.encode_name])
        elif field.required:
            raise CoercionError(f"{path}: expected a value, got nothing")
    return cls(**values)


def _read_member(path: str, annotation: Any, raw: bytes) -> Any:
    """Return a member of `data`; raises `CoercionError` if it has another type than annotated."""
    types = get_args(annotation)
    if raw == b"null":
        if NoneType in types:
            return None
        raise CoercionError(f"{path}: expected a value, got null")
    if set(types) >= _MESSAGES:
        return _read_message(path, raw)
    if _MESSAGE_LIST in types and raw[:1] == b"[":
        return tuple(_read_message(f"{path}[{index}]", each) for index, each in enumerate(elements(raw)))
    value = read_record(raw)
    if isinstance(value, TooDeep):
        raise CoercionError(f"{path}: nested too deeply to be read")
    if _MESSAGE_LIST in types:
        raise CoercionError(f"{path}: expected array, got {type_name(value)}")
    return coerced(value, shape(annotation), path, [])


def _type_name(raw: bytes) -> str:
    """Return the name of a value's type; an array is not read, as it may be nested too deeply."""
    if not raw:
        return "nothing"
    return "array" if raw.startswith(b"[") else type_name(read_record(raw))


def _read_message(path: str, raw: bytes) -> Message:
    if raw[:1] != b"{":
        raise CoercionError(f"{path}: expected object, got {_type_name(raw)}")
    return parse_record(Message, raw)
