"""The operations of relations: friends, blocked users, and users that are banned from a group.

A friendship has no direction. A ban and its end are reported to the group by an action message.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from ..store.directory import Relation
from ..store.documents import Document
from .arguments import is_named
from .context import Context, Handler, ServiceCall
from .groups import ban, path_group, tell_group
from .refusals import outcomes, refused
from .replies import ack
from .users import path_user, user_record


def _list(kind: Relation) -> Handler:
    """Return the handler of a list: the users in a relation to the user, or to the group, of the path.

    They are in the order of the beginnings. `searchKey` begins uid or name, without regard to case.
    """

    def handle(call: ServiceCall) -> list[Document]:
        key, people = call.query.get("searchKey", ""), call.store.people
        users = [
            (user, at)
            for uid, at in call.store.relations.of(kind, _owner(call)).items()
            if (user := people.user(uid)) and is_named(user, key, ("uid", "name"))
        ]
        if kind != "blocked":
            return [user for user, _ in users]
        return [user | {"blockedByMe": True, "blockedByMeAt": at, "blockedAt": at} for user, at in users]

    return handle


def _owner(call: ServiceCall) -> str:
    return path_group(call) if "guid" in call.path else path_user(call)


def _each(member: str, act: Callable[[Context, str, str], str]) -> Handler:
    """Return the handler that does something to each user of a body, and gives an outcome for each."""
    return lambda call: outcomes(call.body[member], partial(act, call, _owner(call)))


# ── friends ──


def add_friends(call: ServiceCall) -> Document:
    uid = _owner(call)
    acks = outcomes(call.body["accepted"], partial(_befriend, call, uid))
    for friend, result in acks.items():
        if call.body.get("addToConversations") and result["success"]:
            call.store.views.add(uid, friend, call.now)
    return acks


def _befriend(context: Context, uid: str, friend: str) -> str:
    relations = context.store.relations
    if friend == uid:
        raise refused("ERR_CANNOT_FORM_SELF_RELATION", uid)
    user_record(context, friend)
    if friend in relations.of("friend", uid):
        raise refused("ERR_ALREADY_FRIEND", friend, uid)
    for owner, other in ((uid, friend), (friend, uid)):
        relations.add("friend", owner, other, context.now)
    return f"The user with UID {friend} is a friend of {uid} now."


def remove_friends(call: ServiceCall) -> Document:
    """End friendships; where one of the users is no friend, none of them ends."""
    uid, friends, relations = _owner(call), call.body["friends"], call.store.relations
    for friend in friends:
        if friend not in relations.of("friend", uid):
            raise refused("ERR_NOT_A_FRIEND", friend, uid)
    for friend in friends:
        relations.of("friend", uid).pop(friend, None)
        relations.of("friend", friend).pop(uid, None)
    return ack(f"The friends of the user with UID {uid} have been removed.")


# ── blocked users ──


def _block(context: Context, uid: str, blocked: str) -> str:
    if blocked == uid:
        raise refused("ERR_CANNOT_BLOCK_SELF", uid)
    user_record(context, blocked)
    context.store.relations.add("blocked", uid, blocked, context.now)
    return f"The user with UID {uid} has blocked the user with UID {blocked}."


def _unblock(context: Context, uid: str, blocked: str) -> str:
    user_record(context, blocked)
    context.store.relations.of("blocked", uid).pop(blocked, None)
    return f"The user with UID {uid} has unblocked the user with UID {blocked}."


# ── banned users ──


def ban_user(call: ServiceCall) -> Document:
    """Ban a user, member or not, who is no member from then on."""
    guid, uid = path_group(call), path_user(call)
    ban(call, guid, uid)
    tell_group(call, guid, "banned", uid)
    return ack(f"The user with UID {uid} has been banned from the group {guid}.")


def unban_user(call: ServiceCall) -> Document:
    """End a ban; the user may join again, and is no member yet."""
    guid, uid = path_group(call), path_user(call)
    if call.store.relations.of("banned", guid).pop(uid, None) is None:
        raise refused("ERR_NOT_A_BANNED_USER", uid, guid)
    tell_group(call, guid, "unbanned", uid)
    return ack(f"The user with UID {uid} has been unbanned from the group {guid}.")


HANDLERS: Final[dict[str, Handler]] = {
    "friends.list": _list("friend"),
    "friends.add": lambda call: {"accepted": add_friends(call)},
    "friends.remove": remove_friends,
    "blocked_users.list": _list("blocked"),
    "blocked_users.block": _each("blockedUids", _block),
    "blocked_users.unblock": _each("blockedUids", _unblock),
    "banned_users.list": _list("banned"),
    "banned_users.ban": ban_user,
    "banned_users.unban": unban_user,
}
