"""Imports: an outcome for each record. What exists already is changed, but a muid is imported once.

A user, group or owner that does not exist is created where the record has its details, and else refused.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, to_builtins
from msgspec.json import decode

from ...parameters.checked import Body
from ...parameters.data_import import (
    MOST_ENTRIES,
    GroupImport,
    MemberImport,
    MessageImport,
    UserImport,
)
from ..store.directory import SYSTEM, Membership
from .context import Call, Context, Handler
from .envelopes import data_reply
from .groups import group_record
from .refusals import Refusal, bad_request, outcome, refused
from .roles import ROLES
from .users import user_record

B = TypeVar("B", bound=Body)

Store: TypeAlias = Callable[[Context, B], Mapping[str, Any]]
"""Stores a record, and gives what the outcome shows of it; or refuses it."""

_MUIDS: Final = "data_import.muids"


def _serve(member: str, kind: type[B], code: str, store: Store[B]) -> Handler:
    """Return the handler of one import: its body's member, its records, and the code of a malformed one."""

    def handle(context: Context, call: Call) -> bytes:
        entries = _entries(call.body, member, code)
        return data_reply(
            {
                key: outcome(partial(_imported, context, entry, kind, code, store))
                for key, entry in entries.items()
            }
        )

    return handle


def _entries(body: bytes, member: str, code: str) -> dict[str, Any]:
    """Return the records by their keys; 400 where they are no object of 1 to 50."""
    try:
        entries = decode(body or b"{}")[member]
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
        raise bad_request({member: [f"The {member} are required."]}) from None
    if not isinstance(entries, dict) or not 0 < len(entries) <= MOST_ENTRIES:
        raise Refusal(400, code, f"The {member} must be an object with 1 to {MOST_ENTRIES} entries.")
    return entries


def _imported(context: Context, entry: Any, kind: type[B], code: str, store: Store[B]) -> Mapping[str, Any]:
    try:
        record = msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise Refusal(400, code, str(error)) from None
    return store(context, record)


# ── users ──


def _import_user(context: Context, record: UserImport) -> dict[str, Any]:
    role = record.role
    if role is not UNSET and context.store.documents.of(ROLES.kind).get(role) is None:
        raise refused("ERR_ROLE_NOT_FOUND", role)
    people = context.store.people
    fields = to_builtins(record)
    if people.is_taken(record.uid):
        old = decode(people.user(record.uid, with_deactivated=True) or b"{}", type=dict[str, Any])
        people.update_user({"tags": people.tags(record.uid), **old, **fields, "updatedAt": context.now})
    else:
        context.store.add_user(**{"createdAt": context.now, **fields})
    stored = decode(people.user(record.uid, with_deactivated=True) or b"{}", type=dict[str, Any])
    return stored | {"tags": people.tags(record.uid)}


def _ensure_user(context: Context, uid: str, details: Any) -> None:
    """Refuse a user that does not exist, or create it where the record has its details."""
    if context.store.people.user(uid) is None and isinstance(details, UserImport) and details.uid == uid:
        _import_user(context, details)
    if uid != SYSTEM["uid"]:
        user_record(context, uid)


# ── groups ──


def _import_group(context: Context, record: GroupImport) -> dict[str, Any]:
    store, owner = context.store, record.owner if record.owner is not UNSET else str(SYSTEM["uid"])
    password = record.password if record.password is not UNSET else None
    if record.type == "password" and not password:
        raise Refusal(400, "ERR_EMPTY_GROUP_PASS", "The password of the group is missing.")
    _ensure_user(context, owner, record.group_owner_details)
    fields = to_builtins(record) | {"owner": owner}
    shown = {name: value for name, value in fields.items() if name not in ("password", "groupOwnerDetails")}
    if (raw := store.people.group(record.guid)) is not None:
        group = {**decode(raw, type=dict[str, Any]), **shown, "updatedAt": context.now}
        store.groups.replace(record.guid, group, password)
    else:
        counted = {"membersCount": 0, "conversationId": f"group_{record.guid}"}
        store.people.add_group({"createdAt": context.now, **shown, **counted}, password)
        if owner != SYSTEM["uid"]:
            store.members.add(record.guid, owner, Membership("admin", context.now))
    return decode(group_record(context, record.guid), type=dict[str, Any])


def _ensure_group(context: Context, guid: str, details: Any) -> dict[str, Any]:
    """Return a group's record; create it where it does not exist and the record has its details."""
    if context.store.people.group(guid) is None and isinstance(details, GroupImport) and details.guid == guid:
        return _import_group(context, details)
    return decode(group_record(context, guid), type=dict[str, Any])


# ── members ──


def _import_member(context: Context, record: MemberImport) -> dict[str, Any]:
    guid, uid, members = record.guid, record.uid, context.store.members
    group = _ensure_group(context, guid, record.group_details)
    _ensure_user(context, uid, record.user_details)
    joined_at = record.joined_at if isinstance(record.joined_at, int) else context.now
    if not group.get("createdAt", 0) <= joined_at <= context.now:
        raise Refusal(
            400, "ERR_IMPORT_INVALID_JOINEDAT", "joinedAt must be from the group's createdAt to now."
        )
    scope = "participant" if record.scope is UNSET else record.scope
    if record.is_banned is True:
        members.ban(guid, uid, joined_at)
    else:
        members.remove(guid, uid)
        members.add(guid, uid, Membership(scope, joined_at))
    return {"guid": guid, "uid": uid, "scope": scope, "joinedAt": joined_at}


# ── messages ──


def _import_message(context: Context, record: MessageImport) -> dict[str, Any]:
    muids = context.store.documents.of(_MUIDS)
    if muids.get(record.muid) is not None:
        message = f"The muid {record.muid} has been imported already."
        raise Refusal(400, "ERR_IMPORT_MUID_ALREADY_EXISTS", message)
    _ensure_user(context, record.sender, record.sender_user_details)
    if record.receiver_type == "group":
        _ensure_group(context, record.receiver, record.receiver_group_details)
    else:
        _ensure_user(context, record.receiver, record.receiver_user_details)
    fields = to_builtins(record)
    optional = ("muid", "tags", "sentAt", "deliveredAt", "readAt")
    stored = context.store.add_message(
        record.sender,
        record.receiver,
        receiver_type=record.receiver_type,
        category=fields.get("category", "message"),
        type=fields.get("type", "text"),
        data=fields.get("data", {}),
        updatedAt=record.sent_at,
        **{name: fields[name] for name in optional if name in fields},
    )
    muids.put({"id": stored["id"]}, record.muid)
    return stored


HANDLERS: Final[dict[str, Handler]] = {
    "data_import.import_users": _serve("users", UserImport, "ERR_IMPORT_INVALID_USER_FORMAT", _import_user),
    "data_import.import_groups": _serve(
        "groups", GroupImport, "ERR_IMPORT_INVALID_GROUP_FORMAT", _import_group
    ),
    "data_import.import_members": _serve(
        "members", MemberImport, "ERR_IMPORT_INVALID_MEMBER_FORMAT", _import_member
    ),
    "data_import.import_messages": _serve(
        "messages", MessageImport, "ERR_IMPORT_INVALID_MESSAGE_FORMAT", _import_message
    ),
}
