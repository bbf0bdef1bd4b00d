"""The records of an import, of lines that a person has written or that the service has shown. Pure.

A line with a member that only the service writes (`_MARKS`) is as shown: the members that an import takes are
kept, which are ids of users and groups, times and texts. What the service makes itself is dropped without a
word, and all else is named. A message without `muid` gets one made of its content, so that the same line
always has the same one. In any other line, an unknown member is taken for a mistake.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from secrets import token_urlsafe
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import fields

from .._models.raw_json import read_value
from .._parameters.checked import Body
from .._parameters.data_import import GroupImport, MemberImport, MessageImport, UserImport, import_record
from .._secrets import shown
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
_TAKEN: Final = {kind: frozenset(f.encode_name for f in fields(cls)) for kind, (cls, _) in _RECORDS.items()}
_REQUIRED: Final = {
    kind: frozenset(f.encode_name for f in fields(cls) if f.required) for kind, (cls, _) in _RECORDS.items()
}
_OF_OTHER_TABLES: Final = frozenset({"reaction", "friendOf", "blockedBy", "bannedAt"})
"""Members of tables of an export that no import takes."""
_MARKS: Final = frozenset(
    {"id", "conversationId", "status", "updatedAt", "membersCount", "hasJoined", "bannedAt"}
)
_IDS: Final = frozenset({"uid", "guid", "muid", "sender", "receiver", "owner"})
_ESSENTIAL: Final = frozenset({"category", "type", "data"})
"""Optional members without which a message would be another one."""
_CATEGORIES: Final = ("message", "custom")
_CONTENT: Final = frozenset({"text", "customData", "attachments", "metadata"})
"""The members of a message's data that can be imported."""
_EMPTY: Final[tuple[Any, ...]] = (None, "", 0, [], {})
_NOTHING: Final = (*_EMPTY, {"data": []}, {"data": [[]]})
"""Also the receipts of a message that nobody has received."""
_PROTECTED: Final = ("password", "protected")
_LONGEST_NAME: Final = 100
_OF_USERS: Final = (
    "status updatedAt conversationId authToken blockedByMe blockedByMeAt blockedAt hasBlockedMe"
)
_WORDS: Final = {
    "users": _OF_USERS,
    "groups": "conversationId membersCount onlineMembersCount updatedAt updatedBy scope joinedAt hasJoined",
    "members": f"{_OF_USERS} name avatar link role statusMessage metadata tags createdAt lastActiveAt "
    "deactivatedAt",  # the users themselves are imported as such
    "messages": "id conversationId updatedAt editedBy pinnedBy deletedAt deletedBy savedAt threadSubscribed "
    "replyCount lastReply flaggedBy flaggedCount appId",
    "data": "entities resource url",
}
_OWN: Final = {table: frozenset(words.split()) for table, words in _WORDS.items()}
"""Members that the service makes again, or that are elsewhere."""


class ImportRecord(NamedTuple):
    key: str
    record: Body
    left_out: tuple[str, ...] = ()
    """What its line holds and no import takes, in words."""
    role: str = ""
    """The role that a shown user has."""
    end: LinePosition = LinePosition()
    """The end of its line."""


class SkippedLine(Exception):  # noqa: N818, not an error: the line is left out
    """A record that an import cannot make again; its text says what it is."""


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


def read_line(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record of a line, as it was shown or written.

    Raises `RequestInvalidError` if it is not a record of `kind`, and `SkippedLine` for one that cannot be
    made again.
    """
    if _MARKS.isdisjoint(members):
        return _read_written(kind, members)
    left_out, members = [*_lost(kind, members)], dict(members)
    match kind:
        case "users":
            if members.pop("deactivatedAt", None):  # it could send none of the messages that come later
                left_out.append("deactivations of users")
        case "groups" if members.get("type") in _PROTECTED and not members.get("password"):
            left_out.append("passwords of groups (each gets a random one)")
            members |= {"type": "password", "password": token_urlsafe(18)}
        case "members" if members.get("bannedAt"):
            raise SkippedLine("users that are banned from a group")
        case "messages":
            members |= _message(members)
    known_members = {
        name: str(value) if name in _IDS and type(value) is int else value
        for name, value in members.items()
        if name in _REQUIRED[kind] or (name in _TAKEN[kind] and value not in _EMPTY)
    }
    try:
        reading = _read_written(kind, known_members)
    except RequestInvalidError:
        reading = _without_wrong_members(kind, known_members)
    role = getattr(reading.record, "role", None) or ""
    return reading._replace(left_out=(*left_out, *reading.left_out), role=role)


def _read_written(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record that somebody wrote; an optional member that is null or empty counts as none."""
    name, (cls, key) = kind.removesuffix("s"), _RECORDS[kind]
    given = {
        name: value
        for name, value in members.items()
        if name in _REQUIRED[kind] or not (value is None or value in ("", []))
    }
    record = import_record(name, given, cls)
    try:
        msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalidError(f"{name}: it cannot be sent: {error}") from None
    return ImportRecord(str(getattr(record, key)), record)


def _lost(kind: Kind, members: Mapping[str, Any]) -> Iterator[str]:
    levels: list[tuple[str, str, Mapping[str, Any], frozenset[str]]] = [("", kind, members, _TAKEN[kind])]
    if kind == "messages" and isinstance(data := members.get("data"), dict):
        levels.append(("data.", "data", data, _CONTENT))
    for prefix, table, values, taken in levels:
        for name, value in values.items():
            if value not in _NOTHING and name not in taken and name not in _OWN[table]:
                yield f"the member {shown(f'{prefix}{name}'[:_LONGEST_NAME])} of {kind}"


def _message(members: dict[str, Any]) -> dict[str, Any]:
    """Return the `muid` and `data` with which a message is imported; `SkippedLine` for one that is not."""
    if (category := members.get("category", "message")) not in _CATEGORIES:
        raise SkippedLine(f"messages of the category {str(category)[:_LONGEST_NAME]}")
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
    """Return a record without the members whose values no import takes, such as a time in words."""
    needed = {name: value for name, value in members.items() if name in _REQUIRED[kind] | _ESSENTIAL}
    _read_written(kind, needed)
    left_out, known_members = [], dict(needed)
    for name in members.keys() - needed.keys():
        try:
            _read_written(kind, needed | {name: members[name]})
        except RequestInvalidError:
            left_out.append(f"the member {shown(name)} of {kind} where its value is wrong")
        else:
            known_members[name] = members[name]
    return _read_written(kind, known_members)._replace(left_out=tuple(left_out))
