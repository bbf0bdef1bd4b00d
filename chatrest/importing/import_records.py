"""The records of an import, made of the lines of a file; nothing is read or sent here.

A line with one of `_SHOWN_MARKS`, which only the service writes, was shown by it: members that no import
takes are dropped, and named in the record's omissions if the service does not make them again. Any other line
was written by a person: there such a member is a mistake, and the line is refused. A message that was shown
without `muid` gets one made of its content: the same line always has the same one.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from json import JSONDecodeError
from secrets import token_urlsafe
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import fields

from .._models.lenient import type_name
from .._models.raw_json import read_value
from .._parameters.checked import Body
from .._parameters.data_import import GroupImport, MemberImport, MessageImport, UserImport, import_record
from .._secrets import repr_of
from ..errors import ReplyUnreadableError, RequestInvalidError
from ..times import has_time_form
from .input_lines import LinePosition

Kind: TypeAlias = Literal["users", "groups", "members", "messages", "bans"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Order matters: members need groups, and messages those who write them, who may be banned later."""
_RECORD_TYPES: Final[Mapping[Kind, tuple[type[Body], str]]] = {
    "users": (UserImport, "uid"),
    "groups": (GroupImport, "guid"),
    "members": (MemberImport, "member_id"),
    "messages": (MessageImport, "muid"),
    "bans": (MemberImport, "member_id"),
}
"""The class of a record, and the field that identifies it."""
_IMPORTED: Final = {
    kind: frozenset(field.encode_name for field in fields(cls)) for kind, (cls, _) in _RECORD_TYPES.items()
}
_REQUIRED: Final = {
    kind: frozenset(field.encode_name for field in fields(cls) if field.required)
    for kind, (cls, _) in _RECORD_TYPES.items()
}
_OF_OTHER_TABLES: Final = frozenset({"reaction", "friendOf", "blockedBy"})
"""Members of tables of an export that no import takes."""
_SHOWN_MARKS: Final = frozenset(
    {"id", "conversationId", "status", "updatedAt", "membersCount", "hasJoined", "bannedAt"}
)
_IDS: Final = frozenset({"uid", "guid", "muid", "sender", "receiver", "owner"})
_ESSENTIAL: Final = frozenset({"category", "type", "data"})
"""Optional members without which a message would be another one."""
_CATEGORIES: Final = ("message", "custom")
_CONTENT: Final = frozenset({"text", "customData", "attachments", "metadata"})
"""The members of a message's data that can be imported."""
_EMPTY: Final[tuple[Any, ...]] = (None, "", 0, [], {})
_EMPTY_OR_UNREAD: Final = (*_EMPTY, {"data": []}, {"data": [[]]})
"""Values that are not worth naming: also the receipts of a message that nobody has received."""
_PROTECTED: Final = ("password", "protected")
_TIMES: Final = "a whole number of seconds since 1970, or a text such as '2026-01-31' or '2026-01-31T12:00Z'"
_MAX_NAME: Final = 100
_MADE_OF_USERS: Final = (
    "status updatedAt conversationId authToken blockedByMe blockedByMeAt blockedAt hasBlockedMe"
)
_MADE_OF_MEMBERS: Final = (  # the users themselves are imported as such
    f"{_MADE_OF_USERS} name avatar link role statusMessage metadata tags createdAt lastActiveAt deactivatedAt"
)
_MADE_NAMES: Final = {
    "users": _MADE_OF_USERS,
    "groups": "conversationId membersCount onlineMembersCount updatedAt updatedBy scope joinedAt hasJoined",
    "members": _MADE_OF_MEMBERS,
    "messages": "id conversationId updatedAt editedBy pinnedBy deletedAt deletedBy savedAt threadSubscribed "
    "replyCount lastReply flaggedBy flaggedCount appId",
    "data": "entities resource url",
    "bans": _MADE_OF_MEMBERS,
}
_MADE_BY_SERVICE: Final = {table: frozenset(words.split()) for table, words in _MADE_NAMES.items()}
"""Members that are dropped and not named: the service makes them again, or another table has them."""


class ImportRecord(NamedTuple):
    key: str
    record: Body
    omissions: tuple[str, ...] = ()
    """Descriptions of what its line holds and no import takes."""
    role: str = ""
    """The role that a shown user has."""
    end: LinePosition = LinePosition()
    """The end of its line."""


class SkippedLine(Exception):  # noqa: N818, not an error: the line is left out
    """A line whose record an import cannot make again; the text describes such records."""


