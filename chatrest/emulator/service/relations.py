"""The operations of relations: friends, blocked users, and users that are banned from a group.

A friendship has no direction. A ban and its end are told to the group by an action message.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.json import decode, encode

from ...parameters.relations import MOST
from ..store.directory import Relation, Relations
from .context import Call, Context, Handler
from .envelopes import ack_reply, data_reply, member_reply
from .groups import ban, group_record, tell_group
from .pages import page_number, record_page_reply
from .refusals import Refusal, item_acks
from .users import user_record

# ── friends ──


def _list(kind: Relation, of: str = "uid") -> Handler:
    """Return the handler of a list: the users in a relation to the user, or to the group, of the path."""

    def handle(context: Context, call: Call) -> bytes:
        owner, query = call.path[of], call.query
        if of == "uid":
            user_record(context, owner)
        else:
            group_record(context, owner)
        number = page_number(query)
        prefix = (query.text("searchKey") or "") if kind == "friend" else ""
        query.check()
        page, times = context.store.relations.list(kind, owner, *number, prefix=prefix)
        if kind == "blocked":
            shown = [{"blockedByMe": True, "blockedByMeAt": at, "blockedAt": at} for at in times]
            records = [encode(decode(each) | more) for each, more in zip(page.records, shown, strict=True)]
            page = page._replace(records=records)
        return record_page_reply(page, number, cursor_in_meta=of == "uid")

    return handle


def add_friends(context: Context, call: Call) -> bytes:
    """Make users friends: an acknowledgement or an error for each of them."""
    uid = call.path["uid"]
    user_record(context, uid)
    body = call.read()
    acks = item_acks(body["accepted"], lambda friend: _befriend(context, uid, friend))
    for friend, ack in acks.items():
        if body.get("addToConversations") and ack["success"]:
            context.store.views.add(uid, friend, context.now)
    return member_reply("accepted")(acks)


def _befriend(context: Context, uid: str, friend: str) -> str:
    relations = context.store.relations
    if friend == uid:
        raise Refusal(
            400, "ERR_CANNOT_FORM_SELF_RELATION", f"The user with UID {uid} cannot be its own friend."
        )
    user_record(context, friend)
    if relations.has("friend", uid, friend):
        raise Refusal(400, "ERR_ALREADY_FRIEND", f"The user with UID {friend} is a friend of {uid} already.")
    if MOST in (relations.count("friend", uid), relations.count("friend", friend)):
        raise Refusal(400, "ERR_FAILED_TO_ADD_FRIEND", f"A user has at most {MOST} friends.")
    for owner, other in ((uid, friend), (friend, uid)):
        relations.add("friend", owner, other, context.now)
    return f"The user with UID {friend} is a friend of {uid} now."


def remove_friends(context: Context, call: Call) -> bytes:
    """End friendships; where one of the users is no friend, none of them ends."""
    uid, relations = call.path["uid"], context.store.relations
    user_record(context, uid)
    friends = call.read()["friends"]
    for friend in friends:
        _check_friend(relations, uid, friend)
    for friend in friends:
        relations.remove("friend", uid, friend)
        relations.remove("friend", friend, uid)
    return ack_reply(f"The friends of the user with UID {uid} have been removed.")


def _check_friend(relations: Relations, uid: str, friend: str) -> None:
    if not relations.has("friend", uid, friend):
        raise Refusal(404, "ERR_NOT_A_FRIEND", f"The user with UID {friend} is not a friend of {uid}.")


# ── blocked users ──


def _each(act: Callable[[Context, str, str], str]) -> Handler:
    """Return the handler that does something to each user of a body, and gives an outcome for each."""

    def handle(context: Context, call: Call) -> bytes:
        uid = call.path["uid"]
        user_record(context, uid)
        return data_reply(item_acks(call.read()["blockedUids"], partial(act, context, uid)))

    return handle


def _block(context: Context, uid: str, blocked: str) -> str:
    if blocked == uid:
        raise Refusal(400, "ERR_CANNOT_BLOCK_SELF", f"The user with UID {uid} cannot block itself.")
    user_record(context, blocked)
    context.store.relations.add("blocked", uid, blocked, context.now)
    return f"The user with UID {uid} has blocked the user with UID {blocked}."


def _unblock(context: Context, uid: str, blocked: str) -> str:
    user_record(context, blocked)
    context.store.relations.remove("blocked", uid, blocked)
    return f"The user with UID {uid} has unblocked the user with UID {blocked}."


# ── banned users ──


def ban_user(context: Context, call: Call) -> bytes:
    """Ban a user, member or not, who is no member from then on."""
    guid, uid = _existing(context, call)
    ban(context, guid, uid)
    tell_group(context, call, guid, "banned", uid)
    return ack_reply(f"The user with UID {uid} has been banned from the group {guid}.")


def unban_user(context: Context, call: Call) -> bytes:
    """End a ban; the user may join again, and is no member yet."""
    guid, uid = _existing(context, call)
    if not context.store.relations.has("banned", guid, uid):
        message = f"The user with UID {uid} is not banned from the group {guid}."
        raise Refusal(404, "ERR_NOT_A_BANNED_USER", message)
    context.store.relations.remove("banned", guid, uid)
    tell_group(context, call, guid, "unbanned", uid)
    return ack_reply(f"The user with UID {uid} has been unbanned from the group {guid}.")


def _existing(context: Context, call: Call) -> tuple[str, str]:
    """Return the guid and the uid of the path; 404 for no such group or user."""
    guid, uid = call.path["guid"], call.path["uid"]
    group_record(context, guid)
    user_record(context, uid)
    return guid, uid


HANDLERS: Final[dict[str, Handler]] = {
    "friends.list": _list("friend"),
    "friends.add": add_friends,
    "friends.remove": remove_friends,
    "blocked_users.list": _list("blocked"),
    "blocked_users.block": _each(_block),
    "blocked_users.unblock": _each(_unblock),
    "banned_users.list": _list("banned", of="guid"),
    "banned_users.ban": ban_user,
    "banned_users.unban": unban_user,
}
