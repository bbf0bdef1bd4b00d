"""The operations of groups and their members.

Scopes of acting users are not checked: who may do what is not documented.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec.json import decode, encode

from ..store.directory import SYSTEM, Membership
from ..store.message_lists import Condition
from .arguments import Arguments, any_of, bounds, conditions, contains, equals, joined, search
from .context import Call, Context, Handler
from .documents import apply_changes
from .envelopes import ack_reply, data_reply, one_reply
from .pages import page_number, record_page_reply
from .refusals import Refusal, bad_request, outcome, refused
from .users import user_record

# ── joining and bans ──


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
    store = context.store
    if scope is None:
        ban(context, guid, uid)
        return
    if store.members.member(guid, uid) is not None:
        raise refused("ERR_ALREADY_JOINED", uid, guid)
    if store.relations.has("banned", guid, uid):
        raise refused("ERR_BANNED_GROUPMEMBER", uid, guid)
    store.members.add(guid, uid, Membership(scope, context.now))


def ban(context: Context, guid: str, uid: str) -> None:
    if context.store.relations.has("banned", guid, uid):
        raise refused("ERR_ALREADY_BANNED", uid, guid)
    context.store.members.ban(guid, uid, context.now)


def tell_group(context: Context, call: Call, guid: str, action: str, uid: str) -> dict[str, Any]:
    """Write the message that tells a group of an action on a user, and return its record."""
    return context.store.add_action(actor(call), guid, action, uid, sent_at=context.now)


# ── groups ──


_SEARCHED: Final = {"guid": "casefold(guid)", "name": "casefold(name)"}
_SORTED: Final = {"name": "name", "guid": "guid", "createdAt": "created_at"}
_TYPES: Final = ("public", "private", "protected", "password")
_JOINED: Final = "EXISTS (SELECT 1 FROM members m WHERE m.guid = groups.guid AND m.uid = ?)"
_CHANGED: Final = "coalesce(updated_at, created_at)"


def group_record(context: Context, guid: str) -> bytes:
    """Return a group's record; 404 for no such group."""
    record = context.store.people.group(guid)
    if record is None:
        raise refused("ERR_GUID_NOT_FOUND", guid)
    return record


def list_groups(context: Context, call: Call) -> bytes:
    """A page of groups.

    `searchKey` is looked for anywhere in guid and name (or in what `searchIn` names), without regard to case.
    With `updatedAt` or `affix` the groups are ordered by their last change, or by their making where there
    was none; `updatedAt` itself is left out. `hasJoined` without an acting user matches nothing.
    """
    query = call.query
    condition, order, number = _condition(call), _order(query), page_number(query)
    with_tags = query.flag("withTags")
    query.check()
    page = context.store.groups.list(*condition, order, *number)
    records = [encode(_group_view(context, call, record, with_tags=with_tags)) for record in page.records]
    affix = "prepend" if _is_descending(query) else "append"
    return record_page_reply(page._replace(records=records), number, affix=affix)


_FILTERS: Final = {
    "type": equals("type", _TYPES),
    "types": any_of("type", _TYPES),
    "guid": equals("guid"),
    "guids": any_of("guid"),
    "tags": contains("tags"),
    **bounds("createdAt", "created_at"),
    **bounds("updatedAt", "updated_at"),
    **bounds("membersCount", "members_count", ("gt", "gte", "lt", "lte", "eq")),
}


def _condition(call: Call) -> Condition:
    query = call.query
    terms = [Condition("1"), *conditions(query, _FILTERS), *search(query, _SEARCHED, anywhere=True)]
    if query.flag("hasJoined"):
        terms.append(Condition(_JOINED, (call.acting_user or "",)))
    if (position := query.number("updatedAt")) is not None:
        terms.append(Condition(f"{_CHANGED} {'<' if _is_descending(query) else '>'} ?", (position,)))
    return joined(terms)


def _is_descending(query: Arguments) -> bool:
    return query.choice("affix", ("append", "prepend")) == "prepend"


def _order(query: Arguments) -> str:
    column = _SORTED.get(query.choice("sortBy", tuple(_SORTED)) or "", "number")
    is_descending = query.choice("sortOrder", ("asc", "desc")) == "desc"
    if query.text("affix") or query.text("updatedAt"):
        column, is_descending = _CHANGED, _is_descending(query)
    direction = "DESC" if is_descending else "ASC"
    return f"{column} {direction}, number {direction}"


def _group_view(context: Context, call: Call, record: bytes, *, with_tags: bool = True) -> dict[str, Any]:
    """Return a group's record as the acting user sees it."""
    group: dict[str, Any] = decode(record)
    if not with_tags:
        group.pop("tags", None)
    if call.acting_user:
        member = context.store.members.member(group["guid"], call.acting_user)
        group["hasJoined"] = member is not None
        if member is not None:
            group |= {"scope": member.scope, "joinedAt": member.joined_at}
    return group


def get_group(context: Context, call: Call) -> bytes:
    """A group; to an acting user with the scope that this user has in it."""
    return data_reply(_group_view(context, call, group_record(context, call.path["guid"])))


