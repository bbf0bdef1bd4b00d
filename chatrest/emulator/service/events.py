"""Events: what webhooks get after an operation that has succeeded.

An event is made of the call and its reply, so that no handler knows of webhooks. An edit or a deletion gives
`message_sent`, too, for the action message that it writes. Where no one acts, the app itself does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import decode

from ..store.directory import SYSTEM
from .context import ServiceCall

Data: TypeAlias = dict[str, Any]


class Event(NamedTuple):
    """One event, for all webhooks with its trigger."""

    trigger: str
    data: Data


class _Success(NamedTuple):
    call: ServiceCall
    reply: Any

    def user(self, uid: str | None) -> Data:
        entity: Data = self.call.store.people.entity("user", uid or str(SYSTEM["uid"]))["entity"]
        return entity

    def users(self, uids: Iterable[str]) -> dict[str, Data]:
        return {uid: self.user(uid) for uid in uids}

    def group(self) -> Data:
        """Return the group of the path, as an entity; its guid alone where it is gone."""
        guid = self.call.path.get("guid") or self.reply["guid"]
        raw = self.call.store.people.group(guid)
        return {"guid": guid} if raw is None else decode(raw, type=dict[str, Any])


About: TypeAlias = Callable[[_Success], Data | None]
"""Gives the data of an event; None for no event."""


def _message(success: _Success) -> Data:
    return {"message": success.reply}


def _conversation(success: _Success) -> Data:
    return {"conversation": success.reply}


def _reaction(success: _Success) -> Data:
    path, uid = success.call.path, success.call.acting_user
    reaction = {"messageId": path["id"], "reaction": path["reaction"], "uid": uid}
    return {"reaction": reaction | {"reactedAt": success.call.now, "reactedBy": success.user(uid)}}


def _receipt(success: _Success) -> Data:
    path, reader = success.call.path, success.call.acting_user
    is_read = success.call.endpoint.name.startswith("conversations.mark_read")
    body = {
        "action": "read" if is_read else "delivered",
        "messageId": str(success.call.body.get("messageId", "")),
        "user": success.user(reader),
        "timestamp": success.call.now,
    }
    kind, receiver = ("group", path["guid"]) if "guid" in path else ("user", path["uid"])
    ends = {"receiver": receiver, "receiverType": kind, "sender": reader}
    return {**ends, "type": "receipts", "body": body}


def _group(success: _Success) -> Data:
    return {"group": success.group(), "by": success.user(success.call.acting_user)}


def _member(success: _Success) -> Data:
    members = success.users([success.call.path["uid"]])
    scope = success.call.body.get("scope")
    if scope is not None:
        members = {uid: user | {"scope": scope} for uid, user in members.items()}
    return _group(success) | {"members": members}


def _new_members(*, banned: bool) -> About:
    def members(success: _Success) -> Data | None:
        uids = [
            uid
            for name, outcomes in success.reply.items()
            for uid, outcome in outcomes.items()
            if (name == "usersToBan") is banned and outcome["success"]
        ]
        return _group(success) | {"members": success.users(uids)} if uids else None

    return members


def _blocked(success: _Success) -> Data:
    users = success.users(success.call.body.get("blockedUids", ()))
    return {"users": users, "by": success.user(success.call.path["uid"])}


_EVENTS: Final[Mapping[str, Mapping[str, About]]] = {
    "banned_users.ban": {"group_member_banned": _member},
    "banned_users.unban": {"group_member_unbanned": _member},
    "blocked_users.block": {"user_blocked": _blocked},
    "blocked_users.unblock": {"user_unblocked": _blocked},
    **{f"groups.{verb}": {f"group_{verb}d": _group} for verb in ("create", "delete", "update")},
    "members.add": {
        "group_member_added": _new_members(banned=False),
        "group_member_banned": _new_members(banned=True),
    },
    "members.change_scope": {"group_member_scope_changed": _member},
    "members.kick": {"group_member_kicked": _member},
    "messages.add_reaction": {"message_reaction_added": _reaction},
    "messages.remove_reaction": {"message_reaction_removed": _reaction},
    "messages.delete": {"message_deleted": _message, "message_sent": _message},
    "messages.update": {"message_edited": _message, "message_sent": _message},
    **{f"messages.{name}": {"message_sent": _message} for name in ("send", "send_bot", "send_thread")},
    **{f"messages.{verb}": {f"message_{verb}ned": _message} for verb in ("pin", "unpin")},
    **{
        f"conversations.{operation}_{kind}": {trigger: about}
        for kind in ("user", "group")
        for operation, trigger, about in (
            ("mark_delivered", "message_delivery_receipt", _receipt),
            ("mark_read", "message_read_receipt", _receipt),
            ("pin", "conversation_pinned", _conversation),
            ("unpin", "conversation_unpinned", _conversation),
        )
    },
}
"""The triggers of each operation, and what they tell."""


def events_of(call: ServiceCall, result: Any) -> Iterator[Event]:
    """Yield the events of an operation that has given this; none for most operations."""
    if triggers := _EVENTS.get(call.endpoint.name):
        success = _Success(call, decode(result)["data"] if isinstance(result, bytes) else result)
        for trigger, about in triggers.items():
            if (data := about(success)) is not None:
                yield Event(trigger, data)
