"""The operations of groups, their members, and users that are banned from them.

Scopes of acting users are not checked: who may do what is not documented. A ban and its end are reported to
the group by an action message.
"""

from functools import partial
from operator import itemgetter
from typing import Final

from ..store.directory import SYSTEM, Membership, untagged
from ..store.documents import Document, apply_changes
from .handler_input import (
    Context,
    Filters,
    Handler,
    ServiceCall,
    has_tag,
    has_text,
    matching_records,
    range_filters,
)
from .refusals import act_on_each, bad_request, refusal
from .reply_forms import LazyRecords, ack, changed_at, page_beyond
from .users import path_user, related_users, user_record

APP: Final = str(SYSTEM["uid"])

SCOPES: Final = {
    "admins": "admin", "moderators": "moderator", "participants": "participant", "usersToBan": None,
}  # fmt: skip
"""The scope that each list of a body gives; None for a ban."""


def add_or_ban(context: Context, guid: str, uid: str, scope: str | None) -> None:
    """Add a user to a group with a scope, or ban the user where that is None; refusals as documented."""
    members, is_banned = context.store.members, uid in context.store.relations.of("banned", guid)
    if scope is None:
        if is_banned:
            raise refusal("ERR_ALREADY_BANNED", uid, guid)
        members.ban(guid, uid, context.now)
        return
    if uid in members.of(guid):
        raise refusal("ERR_ALREADY_JOINED", uid, guid)
    if is_banned:
        raise refusal("ERR_BANNED_GROUPMEMBER", uid, guid)
    members.add(guid, uid, scope, context.now)


def add_group_action(call: ServiceCall, guid: str, action: str, uid: str) -> Document:
    by, on = call.acting_user or APP, call.store.people.entity("user", uid)
    message = {"sender": by, "receiverType": "group", "receiver": guid}
    return call.store.add_action(by, action, on, message, sent_at=call.now)


_FILTERS: Final[Filters] = {
    "type": lambda group, kind: group.get("type") == kind,
    "types": lambda group, types: group.get("type") in types,
    "guid": lambda group, guid: group["guid"] == guid,
    "guids": lambda group, guids: group["guid"] in guids,
    "tags": has_tag,
    **range_filters("createdAt", itemgetter("createdAt")),
    **range_filters("updatedAt", lambda group: group.get("updatedAt")),
    **range_filters("membersCount", itemgetter("membersCount"), ("gt", "gte", "lt", "lte", "eq")),
}


def group_record(context: Context, guid: str) -> Document:
    record = context.store.people.groups.get(guid)
    if record is None:
        raise refusal("ERR_GUID_NOT_FOUND", guid)
    return record


def path_group(call: ServiceCall) -> str:
    group_record(call, call.path["guid"])
    return call.path["guid"]


def party_record(context: Context, kind: str, party: str) -> Document:
    return group_record(context, party) if kind == "group" else user_record(context, party)


def list_groups(call: ServiceCall) -> LazyRecords:
    """The groups.

    `searchKey` is looked for anywhere in guid and name (or in what `searchIn` names), without regard to case.
    With `updatedAt` or `affix` the groups are ordered by their last change, or by their creation where
    there was none; `updatedAt` itself is left out. `hasJoined` without an acting user matches nothing.
    """
    query, members = call.query, call.store.members
    text, names = query.get("searchKey", ""), query.get("searchIn", ("guid", "name"))
    groups = [
        group
        for group in matching_records(call.store.people.groups.values(), query, _FILTERS)
        if has_text(group, text, names, anywhere=True)
        and (not query.get("hasJoined") or call.acting_user in members.of(group["guid"]))
    ]
    if "affix" in query or "updatedAt" in query:
        is_ascending = query.get("affix") != "prepend"
        ranked = [(changed_at(each), each) for each in (groups if is_ascending else reversed(groups))]
        groups, _ = page_beyond(ranked, query.get("updatedAt"), len(groups), ascending=is_ascending)
    else:
        sort_by, is_descending = query.get("sortBy", ""), query.get("sortOrder") == "desc"
        groups.sort(key=lambda group: group.get(sort_by, 0), reverse=is_descending)
    return LazyRecords(groups, partial(_group_view, call, with_tags=query.get("withTags", False)))


def _group_view(call: ServiceCall, record: Document, *, with_tags: bool = True) -> Document:
    group = dict(record) if with_tags else untagged(record)
    if call.acting_user:
        member = call.store.members.of(group["guid"]).get(call.acting_user)
        group |= {"hasJoined": member is not None} | (member.fields if member is not None else {})
    return group


def get_group(call: ServiceCall) -> Document:
    return _group_view(call, group_record(call, call.path["guid"]))


