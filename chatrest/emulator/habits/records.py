"""The habits of a compatible server as values, and its records, made of documented ones."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import decode

from ..service.context import Context
from ..service.groups import APP
from ..store.conversation_views import Kind, view_of

APP_NAME: Final = "system"
"""The uid of the app itself as a sender."""
DEFAULT_SIZE: Final = 30
LARGEST_PAGE: Final = 100
PAGE_CAPS: Final = {"messages.list_reactions": 20, "messages.list_reaction": 20}
"""The largest page of a list, where it is not `LARGEST_PAGE`."""

COLLECTIONS: Final = frozenset(
    {
        "auth_tokens", "banned_users", "blocked_users", "conversations", "groups", "members", "messages",
        "users",
    }
)  # fmt: skip
MESSAGE_LISTS: Final = frozenset(
    {
        "messages.list", "messages.list_user", "messages.list_group", "messages.list_thread",
        "messages.list_threads", "messages.list_threads_user", "messages.list_threads_group",
    }
)  # fmt: skip
WITHOUT_META: Final = frozenset({"users.list", "groups.list", "members.list", "banned_users.list"})
CREATIONS: Final = frozenset(
    {
        "auth_tokens.create", "groups.create", "messages.add_reaction", "messages.send",
        "messages.send_bot", "messages.send_thread", "users.create",
    }
)  # fmt: skip
"""The operations that answer 201."""
ABSENT_IS_EMPTY: Final = frozenset({"conversations.get", "conversations.get_user", "conversations.get_group"})
"""The operations that answer 200 with `{}` for a record that is not there."""

SIZES: Final = ("limit", "per_page")
"""The query parameters that give the size of a page."""
IGNORED: Final = frozenset({"perPage", "count"})
"""The query parameters that no list heeds."""
IGNORED_BY_MESSAGES: Final = frozenset({"toTimestamp", "types", "hideReplies", "searchKey", "page"})
RENAMED: Final = {"cursorId": "id", "cursorValue": "id", "cursorAffix": "affix"}
"""The query parameters of reaction lists, and the documented ones."""


class OtherError(NamedTuple):
    status: int
    code: str


ERRORS: Final[Mapping[str, OtherError]] = {
    "ERR_MESSAGE_ID_NOT_FOUND": OtherError(400, "ERR_MESSAGE_NOT_FOUND"),
    "ERR_API_NOT_FOUND": OtherError(404, "ERR_ROUTE_NOT_FOUND"),
}


# ── records ──


Record: TypeAlias = dict[str, Any]


class About(NamedTuple):
    context: Context
    path: Mapping[str, str]
    reader: str | None
    """The login token's user; None if there is no token."""


Shape: TypeAlias = Callable[[About, Any], Any]


def conversation_name(uid: str, other: str) -> str:
    return "_".join(("user", *sorted((_sender(uid), _sender(other)))))


def as_it_is(about: About, record: Any) -> Any:
    return record


def message(about: About, record: Record) -> Record:
    """Return a message: a number for an id, and members that no document names."""
    if "id" not in record:
        return record
    data = dict(record["data"]) if isinstance(record.get("data"), dict) else {}
    metadata = data["metadata"] if isinstance(data.get("metadata"), dict) else {}
    data |= {"metadata": {**metadata, "@injected": {}, "chatMessage": ""}}
    data["reactions"] = data.get("reactions") or []
    if isinstance(data.get("attachments"), list):
        data["attachments"] = [_attachment(each) for each in data["attachments"]]
        data.setdefault("caption", "")
    if isinstance(data.get("entities"), dict):
        data["entities"] = {name: _entity(about, each) for name, each in data["entities"].items()}
    changed = record | {"id": _number(record["id"]), "data": data, "metadata": metadata}
    changed["sender"] = _sender(record.get("sender"))
    if record.get("receiverType") == "user" and record.get("conversationId"):
        changed["conversationId"] = conversation_name(str(record["sender"]), str(record["receiver"]))
    for name in ("quotedMessage", "lastReply"):
        if isinstance(record.get(name), dict):
            changed[name] = message(about, record[name])
    return changed


def _attachment(attachment: Any) -> Any:
    if not isinstance(attachment, dict) or "size" not in attachment:
        return attachment
    return attachment | {"size": str(attachment["size"])}


def _entity(about: About, wrapper: Any) -> Any:
    entity = wrapper.get("entity") if isinstance(wrapper, dict) else None
    if not isinstance(entity, dict):
        return wrapper
    if wrapper.get("entityType") == "message":
        return wrapper | {"entity": message(about, entity)}
    if entity.get("uid") == APP:
        entity = entity | {"uid": APP_NAME}
    return wrapper | {"entity": {name: entity[name] for name in entity if name != "conversationId"}}


def _number(id: Any) -> Any:
    return int(id) if str(id).isdecimal() else id


def _sender(uid: Any) -> Any:
    return APP_NAME if uid == APP else uid


def user(about: About, record: Record) -> Record:
    return {"statusMessage": ""} | _without(record, ("createdAt", "updatedAt", "conversationId"))


def group(about: About, record: Record) -> Record:
    joined = about.reader and about.context.store.members.member(str(record.get("guid")), about.reader)
    shown = _without(record, ("conversationId", "updatedAt"))
    return {"hasJoined": bool(joined)} | shown


