"""The nested columns of the Parquet files: attachments, reactions, mentions, and the call of a call message.

Each function takes the JSON of a member of `data`, empty where it is absent, and returns the column's value:
None where it is absent, null, or not of its documented shape. What an item holds beside the documented
members is in the record's JSON alone.
"""

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct, field, structs

from ...core.decode import REFUSED
from ..file_names import MILLISECONDS
from .parquet_schema import CALL_TIMES
from .record_members import clean, fit, read_any

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
Count: TypeAlias = Annotated[int, Meta(ge=_LOW, le=_HIGH)] | None
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=253_402_300_799_999)] | None


class _Attachment(Struct, gc=False, rename="camel"):
    url: str | None = None
    name: str | None = None
    mime_type: str | None = None
    extension: str | None = None
    size: Annotated[int, Meta(ge=_LOW, le=_HIGH)] | str | None = None


class _Reaction(Struct, gc=False):
    reaction: str | None = None
    count: Count = None


class _User(Struct, gc=False):
    uid: str | None = None
    name: str | None = None


class _Call(Struct, gc=False, rename="camel"):
    session_id: str | None = field(default=None, name="sessionid")
    type: str | None = None
    status: str | None = None
    sender: str | None = None
    receiver: str | None = None
    receiver_type: str | None = None
    conversation_id: str | None = None
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


_ATTACHMENTS: Final = msgspec.json.Decoder(list[_Attachment] | None)
_REACTIONS: Final = msgspec.json.Decoder(list[_Reaction] | None)
_MENTIONS: Final = msgspec.json.Decoder(dict[str, _User] | None)
_ENTITIES: Final = msgspec.json.Decoder(_Entities | None)


def attachments(json: Raw) -> list[dict[str, Any]] | None:
    """Return the files of a message. A size in digits is a number."""
    items = _items(json, _ATTACHMENTS, _Attachment)
    for item in items or ():
        item["size"] = _count(item["size"])
    return items


def reactions(json: Raw) -> list[dict[str, Any]] | None:
    """Return how many users reacted to a message in each way."""
    return _items(json, _REACTIONS, _Reaction)


def mentions(json: Raw) -> list[dict[str, Any]] | None:
    """Return the users that a message mentions: `data.mentions` has them by their uid."""
    if not json:
        return None
    try:
        users = _MENTIONS.decode(json)
    except REFUSED:
        value = clean(read_any(json))
        users = {uid: fit(_User, user) for uid, user in value.items()} if isinstance(value, dict) else None
    return None if users is None else [{"uid": uid, "name": user.name} for uid, user in users.items()]


def call(json: Raw) -> dict[str, Any] | None:
    """Return the call of `data.entities`, with the uids of who acted and of the other user."""
    if not json:
        return None
    try:
        entities = _ENTITIES.decode(json)
    except REFUSED:
        entities = _lenient_entities(read_any(json))
    if entities is None or entities.on is None or entities.on.entity is None:
        return None
    value = structs.asdict(entities.on.entity)
    for name in CALL_TIMES:
        if value[name] is not None and value[name] < MILLISECONDS:
            value[name] *= 1000
    return {**value, "by_uid": _uid(entities.by), "for_uid": _uid(entities.for_)}


def _items(json: Raw, decoder: Any, kind: Any) -> list[dict[str, Any]] | None:
    if not json:
        return None
    try:
        items = decoder.decode(json)
    except REFUSED:
        value = read_any(json)
        items = [fit(kind, item) for item in value] if isinstance(value, list) else None
    return None if items is None else list(map(structs.asdict, items))


def _lenient_entities(value: Any) -> _Entities | None:
    if not isinstance(value, dict):
        return None
    by, on, for_ = (_entity(value.get(name)) for name in ("by", "on", "for"))
    return _Entities(
        _UserWrapper(fit(_User, by)),
        None if on is None else _CallWrapper(fit(_Call, on)),
        _UserWrapper(fit(_User, for_)),
    )


def _entity(wrapper: Any) -> Any:
    entity = wrapper.get("entity") if isinstance(wrapper, dict) else None
    return entity if isinstance(entity, dict) else None


def _uid(wrapper: _UserWrapper | None) -> str | None:
    return None if wrapper is None or wrapper.entity is None else wrapper.entity.uid


def _count(size: int | str | None) -> int | None:
    if isinstance(size, str):
        size = int(size) if size.isdecimal() and size.isascii() and len(size) < 19 else None
    return size