def kind_of(members: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a record by its ids, None if it shows none; a member without a guid is a user."""
    if "sender" in members and "receiver" in members:
        return "messages"
    if not _OF_OTHER_TABLES.isdisjoint(members):
        return None
    if "guid" in members:
        if "uid" not in members:
            return "groups"
        return "bans" if "bannedAt" in members else "members"
    return "users" if "uid" in members else None


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; `RequestInvalidError` for any other line."""
    try:
        value = read_value(line)
    except JSONDecodeError as error:
        raise RequestInvalidError(f"the line is not JSON: {error.msg} (column {error.colno})") from None
    except (ValueError, ReplyUnreadableError) as error:
        raise RequestInvalidError(f"the line is not JSON: {error}") from None
    except RecursionError:
        raise RequestInvalidError("the line is nested too deeply to be read") from None
    if not isinstance(value, dict):
        raise RequestInvalidError(f"the line is no record: expected a JSON object, got {type_name(value)}")
    return value


def record_of(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record of a line with these members, as it was shown or written.

    Raises `RequestInvalidError` if it is not a record of `kind`, and `SkippedLine` for one that cannot be
    made again.
    """
    banned = {"isBanned": True} if kind == "bans" or members.get("bannedAt") else {}
    if _SHOWN_MARKS.isdisjoint(members):
        return _read_written(kind, members | banned)
    omissions, members = [*_omissions(kind, members)], members | banned
    match kind:
        case "users":
            if members.pop("deactivatedAt", None):  # it could send none of the messages that come later
                omissions.append("deactivations of users")
        case "groups" if members.get("type") in _PROTECTED and not members.get("password"):
            omissions.append("passwords of groups (each gets a random one)")
            members |= {"type": "password", "password": token_urlsafe(18)}
        case "messages":
            members |= _message_changes(members)
    known_members = {
        name: str(value) if name in _IDS and type(value) is int else value
        for name, value in members.items()
        if name in _REQUIRED[kind] or (name in _IMPORTED[kind] and value not in _EMPTY)
    }
    try:
        entry = _read_written(kind, known_members)
    except RequestInvalidError:
        entry = _without_wrong_members(kind, known_members)
    role = getattr(entry.record, "role", None) or ""
    return entry._replace(omissions=(*omissions, *entry.omissions), role=role)


def _read_written(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record of a line of a person, without members that are null, or optional and empty."""
    name, (cls, key) = kind.removesuffix("s"), _RECORD_TYPES[kind]
    filled = {
        name: value
        for name, value in members.items()
        if value is not None and (name in _REQUIRED[kind] or value not in ("", []))
    }
    _check_times(kind, filled)
    record = import_record(name, filled, cls)
    try:
        msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalidError(f"{name}: it cannot be sent: {error}") from None
    return ImportRecord(str(getattr(record, key)), record)


def _check_times(kind: Kind, members: Mapping[str, Any]) -> None:
    """Raise `RequestInvalidError` for a value that is no time, with the forms that a time has in JSON."""
    record = kind.removesuffix("s")
    for member, value in members.items():
        if member.endswith(("At", "_at")) and not has_time_form(value):
            raise RequestInvalidError(f"{record}: {member} = {json.dumps(value)}: expected {_TIMES}")
    if kind == "messages" and members.keys().isdisjoint(("sentAt", "sent_at")):
        raise RequestInvalidError(f"message: 'sentAt' is missing: expected {_TIMES}")


def _omissions(kind: Kind, members: Mapping[str, Any]) -> Iterator[str]:
    """Yield the descriptions of what a shown record holds and no import takes."""
    levels: list[tuple[str, str, Mapping[str, Any], frozenset[str]]] = [("", kind, members, _IMPORTED[kind])]
    if kind == "messages" and isinstance(data := members.get("data"), dict):
        levels.append(("data.", "data", data, _CONTENT))
    for prefix, table, values, imported in levels:
        for name, value in values.items():
            if value not in _EMPTY_OR_UNREAD and name not in imported and name not in _MADE_BY_SERVICE[table]:
                yield f"the member {repr_of(f'{prefix}{name}'[:_MAX_NAME])} of {kind}"


def _message_changes(members: dict[str, Any]) -> dict[str, Any]:
    """Return the `muid` and `data` with which a shown message is imported.

    Raises `SkippedLine` for a deleted message, and for an action or a call.
    """
    if (category := members.get("category", "message")) not in _CATEGORIES:
        raise SkippedLine(f"messages of the category {str(category)[:_MAX_NAME]}")
    if members.get("deletedAt"):
        raise SkippedLine("deleted messages")
    identity = "\0".join(str(members.get(name)) for name in ("conversationId", "id", "sender", "sentAt"))
    muid = blake2b(identity.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    changes: dict[str, Any] = {"muid": members.get("muid") or muid}
    if isinstance(data := members.get("data"), dict):
        content = {name: value for name, value in data.items() if name in _CONTENT and value not in _EMPTY}
        if isinstance(attachments := content.get("attachments"), list):
            content["attachments"] = [
                each | {"size": str(each["size"])}  # digits, where replies show a number
                if isinstance(each, dict) and type(each.get("size")) is int
                else each
                for each in attachments
            ]
        changes["data"] = content
    return changes


def _without_wrong_members(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return a record without the optional members whose values no import takes, such as a time in words."""
    needed = {name: value for name, value in members.items() if name in _REQUIRED[kind] | _ESSENTIAL}
    _read_written(kind, needed)
    omissions, known_members = [], dict(needed)
    for name in members.keys() - needed.keys():
        try:
            _read_written(kind, needed | {name: members[name]})
        except RequestInvalidError:
            omissions.append(f"the member {repr_of(name)} of {kind} where its value is wrong")
        else:
            known_members[name] = members[name]
    return _read_written(kind, known_members)._replace(omissions=tuple(omissions))