def member(about: About, record: Record) -> Record:
    scope = {"role": record["scope"]} if "scope" in record else {}
    return user(about, record) | scope | {"guid": about.path["guid"]}


def conversation(about: About, record: Record) -> Record:
    """Return a conversation, with a number for a count and what is known of its last message."""
    last, party = record.get("lastMessage"), record.get("conversationWith") or {}
    changed = _without(record, ("createdAt", "updatedAt"))
    changed |= {"unreadMessageCount": int(record.get("unreadMessageCount", 0)), "unreadMentionsCount": 0}
    changed |= {"deliveredAt": None, "latestMessageId": _number(last["id"]) if last else None}
    if last:
        changed["lastMessage"] = message(about, last)
    if record.get("conversationType") == "user":
        changed["conversationId"] = conversation_name(str(about.reader), str(party.get("uid")))
        changed["conversationWith"] = user(about, party)
    else:
        changed["conversationWith"] = group(about, party)
    return changed


def reaction(about: About, record: Record) -> Record:
    return record | {"id": _number(record["id"]), "messageId": _number(record["messageId"])}


def token(about: About, record: Record) -> Record:
    """Return the reply of a new token: the whole user, and what a client needs to connect."""
    key = str(record["authToken"])
    stored = about.context.store.people.user(record["uid"]) or b"{}"
    secrets = {name: hashlib.sha256(f"{name}/{key}".encode()).hexdigest() for name in ("jwt", "fat")}
    channel = {"identity": f"[emulated]{record['uid']}", "secret": key[::-1]}
    return user(about, decode(stored)) | {"authToken": key, **secrets, "settings": {}, "wsChannel": channel}


def added_members(about: About, outcomes: Mapping[str, Mapping[str, Any]]) -> Record:
    """Return the outcome of additions and bans: who has succeeded, who has not, and the new members."""
    acks = {uid: ack for acks in outcomes.values() for uid, ack in acks.items()}
    people = about.context.store.people
    added = {
        uid: name.removesuffix("s")
        for name, acks in outcomes.items()
        for uid, ack in acks.items()
        if ack["success"] and name != "usersToBan"
    }
    records = [decode(people.user(uid) or b"{}") | {"scope": scope} for uid, scope in added.items()]
    return {
        "guid": about.path["guid"],
        "members": [member(about, record) for record in records],
        "success": {uid: {"success": True} for uid, ack in acks.items() if ack["success"]},
        "failed": {uid: ack for uid, ack in acks.items() if not ack["success"]},
    }


def changed_scope(about: About, record: Record) -> Record:
    stored = about.context.store.people.group(about.path["guid"]) or b"{}"
    return {"group": group(about, decode(stored)), "success": {about.path["uid"]: {"success": True}}}


def reactivated(about: About, record: Record) -> Record:
    return {"success": {uid: {"success": True} for uid in record["nonDeactivatedUids"]}}


def ban_ack(about: About, record: Record) -> Record:
    return record | dict(about.path)


def receipt(name: str) -> Shape:
    """Return the shape of a mark's reply, whose time is in the member `name`."""

    def shape(about: About, record: Record) -> Record:
        views, reader = about.context.store.views, str(about.reader)
        kind: Kind = "group" if "guid" in about.path else "user"
        party = about.path["guid" if kind == "group" else "uid"]
        view = views.stored(view_of(reader, kind, party))
        last = views.last(view)
        return {
            "conversationId": view.conversation if kind == "group" else conversation_name(reader, party),
            "messageId": last[0] if last else None,
            name: about.context.now,
            "success": True,
        }

    return shape


def _without(record: Record, names: Iterable[str]) -> Record:
    return {name: value for name, value in record.items() if name not in names}


_MESSAGES: Final = (
    "messages.list", "messages.list_user", "messages.list_group", "messages.list_thread", "messages.get",
    "messages.list_threads", "messages.list_threads_user", "messages.list_threads_group", "messages.send",
    "messages.send_bot", "messages.send_thread", "messages.update", "messages.delete", "messages.pin",
    "messages.unpin", "messages.save", "messages.unsave", "messages.add_reaction",
    "messages.remove_reaction",
)  # fmt: skip
_CONVERSATIONS: Final = ("list", "get", "get_user", "get_group", "update_user", "update_group")
SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(_MESSAGES, message),
    **dict.fromkeys(("users.list", "users.get", "users.create", "users.update"), user),
    **dict.fromkeys(("groups.list", "groups.get", "groups.create", "groups.update"), group),
    **dict.fromkeys(("members.list", "banned_users.list"), member),
    **dict.fromkeys((f"conversations.{name}" for name in _CONVERSATIONS), conversation),
    **dict.fromkeys(("messages.list_reactions", "messages.list_reaction"), reaction),
    **dict.fromkeys(("banned_users.ban", "banned_users.unban"), ban_ack),
    **{f"conversations.mark_read_{kind}": receipt("readAt") for kind in ("user", "group")},
    **{f"conversations.mark_delivered_{kind}": receipt("deliveredAt") for kind in ("user", "group")},
    "auth_tokens.create": token,
    "members.add": added_members,
    "members.change_scope": changed_scope,
    "users.reactivate": reactivated,
}
"""What makes a reply's `data`, or each record of a list, by operation."""
