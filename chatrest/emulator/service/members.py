"""The operations of group members."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.json import encode

from ..store.directory import SYSTEM
from ..store.members import Member, Memberships
from .bodies import Body, Name, read_body
from .context import Call, Context, Handler
from .envelopes import ack_reply, one_reply
from .groups import group_record
from .numbered_pages import page_number, user_page_reply
from .refusals import (
    Refusal,
    already_banned,
    already_joined,
    bad_request,
    banned_member,
    not_a_member,
    same_scope,
)
from .users import user_record

_SCOPES: Final = ("admin", "moderator", "participant")
_LISTS: Final = {
    "admins": "admin",
    "moderators": "moderator",
    "participants": "participant",
    "usersToBan": None,
}
"""The lists of a body, and the scope that each gives; None for a ban."""
_Uids = Annotated[list[Name], Meta(min_length=1)] | UnsetType


class NewMembersBody(Body):
    """POST /groups/{guid}/members: one list at least, each with one uid at least."""

    admins: _Uids = UNSET
    moderators: _Uids = UNSET
    participants: _Uids = UNSET
    users_to_ban: _Uids = UNSET


class ScopeBody(Body):
    """PUT /groups/{guid}/members/{uid}."""

    scope: Literal["admin", "moderator", "participant"] = "participant"


def list_members(context: Context, call: Call) -> bytes:
    """A page of members, in the order in which they joined; `scopes` is a comma list."""
    guid, query = call.path["guid"], call.query
    group_record(context, guid)
    status, scopes = query.choice("status", ("available", "offline")), query.texts("scopes", _SCOPES)
    number = page_number(query)
    query.check()
    return user_page_reply(context.store.members.list(guid, *number, status=status, scopes=scopes), number)


def add_members(context: Context, call: Call) -> bytes:
    """Add users to a group, or ban them: an outcome for each uid, and an action message for each success."""
    guid = call.path["guid"]
    group_record(context, guid)
    body = read_body(call.body or b"{}", NewMembersBody)
    lists = zip(_LISTS, (body.admins, body.moderators, body.participants, body.users_to_ban), strict=True)
    uids_by_list = {name: dict.fromkeys(uids) for name, uids in lists if uids is not UNSET}
    if not uids_by_list:
        raise bad_request({name: ["One uid at least is required, in one of the lists."] for name in _LISTS})
    by = call.acting_user or str(SYSTEM["uid"])
    outcomes = {
        name: {uid: _outcome(context, guid, uid, _LISTS[name], by) for uid in uids}
        for name, uids in uids_by_list.items()
    }
    return one_reply(encode(outcomes))


def _outcome(context: Context, guid: str, uid: str, scope: str | None, by: str) -> dict[str, Any]:
    """Add one user with a scope, or ban the user where that is None, and tell the group."""
    try:
        user_record(context, uid)
        if scope is None:
            _ban(context.store.members, guid, uid)
        else:
            _join(context.store.members, guid, uid, Member(scope, context.now))
    except Refusal as refusal:
        return {"success": False, "error": refusal.error}
    action = "banned" if scope is None else "added"
    return {"success": True, "data": context.store.add_action(by, guid, action, uid, sent_at=context.now)}


def _join(members: Memberships, guid: str, uid: str, member: Member) -> None:
    if members.member(guid, uid) is not None:
        raise already_joined(uid, guid)
    if members.is_banned(guid, uid):
        raise banned_member(uid, guid)
    members.add(guid, uid, member)


def _ban(members: Memberships, guid: str, uid: str) -> None:
    if members.is_banned(guid, uid):
        raise already_banned(uid, guid)
    members.ban(guid, uid)


def change_scope(context: Context, call: Call) -> bytes:
    """Give a member another scope."""
    guid, uid = call.path["guid"], call.path["uid"]
    member = _member(context, guid, uid)
    scope = read_body(call.body or b"{}", ScopeBody).scope
    if scope == member.scope:
        raise same_scope(uid, scope)
    context.store.members.change_scope(guid, uid, scope)
    return one_reply(encode({"guid": guid, "uid": uid, "scope": scope, "joinedAt": member.joined_at}))


def kick_member(context: Context, call: Call) -> bytes:
    """Remove a member from a group."""
    guid, uid = call.path["guid"], call.path["uid"]
    _member(context, guid, uid)
    context.store.members.remove(guid, uid)
    return ack_reply(f"The user with UID {uid} has been kicked from the group {guid}.")


def _member(context: Context, guid: str, uid: str) -> Member:
    """A member of a group; 404 for no such group, no such user, or a user that is no member."""
    group_record(context, guid)
    user_record(context, uid)
    member = context.store.members.member(guid, uid)
    if member is None:
        raise not_a_member(uid, guid)
    return member


HANDLERS: Final[dict[str, Handler]] = {
    "members.list": list_members,
    "members.add": add_members,
    "members.change_scope": change_scope,
    "members.kick": kick_member,
}
