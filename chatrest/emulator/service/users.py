"""The operations of users. A user that is switched off is not found, and keeps its uid."""

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.json import decode

from ..store.directory import Directory, RecordPage
from ..store.documents import Document, apply_changes
from ..store.message_index import conversation_id
from ..store.message_lists import Condition
from .arguments import bounds, conditions, contains, joined, search
from .context import Context, Handler, ServiceCall
from .refusals import ServiceRefusal, bad_request, refused
from .replies import ack

_SEARCHED: Final = {"uid": "folded_uid", "name": "folded_name"}
_FILTERS: Final = {
    "onlyDeactivated": "deactivated",
    "status": "status IN (MARKS)",
    "role": "role = ?",
    "roles": "role IN (MARKS)",
    "tags": contains("tags"),
    **bounds("createdAt", "created_at"),
    **bounds("updatedAt", "updated_at"),
}


def user_record(context: Context, uid: str) -> bytes:
    record = context.store.people.user(uid)
    if record is None:
        raise no_such_user(uid, context.store.people)
    return record


def no_such_user(uid: str, directory: Directory) -> ServiceRefusal:
    """Return the 404 of a user who does not exist; its text says which there are, to correct a spelling."""
    match directory.first_and_last():
        case None:
            users = "is no user at all"
        case (first, last):
            users = f"is {first}" if first == last else f"are {first} to {last}"
    return refused("ERR_UID_NOT_FOUND", uid, users)


def path_user(call: ServiceCall) -> str:
    user_record(call, call.path["uid"])
    return call.path["uid"]


def list_users(call: ServiceCall) -> Callable[[int, int], RecordPage]:
    """The pages of users.

    `searchKey` matches the beginning of uid or name (or of what `searchIn` names), without regard to case;
    one of `tags` and one of `roles` must match; users switched off are left out by default. `count=true`
    leaves the records out: `meta.pagination.total` is the count (the documents name no shape).
    """
    query = call.query
    shows_all = query.get("onlyDeactivated") or query.get("withDeactivated")
    shown = Condition("1" if shows_all else "NOT deactivated")
    condition = joined([shown, *conditions(query, _FILTERS), *search(query, _SEARCHED)])
    source = f"FROM users WHERE {condition.sql} ORDER BY number"
    names = ("tags",) if query.get("withTags") else ()
    columns = ", ".join(("record", "updated_at", *names))
    pages = partial(call.store.page, columns, source, condition.values, names)
    return (lambda *number: pages(*number)._replace(records=[])) if query.get("count") else pages


def create_user(call: ServiceCall) -> Document:
    """Add a user, its uid in lower case; the reply has `tags` and, with `withAuthToken`, `authToken`."""
    body = dict(call.body)
    uid, with_auth_token = body.pop("uid").lower(), body.pop("withAuthToken", False)
    if call.store.people.is_taken(uid):
        raise bad_request({"uid": ["The uid has already been taken."]})
    call.store.add_user(uid, **{"role": "default", "tags": [], **body, "createdAt": call.now})
    record = tagged_user(call, uid)
    if with_auth_token:
        token = call.store.auth_tokens.issue(uid, call.now, fresh=True)
        record["authToken"] = token["authToken"]
    return record


def tagged_user(context: Context, uid: str) -> Document:
    record: Document = decode(context.store.people.user(uid, with_deactivated=True) or b"{}")
    return record | {"tags": context.store.people.tags(uid)}


def get_user(call: ServiceCall) -> Document:
    """A user; to another user with the id of their conversation, and with who of them has blocked whom."""
    uid, reader, relations = call.path["uid"], call.acting_user, call.store.relations
    record: Document = decode(user_record(call, uid))
    if reader and reader != uid:
        record["conversationId"] = conversation_id(reader, uid)
        if (blocked_at := relations.since("blocked", reader, uid)) is not None:
            record |= {"blockedByMe": True, "blockedByMeAt": blocked_at}
        if (blocked_at := relations.since("blocked", uid, reader)) is not None:
            record |= {"hasBlockedMe": True, "blockedAt": blocked_at}
    return record


def update_user(call: ServiceCall) -> Document:
    uid = path_user(call)
    updated = apply_changes(tagged_user(call, uid), call.body)
    call.store.people.update_user(updated | {"updatedAt": call.now})
    return tagged_user(call, uid)


def delete_user(call: ServiceCall) -> Document:
    """Switch a user off, or remove it for good where the body says `permanent`; its messages stay."""
    uid = call.path["uid"]
    if call.body.get("permanent"):
        _remove(call, uid)
        return ack(f"The user with UID {uid} has been deleted permanently.")
    user_record(call, uid)
    _switch(call, uid, deactivatedAt=call.now)
    return ack(f"The user with UID {uid} has been deleted.")


def _remove(context: Context, uid: str) -> None:
    """Remove a user, also one that is switched off, from everywhere but the messages."""
    store = context.store
    if not store.people.is_taken(uid):
        raise no_such_user(uid, store.people)
    for guid in store.members.guids(uid):
        store.members.remove(guid, uid)
    store.relations.forget_user(uid)
    store.auth_tokens.of(uid).clear()
    store.people.remove_user(uid)


def _switch(context: Context, uid: str, **deactivated: int) -> None:
    record = tagged_user(context, uid)
    record.pop("deactivatedAt", None)
    context.store.people.update_user(record | deactivated)


def deactivate_users(call: ServiceCall) -> Document:
    """Switch users off, and give the uids of those that were not; unknown ones are left out."""
    people = call.store.people
    uids = [uid for uid in dict.fromkeys(call.body["uidsToDeactivate"]) if people.user(uid) is not None]
    for uid in uids:
        _switch(call, uid, deactivatedAt=call.now)
    return {"deactivatedUids": uids}


def reactivate_users(call: ServiceCall) -> Document:
    """Switch users on, and give the uids of those that are; unknown ones are left out."""
    uids = [uid for uid in dict.fromkeys(call.body["uidsToActivate"]) if call.store.people.is_taken(uid)]
    for uid in uids:
        _switch(call, uid)
    return {"nonDeactivatedUids": uids}


HANDLERS: Final[dict[str, Handler]] = {
    "users.list": list_users,
    "users.create": create_user,
    "users.get": get_user,
    "users.update": update_user,
    "users.delete": delete_user,
    "users.deactivate": deactivate_users,
    "users.reactivate": reactivate_users,
}
