"""The envelope of a list, read leniently: its records, its `meta`, and its positions.

A position says where a list continues. One that is there and cannot be read is a fault of the page, never the
list's end; one that is empty (`{}`, null, or an `affix` alone) is no position.
"""

from collections.abc import Callable, Collection
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct, structs

from ..._models.lenient import CoercionError, Coercions, coerced, shape, type_name
from ..._models.meta import Meta, Position
from ..._models.raw_json import REFUSED, write_value
from ...errors import ReplyUnreadableError
from .bounds import check_records
from .scanner import TooDeep, elements, members, read_record

T = TypeVar("T")
NO_META: Final = Meta()
_KNOWN: Final = tuple(field.encode_name for field in structs.fields(Position))


class Listing(Struct, Generic[T], frozen=True):
    """A list reply: its records as the service ordered them, its `meta`, and the bytes as served."""

    items: list[T]
    meta: Meta
    raw: bytes
    repairs: tuple[str, ...] = ()
    """The values that did not have their documented type and were coerced, one line per field.

    `data[3].sentAt: expected whole number, got text`, or `data[*].id: … (1000 records)`.
    """
    cursor: Position | None = None
    """The `cursor` at the reply's top level."""
    position_fault: str | None = None
    """The reason why a position (`meta.cursor`, `meta.next`, `cursor`) cannot be read; None if all can."""
    is_refusal: bool = False
    """True for an error in place of a page: the service does not find the position that was asked for."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("items", len(self.items)), ("meta", self.meta), ("raw", len(self.raw))]

    def __repr__(self) -> str:
        return f"<Listing of {len(self.items)} items, {len(self.raw)} bytes>"


class ListReply(Struct, Generic[T], frozen=True, gc=False):
    """The envelope of a list."""

    data: T
    meta: Meta | None = None
    cursor: Position | None = None

    def listing(self, items: list[Any], body: bytes, repairs: tuple[str, ...] = ()) -> Listing[Any]:
        meta, cursor = self.meta or NO_META, self.cursor
        return Listing(items, meta, body, repairs, cursor, _position_fault(meta, cursor, body))


class _Positions(Struct, gc=False):
    meta: Any = None
    cursor: Any = None


_SERVED: Final = msgspec.json.Decoder(_Positions)


def read_envelope(
    body: bytes, is_record: Callable[[Collection[str]], bool], coercions: Coercions
) -> Listing[bytes]:
    """Return a list reply with its records as bytes; if `data` is one record by `is_record`, a list of one.

    Raises `ReplyUnreadableError` if the body or its `meta` is no JSON object, or its `data` holds no records.
    """
    parts = members(body)
    records = _records(parts.get("data"), is_record)
    meta, cursor = _read(parts.get("meta")), _read(parts.get("cursor"))
    notes: list[str] = []
    if meta is not None and not isinstance(meta, dict) and meta != []:
        raise ReplyUnreadableError(f"meta: expected object, got {type_name(meta)}")
    listing = Listing(
        records,
        coerced(meta, shape(Meta), "meta", notes) if meta is not None else NO_META,
        body,
        cursor=_position(cursor, notes),
        position_fault=_fault(meta, cursor),
    )
    coercions.add_other(notes)
    return listing


def _position_fault(meta: Meta, cursor: Position | None, body: bytes) -> str | None:
    for position in (meta.cursor, meta.next, cursor):
        if position is not None and position.id is UNSET and position == Position(position.affix):
            try:
                served = _SERVED.decode(body)
            except REFUSED:  # a decoder is stricter with members that it reads than with those it passes over
                parts = members(body)
                served = _Positions(_read(parts.get("meta")), _read(parts.get("cursor")))
            return _fault(served.meta, served.cursor)
    return None


def _records(data: bytes | None, is_record: Callable[[Collection[str]], bool]) -> list[bytes]:
    if data is None:
        raise ReplyUnreadableError("data: expected records, got nothing")
    if data[:1] == b"[":
        return elements(data)
    if data[:1] == b"{":
        names = members(data)
        if not names:  # an empty array, as some services write it
            return []
        if records := _numbered(names, is_record):
            return records
        if is_record(names):
            return [data]
        raise ReplyUnreadableError("data: expected records, got another object")
    raise ReplyUnreadableError(f"data: expected records, got {type_name(_read(data))}")


def _numbered(names: dict[str, bytes], is_record: Callable[[Collection[str]], bool]) -> list[bytes]:
    """Return the records of an array that was written as an object; empty for any other object.

    Its numbered members are records. Its other members together may be one more.
    """
    records = [raw for name, raw in names.items() if name.isdecimal()]
    check_records(len(records))
    rest = {name: raw for name, raw in names.items() if not name.isdecimal()}
    if not all(raw[:1] == b"{" and is_record(members(raw)) for raw in records) or not records:
        return []
    if not rest:
        return records
    inner = b",".join(b"%b:%b" % (write_value(name), raw) for name, raw in rest.items())
    return [*records, b"{%b}" % inner] if is_record(rest) else []


def _read(raw: bytes | None) -> Any:
    value = None if raw is None else read_record(raw)
    if isinstance(value, TooDeep):
        raise ReplyUnreadableError("the reply's meta is nested too deeply to be read")
    return value


def _position(served: Any, notes: list[str]) -> Position | None:
    if served is None:
        return None
    try:
        position: Position = coerced(served, shape(Position), "cursor", notes)
    except CoercionError:  # the position's fault says it
        return None
    return position


def _fault(meta: Any, cursor: Any) -> str | None:
    held = meta if isinstance(meta, dict) else {}
    places = (("meta.cursor", held.get("cursor")), ("meta.next", held.get("next")), ("cursor", cursor))
    return next((fault for path, served in places if (fault := _fault_of(path, served))), None)


def _fault_of(path: str, served: Any) -> str | None:
    if not served:  # null, {}, [], "", 0: nothing to continue from
        return None
    if not isinstance(served, dict):
        return f"{path}: expected an object with a position, got {type_name(served)}"
    for name in _KNOWN:
        if name in served and not _is_value(served[name]):
            return f"{path}.{name}: expected text or whole number, got {type_name(served[name])}"
    unknown = [name for name, value in served.items() if name not in _KNOWN and value not in (None, "")]
    if unknown and not any(name in served for name in _KNOWN if name != "affix"):
        return f"{path}: none of its members is a known position ({', '.join(unknown)[:100]!r})"
    return None


def _is_value(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))
