"""The operations of groups. Scopes of acting users are not checked: who may do what is not documented."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.json import decode, encode

from ..store.directory import SYSTEM
from ..store.members import Member
from .arguments import Arguments
from .changes import apply_changes
from .conditions import Conditions
from .context import Call, Context, Handler
from .envelopes import ack_reply, data_reply
from .memberships import LISTS, actor, admit, new_members
from .numbered_pages import page_number, record_page_reply
from .refusals import Refusal, bad_request, refused
from .users import user_record

_SEARCHED: Final = {"guid": "casefold(guid)", "name": "casefold(name)"}
_SORTED: Final = {"name": "name", "guid": "guid", "createdAt": "created_at"}
_TYPES: Final = ("public", "private", "protected", "password")
_COUNTS: Final = ("gt", "gte", "lt", "lte", "eq")
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
    conditions, order, number = _conditions(call), _order(query), page_number(query)
    with_tags = query.flag("withTags")
    query.check()
    page = context.store.groups.list(conditions.sql, conditions.values, order, *number)
    records = [encode(_group_view(context, call, record, with_tags=with_tags)) for record in page.records]
    affix = "prepend" if _is_descending(query) else "append"
    return record_page_reply(page._replace(records=records), number, affix=affix)


def _conditions(call: Call) -> Conditions:
    query, conditions = call.query, Conditions(call.query)
    query.choice("type", _TYPES)
    conditions.equals("type", "type")
    conditions.any_of("types", "type", _TYPES)
    conditions.equals("guid", "guid")
    conditions.any_of("guids", "guid")
    conditions.tagged("tags", "tags")
    conditions.search(_SEARCHED, anywhere=True)
    conditions.bounds("createdAt", "created_at")
    conditions.bounds("updatedAt", "updated_at")
    conditions.bounds("membersCount", "members_count", _COUNTS)
    if query.flag("hasJoined"):
        conditions.add(_JOINED, call.acting_user or "")
    if (position := query.number("updatedAt")) is not None:
        conditions.add(f"{_CHANGED} {'<' if _is_descending(query) else '>'} ?", position)
    return conditions


def _is_descending(query: Arguments) -> bool:
    return query.choice("affix", ("append", "prepend")) == "prepend"


def _order(query: Arguments) -> str:
    """Return the SQL order of a list."""
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
        members.add(guid, uid, Member("admin", context.now))
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


HANDLERS: Final[dict[str, Handler]] = {
    "groups.list": list_groups,
    "groups.get": get_group,
    "groups.create": create_group,
    "groups.update": update_group,
    "groups.delete": delete_group,
}
