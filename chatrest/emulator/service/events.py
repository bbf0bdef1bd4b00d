"""Events: what webhooks are told of an operation that has succeeded.

An event is made of the call and its reply, so that no handler knows of webhooks. An edit or a deletion gives
`message_sent`, too, for the action message that it writes. Where nobody acts, the app itself does.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import decode

from ..store.directory import SYSTEM
from .context import Call, Context

Data: TypeAlias = dict[str, Any]


class Event(NamedTuple):
    """One event, for all webhooks with its trigger."""

    trigger: str
    data: Data


class _Success(NamedTuple):
    """A call that has succeeded, and what is in its reply's `data`."""

    context: Context
    call: Call
    reply: Any

    @property
    def body(self) -> Data:
        return decode(self.call.body or b"{}", type=dict[str, Any])

    def user(self, uid: str | None) -> Data:
        """Return the user of that uid, as an entity; the app itself for None."""
        entity: Data = self.context.store.people.entity("user", uid or str(SYSTEM["uid"]))["entity"]
        return entity

    def users(self, uids: Iterator[str]) -> dict[str, Data]:
        return {uid: self.user(uid) for uid in uids}

    def group(self) -> Data:
        """Return the group of the path, as an entity; its guid alone where it is gone."""
        guid = self.call.path.get("guid") or self.reply["guid"]
        raw = self.context.store.people.group(guid)
        return {"guid": guid} if raw is None else decode(raw, type=dict[str, Any])


Report: TypeAlias = Callable[[_Success], Iterator[Event]]


def _report_record(*triggers: str, member: str = "message") -> Report:
    """Return the report that gives the reply's record under the name of a member, to each trigger."""

    def report(success: _Success) -> Iterator[Event]:
        for trigger in triggers:
            yield Event(trigger, {member: success.reply})

    return report


def _reaction(trigger: str) -> Report:
    def report(success: _Success) -> Iterator[Event]:
        path, uid = success.call.path, success.call.acting_user
        reaction = {"messageId": path["id"], "reaction": path["reaction"], "uid": uid}
        times = {"reactedAt": success.context.now, "reactedBy": success.user(uid)}
        yield Event(trigger, {"reaction": reaction | times})

    return report


def _receipt(trigger: str, action: str) -> Report:
    def report(success: _Success) -> Iterator[Event]:
        path, reader = success.call.path, success.call.acting_user
        body = {
            "action": action,
            "messageId": str(success.body.get("messageId", "")),
            "user": success.user(reader),
            "timestamp": success.context.now,
        }
        is_group = "guid" in path
        receiver = path["guid"] if is_group else path["uid"]
        ends = {"receiver": receiver, "receiverType": "group" if is_group else "user", "sender": reader}
        yield Event(trigger, {**ends, "type": "receipts", "body": body})

    return report


def _group(trigger: str) -> Report:
    def report(success: _Success) -> Iterator[Event]:
        yield Event(trigger, {"group": success.group(), "by": success.user(success.call.acting_user)})

    return report


def _member(trigger: str) -> Report:
    def report(success: _Success) -> Iterator[Event]:
        members = success.users(iter([success.call.path["uid"]]))
        scope = success.body.get("scope")
        if scope is not None:
            members = {uid: user | {"scope": scope} for uid, user in members.items()}
        by = success.user(success.call.acting_user)
        yield Event(trigger, {"group": success.group(), "members": members, "by": by})

    return report


def _added_members(success: _Success) -> Iterator[Event]:
    lists: Mapping[str, Mapping[str, Data]] = success.reply
    for trigger, is_ban in (("group_member_added", False), ("group_member_banned", True)):
        uids = [
            uid
            for name, outcomes in lists.items()
            for uid, outcome in outcomes.items()
            if (name == "usersToBan") is is_ban and outcome["success"]
        ]
        if uids:
            by = success.user(success.call.acting_user)
            yield Event(trigger, {"group": success.group(), "members": success.users(iter(uids)), "by": by})


def _blocked(trigger: str, member: str) -> Report:
    def report(success: _Success) -> Iterator[Event]:
        users = success.users(iter(success.body.get(member, ())))
        yield Event(trigger, {"users": users, "by": success.user(success.call.path["uid"])})

    return report


_REPORTS: Final[Mapping[str, Report]] = {
    "banned_users.ban": _member("group_member_banned"),
    "banned_users.unban": _member("group_member_unbanned"),
    "blocked_users.block": _blocked("user_blocked", "blockedUids"),
    "blocked_users.unblock": _blocked("user_unblocked", "blockedUids"),
    "conversations.mark_delivered_group": _receipt("message_delivery_receipt", "delivered"),
    "conversations.mark_delivered_user": _receipt("message_delivery_receipt", "delivered"),
    "conversations.mark_read_group": _receipt("message_read_receipt", "read"),
    "conversations.mark_read_user": _receipt("message_read_receipt", "read"),
    "conversations.pin_group": _report_record("conversation_pinned", member="conversation"),
    "conversations.pin_user": _report_record("conversation_pinned", member="conversation"),
    "conversations.unpin_group": _report_record("conversation_unpinned", member="conversation"),
    "conversations.unpin_user": _report_record("conversation_unpinned", member="conversation"),
    "groups.create": _group("group_created"),
    "groups.delete": _group("group_deleted"),
    "groups.update": _group("group_updated"),
    "members.add": _added_members,
    "members.change_scope": _member("group_member_scope_changed"),
    "members.kick": _member("group_member_kicked"),
    "messages.add_reaction": _reaction("message_reaction_added"),
    "messages.delete": _report_record("message_deleted", "message_sent"),
    "messages.pin": _report_record("message_pinned"),
    "messages.remove_reaction": _reaction("message_reaction_removed"),
    "messages.send": _report_record("message_sent"),
    "messages.send_bot": _report_record("message_sent"),
    "messages.send_thread": _report_record("message_sent"),
    "messages.unpin": _report_record("message_unpinned"),
    "messages.update": _report_record("message_edited", "message_sent"),
}


def events_of(operation: str, context: Context, call: Call, reply: bytes) -> Iterator[Event]:
    """Yield the events of an operation that has succeeded; none for most operations."""
    if (report := _REPORTS.get(operation)) is not None:
        yield from report(_Success(context, call, decode(reply)["data"]))
