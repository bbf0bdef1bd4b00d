"""From the body of a delivery to an event.

Records in an event are held as those in a list are: strictly where they fit, else leniently. The members of
`data` themselves must have their documented kind; if one has not, the event is an `UnknownEvent` that says
why, so that nothing is dropped without notice.
"""

from contextlib import suppress
from types import NoneType
from typing import Any, Final, TypeAlias, cast, get_args

from msgspec import UNSET, structs

from .._core.replies.bounds import check_values
from .._core.replies.decode import parse as parse_record
from .._core.replies.scanner import TooDeep, elements, members, read_record
from .._models.lenient import CoercionError, coerced, shape, type_name
from .._models.messages import Message, UnknownMessage
from .._models.raw_json import bytes_of
from .._models.record import Json, Record
from .._secrets import guarded
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

Parts: TypeAlias = dict[str, bytes]
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_MESSAGES: Final = frozenset(get_args(Message))
_MESSAGE_LIST: Final = tuple[Message, ...]
_MESSAGE_MEMBERS: Final = frozenset({"category", "receiver", "sender"})
_ENVELOPE: Final = [
    field for field in structs.fields(UnknownEvent) if field.name not in ("trigger", "data", "raw", "reason")
]


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
        return _event(raw)
    except ReplyUnreadableError as error:
        text = str(error).replace("the reply", "the body")
    raise ReplyUnreadableError(f"not a delivery of an event: {text}")


def _event(raw: bytes) -> Event:
    check_values(raw)
    body = raw.removeprefix(_BOM).strip(b" \t\r\n")
    if not body:
        raise ReplyUnreadableError("the body is empty")
    if body.startswith(_GZIP):
        raise ReplyUnreadableError("the body is compressed with gzip")
    if not body.startswith(b"{"):
        raise ReplyUnreadableError(f"expected an object, got {_type_name(body)}")
    envelope = members(body)
    trigger = _value(envelope, "trigger")
    if not isinstance(trigger, str) or not trigger:
        got = "an empty text" if trigger == "" else type_name(trigger)
        raise ReplyUnreadableError(f"trigger: expected text, got {got}")
    fields = _envelope_fields(envelope) | {"trigger": trigger, "raw": raw}
    kind, reason = EVENT_CLASSES.get(trigger), "the trigger is not known"
    if kind is not None:
        try:
            event: Event = kind(data=_payload(kind, trigger, envelope.get("data", b"")), **fields)
            return event
        except CoercionError as error:
            reason = str(error)
    return UnknownEvent(data=guarded(_value(envelope, "data", None), raw), reason=reason, **fields)


def _value(parts: Parts, name: str, absent: Any = UNSET) -> Any:
    return read_record(parts[name]) if name in parts else absent


def _envelope_fields(envelope: Parts) -> dict[str, Any]:
    """Return the envelope's other members; of one that has another type than documented, nothing."""
    fields: dict[str, Any] = {}
    for field in _ENVELOPE:
        value = _value(envelope, field.encode_name)
        with suppress(CoercionError):
            if value is not UNSET and value is not None and not isinstance(value, TooDeep):
                fields[field.name] = coerced(value, shape(field.type), "", [])
    return fields


def _payload(kind: type[Any], trigger: str, raw: bytes) -> Any:
    """Return the typed `data` of an event; raises `CoercionError` where it is not of its shape."""
    if raw[:1] != b"{":
        raise CoercionError(f"data: expected object, got {_type_name(raw)}")
    if kind is CampaignEvent:
        return _typed("data", Json, raw)
    parts = members(raw)
    if kind is MessageEvent:
        return _message_data(trigger, raw, parts)
    if kind is ReceiptEvent and "receiptType" in parts:
        parts = _current_receipt(parts)
    if kind is ReactionEvent and parts.get("reaction", b"").startswith(b"{"):
        parts["reaction"] = _with_id(parts["reaction"], b"")
    if kind is ModerationEvent and "failed" not in parts and "failures" in parts:
        parts["failed"] = raw
    if "sessionid" in parts:  # both spellings occur in events of calls
        parts.setdefault("sessionId", parts["sessionid"])
    return _struct(kind.__annotations__["data"], parts)


def _message_data(trigger: str, raw: bytes, parts: Parts) -> MessageData:
    if "message" not in parts and not _MESSAGE_MEMBERS.isdisjoint(parts):
        parts = {"message": raw}
    record = parts.get("message", b"")
    if trigger != "before_message" or not record.startswith(b"{"):
        return cast("MessageData", _struct(MessageData, parts))
    message = parse_record(Message, _with_id(record, b"0"))  # to be typed, a message must have an id
    if "id" not in members(record):
        message = structs.replace(message, id="")
    return MessageData(
        structs.replace(message, raw=record) if isinstance(message, UnknownMessage) else message
    )


_RECEIPT_BODY: Final = {
    "messageId": "messageId", "receiptType": "action", "deliveredAt": "timestamp", "readAt": "timestamp"
}  # fmt: skip
_RECEIPT: Final = {"receiptSender": "sender", "receiptReceiver": "receiver"}


def _current_receipt(parts: Parts) -> Parts:
    """Return the members of a legacy receipt as those of a current one."""
    body = {name: parts[old] for old, name in _RECEIPT_BODY.items() if parts.get(old, b"null") != b"null"}
    members = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in body.items())
    return {_RECEIPT.get(name, name): value for name, value in parts.items()} | {"body": b"{%b}" % members}


def _with_id(record: bytes, id: bytes) -> bytes:
    """Return an object's JSON with an `id` before its members, if it has none."""
    parts = members(record)
    if "id" in parts:
        return record
    return b'{"id":"%b"%b%b' % (id, b"," if parts else b"", record[1:].lstrip())


def _struct(kind: type[Record], parts: Parts) -> Any:
    values: dict[str, Any] = {}
    for field in structs.fields(kind):
        path = f"data.{field.encode_name}"
        if field.encode_name in parts:
            values[field.name] = _typed(path, field.type, parts[field.encode_name])
        elif field.required:
            raise CoercionError(f"{path}: expected a value, got nothing")
    return kind(**values)


def _typed(path: str, kind: Any, raw: bytes) -> Any:
    kinds = get_args(kind)
    if raw == b"null":
        if NoneType in kinds:
            return None
        raise CoercionError(f"{path}: expected a value, got null")
    if set(kinds) >= _MESSAGES:
        return _message(path, raw)
    if _MESSAGE_LIST in kinds and raw[:1] == b"[":
        return tuple(_message(f"{path}[{index}]", each) for index, each in enumerate(elements(raw)))
    value = read_record(raw)
    if isinstance(value, TooDeep):
        raise CoercionError(f"{path}: nested too deeply to be read")
    if _MESSAGE_LIST in kinds:
        raise CoercionError(f"{path}: expected array, got {type_name(value)}")
    return coerced(value, shape(kind), path, [])


def _type_name(raw: bytes) -> str:
    """Return what a JSON value is; an array is not read, as it may be nested too deeply."""
    if not raw:
        return "nothing"
    return "array" if raw.startswith(b"[") else type_name(read_record(raw))


def _message(path: str, raw: bytes) -> Message:
    if raw[:1] != b"{":
        raise CoercionError(f"{path}: expected object, got {_type_name(raw)}")
    return parse_record(Message, raw)
