"""The records that the service has shown, as an import takes them. Pure.

| a record of                                         | is read                                           |
|-----------------------------------------------------|---------------------------------------------------|
| an export                                           | as shown                                          |
| a file, with a member that only the service writes  | as shown: `id`, `conversationId`, `status`,       |
|                                                     | `updatedAt`, `membersCount`, `hasJoined`          |
|                                                     | or `bannedAt`                                     |
| a file, without                                     | as written by a person: an unknown member is      |
|                                                     | taken for a mistake, and the line is refused      |

Of a shown record the members that an import takes are kept: ids of users and groups, times and texts. What
the service makes itself is dropped without a word, and all else is named. A message without `muid` gets one
made of its content, so that the same line always has the same one, and the new ids have the order of the old.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from secrets import token_urlsafe
from typing import Any, Final

from .._secrets import shown
from ..errors import RequestInvalidError
from .entities import REQUIRED, TAKEN, ImportRecord, Kind, SkippedLine, read_written

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
_EMPTY_RECEIPTS: Final[tuple[Any, ...]] = ({"data": []}, {"data": [[]]})
_PROTECTED: Final = ("password", "protected")
_PASSWORD_BYTES: Final = 18
_LONGEST_NAME: Final = 100


def _known(own: str, **lost: str) -> dict[str, str]:
    """Return the words for known members: none for the service's own, which it makes again."""
    return dict.fromkeys(own.split(), "") | lost


_OF_USERS: Final = (
    "status updatedAt conversationId authToken blockedByMe blockedByMeAt blockedAt hasBlockedMe"
)
_KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "users": _known(_OF_USERS, statusMessage="status messages of users"),
    "groups": _known(
        "conversationId membersCount onlineMembersCount updatedAt updatedBy scope joinedAt hasJoined",
        description="descriptions of groups",
    ),
    "members": _known(
        f"{_OF_USERS} name avatar link role scope statusMessage metadata tags createdAt lastActiveAt "
        "deactivatedAt"
    ),  # beside their ids: the users themselves are imported as such
    "messages": _known(
        "id conversationId updatedAt editedBy pinnedBy deletedAt deletedBy savedAt threadSubscribed "
        "replyCount lastReply flaggedBy flaggedCount appId",
        parentId="places in threads (a reply becomes a message of its conversation)",
        editedAt="marks of edits",
        pinnedAt="pins of messages",
        quotedMessage="quotes of other messages",
        receipts="receipts of single members",
    ),
    "data": _known(
        "entities resource url",
        reactions="reactions of messages",
        mentions="mentions of users (their text is kept)",
        moderation="moderation states of messages",
        attachments="files of attachments (their addresses are kept)",
    ),
}


def read_line(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record of a line of a file, as it was shown or written.

    Raises `RequestInvalidError` if it is not a record of `kind`, and `SkippedLine` for one that cannot be
    made again.
    """
    if _MARKS.isdisjoint(members):
        return read_written(kind, members)
    return read_shown(kind, members)


def read_shown(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return the record that the service has shown; raises as `read_line` does."""
    left_out = [*_lost(kind, kind, members, TAKEN[kind])]
    if kind == "messages":
        data = members.get("data")
        left_out += _lost("data", kind, data, _CONTENT) if isinstance(data, dict) else ()
        members = _message(members)
    elif kind == "members" and members.get("bannedAt"):
        raise SkippedLine("users that are banned from a group")
    elif kind == "groups" and members.get("type") in _PROTECTED and not members.get("password"):
        left_out.append("passwords of groups (each gets a random one)")
        members = members | {"type": "password", "password": token_urlsafe(_PASSWORD_BYTES)}
    known_members = {
        name: str(value) if name in _IDS and type(value) is int else value
        for name, value in members.items()
        if name in REQUIRED[kind] or (name in TAKEN[kind] and value not in _EMPTY)
    }
    try:
        reading = read_written(kind, known_members)
    except RequestInvalidError:
        reading = _without_wrong_members(kind, known_members)
    return reading._replace(left_out=(*left_out, *reading.left_out))


def read_active(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return a user of an export who is not deactivated yet: what is deactivated can send nothing."""
    return read_shown(kind, members | {"deactivatedAt": None})


def read_again(kind: Kind, members: dict[str, Any]) -> ImportRecord:
    """Return a record whose omissions were counted before."""
    return read_shown(kind, members)._replace(left_out=())


def _lost(known: str, kind: Kind, members: Mapping[str, Any], taken: frozenset[str]) -> Iterator[str]:
    """Yield what of a record no import takes; an unknown member counts if it is not null."""
    for name, value in members.items():
        words = _KNOWN[known].get(name)
        if words is None:
            if name not in taken and value is not None:
                path = name if known == kind else f"{known}.{name}"
                yield f"the member {shown(path[:_LONGEST_NAME])} of {kind}"
        elif words and value not in _EMPTY and value not in _EMPTY_RECEIPTS:
            yield words


def _message(members: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the content that can be imported; `SkippedLine` for one that cannot."""
    if (category := members.get("category", "message")) not in _CATEGORIES:
        raise SkippedLine(f"messages of the category {str(category)[:_LONGEST_NAME]}")
    if members.get("deletedAt"):
        raise SkippedLine("deleted messages")
    message = members | {"muid": members.get("muid") or _muid_of(members)}
    if isinstance(data := members.get("data"), dict):
        content = {name: value for name, value in data.items() if name in _CONTENT and value not in _EMPTY}
        if isinstance(attachments := content.get("attachments"), list):
            content["attachments"] = [_with_digits(each) for each in attachments]
        message["data"] = content
    return message


def _with_digits(attachment: Any) -> Any:
    """Return an attachment with its size as digits: replies show a number."""
    if isinstance(attachment, dict) and type(attachment.get("size")) is int:
        return attachment | {"size": str(attachment["size"])}
    return attachment


def _muid_of(members: Mapping[str, Any]) -> str:
    parts = [str(members.get(name)) for name in ("conversationId", "id", "sender", "sentAt")]
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _without_wrong_members(kind: Kind, known_members: dict[str, Any]) -> ImportRecord:
    """Return a record without the members that no import takes with their values, such as a time in words."""
    needed = {name: value for name, value in known_members.items() if name in REQUIRED[kind] | _ESSENTIAL}
    read_written(kind, needed)
    left_out, members = [], dict(needed)
    for name in [name for name in known_members if name not in needed]:
        try:
            read_written(kind, needed | {name: known_members[name]})
        except RequestInvalidError:
            left_out.append(f"the member {shown(name)} of {kind} where its value is wrong")
        else:
            members[name] = known_members[name]
    return read_written(kind, members)._replace(left_out=tuple(left_out))
