"""From a reply's bytes to structs: an envelope over a type of record is what an `Endpoint` has for its reply.

| envelope  | the reply                                 | gives                                   |
|-----------|-------------------------------------------|-----------------------------------------|
| `many(T)` | `{"data": [record, …], "meta": {…}}`      | a `Listing`                             |
| `array(T)`| the same, or `[record, …]` at the root    | a `Listing`                             |
| `one(T)`  | `{"data": record}`, or an array of one    | the record                              |
| `bare(T)` | the record at the root, or in `data`      | the record                              |
| `each(T)` | `{"data": {key: outcome, …}}`             | `Outcomes`                              |
| `ACK`     | `{"data": {"success": …}}`, or at the root| an `Ack`                                |
| `JSON`    | any JSON                                  | decoded JSON; None for an empty body    |

A whole reply is decoded at once. That is all or nothing, so where it fails the reply is read again, record by
record: a message that still cannot be held becomes an `UnknownMessage` with its exact bytes, and never fails
its page (the values of `category` and `type` are open). Any other record that
cannot be held is a `ReplyUnreadableError` that names its place: no record is dropped.
"""

from collections.abc import Callable
from types import UnionType
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar, get_args, overload

import msgspec
from msgspec import UNSET, Struct, structs

from ..._models.lenient import CoercionError, Coercions, coerced, shape, type_name
from ..._models.messages import Message, UnknownMessage, unknown
from ..._models.outcomes import Ack as Ack, Outcomes as Outcomes
from ..._models.raw_json import REFUSED, bytes_of, write_value
from ..._models.record import Record
from ...errors import ReplyUnreadableError, RequestInvalidError
from .bounds import check_records
from .envelope import NO_META, Listing as Listing, read_envelope
from .kinds import MESSAGE as MESSAGE, Kind, RecordError, kind_of
from .outcomes import outcomes_of
from .scanner import elements, members, read_record, whole

T = TypeVar("T")
BOM: Final = b"\xef\xbb\xbf"
_PLAIN_ACK: Final = frozenset({"success", "message", "Message"})
_LONGEST_KEY: Final = 50
_NOTHING: Final = (b"{}", b"[]", b"null")
_LONGEST_NOTHING: Final = 20  # with white space


class NoRecordError(ReplyUnreadableError):
    """A reply with `{}`, `[]` or null in the place of a record; callers see another class in its place."""


class ManyRecords(Struct, Generic[T], frozen=True):
    """Reads a list reply."""

    kind: Kind[T]
    substitute: Callable[[Any], dict[str, Any] | None] | None = None
    """The list reply that stands for one of another form, of the reply's JSON; None for what has none."""

    @property
    def record(self) -> Any:
        return self.kind.record

    @property
    def identified_by(self) -> str:
        return self.kind.identified_by

    def __call__(self, body: bytes, /) -> Listing[T]:
        """Return the page.

        Raises `ReplyUnreadableError` where the body is not the list envelope, or a record cannot be held.
        """
        return self.kind.listing(body) or self.leniently(body)

    def strictly(self, body: bytes) -> Listing[T] | None:
        """Return the page of a reply that is as documented; None for any other."""
        return self.kind.listing(body)

    def without_content(self) -> Listing[T]:
        """Return the page of a reply without content (204): an empty one."""
        return Listing([], NO_META, b"")

    def leniently(self, body: bytes) -> Listing[T]:
        """Return the page, read record by record; errors as for the call."""
        coercions = Coercions()
        reply = None if self.substitute is None else self.substitute(read_json(body))
        served = body if reply is None else write_value(reply)
        listing = read_envelope(served, self.kind.is_record, coercions)
        try:
            items = self.kind.held(listing.items, coercions)
        except RecordError as error:
            fault = error.at(f"data[{error.index}]")
            raise fault from None
        return Listing(items, listing.meta, body, coercions.lines(), listing.cursor, listing.position_fault)


