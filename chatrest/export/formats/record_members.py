"""The members of a record whose documented types do not hold. For columns."""

from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from ..._core.replies.scanner import read_record
from ...errors import ReplyUnreadableError

_DEPTH: Final = 50
"""No documented member is nested as deeply."""
_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


def read(raw: bytes) -> dict[str, Any]:
    """Return the record's members, as in its page, at any depth; an empty dict for another value."""
    try:
        record = read_record(raw)
    except ReplyUnreadableError:
        return {}
    return record if isinstance(record, dict) else {}


def fit(kind: Any, record: Any) -> Any:
    """Return a `kind` with those members that have its types; the others are as where they are absent.

    In members that are structs, or lists or dicts of structs, this holds for the members of each struct.
    """
    value = kind()
    for field in structs.fields(kind) if isinstance(record, dict) else ():
        try:
            setattr(value, field.name, _member(field.type, record.get(field.encode_name)))
        except msgspec.ValidationError:
            continue
    return value


def _member(kind: Any, value: Any) -> Any:
    for option in get_args(kind):
        *_, item = get_args(option) or (option,)
        container = get_origin(option) or dict  # a struct is served as an object
        if isinstance(item, type) and issubclass(item, Struct) and isinstance(value, container):
            if container is list:
                return [fit(item, each) for each in value]
            if option is item:
                return fit(item, value)
            return {clean(key): fit(item, each) for key, each in value.items()}
    return msgspec.convert(clean(value), kind)


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
