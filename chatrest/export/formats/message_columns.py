"""The values of a message's columns in a Parquet file.

A member that is absent, or not of its documented type, is None. What an attachment, a reaction, a mention or
a call holds beside the documented members is in the record's JSON alone.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import astuple

from ..._core.replies.rows import row_of
from ..._models.raw_json import REFUSED
from ..plan.message_ids import key_of, number, numbers_of
from .columns import LATEST, MESSAGE_COLUMNS
from .record_members import fit, read

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
Text: TypeAlias = str | None
Count: TypeAlias = Annotated[int, Meta(ge=_LOW, le=_HIGH)] | None
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST)] | None


class _Attachment(Struct, gc=False, rename="camel"):
    url: Text = None
    name: Text = None
    mime_type: Text = None
    extension: Text = None
    size: Annotated[int, Meta(ge=_LOW, le=_HIGH)] | str | None = None


class _Reaction(Struct, gc=False):
    reaction: Text = None
    count: Count = None


class _User(Struct, gc=False):
    uid: Text = None
    name: Text = None


class _Call(Struct, gc=False, rename="camel"):
    session_id: Text = field(default=None, name="sessionid")
    type: Text = None
    status: Text = None
    sender: Text = None
    receiver: Text = None
    receiver_type: Text = None
    conversation_id: Text = None
    initiated_at: Instant = None
    joined_at: Instant = None
    started_at: Instant = None


class _UserWrapper(Struct, gc=False):
    entity: _User | None = None


class _CallWrapper(Struct, gc=False):
    entity: _Call | None = None


class _Entities(Struct, gc=False):
    by: _UserWrapper | None = None
    on: _CallWrapper | None = None
    for_: _UserWrapper | None = field(default=None, name="for")


class _Data(Struct, gc=False):
    text: Text = None
    action: Text = None
    attachments: list[_Attachment] | None = None
    reactions: list[_Reaction] | None = None
    mentions: dict[str, _User] | None = None
    entities: _Entities | None = None


class _Members(Struct, gc=False, rename="camel"):
    id: str | int = ""
    conversation_id: Text = None
    parent_id: Text = None
    sender: Text = None
    receiver: Text = None
    receiver_type: Text = None
    category: Text = None
    type: Text = None
    data: _Data | None = None
    tags: list[str] | None = None
    sent_at: Instant = None
    updated_at: Instant = None
    edited_at: Instant = None
    edited_by: Text = None
    deleted_at: Instant = None
    deleted_by: Text = None
    delivered_at: Instant = None
    read_at: Instant = None
    muid: Text = None


_TOP: Final = [each.name for each in MESSAGE_COLUMNS if len(each.path) == 1 and each.path != ("id",)]
_NOTHING: Final = _Data()
_DECODER: Final = msgspec.json.Decoder(_Members)


def columns(lines: bytes, rows: int) -> dict[str, Sequence[Any]]:
    """Return the columns of `parquet.SCHEMA` for so many records, one per line, without the source and `raw`.

    Records that all have their documented types are read at once, others one by one. Lists hold structs as
    tuples of their fields.
    """
    try:
        records = _DECODER.decode_lines(lines)
    except REFUSED:
        records = []
    if len(records) != rows:
        records = list(map(_members, raws_in(lines)))
    ids = [str(record.id) for record in records]
    if not all(ids):
        ids = [key_of(row_of(raw)) for raw in raws_in(lines)]
    return {
        "id": ids,
        "number": numbers_of(ids) or list(map(number, ids)),
        **_top_columns(records),
        **_data_columns(records),
    }


def _top_columns(records: list[_Members]) -> dict[str, Sequence[Any]]:
    return {name: list(map(attrgetter(name), records)) for name in _TOP}


def _data_columns(records: list[_Members]) -> dict[str, Sequence[Any]]:
    contents = [record.data or _NOTHING for record in records]
    return {
        "action": [data.action for data in contents],
        "text": [data.text for data in contents],
        "attachments": [
            None if data.attachments is None else list(map(_attachment, data.attachments))
            for data in contents
        ],
        "reactions": [
            None if data.reactions is None else list(map(astuple, data.reactions)) for data in contents
        ],
        "mentions": [
            None if data.mentions is None else [(uid, user.name) for uid, user in data.mentions.items()]
            for data in contents
        ],
        "call": [
            _call(data.entities) if record.category == "call" and data.entities else None
            for record, data in zip(records, contents, strict=True)
        ],
    }


def raws_in(lines: bytes) -> list[bytes]:
    return lines.split(b"\n")[:-1]


def _members(raw: bytes) -> _Members:
    try:
        return _DECODER.decode(raw)
    except REFUSED:
        record = read(raw)
    members: _Members = fit(_Members, record)
    members.id = row_of(raw, record).id
    return members


def _attachment(item: _Attachment) -> tuple[Any, ...]:
    """Return the fields of a file; a size in digits is a number."""
    size = item.size
    if isinstance(size, str):
        size = int(size) if size.isdecimal() and size.isascii() and len(size) < 19 else None
    return item.url, item.name, item.mime_type, item.extension, size


def _call(entities: _Entities) -> tuple[Any, ...] | None:
    """Return the fields of a call, with the uids of who acted and of the other user."""
    if entities.on is None or entities.on.entity is None:
        return None
    *texts, initiated_at, joined_at, started_at = astuple(entities.on.entity)
    return *texts, _uid(entities.by), _uid(entities.for_), initiated_at, joined_at, started_at


def _uid(wrapper: _UserWrapper | None) -> str | None:
    return None if wrapper is None or wrapper.entity is None else wrapper.entity.uid
