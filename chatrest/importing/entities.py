"""The kinds of records that are imported, and a record as a person writes it: every member is known.

The records that the service has shown are read by `shown_records`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import fields

from .._models.raw_json import read_value
from .._parameters.checked import Body
from .._parameters.data_import import GroupImport, MemberImport, MessageImport, UserImport, import_record
from ..errors import ReplyUnreadableError, RequestInvalidError
from .input_files import LinePosition

Kind: TypeAlias = Literal["users", "groups", "members", "messages"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Order matters: members need groups, and messages those who write them."""
_RECORDS: Final[Mapping[Kind, tuple[type[Body], str]]] = {
    "users": (UserImport, "uid"),
    "groups": (GroupImport, "guid"),
    "members": (MemberImport, "member_id"),
    "messages": (MessageImport, "muid"),
}
"""The class of a record, and the field that identifies it."""
TAKEN: Final = {kind: frozenset(f.encode_name for f in fields(cls)) for kind, (cls, _) in _RECORDS.items()}
"""The members that an import takes."""
REQUIRED: Final = {
    kind: frozenset(f.encode_name for f in fields(cls) if f.required) for kind, (cls, _) in _RECORDS.items()
}
_OF_OTHER_TABLES: Final = frozenset({"reaction", "friendOf", "blockedBy", "bannedAt"})
"""Members of tables of an export that no import takes."""
_EMPTY: Final[tuple[Any, ...]] = (None, "", [])


class ImportRecord(NamedTuple):
    """A record to import."""

    key: str
    record: Body
    left_out: tuple[str, ...] = ()
    """What its line holds and no import takes, in words."""
    end: LinePosition = LinePosition()
    """The end of its line."""


Reader: TypeAlias = Callable[[Kind, dict[str, Any]], ImportRecord]
"""Makes a record of the JSON object of a line, as `read_written` does."""


class SkippedLine(Exception):  # noqa: N818, not an error: the line is left out
    """A message that an import cannot make again; its text says what it is."""


def kind_of(members: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a record by the ids in it; None if it shows none.

    The records of a list of members have no guid, and are taken for users.
    """
    if "sender" in members and "receiver" in members:
        return "messages"
    if not _OF_OTHER_TABLES.isdisjoint(members):
        return None
    if "guid" in members:
        return "members" if "uid" in members else "groups"
    return "users" if "uid" in members else None


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; `RequestInvalidError` for any other line."""
    try:
        value = read_value(line)
    except (ValueError, RecursionError, ReplyUnreadableError) as error:
        raise RequestInvalidError(f"the line is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RequestInvalidError("the line is not a JSON object")
    return value


def read_written(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record that somebody wrote; an optional member that is null or empty counts as none.

    Raises `RequestInvalidError` if a member is wrong, missing or unknown.
    """
    name, (cls, key) = kind.removesuffix("s"), _RECORDS[kind]
    given = {name: value for name, value in members.items() if name in REQUIRED[kind] or value not in _EMPTY}
    record = import_record(name, given, cls)
    try:
        msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalidError(f"{name}: it cannot be sent: {error}") from None
    return ImportRecord(str(getattr(record, key)), record)
