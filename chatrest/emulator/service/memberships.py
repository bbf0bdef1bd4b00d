"""Joining and bans: what members, groups and banned users have in common."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType

from ..store.directory import SYSTEM
from ..store.members import Member, Memberships
from .bodies import Body, Name
from .context import Call, Context
from .refusals import already_banned, already_joined, banned_member

LISTS: Final = {
    "admins": "admin",
    "moderators": "moderator",
    "participants": "participant",
    "usersToBan": None,
}
"""The lists of a body, and the scope that each gives; None for a ban."""
_Uids = Annotated[list[Name], Meta(min_length=1)] | UnsetType


class NewMembersBody(Body):
    """Users to add to a group by scope, or to ban from it; each list that is there has one uid at least."""

    admins: _Uids = UNSET
    moderators: _Uids = UNSET
    participants: _Uids = UNSET
    users_to_ban: _Uids = UNSET

    def lists(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the uids of each list that is there, every uid once."""
        lists = (self.admins, self.moderators, self.participants, self.users_to_ban)
        for name, uids in zip(LISTS, lists, strict=True):
            if uids is not UNSET:
                yield name, list(dict.fromkeys(uids))


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
        raise already_joined(uid, guid)
    if members.is_banned(guid, uid):
        raise banned_member(uid, guid)
    members.add(guid, uid, member)


def ban(context: Context, guid: str, uid: str) -> None:
    """Ban a user from a group; 400 for one that is banned already."""
    if context.store.members.is_banned(guid, uid):
        raise already_banned(uid, guid)
    context.store.members.ban(guid, uid, context.now)


def tell_group(context: Context, call: Call, guid: str, action: str, uid: str) -> dict[str, Any]:
    """Write the message that tells a group of an action on a user, and return its record."""
    return context.store.add_action(actor(call), guid, action, uid, sent_at=context.now)
