"""The four kinds of records that are imported, and the records of a line.

A line is a record as `session.data_import` takes it, or one that the service has shown: a line of an export,
or of `chatrest users`. Of the latter the members that an import does not take (`status`, `updatedAt` …) are
left out, and so are optional members that are null or empty. A stored message gets a `muid` made of its
content if it has none, so that the same line always has the same one.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import fields

from ..errors import ReplyUnreadableError, RequestInvalidError
from ..models.group import Group
from ..models.member import Member
from ..models.message import UnknownMessage
from ..models.raw_json import read_value
from ..models.user import User
from ..queries.checked import Body
from ..queries.data_import import GroupImport, MemberImport, MessageImport, UserImport, import_record

Kind: TypeAlias = Literal["users", "groups", "members", "messages"]


class _Rules(NamedTuple):
    """The class of a kind's records, its key, and the members that only the service writes."""

    record: type[Body]
    key: str
    shown_only: frozenset[str]
    required: frozenset[str]


def _rules(record: type[Body], key: str, shown: Any, *required: str) -> _Rules:
    own = {field.encode_name for field in fields(record)}
    return _Rules(record, key, frozenset(f.encode_name for f in fields(shown)) - own, frozenset(required))


_RULES: Final[Mapping[Kind, _Rules]] = {
    "users": _rules(UserImport, "uid", User, "uid", "name"),
    "groups": _rules(GroupImport, "guid", Group, "guid", "name", "type"),
    "members": _rules(MemberImport, "member_id", Member, "guid", "uid"),
    "messages": _rules(
        MessageImport, "muid", UnknownMessage, "muid", "sender", "receiverType", "receiver", "sentAt"
    ),
}
KINDS: Final[tuple[Kind, ...]] = ("users", "groups", "members", "messages")
"""In the order in which they are imported: a later kind may need an earlier one."""
IMPORTED_CATEGORIES: Final = ("message", "custom")
_DATA: Final = ("text", "customData", "attachments", "metadata")
"""The content of a message that can be imported."""
_EMPTY: Final[tuple[Any, ...]] = (None, "", [])


Reader: TypeAlias = Callable[[Kind, bytes], tuple[str, Body]]
"""Makes the key and the record of a line, as `read_entity` does."""


class SkippedLine(Exception):  # noqa: N818, not an error: the line is left out
    """A stored message that an import cannot make again."""


def kind_of(record: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a record by the ids in it; None if it shows none.

    The records of a list of members have no guid, and are taken for users.
    """
    if "sender" in record and "receiver" in record:
        return "messages"
    if "guid" in record:
        return "members" if "uid" in record else "groups"
    return "users" if "uid" in record else None


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; `RequestInvalidError` if it is none."""
    try:
        value = read_value(line)
    except (ValueError, RecursionError, ReplyUnreadableError) as error:
        raise RequestInvalidError(f"the line is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RequestInvalidError("the line is not a JSON object")
    return value


def read_entity(kind: Kind, line: bytes) -> tuple[str, Body]:
    """Return the key and the record of a line.

    Raises `RequestInvalidError` if it is not a record of `kind`, and `SkippedLine` for a stored message that
    cannot be imported.
    """
    rules, members = _RULES[kind], read_object(line)
    if kind == "messages" and "id" in members and "conversationId" in members:
        members = _of_stored_message(members)
    members = {
        name: value
        for name, value in members.items()
        if name not in rules.shown_only and (name in rules.required or value not in _EMPTY)
    }
    record = import_record(kind.removesuffix("s"), members, rules.record)
    try:
        msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalidError(f"{kind.removesuffix('s')}: it cannot be sent: {error}") from None
    return str(getattr(record, rules.key)), record


def _of_stored_message(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the members to import of a message that the service has shown."""
    category = stored.get("category")
    if category not in IMPORTED_CATEGORIES:
        raise SkippedLine(f"a message of the category {category!r} cannot be imported")
    if stored.get("deletedAt"):
        raise SkippedLine("the message is deleted")
    members = dict(stored)
    if isinstance(data := stored.get("data"), dict):
        members["data"] = {name: data[name] for name in _DATA if data.get(name) not in _EMPTY}
        if isinstance(attachments := members["data"].get("attachments"), list):
            members["data"]["attachments"] = [_with_digits(each) for each in attachments]
    members["muid"] = stored.get("muid") or _muid_of(stored)
    return members


def _with_digits(attachment: Any) -> Any:
    """Return an attachment with its size as digits: replies show a number."""
    if isinstance(attachment, dict) and type(attachment.get("size")) is int:
        return attachment | {"size": str(attachment["size"])}
    return attachment


def _muid_of(stored: Mapping[str, Any]) -> str:
    parts = [str(stored.get(name)) for name in ("conversationId", "id", "sender", "sentAt")]
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()
