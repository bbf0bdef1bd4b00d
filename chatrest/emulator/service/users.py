"""The operations of users. A user that is switched off is not found, and keeps its uid."""

from typing import Any, Final

from msgspec.json import decode

from ..store.message_index import conversation_id
from ..store.message_lists import Condition
from .arguments import Filter, any_of, bounds, conditions, contains, equals, joined, search
from .context import Call, Context, Handler
from .documents import apply_changes
from .envelopes import ack_reply, data_reply
from .pages import page_number, record_page_reply
from .refusals import bad_request, refused

_SEARCHED: Final = {"uid": "folded_uid", "name": "folded_name"}


def user_record(context: Context, uid: str) -> bytes:
    """Return a user's record; 404 for no such user, or one that is switched off."""
    record = context.store.people.user(uid)
    if record is None:
        raise refused("ERR_UID_NOT_FOUND", uid)
    return record


def list_users(context: Context, call: Call) -> bytes:
    """A page of users.

    `searchKey` matches the beginning of uid or name (or of what `searchIn` names), without regard to
    case; one of `tags` and one of `roles` must match; users switched off are left out by default.
    `count=true` leaves the records out: `meta.pagination.total` is the count (the documents name no
    shape).
    """
    query = call.query
    shows_all = query.flag("onlyDeactivated") or query.flag("withDeactivated")
    shown = Condition("1" if shows_all else "NOT deactivated")
    condition = joined([shown, *conditions(query, _FILTERS), *search(query, _SEARCHED)])
    number, with_tags, count = page_number(query), query.flag("withTags"), query.flag("count")
    query.check()
    page = context.store.people.list_users(*condition, *number, with_tags=with_tags)
    return record_page_reply(page, number, count_only=count)


_FILTERS: Final = {
    "onlyDeactivated": Filter("deactivated"),
    "status": any_of("status", ("available", "offline")),
    "role": equals("role"),
    "roles": any_of("role"),
    "tags": contains("tags"),
    **bounds("createdAt", "created_at"),
    **bounds("updatedAt", "updated_at"),
}


def create_user(context: Context, call: Call) -> bytes:
    """Add a user, its uid in lower case; the reply has `tags` and, with `withAuthToken`, `authToken`."""
    body = call.members()
    uid = body.pop("uid").lower()
    if context.store.people.is_taken(uid):
        raise bad_request({"uid": ["The uid has already been taken."]})
    with_auth_token = body.pop("withAuthToken", False)
    context.store.add_user(uid, **{"role": "default", "tags": [], **body, "createdAt": context.now})
    record = _with_tags(context, uid)
    if with_auth_token:
        token = context.store.auth_tokens.issue(uid, context.now, {}, fresh=True)
        record["authToken"] = token["authToken"]
    return data_reply(record)


def _with_tags(context: Context, uid: str) -> dict[str, Any]:
    record: dict[str, Any] = decode(context.store.people.user(uid, with_deactivated=True) or b"{}")
    return record | {"tags": context.store.people.tags(uid)}


def get_user(context: Context, call: Call) -> bytes:
    """A user; to another user with the id of their conversation, and with who of them has blocked whom."""
    uid, reader, relations = call.path["uid"], call.acting_user, context.store.relations
    record: dict[str, Any] = decode(user_record(context, uid))
    if reader and reader != uid:
        record["conversationId"] = conversation_id(reader, uid)
        if (blocked_at := relations.since("blocked", reader, uid)) is not None:
            record |= {"blockedByMe": True, "blockedByMeAt": blocked_at}
        if (blocked_at := relations.since("blocked", uid, reader)) is not None:
            record |= {"hasBlockedMe": True, "blockedAt": blocked_at}
    return data_reply(record)


def update_user(context: Context, call: Call) -> bytes:
    """Change a user; the reply has `tags` and `updatedAt`."""
    uid = call.path["uid"]
    user_record(context, uid)
    updated = apply_changes(_with_tags(context, uid), call.members())
    context.store.people.update_user(updated | {"updatedAt": context.now})
    return data_reply(_with_tags(context, uid))


def delete_user(context: Context, call: Call) -> bytes:
    """Switch a user off, or remove it for good where the body says `permanent`; its messages stay."""
    uid = call.path["uid"]
    if call.read().get("permanent"):
        _remove(context, uid)
        return ack_reply(f"The user with UID {uid} has been deleted permanently.")
    user_record(context, uid)
    _switch(context, uid, deactivated_at=context.now)
    return ack_reply(f"The user with UID {uid} has been deleted.")


def _remove(context: Context, uid: str) -> None:
    """Remove a user, also one that is switched off, from everywhere but the messages."""
    store = context.store
    if not store.people.is_taken(uid):
        raise refused("ERR_UID_NOT_FOUND", uid)
    for guid in store.members.guids(uid):
        store.members.remove(guid, uid)
    store.relations.forget_user(uid)
    store.auth_tokens.clear(uid)
    store.people.remove_user(uid)


def _switch(context: Context, uid: str, *, deactivated_at: int | None) -> None:
    """Switch a user off at a time, or on where that is None."""
    record = _with_tags(context, uid)
    record.pop("deactivatedAt", None)
    if deactivated_at is not None:
        record["deactivatedAt"] = deactivated_at
    context.store.people.update_user(record)


def deactivate_users(context: Context, call: Call) -> bytes:
    """Switch users off, and give the uids of those that were not; unknown ones are left out."""
    uids = dict.fromkeys(call.read()["uidsToDeactivate"])
    active = [uid for uid in uids if context.store.people.user(uid) is not None]
    for uid in active:
        _switch(context, uid, deactivated_at=context.now)
    return data_reply({"deactivatedUids": active})


def reactivate_users(context: Context, call: Call) -> bytes:
    """Switch users on, and give the uids of those that are; unknown ones are left out."""
    uids = dict.fromkeys(call.read()["uidsToActivate"])
    known = [uid for uid in uids if context.store.people.is_taken(uid)]
    for uid in known:
        _switch(context, uid, deactivated_at=None)
    return data_reply({"nonDeactivatedUids": known})


HANDLERS: Final[dict[str, Handler]] = {
    "users.list": list_users,
    "users.create": create_user,
    "users.get": get_user,
    "users.update": update_user,
    "users.delete": delete_user,
    "users.deactivate": deactivate_users,
    "users.reactivate": reactivate_users,
}