class OneRecord(Struct, Generic[T], frozen=True):
    """Reads a reply that is one record: `{"data": {…}}`, or the record at the root."""

    kind: Kind[T]
    substitute: Callable[[Any], dict[str, Any] | None] | None = None
    """The record that stands for a reply of another form, of the reply's JSON; None for what has none."""
    is_bare: bool = False
    """True if the record is at the root, without `data` around it."""

    @property
    def record(self) -> Any:
        return self.kind.record

    def __call__(self, body: bytes, /) -> T:
        """Return the record; raises `ReplyUnreadableError` where the body is not its envelope."""
        item = self.strictly(body)
        return self.leniently(body) if item is None else item

    def strictly(self, body: bytes) -> T | None:
        """Return the record of a reply that is as documented; None for any other."""
        return None if self.is_bare else self.kind.single(body)

    def leniently(self, body: bytes) -> T:
        """Return the record of a reply that is not as documented; errors as for the call."""
        try:
            raw, path = self._find(body)
        except ReplyUnreadableError:
            record = self._substituted(body)
            if record is None:
                raise
            raw, path = write_value(record), "data"
        return _held(self.kind, raw, path)

    def _substituted(self, body: bytes) -> dict[str, Any] | None:
        return None if self.substitute is None else self.substitute(read_json(body))

    def record_bytes(self, body: bytes) -> bytes:
        """Return the record's JSON as served, unknown members included; errors as for the record.

        Of a reply that another record stands for, its `data`.
        """
        try:
            return self._find(body)[0]
        except ReplyUnreadableError:
            if self._substituted(body) is None:
                raise
        return members(_trimmed(body))["data"]

    def _find(self, body: bytes) -> tuple[bytes, str]:
        if not self.is_bare:
            return _only(body, self.kind), "data"
        raw = _trimmed(body)
        if self.kind.required:
            _refuse_nothing(raw, "")
        raw = _sole(raw)
        parts = members(raw)
        _refuse_error(parts)
        wrapped = "data" in parts and "data" not in self.kind.wire_names
        if self.kind.is_record(parts) and not (wrapped and not self.kind.required):
            return raw, ""
        if wrapped:
            return _only(raw, self.kind), "data"
        missing = ", ".join(sorted(self.kind.required - parts.keys()))
        raise ReplyUnreadableError(f"expected a record, got an object without {missing}")


class EachOutcome(Struct, Generic[T], frozen=True):
    """Reads a reply that holds an outcome per item."""

    record: Any
    """The type of an outcome."""
    operation: str = ""
    """The endpoint's name: the outcomes raise their error under it."""

    def of_operation(self, name: str) -> "EachOutcome[T]":
        """Return the reader for the endpoint of this name."""
        return structs.replace(self, operation=name)

    def __call__(self, body: bytes, /) -> Outcomes[T]:
        """Return the outcomes by key; raises `ReplyUnreadableError` where it says nothing of single items."""
        reply = read_json(body)
        records = outcomes_of(reply)
        check_records(len(records))
        by_key: dict[str, T] = {}
        coercions = Coercions()
        for key, record in records.items():
            notes: list[str] = []
            try:
                by_key[key] = coerced(record, shape(self.record), "", notes)
                coercions.add(key, notes)
            except CoercionError as error:
                fault = RecordError(0, str(error)).at(f"data.{key[:_LONGEST_KEY]}")
                raise fault from None
        return Outcomes(by_key, body, self.operation, coercions.lines())


class _Acknowledgement(Struct, frozen=True):
    record: ClassVar = Ack

    def __call__(self, body: bytes, /) -> Ack:
        """Return the acknowledgement; one that says nothing of success came with a success.

        Raises `ReplyUnreadableError` for any other body.
        """
        reply = read_json(body)
        served = reply if not isinstance(reply, dict) or "success" in reply else reply.get("data", reply)
        if not isinstance(served, dict):
            raise ReplyUnreadableError(f"data: expected an acknowledgement, got {type_name(served)}")
        if "success" not in served and served.get("error"):
            raise ReplyUnreadableError("the reply holds an error in the place of an acknowledgement")
        success, message = served.get("success"), served.get("message", served.get("Message"))
        try:
            succeeded = True if success is None else coerced(success, shape(bool), "success", [])
        except CoercionError as error:
            raise ReplyUnreadableError(str(error)) from None
        text = message if isinstance(message, str) else UNSET
        if served.keys() <= _PLAIN_ACK:  # nearly every one
            return Ack(succeeded, text)
        ack: Ack = coerced({**served, "success": succeeded, "message": text}, shape(Ack), "", [])
        return ack


def read_json(body: bytes, /) -> Any:
    """Return the reply's JSON as Python objects; None for an empty body.

    A reply with an error in the place of data is refused, whatever its status: `ReplyUnreadableError`.
    """
    try:
        reply = msgspec.json.decode(body)
    except REFUSED:  # empty, or not JSON by the book
        reply = whole(body)
    if type(reply) is dict and type(reply.get("error")) is dict:
        _refuse_error(reply)
    return reply


def _refuse_error(parts: dict[str, Any]) -> None:
    error = parts.get("error")
    if error and "data" not in parts and (isinstance(error, dict) or error[:1] == b"{"):
        raise ReplyUnreadableError("the reply holds an error, and no data")


def _only(body: bytes, kind: Kind[Any]) -> bytes:
    """Return the one record of a reply: what is in `data`, or in an array of one, or wrapped twice."""
    root = _trimmed(body)
    _refuse_nothing(root, "data")
    parts = members(_sole(root))
    if "data" not in parts:
        raise ReplyUnreadableError("data: expected one record, got nothing")
    _refuse_nothing(parts["data"], "data")
    raw = _sole(parts["data"])
    _refuse_nothing(raw, "data")
    if raw[:1] != b"{":
        if raw is not parts["data"]:
            return raw
        raise ReplyUnreadableError(f"data: expected one record, got {type_name(read_record(raw))}")
    names = members(raw)
    if kind.is_record(names):
        return raw
    inner = _sole(names["data"]) if "data" in names else b""
    if inner[:1] == b"{" and kind.is_record(members(inner)):
        return inner
    missing = ", ".join(sorted(kind.required - names.keys()))
    raise ReplyUnreadableError(f"data: expected one record, got an object without {missing}")


