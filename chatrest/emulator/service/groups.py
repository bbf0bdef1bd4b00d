"""The operations of groups and their members.

Scopes of acting users are not checked: who may do what is not documented.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from msgspec.json import decode, encode

from ..store.directory import SYSTEM, Membership, RecordPage
from ..store.documents import Document, apply_changes
from ..store.message_lists import Condition
from .arguments import bounds, conditions, contains, joined, search
from .context import Context, Handler, ServiceCall
from .refusals import bad_request, outcomes, refused
from .replies import ack
from .users import path_user, user_record

APP: Final = str(SYSTEM["uid"])
"""The uid of the app itself."""

# ── joining and bans ──


LISTS: Final = {
    "admins": "admin",
    "moderators": "moderator",
    "participants": "participant",
    "usersToBan": None,
}
"""The lists of a body, and the scope that each gives; None for a ban."""


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
    store.members.add(guid, uid, scope, context.now)


def ban(context: Context, guid: str, uid: str) -> None:
    if context.store.relations.has("banned", guid, uid):
        raise refused("ERR_ALREADY_BANNED", uid, guid)
    context.store.members.ban(guid, uid, context.now)


def tell_group(call: ServiceCall, guid: str, action: str, uid: str) -> Document:
    by, on = call.acting_user or APP, call.store.people.entity("user", uid)
    place = {"sender": by, "receiverType": "group", "receiver": guid}
    return call.store.add_action(by, action, on, place, sent_at=call.now)


# ── groups ──


_SEARCHED: Final = {"guid": "casefold(guid)", "name": "casefold(name)"}
_SORTED: Final = {"name": "name", "guid": "guid", "createdAt": "created_at"}
_JOINED: Final = "EXISTS (SELECT 1 FROM members m WHERE m.guid = groups.guid AND m.uid = ?)"
_CHANGED: Final = "coalesce(updated_at, created_at)"
_FILTERS: Final = {
    "type": "type = ?",
    "types": "type IN (MARKS)",
    "guid": "guid = ?",
    "guids": "guid IN (MARKS)",
    "tags": contains("tags"),
    **bounds("createdAt", "created_at"),
    **bounds("updatedAt", "updated_at"),
    **bounds("membersCount", "members_count", ("gt", "gte", "lt", "lte", "eq")),
}


def group_record(context: Context, guid: str) -> bytes:
    record = context.store.people.group(guid)
    if record is None:
        raise refused("ERR_GUID_NOT_FOUND", guid)
    return record


def path_group(call: ServiceCall) -> str:
    group_record(call, call.path["guid"])
    return call.path["guid"]


def party_record(context: Context, kind: str, party: str) -> bytes:
    return group_record(context, party) if kind == "group" else user_record(context, party)


def list_groups(call: ServiceCall) -> Callable[[int, int], RecordPage]:
    """The pages of groups.

    `searchKey` is looked for anywhere in guid and name (or in what `searchIn` names), without regard to case.
    With `updatedAt` or `affix` the groups are ordered by their last change, or by their making where there
    was none; `updatedAt` itself is left out. `hasJoined` without an acting user matches nothing.
    """
    condition, with_tags = _condition(call), call.query.get("withTags", False)
    source = f"FROM groups WHERE {condition.sql} ORDER BY {_order(call.query)}"

    def pages(number: int, size: int) -> RecordPage:
        page = call.store.page(f"record, {_CHANGED}", source, condition.values, (), number, size)
        shown = [encode(_group_view(call, record, with_tags=with_tags)) for record in page.records]
        return page._replace(records=shown)

    return pages


def _condition(call: ServiceCall) -> Condition:
    query = call.query
    terms = [Condition("1"), *conditions(query, _FILTERS), *search(query, _SEARCHED, anywhere=True)]
    if query.get("hasJoined"):
        terms.append(Condition(_JOINED, (call.acting_user or "",)))
    if "updatedAt" in query:
        sign = "<" if query.get("affix") == "prepend" else ">"
        terms.append(Condition(f"{_CHANGED} {sign} ?", (query["updatedAt"],)))
    return joined(terms)


def _order(query: Mapping[str, Any]) -> str:
    column, is_descending = _SORTED.get(query.get("sortBy", ""), "number"), query.get("sortOrder") == "desc"
    if "affix" in query or "updatedAt" in query:
        column, is_descending = _CHANGED, query.get("affix") == "prepend"
    direction = "DESC" if is_descending else "ASC"
    return f"{column} {direction}, number {direction}"


def _group_view(call: ServiceCall, record: bytes, *, with_tags: bool = True) -> Document:
    group: Document = decode(record)
    if not with_tags:
        group.pop("tags", None)
    if call.acting_user:
        member = call.store.members.member(group["guid"], call.acting_user)
        group["hasJoined"] = member is not None
        if member is not None:
            group |= {"scope": member.scope, "joinedAt": member.joined_at}
    return group


def get_group(call: ServiceCall) -> Document:
    return _group_view(call, group_record(call, call.path["guid"]))


def create_group(call: ServiceCall) -> Document:
    """Add a group with its first members; its owner is one of them, an admin.

    The owner is the one that the body names, else the acting user, else the app itself, which is no member.
    """
    body = dict(call.body)
    guid, owner = body["guid"].lower(), body.get("owner") or call.acting_user or APP
    if call.store.people.group(guid) is not None:
        raise bad_request({"guid": ["The guid has already been taken."]})
    members, password = body.pop("members", {}), body.pop("password", None)
    check_password(body["type"], password)
    scopes = {uid: LISTS[name] for name in reversed(LISTS) for uid in members.get(name, ())}
    if owner != APP:
        scopes[owner] = "admin"
    for uid in scopes:
        user_record(call, uid)
    add_group(call, body | {"guid": guid, "owner": owner, "createdAt": call.now}, password)
    for uid, scope in scopes.items():
        admit(call, guid, uid, scope)
    return _group_view(call, group_record(call, guid))


def add_group(context: Context, group: Document, password: str | None) -> None:
    counted = {"membersCount": 0, "conversationId": f"group_{group['guid']}"}
    context.store.people.add_group(group | counted, password)


def check_password(type: str, password: str | None) -> None:
    if type == "password" and not password:
        raise refused("ERR_EMPTY_GROUP_PASS")


def update_group(call: ServiceCall) -> Document:
    """Change a group. `owner` is ignored where somebody acts; a new owner becomes an admin of the group."""
    guid, changes, members = call.path["guid"], dict(call.body), call.store.members
    record: Document = decode(group_record(call, guid))
    owner, actor = changes.pop("owner", None), call.acting_user or APP
    if owner is not None and not call.acting_user:
        user_record(call, owner)
        changes["owner"] = owner
    password = changes.pop("password", None) or call.store.people.group_password(guid)
    updated = apply_changes(record, changes) | {"updatedAt": call.now, "updatedBy": actor}
    check_password(updated["type"], password)
    call.store.people.replace_group(guid, updated, password if updated["type"] == "password" else None)
    if "owner" in changes and members.member(guid, owner) is None:
        members.add(guid, owner, "admin", call.now)
    elif "owner" in changes:
        members.change_scope(guid, owner, "admin")
    return get_group(call)


def delete_group(call: ServiceCall) -> Document:
    """Remove a group with its members, bans and permissions; its messages stay in the lists of users."""
    guid = path_group(call)
    call.store.people.remove_group(guid)
    call.store.documents.of("/groups").clear_below(guid)
    return ack(f"The group with GUID {guid} has been deleted.")


# ── members ──


_MEMBERS: Final = """
FROM members m JOIN users u ON u.uid = m.uid WHERE m.guid = ? AND NOT u.deactivated
    AND (? IS NULL OR u.status = ?) AND (? OR m.scope IN (SELECT value FROM json_each(?)))
