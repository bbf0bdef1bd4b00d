"""Kinds of records: a page of them is decoded at once, or record by record if that fails.

A record is decoded strictly first, then loosely: with ids and sizes as served, number or text, which costs
little more. A record that fits neither is read leniently, by itself. The decoder that fitted the last page is
tried first for the next one, so that a server with numbers for ids costs no failed attempt per page. The
result does not depend on this.
"""

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct, structs

from ..._models.lenient import CoercionError, Coercions, coerced, shape, whole_number
from ..._models.messages import (
    Message,
    TextMessage,
    TypedMessage,
    TypedMessageAsServed,
    read_leniently,
    retype_media,
    unknown_message,
)
from ..._models.raw_json import REFUSED
from ...errors import ReplyUnreadableError
from .bounds import COUNTED_BYTES, STRICT_BYTES, check_records, is_dense
from .envelope import Listing, ListReply
from .scanner import TooDeep, read_record

T = TypeVar("T")


_IS_LOOSE: Final = re.compile(r"\.(?:id|uid|parentId|size)`$")
"""The paths at which a strict decoder fails and a loose one may not.

It only saves a second failed attempt: with another error text of msgspec the records would be read one by
one, with the same result.
"""


class RecordError(Exception):
    """A record that does not fit its type: its index in the list, and the field with the type expected."""

    def __init__(self, index: int, field: str) -> None:
        super().__init__(field)
        self.index = index
        self.field = field

    def at(self, path: str) -> ReplyUnreadableError:
        """Return the error for a reply with the record at `path`."""
        joint = "" if self.field.startswith(":") or not path else "."
        return ReplyUnreadableError(f"{path}{joint}{self.field}")


class SingleReply(Struct, Generic[T], frozen=True, gc=False):
    """The envelope of one record."""

    data: T