def create_group(call: ServiceCall) -> Document:
    """Add a group with its first members; its owner is one of them, an admin.

    The owner is the one that the body names, else the acting user, else the app itself, which is no member.
    """
    body = dict(call.body)
    guid, owner = body["guid"].lower(), body.get("owner") or call.acting_user or APP
    if guid in call.store.people.groups:
        raise bad_request({"guid": ["The guid has already been taken."]})
    members = body.pop("members", {})
    check_password(body["type"], body.pop("password", None))
    scopes = {uid: SCOPES[name] for name in reversed(SCOPES) for uid in members.get(name, ())}
    if owner != APP:
        scopes[owner] = "admin"
    for uid in scopes:
        user_record(call, uid)
    call.store.people.add_group(body | {"guid": guid, "owner": owner, "createdAt": call.now})
    for uid, scope in scopes.items():
        add_or_ban(call, guid, uid, scope)
    return _group_view(call, call.store.people.groups[guid])


def check_password(type: str, password: str | None) -> None:
    if type == "password" and not password:
        raise refusal("ERR_EMPTY_GROUP_PASS")


def update_group(call: ServiceCall) -> Document:
    """Change a group. `owner` is ignored where somebody acts; a new owner becomes an admin."""
    guid, changes, members = call.path["guid"], dict(call.body), call.store.members
    record = group_record(call, guid)
    owner, actor = changes.pop("owner", None), call.acting_user or APP
    if owner is not None and not call.acting_user:
        changes["owner"] = user_record(call, owner)["uid"]
    password = changes.pop("password", None)
    updated = apply_changes(record, changes) | {"updatedAt": call.now, "updatedBy": actor}
    if record["type"] != "password":
        check_password(updated["type"], password)
    call.store.people.groups[guid] = updated
    if "owner" in changes:
        _, joined_at = members.of(guid).get(owner, ("", call.now))
        members.add(guid, owner, "admin", joined_at)
    return get_group(call)


def delete_group(call: ServiceCall) -> Document:
    """Remove a group with its members, bans and permissions; its messages stay in the lists of users."""
    guid, store = path_group(call), call.store
    del store.people.groups[guid]
    store.members.of(guid).clear()
    store.relations.of("banned", guid).clear()
    store.documents.clear_below(store.documents.of("/groups"), guid)
    return ack(f"The group with GUID {guid} has been deleted.")


def list_members(call: ServiceCall) -> LazyRecords:
    status, scopes = call.query.get("status"), call.query.get("scopes")
    rows = [
        (user, member)
        for uid, member in call.store.members.of(path_group(call)).items()
        if (user := call.store.people.user(uid)) and (not scopes or member.scope in scopes)
        if status in (None, user.get("status", "offline"))
    ]
    return LazyRecords(rows, lambda row: row[0] | row[1].fields)


def add_members(call: ServiceCall) -> Document:
    """Add users to a group, or ban them: an outcome for each uid, and an action message for each success."""
    guid = path_group(call)
    return {
        name: act_on_each(call.body[name], partial(_add_member, call, guid, scope), "data")
        for name, scope in SCOPES.items()
        if name in call.body
    }


def _add_member(call: ServiceCall, guid: str, scope: str | None, uid: str) -> Document:
    user_record(call, uid)
    add_or_ban(call, guid, uid, scope)
    return add_group_action(call, guid, "banned" if scope is None else "added", uid)


def change_scope(call: ServiceCall) -> Document:
    guid, uid, member = _path_member(call)
    new = member._replace(scope=call.body["scope"])
    if new == member:
        raise refusal("ERR_SAME_SCOPE", uid, new.scope)
    call.store.members.add(guid, uid, *new)
    return {"guid": guid, "uid": uid, **new.fields}


def kick_member(call: ServiceCall) -> Document:
    guid, uid, _ = _path_member(call)
    call.store.members.remove(guid, uid)
    return ack(f"The user with UID {uid} has been kicked from the group {guid}.")


def _path_member(call: ServiceCall) -> tuple[str, str, Membership]:
    guid, uid = path_group(call), path_user(call)
    member = call.store.members.of(guid).get(uid)
    if member is None:
        raise refusal("ERR_NOT_A_MEMBER", uid, guid)
    return guid, uid, member


def ban_user(call: ServiceCall) -> Document:
    guid, uid = path_group(call), path_user(call)
    add_or_ban(call, guid, uid, None)
    add_group_action(call, guid, "banned", uid)
    return ack(f"The user with UID {uid} has been banned from the group {guid}.")


def unban_user(call: ServiceCall) -> Document:
    guid, uid = path_group(call), path_user(call)
    if call.store.relations.of("banned", guid).pop(uid, None) is None:
        raise refusal("ERR_NOT_A_BANNED_USER", uid, guid)
    add_group_action(call, guid, "unbanned", uid)
    return ack(f"The user with UID {uid} has been unbanned from the group {guid}.")


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
    "banned_users.list": lambda call: related_users(call, "banned", path_group(call)),
    "banned_users.ban": ban_user,
    "banned_users.unban": unban_user,
}
