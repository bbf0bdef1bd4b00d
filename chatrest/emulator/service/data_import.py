"""Imports: an outcome for each record. What exists already is changed, but a muid is imported once.

A user, group or owner that does not exist is created where the record has its details, and else refused.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import msgspec

from ..._parameters.checked import Body
from ..._parameters.data_import import MAX_ENTRIES, GroupImport, MemberImport, MessageImport, UserImport
from ..store.documents import Document, selected
from .administration import ROLES_PATH
from .groups import APP, check_password, party_record
from .handler_input import Context, Handler, ServiceCall
from .refusals import ServiceRefusal, act_on_each, bad_request, refusal
from .users import tagged_user

_StoreRecord: TypeAlias = Callable[[Context, Document], Document]


def _import_records(member: str, kind: type[Body], store: _StoreRecord, call: ServiceCall) -> Document:
    code = f"ERR_IMPORT_INVALID_{member[:-1].upper()}_FORMAT"
    if member not in call.body:
        raise bad_request({member: [f"The {member} are required."]})
    entries = call.body[member]
    if not isinstance(entries, dict) or not 0 < len(entries) <= MAX_ENTRIES:
        words = f"The {member} must be an object with 1 to {MAX_ENTRIES} entries."
        raise ServiceRefusal(400, code, words)

    def store_one(key: str) -> Document:
        try:
            record: Document = msgspec.to_builtins(msgspec.convert(entries[key], kind))
        except msgspec.ValidationError as error:
            raise ServiceRefusal(400, code, str(error)) from None
        return store(call, record)

    return act_on_each(entries, store_one, "data")


def _import_user(context: Context, record: Document) -> Document:
    uid, people = record["uid"], context.store.people
    if "role" in record and record["role"] not in context.store.documents.of(ROLES_PATH):
        raise refusal("ERR_ROLE_NOT_FOUND", record["role"])
    if uid in people.users:
        people.users[uid] = {**tagged_user(context, uid), **record, "updatedAt": context.now}
    else:
        context.store.add_user(**{"createdAt": context.now, **record})
    return tagged_user(context, uid)


def _ensure_party(context: Context, kind: str, key: str, details: Document | None) -> None:
    """Refuse a user or a group that does not exist, or create it where the record has its details."""
    people, name = context.store.people, "uid" if kind == "user" else "guid"
    is_known = people.user(key) is not None if kind == "user" else key in people.groups
    if not is_known and details and details[name] == key:
        (_import_user if kind == "user" else _import_group)(context, details)
    if key != APP:
        party_record(context, kind, key)


def _import_group(context: Context, record: Document) -> Document:
    store, guid, owner = context.store, record["guid"], record.get("owner", APP)
    check_password(record["type"], record.pop("password", None))
    _ensure_party(context, "user", owner, record.pop("groupOwnerDetails", None))
    record |= {"owner": owner}
    if (old := store.people.groups.get(guid)) is not None:
        store.people.groups[guid] = {**old, **record, "updatedAt": context.now}
    else:
        store.people.add_group({"createdAt": context.now, **record})
        if owner != APP:
            store.members.add(guid, owner, "admin", context.now)
    return store.people.groups[guid]


def _import_member(context: Context, record: Document) -> Document:
    guid, uid, members = record["guid"], record["uid"], context.store.members
    _ensure_party(context, "group", guid, record.get("groupDetails"))
    _ensure_party(context, "user", uid, record.get("userDetails"))
    joined_at, scope = record.get("joinedAt", context.now), record.get("scope", "participant")
    if not context.store.people.groups[guid].get("createdAt", 0) <= joined_at <= context.now:
        raise refusal("ERR_IMPORT_INVALID_JOINEDAT")
    if record.get("isBanned"):
        members.ban(guid, uid, joined_at)
    elif uid in context.store.relations.of("banned", guid):
        raise refusal("ERR_BANNED_GROUPMEMBER", uid, guid)
    else:
        members.add(guid, uid, scope, joined_at)
    return {"guid": guid, "uid": uid, "scope": scope, "joinedAt": joined_at}


def _import_message(context: Context, record: Document) -> Document:
    muids, kind = context.store.documents.of("data_import.muids"), record["receiverType"]
    if record["muid"] in muids:
        raise refusal("ERR_IMPORT_MUID_ALREADY_EXISTS", record["muid"])
    _ensure_party(context, "user", record["sender"], record.get("senderUserDetails"))
    _ensure_party(context, kind, record["receiver"], record.get(f"receiver{kind.capitalize()}Details"))
    stored = context.store.add_message(
        record["sender"],
        record["receiver"],
        receiver_type=kind,
        updatedAt=record["sentAt"],
        **selected(record, ("category", "type", "data", "muid", "tags", "sentAt", "deliveredAt", "readAt")),
    )
    muids[record["muid"]] = {"id": stored["id"]}
    return stored


HANDLERS: Final[Mapping[str, Handler]] = {
    "data_import.import_users": partial(_import_records, "users", UserImport, _import_user),
    "data_import.import_groups": partial(_import_records, "groups", GroupImport, _import_group),
    "data_import.import_members": partial(_import_records, "members", MemberImport, _import_member),
    "data_import.import_messages": partial(_import_records, "messages", MessageImport, _import_message),
}