ORDER BY m.number
"""


def list_members(call: ServiceCall) -> Callable[[int, int], RecordPage]:
    """The pages of members; those that are switched off are left out."""
    status, scopes = call.query.get("status"), call.query.get("scopes", ())
    values = (path_group(call), status, status, not scopes, encode(scopes).decode())
    columns = """u.record, u.updated_at, '"' || m.scope || '"', m.joined_at"""
    return partial(call.store.page, columns, _MEMBERS, values, ("scope", "joinedAt"))


def add_members(call: ServiceCall) -> Document:
    """Add users to a group, or ban them: an outcome for each uid, and an action message for each success."""
    guid = path_group(call)
    return {
        name: outcomes(call.body[name], partial(_added, call, guid, scope), "data")
        for name, scope in LISTS.items()
        if name in call.body
    }


def _added(call: ServiceCall, guid: str, scope: str | None, uid: str) -> Document:
    user_record(call, uid)
    admit(call, guid, uid, scope)
    return tell_group(call, guid, "banned" if scope is None else "added", uid)


def change_scope(call: ServiceCall) -> Document:
    guid, uid, member = _path_member(call)
    scope = call.body["scope"]
    if scope == member.scope:
        raise refused("ERR_SAME_SCOPE", uid, scope)
    call.store.members.change_scope(guid, uid, scope)
    return {"guid": guid, "uid": uid, "scope": scope, "joinedAt": member.joined_at}


def kick_member(call: ServiceCall) -> Document:
    guid, uid, _ = _path_member(call)
    call.store.members.remove(guid, uid)
    return ack(f"The user with UID {uid} has been kicked from the group {guid}.")


def _path_member(call: ServiceCall) -> tuple[str, str, Membership]:
    guid, uid = path_group(call), path_user(call)
    member = call.store.members.member(guid, uid)
    if member is None:
        raise refused("ERR_NOT_A_MEMBER", uid, guid)
    return guid, uid, member


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
