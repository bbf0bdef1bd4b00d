"""The members of a record that a site needs, read from bytes of any shape at little cost.

A record with members of other types is read as Python objects instead, so nothing is too odd to be shown.
"""

from base64 import b32encode
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from .._models.raw_json import REFUSED, read_value
from ..export.plan.message_ids import number
from ..times import MILLISECONDS_FROM

_AFTER_9999: Final = 253_402_300_800_000


class ShownData(Struct, gc=False, rename="camel"):
    text: Any = None
    caption: Any = None
    url: Any = None
    name: Any = None
    size: Any = None
    attachments: Any = None
    reactions: Any = None
    custom_data: Any = None
    moderation: Any = None


class ShownRecord(Struct, gc=False, rename="camel"):
    id: Any = None
    category: Any = None
    type: Any = None
    data: ShownData = field(default_factory=ShownData)
    edited_at: Any = None
    edited_by: Any = None
    deleted_at: Any = None
    deleted_by: Any = None
    quoted_message: Any = None
    flagged_by: Any = None
    flagged_count: Any = None


_S = TypeVar("_S", bound=Struct)
_SHOWN: Final = msgspec.json.Decoder(ShownRecord)


def rank_of(id: int | str) -> int:
    """Return the number of an id; for one that is no number a hash, which is larger than any number."""
    text = str(id)
    return (number(text) if text else None) or int.from_bytes(_hash(text, 8)) >> 2 | 1 << 62


def token(text: str) -> str:
    """Return the name of a file for a text that somebody else has chosen."""
    return b32encode(_hash(text, 10)).decode().lower()


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def milliseconds(time: int) -> int:
    """Return a timestamp in milliseconds; 0 for one that is no time of a message."""
    time = time if time >= MILLISECONDS_FROM else time * 1000
    return time if 0 < time < _AFTER_9999 else 0


def record_of(raw: bytes) -> dict[str, Any]:
    """Return the members of a record; none where it is no JSON object."""
    with suppress(ValueError, RecursionError):
        value = read_value(raw)
        if isinstance(value, dict):
            return value
    return {}


def shown_record_of(raw: bytes) -> ShownRecord:
    try:
        return _SHOWN.decode(raw)
    except REFUSED:
        record = record_of(raw)
        data = record.get("data")
        shown_data = _struct_of(ShownData, data if isinstance(data, dict) else {})
        return _struct_of(ShownRecord, record | {"data": shown_data})


def _struct_of(type: type[_S], members: dict[str, Any]) -> _S:
    fields = msgspec.structs.fields(type)
    return type(**{each.name: members[each.encode_name] for each in fields if each.encode_name in members})