class _Decoders:
    """The decoders of one type, each made when it is first used: building one takes a millisecond."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __getattr__(self, name: str) -> "msgspec.json.Decoder[Any]":
        kind: Any = self._kind
        shape = {"listing": ListReply[list[kind]], "single": SingleReply[kind], "record": kind}[name]
        decoder = self.__dict__[name] = msgspec.json.Decoder(shape)
        return decoder


class RecordKind(Generic[T]):
    """One type of record, with its decoders."""

    ids: tuple[tuple[str, str], ...] = ()
    """The fields that some servers send as numbers, and their wire names."""

    def __init__(self, record: Any, strict: Any = None, loose: Any = None) -> None:
        self.record = record
        """The struct, or the union of messages."""
        self._struct: Any = TextMessage if record == Message else record
        self._decoders = tuple(_Decoders(each) for each in (strict or record, loose) if each is not None)
        """Strict and loose decoders; in reverse order while a server needs the loose ones."""
        self._loose = self._decoders[-1] if loose is not None else None

    @cached_property
    def identified_by(self) -> str:
        return getattr(self.record, "identified_by", "id")

    @cached_property
    def wire_names(self) -> frozenset[str]:
        return frozenset(field.encode_name for field in structs.fields(self._struct))

    @cached_property
    def required(self) -> frozenset[str]:
        """The wire names that an object must have to be such a record.

        It is the identifying field if that is required, else all required fields.
        """
        fields = {field.name: field for field in structs.fields(self.record) if field.required}
        if self.identified_by in fields:
            return frozenset({fields[self.identified_by].encode_name})
        return frozenset(field.encode_name for field in fields.values())

    def is_record(self, names: Collection[str]) -> bool:
        return self.required <= set(names)

    def listing(self, body: bytes) -> Listing[T] | None:
        """Decode a list's envelope at once; None if that fails, or may give far too many records.

        Raises `ReplyUnreadableError` for more records than any list has.
        """
        if len(body) > COUNTED_BYTES and is_dense(body):
            return None
        page, is_loose = self._decoded("listing", body)
        if page is None:
            return None
        items = page.data
        check_records(len(items))
        if not is_loose:
            self._finish(items, None)
            return page.listing(items, body)  # type: ignore[no-any-return]
        coercions = Coercions()
        self._finish(items, coercions)
        if bool(coercions) is not (self._decoders[0] is self._loose):
            self._decoders = self._decoders[::-1]
        return page.listing(items, body, coercions.lines())  # type: ignore[no-any-return]

    def single(self, body: bytes) -> T | None:
        """Decode the envelope of one record at once; None if that fails."""
        reply, is_loose = self._decoded("single", body)
        if reply is None:
            return None
        items = [reply.data]
        self._finish(items, Coercions() if is_loose else None)
        return items[0]  # type: ignore[no-any-return]

    def records(self, raws: Sequence[bytes], coercions: Coercions) -> list[T]:
        """Return the records of a list, each from its JSON.

        Raises `RecordError` for one that does not fit its type, `ReplyUnreadableError` for text that is not
        JSON.
        """
        items: list[Any] = []
        for index, raw in enumerate(raws):
            # A large record has usually failed with its page; each decode of it holds up all threads.
            item = self._decoded("record", raw)[0] if len(raw) <= STRICT_BYTES else None
            if item is None:
                notes: list[str] = []
                try:
                    item = self._lenient(read_record(raw), raw, notes)
                except CoercionError as error:
                    fault = RecordError(index, str(error))
                    raise fault from None
                coercions.add(index, notes)
            items.append(item)
        self._finish(items, coercions)
        return items

    def _decoded(self, shape: str, body: bytes) -> tuple[Any, bool]:
        """Return the result of the first decoder that the body fits, and True if it is the loose one."""
        for decoders in self._decoders:
            try:
                return getattr(decoders, shape).decode(body), decoders is self._loose
            except msgspec.ValidationError as error:
                if decoders is self._loose or not _IS_LOOSE.search(str(error)):
                    break  # the other one would fail there too
            except REFUSED:
                break
        return None, False

    def _finish(self, items: list[Any], coercions: Coercions | None) -> None:
        """Give loosely decoded ids their documented type, in place: no caller has them yet."""
        for name, wire in self.ids if coercions is not None else ():
            indexes = coercions.records(f"{wire}: expected text, got whole number")  # type: ignore[union-attr]
            for index, item in enumerate(items):
                if type(value := getattr(item, name)) is int:
                    structs.force_setattr(item, name, str(value))
                    indexes.append(index)

    def _lenient(self, record: Any, raw: bytes, notes: list[str]) -> T:
        if isinstance(record, TooDeep):
            raise CoercionError(": nested too deeply to be read")
        item: T = coerced(record, shape(self.record), "", notes)
        return item


class _MessageKind(RecordKind[Message]):
    """Messages: any record is one, at least an `UnknownMessage`."""

    required = frozenset({"id"})
    ids = (("id", "id"), ("parent_id", "parentId"))

    def _finish(self, items: list[Any], coercions: Coercions | None) -> None:
        if coercions is not None:
            super()._finish(items, coercions)
            _finish_sizes(items, coercions)
        retype_media(items)

    def _lenient(self, record: Any, raw: bytes, notes: list[str]) -> Message:
        if isinstance(record, TooDeep):
            return unknown_message(record, raw, "the record is nested too deeply to be read")
        return read_leniently(record, raw, notes)


def _finish_sizes(messages: list[Any], coercions: Coercions) -> None:
    for index, message in enumerate(messages):
        files = message.data.attachments if type(message) is TextMessage else ()
        for number, file in enumerate(files or ()):
            size: Any = file.size
            if type(size) is str:
                whole = whole_number(size)
                structs.force_setattr(file, "size", UNSET if whole is None else whole)
                text = f"data.attachments[{number}].size: expected whole number, got text"
                coercions.records(text).append(index)


MESSAGE: Final = _MessageKind(Message, TypedMessage, TypedMessageAsServed)


_KINDS: Final[dict[Any, RecordKind[Any]]] = {Message: MESSAGE}


def kind_of(record: Any) -> RecordKind[Any]:
    return _KINDS.setdefault(record, RecordKind(record))