def create_group(context: Context, call: Call) -> bytes:
    """Add a group with its first members; its owner is one of them, an admin.

    The owner is the one that the body names, else the acting user, else the app itself, which is no member.
    """
    body = call.members()
    guid, owner = body["guid"].lower(), body.get("owner") or actor(call)
    if context.store.people.group(guid) is not None:
        raise bad_request({"guid": ["The guid has already been taken."]})
    members, password = body.pop("members", {}), body.pop("password", None)
    _check_password(body["type"], password)
    scopes = _scopes(context, members, owner)
    record = body | {"guid": guid, "owner": owner, "createdAt": context.now}
    record |= {"membersCount": 0, "conversationId": f"group_{guid}"}
    context.store.people.add_group(record, password)
    for uid, scope in scopes.items():
        admit(context, guid, uid, scope)
    return data_reply(_group_view(context, call, group_record(context, guid)))


def _scopes(context: Context, members: Mapping[str, Any], owner: str) -> dict[str, str | None]:
    """Return the scope of each first member, None for a ban; 404 for one that does not exist."""
    scopes = {uid: LISTS[name] for name, uids in reversed(new_members(members)) for uid in uids}
    if owner != SYSTEM["uid"]:
        scopes[owner] = "admin"
    for uid in scopes:
        user_record(context, uid)
    return scopes


def _check_password(type: str, password: str | None) -> None:
    if type == "password" and not password:
        raise Refusal(400, "ERR_EMPTY_GROUP_PASS", "The password of the group is missing.")


def update_group(context: Context, call: Call) -> bytes:
    """Change a group. `owner` is ignored where somebody acts; a new owner becomes an admin of the group."""
    guid, changes = call.path["guid"], call.members()
    record: dict[str, Any] = decode(group_record(context, guid))
    owner = None if call.acting_user else changes.get("owner")
    if owner is None:
        changes.pop("owner", None)
    if owner is not None:
        user_record(context, owner)
    password = changes.pop("password", None) or context.store.groups.password(guid)
    updated = apply_changes(record, changes) | {"updatedAt": context.now, "updatedBy": actor(call)}
    _check_password(updated["type"], password)
    context.store.groups.replace(guid, updated, password if updated["type"] == "password" else None)
    if owner is not None:
        _make_admin(context, guid, owner)
    return data_reply(_group_view(context, call, group_record(context, guid)))


def _make_admin(context: Context, guid: str, uid: str) -> None:
    members = context.store.members
    if members.member(guid, uid) is None:
        members.add(guid, uid, Membership("admin", context.now))
    else:
        members.change_scope(guid, uid, "admin")


def delete_group(context: Context, call: Call) -> bytes:
    """Remove a group with its members, bans and permissions; its messages stay in the lists of users."""
    guid = call.path["guid"]
    group_record(context, guid)
    context.store.groups.remove(guid)
    for scope in filter(None, LISTS.values()):
        context.store.documents.of("rbac.scope", f"{guid}/{scope}").clear()
    return ack_reply(f"The group with GUID {guid} has been deleted.")


# ── members ──


_MEMBER_SCOPES: Final = ("admin", "moderator", "participant")


def list_members(context: Context, call: Call) -> bytes:
    """A page of members, in the order in which they joined; `scopes` is a comma list."""
    guid, query = call.path["guid"], call.query
    group_record(context, guid)
    status, scopes = query.choice("status", ("available", "offline")), query.texts("scopes", _MEMBER_SCOPES)
    number = page_number(query)
    query.check()
    return record_page_reply(context.store.members.list(guid, *number, status=status, scopes=scopes), number)


def add_members(context: Context, call: Call) -> bytes:
    """Add users to a group, or ban them: an outcome for each uid, and an action message for each success."""
    guid = call.path["guid"]
    group_record(context, guid)
    lists = new_members(call.members())
    outcomes = {
        name: {uid: outcome(partial(_added, context, call, guid, uid, LISTS[name])) for uid in uids}
        for name, uids in lists
    }
    return one_reply(encode(outcomes))


def _added(context: Context, call: Call, guid: str, uid: str, scope: str | None) -> dict[str, Any]:
    """Add one user with a scope, or ban the user where that is None, and tell the group."""
    user_record(context, uid)
    admit(context, guid, uid, scope)
    return tell_group(context, call, guid, "banned" if scope is None else "added", uid)


def change_scope(context: Context, call: Call) -> bytes:
    guid, uid = call.path["guid"], call.path["uid"]
    member = _member(context, guid, uid)
    scope = call.read()["scope"]
    if scope == member.scope:
        raise refused("ERR_SAME_SCOPE", uid, scope)
    context.store.members.change_scope(guid, uid, scope)
    return one_reply(encode({"guid": guid, "uid": uid, "scope": scope, "joinedAt": member.joined_at}))


def kick_member(context: Context, call: Call) -> bytes:
    guid, uid = call.path["guid"], call.path["uid"]
    _member(context, guid, uid)
    context.store.members.remove(guid, uid)
    return ack_reply(f"The user with UID {uid} has been kicked from the group {guid}.")


def _member(context: Context, guid: str, uid: str) -> Membership:
    """A member of a group; 404 for no such group, no such user, or a user that is no member."""
    group_record(context, guid)
    user_record(context, uid)
    member = context.store.members.member(guid, uid)
    if member is None:
        raise refused("ERR_NOT_A_MEMBER", uid, guid)
    return member


HANDLERS: Final[dict[str, Handler]] = {
    "groups.list": list_groups,
    "groups.get": get_group,
    "groups.create": create_group,
    "groups.update": update_group,
    "groups.delete": delete_group,
    "members.list": list_members,
    "members.add": add_members,
    "members.change_scope": change_scope,
    "members.kick": kick_member,
}
