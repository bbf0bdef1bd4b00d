"""A page as rows: each record's exact bytes, with the few members that decide where it belongs.

What keeps records as they were served (an export, the command's JSON lines) needs no typed ones: this reads a
page at less than half of the cost. A record that does not have its documented types is still a row.
`Messages(AsRows(session.sender)).list()` walks rows; so do the other collections.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar, final

import msgspec
from msgspec import Raw, Struct, structs

from ..errors import ReplyUnreadableError
from ..models.meta import Meta
from .decode import REFUSED, Listing, meta_of, records_of
from .endpoint import Call, Send
from .scan import envelope

R = TypeVar("R")

UNKNOWN: Final = -1
"""The time of a record that tells none."""
_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
"""Times that a database can hold."""
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
    sent_at: Annotated[int, msgspec.Meta(ge=_LOW, le=_HIGH)] = UNKNOWN
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
    try:
        page = _PAGE.decode(body)
        items = list(map(_ROW.decode, page.data))
    except REFUSED:
        return _patiently(body)
    raws: list[Raw] | list[bytes] = page.data
    if b"\n" in body or b"\r" in body:
        raws = [bytes(raw).translate(_ONE_LINE) for raw in page.data]
    for item, raw in zip(items, raws, strict=True):
        item.raw = raw
    return Listing(items, page.meta, body)


@final
class AsRows:
    """A `Send` for collections whose lists are to be read as rows."""

    def __init__(self, send: Send) -> None:
        self.app_id = send.app_id
        self.acting_user = send.acting_user
        self.page_sizes = send.page_sizes
        self.cursor_key = send.cursor_key
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
        return envelope(b'{"data":%b}' % record)[0].get("data")  # as in its page, however deep it is
    except ReplyUnreadableError:
        return None


def _of_members(record: dict[str, Any]) -> Row:
    row = Row()
    for name in ("id", "uid"):
        if isinstance(record.get(name), str | int) and not isinstance(record[name], bool):
            setattr(row, name, _text(str(record[name])))
    sent_at = record.get("sentAt")
    if isinstance(sent_at, int) and not isinstance(sent_at, bool) and _LOW <= sent_at <= _HIGH:
        row.sent_at = sent_at
    for name, wire in (("sender", "sender"), ("receiver", "receiver"), ("receiver_type", "receiverType")):
        if isinstance(record.get(wire), str):
            setattr(row, name, _text(record[wire]))
    return row


def _text(value: str) -> str:
    """`value`; nothing where it holds a lone surrogate, which no database can keep."""
    return value if value.isprintable() or value.encode(errors="ignore").decode() == value else ""
