"""The members of a record whose documented types do not hold. For columns."""

from typing import Any, Final

import msgspec
from msgspec import structs

from ...core.lenient import read_record
from ...errors import ReplyUnreadableError

_DEPTH: Final = 50
"""No documented member is nested as deeply."""
_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


def read(raw: bytes) -> dict[str, Any]:
    """Return the record's members, as in its page, however deep it is; none where it is no object."""
    record = read_any(raw)
    return record if isinstance(record, dict) else {}


def read_any(raw: Any) -> Any:
    """Return the value of JSON; None where it cannot be read."""
    try:
        return read_record(bytes(raw))
    except ReplyUnreadableError:
        return None


def fit(kind: Any, record: Any) -> Any:
    """Return a `kind` with those members that have its types; the others are as where they are absent."""
    value = kind()
    for field in structs.fields(kind) if isinstance(record, dict) else ():
        try:
            member = msgspec.convert(clean(record.get(field.encode_name)), field.type)
        except msgspec.ValidationError:
            continue
        setattr(value, field.name, member)
    return value


def clean(value: Any, depth: int = _DEPTH) -> Any:
    """Return a JSON value that any file can hold.

    Texts have U+FFFD for each half of a surrogate pair. Numbers beyond 64 bits, and what is nested too
    deeply, are None.
    """
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list() if depth:
            return [clean(item, depth - 1) for item in value]
        case dict() if depth:
            return {clean(key): clean(item, depth - 1) for key, item in value.items()}
        case bool() | float():
            return value
        case int() if _LOW <= value <= _HIGH:
            return value
    return None
