"""What a record says, member by member, where its documented types do not hold. For columns."""

from typing import Any

import msgspec
from msgspec import structs

from ...core.lenient import read_record
from ...errors import ReplyUnreadableError


def read(raw: bytes) -> dict[str, Any]:
    """The record's members, as in its page, however deep it is; none where it is no object."""
    try:
        record = read_record(raw)
    except ReplyUnreadableError:
        return {}
    return record if isinstance(record, dict) else {}


def fitted(kind: Any, record: Any) -> Any:
    """A `kind` with those members that have its types; the others are as where they are absent."""
    found = kind()
    for field in structs.fields(kind) if isinstance(record, dict) else ():
        try:
            value = msgspec.convert(_clean(record.get(field.encode_name)), field.type)
        except msgspec.ValidationError:
            continue
        setattr(found, field.name, value)
    return found


def _clean(value: Any) -> Any:
    """Texts with U+FFFD for each half of a surrogate pair, which no file of text can hold."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return [_clean(part) for part in value] if isinstance(value, list) else value
