"""A page as rows: each record's exact bytes, with the few members that decide where it belongs.

What keeps records as they were served (an export, the command's JSON lines) needs no typed ones: this reads a
page at less than half of the cost. A record that does not have its documented types is still a row.
`Messages(AsRows(session.sender)).list()` walks rows; so do the other collections.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, final

import msgspec
from msgspec import Raw, Struct, structs

from ..errors import ReplyUnreadableError
from ..models.meta import Meta
from .decode import REFUSED, Listing, meta_of, records_of
from .endpoint import Call, Send
from .scan import whole

R = TypeVar("R")

UNKNOWN: Final = -1
"""The time of a record that tells none."""
_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


@final
class Row(Struct, gc=False, rename="camel"):
    """One record. Members that are absent, or not of their type, are empty."""

    id: str = ""
    uid: str = ""
    """Of a user."""
    sender: str = ""
    receiver: str = ""
    receiver_type: str = ""
    sent_at: int = UNKNOWN
    raw: bytes | Raw = msgspec.field(default=b"", name="//raw")
    """The record's bytes, on one line: line breaks between its members are spaces. The service has no member
    of this name."""


class _Page(Struct, gc=False):
    data: list[Raw]
    meta: Meta = Meta()


_PAGE: Final = msgspec.json.Decoder(_Page)
_ROW: Final = msgspec.json.Decoder(Row)


def rows(body: bytes, /) -> Listing[Row]:
    """The page; raises `ReplyUnreadableError` where the body is not the list envelope."""
    if b"\n" in body or b"\r" in body:
        return _patiently(body)
    try:
        page = _PAGE.decode(body)
        items = list(map(_ROW.decode, page.data))
    except REFUSED:
        return _patiently(body)
    for item, raw in zip(items, page.data, strict=True):
        item.raw = raw
    return Listing(items, page.meta, body)


@final
class AsRows:
    """A `Send` for collections whose lists are to be read as rows."""

    def __init__(self, send: Send) -> None:
        self.app_id = send.app_id
        self.viewer = send.viewer
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Makes the call of a list; what it gives is a `Listing[Row]`, whatever the endpoint says."""
        return self._send(structs.replace(call, endpoint=structs.replace(call.endpoint, reply=rows)))


def row_of(raw: bytes, members: Any = None) -> Row:
    """A record by itself; `members` is what it says, where somebody has read it already."""
    try:
        row = _ROW.decode(raw)
    except REFUSED:
        found = _read(raw) if members is None else members
        row = _of_members(found if isinstance(found, dict) else {})
    row.raw = raw
    return row


def _patiently(body: bytes) -> Listing[Row]:
    members, records = records_of(body)
    notes: list[str] = []
    items = [row_of(raw.translate(_ONE_LINE), record) for record, raw in records]
    return Listing(items, meta_of(members.get("meta"), notes), body, tuple(notes))


def _read(record: bytes) -> Any:
    try:
        return whole(record)
    except ReplyUnreadableError:
        return None


def _of_members(record: dict[str, Any]) -> Row:
    row = Row()
    for name in ("id", "uid"):
        if isinstance(record.get(name), str | int) and not isinstance(record[name], bool):
            setattr(row, name, _text(str(record[name])))
    sent_at = record.get("sentAt")
    if isinstance(sent_at, int) and not isinstance(sent_at, bool):
        row.sent_at = sent_at
    for name, wire in (("sender", "sender"), ("receiver", "receiver"), ("receiver_type", "receiverType")):
        if isinstance(record.get(wire), str):
            setattr(row, name, _text(record[wire]))
    return row


def _text(value: str) -> str:
    """`value`; nothing where it holds a lone surrogate, which no database can keep."""
    return value if value.isprintable() or value.encode(errors="ignore").decode() == value else ""
