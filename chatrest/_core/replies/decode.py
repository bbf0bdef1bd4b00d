"""From a reply's bytes to structs: an envelope over a type of record is what an `Endpoint` has for its reply.

| envelope   | the reply                                  | result                               |
|------------|--------------------------------------------|--------------------------------------|
| `many(T)`  | `{"data": [record, …], "meta": {…}}`       | a `Listing`                          |
| `array(T)` | the same, or `[record, …]` at the root     | a `Listing`                          |
| `one(T)`   | `{"data": record}`, or an array of one     | the record                           |
| `bare(T)`  | the record at the root, or in `data`       | the record                           |
| `each(T)`  | `{"data": {key: outcome, …}}`              | `Outcomes`                           |
| `ACK`      | `{"data": {"success": …}}`, or at the root | an `Ack`                             |
| `JSON`     | any JSON                                   | decoded JSON; None for an empty body |

A reply is decoded at once. That is all or nothing, so if it fails the reply is read again, record by record.
A message that still does not fit becomes an `UnknownMessage` with its exact bytes, and never fails its page:
the values of `category` and `type` are open. Any other record that does not fit is a `ReplyUnreadableError`
with its place in the reply: no record is dropped.
"""

from types import UnionType
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from msgspec import UNSET, Struct, structs

from ..._models.lenient import CoercionError, Coercions, coerced, shape, type_name
from ..._models.messages import Message
from ..._models.outcomes import Ack as Ack, Outcomes as Outcomes
from ..._models.raw_json import write_value
from ...errors import ReplyUnreadableError
from .bounds import check_records
from .envelope import NO_META, Listing as Listing, read_envelope
from .one_record import OneRecord as OneRecord, Substitute
from .outcomes import outcomes_of
from .record_kinds import MESSAGE, RecordError, RecordKind, kind_of
from .scanner import read_json

T = TypeVar("T")
_PLAIN_ACK: Final = frozenset({"success", "message", "Message"})
_MAX_KEY: Final = 50


class ManyRecords(Struct, Generic[T], frozen=True):
    """Reads a list reply."""

    kind: RecordKind[T]
    substitute: Substitute | None = None
    """Makes the list reply of a reply of another form; None if the operation has no other form."""

    @property
    def record(self) -> Any:
        return self.kind.record

    @property
    def identified_by(self) -> str:
        return self.kind.identified_by

    @property
    def has_messages(self) -> bool:
        return self.kind is MESSAGE

    def __call__(self, body: bytes, /) -> Listing[T]:
        """Return the page.

        Raises `ReplyUnreadableError` if the body is not the list envelope, or a record does not fit its type.
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
            items = self.kind.records(listing.items, coercions)
        except RecordError as error:
            fault = error.at(f"data[{error.index}]")
            raise fault from None
        return Listing(items, listing.meta, body, coercions.lines(), listing.cursor, listing.position_fault)


class EachOutcome(Struct, Generic[T], frozen=True):
    """Reads a reply with an outcome per item."""

    record: Any
    """The type of an outcome."""
    operation: str = ""
    """The endpoint's name: the outcomes raise their error under it."""

    def of_operation(self, name: str) -> "EachOutcome[T]":
        """Return the reader for the endpoint of this name."""
        return structs.replace(self, operation=name)

    def __call__(self, body: bytes, /) -> Outcomes[T]:
        """Return the outcomes by key; raises `ReplyUnreadableError` if the body has none of single items."""
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
                fault = RecordError(0, str(error)).at(f"data.{key[:_MAX_KEY]}")
                raise fault from None
        return Outcomes(by_key, body, self.operation, coercions.lines())


class _Acknowledgement(Struct, frozen=True):
    record: ClassVar = Ack

    def __call__(self, body: bytes, /) -> Ack:
        """Return the acknowledgement; one without `success` is a success, as its status was one.

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


@overload
def many(record: type[T], substitute: Substitute | None = None) -> ManyRecords[T]: ...
@overload
def many(record: UnionType, substitute: Substitute | None = None) -> ManyRecords[Message]: ...
def many(record: Any, substitute: Substitute | None = None) -> ManyRecords[Any]:
    """Return the envelope of a list: `{"data": [record, …], "meta": {…}}`, or what `substitute` makes."""
    return ManyRecords(kind_of(record), substitute)


def array(record: type[T]) -> ManyRecords[T]:
    """Return the envelope of a list that is an array at the reply's root, without `data`."""
    return ManyRecords(kind_of(record), lambda reply: {"data": reply} if isinstance(reply, list) else None)


@overload
def one(record: type[T], substitute: Substitute | None = None) -> OneRecord[T]: ...
@overload
def one(record: UnionType, substitute: Substitute | None = None) -> OneRecord[Message]: ...
def one(record: Any, substitute: Substitute | None = None) -> OneRecord[Any]:
    """Return the envelope of one record: `{"data": record}`, or what `substitute` makes."""
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
"""The envelope of a reply that is given as decoded JSON."""
