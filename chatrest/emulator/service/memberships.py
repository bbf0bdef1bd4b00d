"""Joining and bans: what members, groups and banned users have in common."""

from collections.abc import Mapping
from typing import Any, Final

from ..store.directory import SYSTEM
from ..store.members import Member, Memberships
from .context import Call, Context
from .refusals import refused

LISTS: Final = {
    "admins": "admin",
    "moderators": "moderator",
    "participants": "participant",
    "usersToBan": None,
}
"""The lists of a body, and the scope that each gives; None for a ban."""


def new_members(body: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the name and the uids of each list that a body has, every uid once."""
    return [(name, list(dict.fromkeys(body[name]))) for name in LISTS if name in body]


def actor(call: Call) -> str:
    """Return the uid of who acts: the acting user, or the app itself."""
    return call.acting_user or str(SYSTEM["uid"])


def admit(context: Context, guid: str, uid: str, scope: str | None) -> None:
    """Add a user to a group with a scope, or ban the user where that is None; refusals as documented."""
    members = context.store.members
    if scope is None:
        ban(context, guid, uid)
    else:
        _join(members, guid, uid, Member(scope, context.now))


def _join(members: Memberships, guid: str, uid: str, member: Member) -> None:
    if members.member(guid, uid) is not None:
        raise refused("ERR_ALREADY_JOINED", uid, guid)
    if members.is_banned(guid, uid):
        raise refused("ERR_BANNED_GROUPMEMBER", uid, guid)
    members.add(guid, uid, member)


def ban(context: Context, guid: str, uid: str) -> None:
    """Ban a user from a group; 400 for one that is banned already."""
    if context.store.members.is_banned(guid, uid):
        raise refused("ERR_ALREADY_BANNED", uid, guid)
    context.store.members.ban(guid, uid, context.now)


def tell_group(context: Context, call: Call, guid: str, action: str, uid: str) -> dict[str, Any]:
    """Write the message that tells a group of an action on a user, and return its record."""
    return context.store.add_action(actor(call), guid, action, uid, sent_at=context.now)
