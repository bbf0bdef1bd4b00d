"""A page as rows: each record's exact bytes, with the few members by which it is ordered and stored.

An export and the command's JSON lines store records as they were served, and need no typed ones: this reads a
page at less than half of the cost. A record with members of other types than documented is still a row.
`Messages(AsRows(session.sender)).list()` walks rows; so do the other collections.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from ..._models.lenient import Coercions, type_name
from ..._models.raw_json import REFUSED
from ..._models.record import Id, WithId
from ...errors import ReplyUnreadableError
from ..requests.endpoint import identity_by
from .bounds import check_records
from .decode import ManyRecords
from .envelope import Listing, ListReply
from .record_kinds import RecordError, RecordKind
from .scanner import read_record

R = TypeVar("R")

UNKNOWN: Final = -1
"""The time of a record without one."""
_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
"""The largest time; a database holds times from `_LOW` to it."""
_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


class Row(Struct, WithId, gc=False, eq=False, rename="camel"):
    """One record. Members that are absent, or not of their type, are empty."""

    id: Id = ""
    uid: Id = ""
    """The id of a user's record."""
    sender: str = ""
    receiver: str = ""
    receiver_type: str = ""
    sent_at: Annotated[int, msgspec.Meta(ge=_LOW, le=_HIGH)] = UNKNOWN
    line: bytes | Raw = msgspec.field(default=b"", name="//line")
    """The record's bytes. The service has no member of this name."""

    @property
    def raw(self) -> bytes:
        """The record's bytes, on one line: line breaks between its members are spaces."""
        return bytes(self.line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and _VALUES(self) == _VALUES(other)


_PAGE: Final = msgspec.json.Decoder(ListReply[list[Raw]])
_ROW: Final = msgspec.json.Decoder(Row)
_VALUES: Final = attrgetter("id", "uid", "sender", "receiver", "receiver_type", "sent_at", "raw")
_LOOSE: Any = int | str
_IDS: Final = ("id", "uid")


class _RowKind(RecordKind[Row]):
    ids = (("id", "id"), ("uid", "uid"))

    def __init__(self, record: "RecordKind[Any] | None") -> None:
        super().__init__(Row, Row, Row[_LOOSE])  # type: ignore[misc]
        self._record = record

    def is_record(self, names: Collection[str]) -> bool:
        return "id" in names or "uid" in names if self._record is None else self._record.is_record(names)

    def listing(self, body: bytes) -> Listing[Row] | None:
        try:
            raws = _PAGE.decode(body).data
        except REFUSED:
            return None
        check_records(len(raws))
        # Reading the body twice takes less time than reading each record.
        if (listing := super().listing(body)) is not None:
            _put_lines(listing.items, raws, is_one_line=b"\n" not in body and b"\r" not in body)
        return listing

    def records(self, raws: Sequence[bytes], coercions: Coercions) -> list[Row]:
        items = super().records(raws, coercions)
        _put_lines(items, raws, is_one_line=False)
        return items

    def _lenient(self, record: Any, raw: bytes, notes: list[str]) -> Row:
        return _of_members(record, notes)


@lru_cache(256)
def row_reader(reply: Any) -> ManyRecords[Row]:
    """Return the reader of a list's pages as rows; `reply` is the list's own reader, if it has one.

    The own reader recognises a single record in place of a list, and knows the list's other forms.
    """
    if isinstance(reply, ManyRecords):
        return ManyRecords(_RowKind(reply.kind), reply.substitute)
    return ManyRecords(_RowKind(None))


def rows(body: bytes, /) -> Listing[Row]:
    """Return the page of any list; raises `ReplyUnreadableError` if the body is not the list envelope."""
    return row_reader(None)(body)


def _put_lines(items: list[Row], raws: Sequence[bytes | Raw], *, is_one_line: bool) -> None:
    lines = raws if is_one_line else [bytes(raw).translate(_ONE_LINE) for raw in raws]
    for item, line in zip(items, lines, strict=True):
        item.line = line


def lines_of(rows: Sequence[Row]) -> bytes:
    return b"\n".join([*[row.line for row in rows], b""])


def row_identity(reply: object) -> Callable[[Row], str]:
    """Return the function that gives a row's id: one of its members, or the id of its typed record."""
    if not isinstance(reply, ManyRecords) or reply.identified_by in _IDS:
        return identity_by(getattr(reply, "identified_by", "id"))
    kind, name = reply.kind, reply.identified_by

    def identify(row: Row) -> str:
        try:
            [record] = kind.records([row.raw], Coercions())
        except (RecordError, ReplyUnreadableError):
            return ""
        return str(getattr(record, name))

    return identify


def row_of(raw: bytes, members: Any = None) -> Row:
    """Return the row of one record; `members` is its decoded JSON, if the caller has it already."""
    try:
        row = _ROW.decode(raw)
    except REFUSED:
        row = _of_members(_read(raw) if members is None else members, [])
    row.line = raw
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


_FIELDS: Final = tuple(field for field in structs.fields(Row) if field.name != "line")


def _text(value: str) -> str:
    """Return `value`; "" for a text with a lone surrogate, which no database can store."""
    return value if value.isprintable() or value.encode(errors="ignore").decode() == value else ""