def _refuse_nothing(raw: bytes, path: str) -> None:
    """Raise `NoRecordError` for `{}`, `[]` and null."""
    if len(raw) <= _LONGEST_NOTHING and b"".join(raw.split()) in _NOTHING:
        raise NoRecordError(f"{path}{': ' if path else ''}expected one record, got {raw.decode()}")


def _trimmed(body: bytes) -> bytes:
    return body.removeprefix(BOM).strip(b" \t\r\n")


def _sole(raw: bytes) -> bytes:
    """Return the element of an array of one, or what is no array as it is."""
    if raw[:1] == b"[":
        records = elements(raw)
        if len(records) != 1:
            raise ReplyUnreadableError(f"data: expected one record, got an array of {len(records)}")
        [raw] = records
    return raw


def _held(kind: Kind[T], raw: bytes, path: str) -> T:
    try:
        return kind.held([raw], Coercions())[0]
    except RecordError as error:
        fault = error.at(path)
    raise fault


Substitute: TypeAlias = Callable[[Any], dict[str, Any] | None]
"""Makes the record, or the list reply, of a reply's JSON that has another form; None if it cannot."""


@overload
def many(record: type[T], substitute: Substitute | None = None) -> ManyRecords[T]: ...
@overload
def many(record: UnionType, substitute: Substitute | None = None) -> ManyRecords[Message]: ...
def many(record: Any, substitute: Substitute | None = None) -> ManyRecords[Any]:
    """Return the envelope of a list: `{"data": [record, …], "meta": {…}}`, or what `substitute` makes of the
    reply.
    """
    return ManyRecords(kind_of(record), substitute)


def array(record: type[T]) -> ManyRecords[T]:
    """Return the envelope of a list that is an array at the reply's root, without `data`."""
    return ManyRecords(kind_of(record), lambda reply: {"data": reply} if isinstance(reply, list) else None)


@overload
def one(record: type[T], substitute: Substitute | None = None) -> OneRecord[T]: ...
@overload
def one(record: UnionType, substitute: Substitute | None = None) -> OneRecord[Message]: ...
def one(record: Any, substitute: Substitute | None = None) -> OneRecord[Any]:
    """Return the envelope of one record: `{"data": record}`, or what `substitute` makes of the reply."""
    return OneRecord(kind_of(record), substitute)


def bare(record: type[T]) -> OneRecord[T]:
    """Return the envelope of one record at the reply's root, without `data`."""
    return OneRecord(kind_of(record), is_bare=True)


def each(record: type[T]) -> EachOutcome[T]:
    """Return the envelope of an outcome per item: `{"data": {key: outcome}}`; `record` is an outcome."""
    return EachOutcome(record)


ACK: Final = _Acknowledgement()
"""The envelope of an acknowledgement."""
JSON: Final = read_json
"""The envelope of a reply that is taken as it is."""


@overload
def parse(kind: type[T], data: bytes | str | dict[str, Any]) -> T: ...
@overload
def parse(kind: UnionType, data: bytes | str | dict[str, Any]) -> Message: ...
def parse(kind: Any, data: bytes | str | dict[str, Any]) -> Any:
    """Return the typed record of a record's JSON, as a walk would: `parse(Message, line)`, `parse(User, …)`.

    `data` is the record as bytes, text, or a dict. A record that no typed message can hold is an
    `UnknownMessage`. Raises `ReplyUnreadableError` for what is not JSON, and for any other record that cannot
    be held; `RequestInvalidError` for a `kind` that is neither `Message` nor a record's class.
    """
    is_class = isinstance(kind, type) and issubclass(kind, Record)
    if not is_class and kind != Message:
        raise RequestInvalidError(f"kind = {kind!r}: expected Message and the classes of records")
    raw = _record_bytes(data)
    if not is_class or issubclass(kind, get_args(Message)):
        message = _held(MESSAGE, raw, "")
        if not is_class or isinstance(message, kind):
            return message
        reason = (
            message.reason if isinstance(message, UnknownMessage) else f"it is a {type(message).__name__}"
        )
        if kind is UnknownMessage:
            return unknown(read_record(raw), raw, reason)
        raise ReplyUnreadableError(f"the record is no {kind.__name__}: {reason}")
    record: Kind[Any] = kind_of(kind)
    return _held(record, raw, "")


def _record_bytes(data: object) -> bytes:
    if isinstance(data, str):
        data = bytes_of(data)
    if isinstance(data, bytes | bytearray | memoryview):
        return _trimmed(bytes(data))
    if not isinstance(data, dict):
        raise RequestInvalidError(f"data: expected bytes, a text and a dict, not {type(data).__name__}")
    try:
        return write_value(data)
    except (TypeError, ValueError, RecursionError) as error:
        fault = ReplyUnreadableError(f"the record is not JSON: {error}")
    raise fault
