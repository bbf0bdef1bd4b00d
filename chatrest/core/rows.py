"""A page as rows: each record's exact bytes, with the few members that decide where it belongs.

What keeps records as they were served (an export, the command's JSON lines) needs no typed ones: this reads a
page at less than half of the cost. A record that does not have its documented types is still a row.
`Messages(AsRows(session.sender)).list()` walks rows; so do the other collections.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final, TypeVar, final

import msgspec
from msgspec import Raw, Struct, structs

from ..errors import ReplyUnreadableError
from ..models.meta import Meta, Position
from ..models.record import Id, OfId
from .cursor_key import CursorKey
from .decode import REFUSED, Listing, Many
from .endpoint import Call, Send
from .envelope import NO_META, position_fault, read_envelope
from .kinds import RecordError
from .lenient import Coercions, read_record, type_name
from .paging import PageSizes

R = TypeVar("R")

UNKNOWN: Final = -1
"""The time of a record that tells none."""
_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
"""Times that a database can hold."""
_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


@final
class Row(Struct, OfId, gc=False, rename="camel"):
    """One record. Members that are absent, or not of their type, are empty."""

    id: Id = ""
    uid: Id = ""
    """Of a user."""
    sender: str = ""
    receiver: str = ""
    receiver_type: str = ""
    sent_at: Annotated[int, msgspec.Meta(ge=_LOW, le=_HIGH)] = UNKNOWN
    raw: bytes | Raw = msgspec.field(default=b"", name="//raw")
    """The record's bytes, on one line: line breaks between its members are spaces. The service has no member
    of this name."""


class _Page(Struct, gc=False):
    data: list[Raw]
    meta: Meta | None = None
    cursor: Position | None = None


_PAGE: Final = msgspec.json.Decoder(_Page)
_ROW: Final = msgspec.json.Decoder(Row)
_LOOSE: Any = int | str
_LOOSE_ROW: Final[msgspec.json.Decoder[Row]] = msgspec.json.Decoder(Row[_LOOSE])  # type: ignore[misc]


def rows(body: bytes, /, reply: "Many[Any] | None" = None) -> Listing[Row]:
    """Return the page; raises `ReplyUnreadableError` where the body is not the list envelope.

    `reply` is the list's own reader: it tells a record by the names of its members, where an object stands in
    the place of a list, and knows the list's other forms.
    """
    coercions = Coercions()
    try:
        page = _PAGE.decode(body)
    except REFUSED:
        return _leniently(body, coercions, reply)
    items = _rows_of(page.data, coercions)
    raws: list[Raw] | list[bytes] = page.data
    if b"\n" in body or b"\r" in body:
        raws = [bytes(raw).translate(_ONE_LINE) for raw in page.data]
    for item, raw in zip(items, raws, strict=True):
        item.raw = raw
    meta = NO_META if page.meta is None else page.meta
    fault = position_fault(meta, page.cursor, body)
    return Listing(items, meta, body, coercions.lines(), page.cursor, fault)


@final
class AsRows:
    """A `Send` for collections whose lists are to be read as rows."""

    def __init__(self, send: Send) -> None:
        self.app_id: str = send.app_id
        self.acting_user: str | None = send.acting_user
        self.page_sizes: PageSizes = send.page_sizes
        self.cursor_key: CursorKey | None = send.cursor_key
        self.sleep: Callable[[float], Awaitable[None]] = send.sleep
        self.dice: Callable[[], float] = send.dice
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Make the call of a list; what it gives is a `Listing[Row]`, whatever the endpoint says."""
        reply: Any = call.endpoint.reply
        read = partial(rows, reply=reply) if isinstance(reply, Many) else rows
        return self._send(structs.replace(call, endpoint=structs.replace(call.endpoint, reply=read)))


def row_identity(reply: object) -> Callable[[Row], str]:
    """Return how the rows of a list are told apart: by a member of theirs, or as the list's records are."""
    if not isinstance(reply, Many) or reply.identified_by in _IDS:
        return attrgetter(getattr(reply, "identified_by", "id"))
    kind, name = reply.kind, reply.identified_by

    def identify(row: Row) -> str:
        try:
            [record] = kind.held([bytes(row.raw)], Coercions())
        except (RecordError, ReplyUnreadableError):
            return ""
        return str(getattr(record, name))

    return identify


def row_of(raw: bytes, members: Any = None) -> Row:
    """Return a record by itself; `members` is what it says, where somebody has read it already."""
    try:
        row = _ROW.decode(raw)
    except REFUSED:
        row = _of_members(_read(raw) if members is None else members, [])
    row.raw = raw
    return row


def _leniently(body: bytes, coercions: Coercions, reply: Many[Any] | None) -> Listing[Row]:
    is_record = _is_record if reply is None else reply.kind.is_record
    envelope = read_envelope(body if reply is None else reply.enveloped(body), is_record, coercions)
    items = _rows_of(envelope.records, coercions)
    for item, raw in zip(items, envelope.records, strict=True):
        item.raw = raw.translate(_ONE_LINE)
    return Listing(items, envelope.meta, body, coercions.lines(), envelope.cursor, envelope.position_fault)


def _is_record(names: Collection[str]) -> bool:
    return "id" in names or "uid" in names


def _rows_of(raws: list[Raw] | list[bytes], coercions: Coercions) -> list[Row]:
    try:
        return list(map(_ROW.decode, raws))
    except REFUSED:
        pass
    try:
        items = list(map(_LOOSE_ROW.decode, raws))
    except REFUSED:
        return [_row(raw, index, coercions) for index, raw in enumerate(raws)]
    _tighten(items, coercions)
    return items


def _tighten(items: list[Row], coercions: Coercions) -> None:
    """Give ids that were served as numbers their documented type, in place."""
    for name in ("id", "uid"):
        indexes = coercions.records(f"{name}: expected text, got whole number")
        for index, item in enumerate(items):
            value = getattr(item, name)
            if type(value) is int:
                setattr(item, name, str(value))
                indexes.append(index)


def _row(raw: bytes | Raw, index: int, coercions: Coercions) -> Row:
    try:
        return _ROW.decode(raw)
    except REFUSED:
        notes: list[str] = []
        row = _of_members(read_record(bytes(raw)), notes)
        coercions.add(index, notes)
        return row


def _read(raw: bytes) -> Any:
    try:
        return read_record(raw)
    except ReplyUnreadableError:
        return None


def _of_members(record: Any, notes: list[str]) -> Row:
    row = Row()
    for field in _FIELDS if isinstance(record, dict) else ():
        wire = field.encode_name
        if wire not in record:
            continue
        value, is_time = record[wire], field.name == "sent_at"
        kind = type(value)
        if kind is int and (_LOW <= value <= _HIGH if is_time else wire in _IDS):
            setattr(row, field.name, value if is_time else str(value))
        elif kind is str and not is_time:
            setattr(row, field.name, _text(value))
        if kind is not (int if is_time else str):
            expected = "whole number" if is_time else "text"
            notes.append(f"{wire}: expected {expected}, got {type_name(value)}")
    return row


_IDS: Final = ("id", "uid")
_FIELDS: Final = tuple(field for field in structs.fields(Row) if field.name != "raw")


def _text(value: str) -> str:
    """Return `value`; nothing where it holds a lone surrogate, which no database can keep."""
    return value if value.isprintable() or value.encode(errors="ignore").decode() == value else ""
