"""A message as a row of the database: the members of the record that are columns.

A member that is absent, or not of its documented type, is null; a record of any shape has a row. `raw` is the
record as it was served: text, which is what SQLite's JSON functions take, and bytes only where it is not
valid UTF-8.
"""

import re
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, final

import msgspec
from msgspec import Meta, Struct

from ...core.replies.rows import UNKNOWN, Row
from ...models.raw_json import REFUSED
from ..message_ids import key_of, number
from .record_members import fit, read

_LOW: Final = -(1 << 63)
_HIGH: Final = (1 << 63) - 1
Time: TypeAlias = Annotated[int, Meta(ge=_LOW, le=_HIGH)] | None
Value: TypeAlias = str | int | bytes | None


class _Data(Struct, gc=False):
    text: str | None = None


@final
class _Members(Struct, gc=False, rename="camel"):
    conversation_id: str | None = None
    category: str | None = None
    type: str | None = None
    data: _Data | None = None
    updated_at: Time = None
    edited_at: Time = None
    deleted_at: Time = None
    parent_id: str | None = None


class _Parts(NamedTuple):
    members: _Members
    is_unicode: bool
    raw: str | bytes


COLUMNS: Final = (
    "id", "number", "conversation_id", "sender", "receiver", "receiver_type", "category", "type", "text",
    "sent_at", "updated_at", "edited_at", "deleted_at", "parent_id", "source", "is_unicode", "raw",
)  # fmt: skip
"""The names of the values of `entry`, in their order."""
_ESCAPES: Final = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)", re.DOTALL)
"""Each escape of a JSON text; the group is half of a surrogate pair without its other half."""
_NOTHING: Final = _Data()
_MEMBERS: Final = msgspec.json.Decoder(_Members)


def entry(row: Row, source: int) -> tuple[Value, ...]:
    members, is_unicode, raw = _parts(row.raw)
    return (
        key_of(row),
        number(row.id),
        members.conversation_id,
        row.sender or None,
        row.receiver or None,
        row.receiver_type or None,
        members.category,
        members.type,
        (members.data or _NOTHING).text,
        None if row.sent_at == UNKNOWN else row.sent_at,
        members.updated_at,
        members.edited_at,
        members.deleted_at,
        members.parent_id,
        source,
        is_unicode,
        raw,
    )


def _parts(raw: Any) -> _Parts:
    try:
        text = str(raw, "utf-8")
        members = _MEMBERS.decode(raw)
    except REFUSED:
        return _lenient_parts(bytes(raw))
    return _Parts(members, _is_unicode(text), text)


def _is_unicode(record: str) -> bool:
    """Return True if no text in it has half of a surrogate pair, of which SQLite makes what is not UTF-8."""
    if "\\ud" not in record and "\\uD" not in record:
        return True
    return not any(escape[1] for escape in _ESCAPES.finditer(record))


# ── a record of any shape ──


def _lenient_parts(raw: bytes) -> _Parts:
    record = read(raw)
    members: _Members = fit(_Members, record)
    members.data = fit(_Data, record.get("data"))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return _Parts(members, False, raw)
    return _Parts(members, _is_unicode(text), text)
