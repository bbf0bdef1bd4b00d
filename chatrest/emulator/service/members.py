"""The operations of group members."""

from typing import Any, Final

from msgspec.json import encode

from ..store.members import Member
from .context import Call, Context, Handler
from .envelopes import ack_reply, one_reply
from .groups import group_record
from .memberships import LISTS, admit, new_members, tell_group
from .numbered_pages import page_number, record_page_reply
from .refusals import Refusal, refused
from .users import user_record

_SCOPES: Final = ("admin", "moderator", "participant")


def list_members(context: Context, call: Call) -> bytes:
    """A page of members, in the order in which they joined; `scopes` is a comma list."""
    guid, query = call.path["guid"], call.query
    group_record(context, guid)
    status, scopes = query.choice("status", ("available", "offline")), query.texts("scopes", _SCOPES)
    number = page_number(query)
    query.check()
    return record_page_reply(context.store.members.list(guid, *number, status=status, scopes=scopes), number)


def add_members(context: Context, call: Call) -> bytes:
    """Add users to a group, or ban them: an outcome for each uid, and an action message for each success."""
    guid = call.path["guid"]
    group_record(context, guid)
    lists = new_members(call.members())
    outcomes = {
        name: {uid: _outcome(context, call, guid, uid, LISTS[name]) for uid in uids} for name, uids in lists
    }
    return one_reply(encode(outcomes))


def _outcome(context: Context, call: Call, guid: str, uid: str, scope: str | None) -> dict[str, Any]:
    """Add one user with a scope, or ban the user where that is None, and tell the group."""
    try:
        user_record(context, uid)
        admit(context, guid, uid, scope)
    except Refusal as refusal:
        return {"success": False, "error": refusal.error}
    action = "banned" if scope is None else "added"
    return {"success": True, "data": tell_group(context, call, guid, action, uid)}


def change_scope(context: Context, call: Call) -> bytes:
    """Give a member another scope."""
    guid, uid = call.path["guid"], call.path["uid"]
    member = _member(context, guid, uid)
    scope = call.read()["scope"]
    if scope == member.scope:
        raise refused("ERR_SAME_SCOPE", uid, scope)
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
        raise refused("ERR_NOT_A_MEMBER", uid, guid)
    return member


HANDLERS: Final[dict[str, Handler]] = {
    "members.list": list_members,
    "members.add": add_members,
    "members.change_scope": change_scope,
    "members.kick": kick_member,
}
