"""One record: the reply that holds it, and the JSON of one that a caller has (`parse`).

A record is in `data` or at the root, by itself or in an array of one, and some services wrap it twice:
`{"data": {"data": record}}`. An object in its place that lacks the record's required members is refused.
"""

from collections.abc import Callable
from types import UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_args, overload

from msgspec import Struct

from ..._models.lenient import Coercions, type_name
from ..._models.messages import Message, UnknownMessage, unknown_message
from ..._models.raw_json import bytes_of, write_value
from ..._models.record import Record
from ..._secrets import description
from ...errors import ReplyUnreadableError, RequestInvalidError
from .record_kinds import MESSAGE, RecordError, RecordKind, kind_of
from .scanner import BOM, elements, members, read_json, read_record, refuse_error

T = TypeVar("T")
_EMPTY: Final = (b"{}", b"[]", b"null")
_MAX_EMPTY: Final = 20  # with white space

Substitute: TypeAlias = Callable[[Any], dict[str, Any] | None]
"""Makes the record, or the list reply, of a reply's JSON that has another form; None if it cannot."""


class NoRecordError(ReplyUnreadableError):
    """A reply with `{}`, `[]` or null in the place of a record; callers get another class in its place."""


class OneRecord(Struct, Generic[T], frozen=True):
    """Reads a reply that is one record: `{"data": {…}}`, or the record at the root."""

    kind: RecordKind[T]
    substitute: Substitute | None = None
    """Makes the record of a reply of another form; None if the operation has no other form."""
    is_bare: bool = False
    """True if the record is at the root, without `data` around it."""

    @property
    def record(self) -> Any:
        return self.kind.record

    def __call__(self, body: bytes, /) -> T:
        """Return the record; raises `ReplyUnreadableError` if the body is not its envelope."""
        item = self.strictly(body)
        return self.leniently(body) if item is None else item

    def strictly(self, body: bytes) -> T | None:
        return None if self.is_bare else self.kind.single(body)

    def leniently(self, body: bytes) -> T:
        try:
            raw, path = self._find(body)
        except ReplyUnreadableError:
            record = self._substituted(body)
            if record is None:
                raise
            raw, path = write_value(record), "data"
        return _typed(self.kind, raw, path)

    def record_bytes(self, body: bytes) -> bytes:
        """Return the record's JSON as served, unknown members included; errors as for the record.

        Of a reply for which another record is substituted, its `data`.
        """
        try:
            return self._find(body)[0]
        except ReplyUnreadableError:
            if self._substituted(body) is None:
                raise
        return members(_trimmed(body))["data"]

    def _substituted(self, body: bytes) -> dict[str, Any] | None:
        return None if self.substitute is None else self.substitute(read_json(body))

    def _find(self, body: bytes) -> tuple[bytes, str]:
        """Return the record's JSON and its path in the reply; raises `ReplyUnreadableError` for no record."""
        if not self.is_bare:
            return _in_data(body, self.kind), "data"
        raw = _trimmed(body)
        if self.kind.required:
            _refuse_empty(raw, "")
        raw = _sole_element(raw)
        parts = members(raw)
        refuse_error(parts)
        is_wrapped = "data" in parts and "data" not in self.kind.wire_names
        if self.kind.is_record(parts) and not (is_wrapped and not self.kind.required):
            return raw, ""
        if is_wrapped:
            return _in_data(raw, self.kind), "data"
        missing = ", ".join(sorted(self.kind.required - parts.keys()))
        raise ReplyUnreadableError(f"expected a record, got an object without {missing}")


@overload
def parse(kind: type[T], data: bytes | str | dict[str, Any]) -> T: ...
@overload
def parse(kind: UnionType, data: bytes | str | dict[str, Any]) -> Message: ...
def parse(kind: Any, data: bytes | str | dict[str, Any]) -> Any:
    """Return the typed record of a record's JSON, as a walk would: `parse(Message, line)`, `parse(User, …)`.

    `data` is the record as bytes, text or a dict. A record that fits no typed message is an `UnknownMessage`.
    Raises `ReplyUnreadableError` for text that is not JSON, and for any other record with a required member
    missing or of another type; `RequestInvalidError` for a `kind` that is neither `Message` nor a record's
    class.
    """
    is_class = isinstance(kind, type) and issubclass(kind, Record)
    if not is_class and kind != Message:
        raise RequestInvalidError(f"kind = {kind!r}: expected Message or the class of a record", name="kind")
    raw = _record_bytes(data)
    if not is_class or issubclass(kind, get_args(Message)):
        message = _typed(MESSAGE, raw, "")
        if not is_class or isinstance(message, kind):
            return message
        reason = f"it is a {type(message).__name__}"
        if isinstance(message, UnknownMessage):
            reason = message.reason
        if kind is UnknownMessage:
            return unknown_message(read_record(raw), raw, reason)
        raise ReplyUnreadableError(f"the record is no {kind.__name__}: {reason}")
    record: RecordKind[Any] = kind_of(kind)
    return _typed(record, raw, "")


def _record_bytes(data: object) -> bytes:
    if isinstance(data, str):
        data = bytes_of(data)
    if isinstance(data, bytes | bytearray | memoryview):
        return _trimmed(bytes(data))
    if not isinstance(data, dict):
        raise RequestInvalidError(
            f"data = {description(data)}: expected bytes, a text or a dict", name="data"
        )
    try:
        return write_value(data)
    except (TypeError, ValueError, RecursionError) as error:
        fault = ReplyUnreadableError(f"the record is not JSON: {error}")
    raise fault


def _in_data(body: bytes, kind: RecordKind[Any]) -> bytes:
    """Return the record of a reply with `data`: all of it, the element of an array of one, or its `data`."""
    root = _trimmed(body)
    _refuse_empty(root, "data")
    parts = members(_sole_element(root))
    if "data" not in parts:
        raise ReplyUnreadableError("data: expected one record, got nothing")
    _refuse_empty(parts["data"], "data")
    raw = _sole_element(parts["data"])
    _refuse_empty(raw, "data")
    if raw[:1] != b"{":
        if raw is not parts["data"]:
            return raw
        raise ReplyUnreadableError(f"data: expected one record, got {type_name(read_record(raw))}")
    names = members(raw)
    if kind.is_record(names):
        return raw
    inner = _sole_element(names["data"]) if "data" in names else b""
    if inner[:1] == b"{" and kind.is_record(members(inner)):
        return inner
    missing = ", ".join(sorted(kind.required - names.keys()))
    raise ReplyUnreadableError(f"data: expected one record, got an object without {missing}")


def _refuse_empty(raw: bytes, path: str) -> None:
    if len(raw) <= _MAX_EMPTY and b"".join(raw.split()) in _EMPTY:
        raise NoRecordError(f"{path}{': ' if path else ''}expected one record, got {raw.decode()}")


def _sole_element(raw: bytes) -> bytes:
    """Return the element of an array of one, and any other value as it is.

    Raises `ReplyUnreadableError` for an array of none or several.
    """
    if raw[:1] == b"[":
        records = elements(raw)
        if len(records) != 1:
            raise ReplyUnreadableError(f"data: expected one record, got an array of {len(records)}")
        [raw] = records
    return raw


def _trimmed(body: bytes) -> bytes:
    return body.removeprefix(BOM).strip(b" \t\r\n")


def _typed(kind: RecordKind[T], raw: bytes, path: str) -> T:
    try:
        return kind.records([raw], Coercions())[0]
    except RecordError as error:
        fault = error.at(path)
    raise fault
