"""The operations of users, of friends and of blocked users.

A user that is switched off is not found, and keeps its uid.
"""

from typing import Any, Final

from ..store.directory import Directory, Relation, untagged
from ..store.documents import Document, apply_changes, selected
from ..store.message_index import conversation_id
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
from .refusals import ServiceRefusal, act_on_each, bad_request, refusal
from .reply_forms import LazyRecords, ack, changed_at, list_reply, pagination

_FILTERS: Final[Filters] = {
    "onlyDeactivated": lambda user, _: "deactivatedAt" in user,
    "status": lambda user, statuses: user.get("status", "offline") in statuses,
    "role": lambda user, role: user.get("role", "default") == role,
    "roles": lambda user, roles: user.get("role", "default") in roles,
    "tags": has_tag,
    **range_filters("createdAt", lambda user: user.get("createdAt")),
    **range_filters("updatedAt", changed_at),
}


def user_record(context: Context, uid: str) -> Document:
    record = context.store.people.user(uid)
    if record is None:
        raise no_such_user(uid, context.store.people)
    return record


def no_such_user(uid: str, directory: Directory) -> ServiceRefusal:
    """Return the 404 of a user who does not exist; its text says which there are, to correct a spelling."""
    uids = directory.uids()
    return refusal("ERR_UID_NOT_FOUND", uid, f"{uids[0]} to {uids[-1]}" if uids else "none")


def path_user(call: ServiceCall) -> str:
    user_record(call, call.path["uid"])
    return call.path["uid"]


def list_users(call: ServiceCall) -> Any:
    """The users.

    `searchKey` matches the beginning of uid or name (or of what `searchIn` names), without regard to case;
    one of `tags` and one of `roles` must match; users switched off are left out by default. `count=true`
    leaves the records out: `meta.pagination.total` is the count (the documents name no shape).
    """
    query, people = call.query, call.store.people
    text, names = query.get("searchKey", ""), query.get("searchIn", ("uid", "name"))
    shows_all = query.get("onlyDeactivated") or query.get("withDeactivated")
    users = [
        user
        for user in matching_records(people.users.values(), query, _FILTERS)
        if (shows_all or "deactivatedAt" not in user) and has_text(user, text, names)
    ]
    if query.get("count"):
        return list_reply((), {"meta": {"pagination": pagination(len(users), 0, query.get("perPage", 100))}})
    return LazyRecords(users, dict if query.get("withTags") else untagged)


def create_user(call: ServiceCall) -> Document:
    """Add a user, its uid in lower case; the reply has `tags` and, with `withAuthToken`, `authToken`."""
    body = dict(call.body)
    uid, with_auth_token = body.pop("uid").lower(), body.pop("withAuthToken", False)
    if uid in call.store.people.users:
        raise bad_request({"uid": ["The uid has already been taken."]})
    call.store.add_user(uid, **{"tags": [], **body, "createdAt": call.now})
    token = call.store.auth_tokens.issue(uid, call.now, fresh=True) if with_auth_token else {}
    return tagged_user(call, uid) | selected(token, ("authToken",))


def tagged_user(context: Context, uid: str) -> Document:
    return {"tags": [], **context.store.people.users[uid]}


def get_user(call: ServiceCall) -> Document:
    """A user; to another user with the id of their conversation, and with who of them has blocked whom."""
    uid, reader, relations = call.path["uid"], call.acting_user, call.store.relations
    record = user_record(call, uid)
    if reader and reader != uid:
        record["conversationId"] = conversation_id(reader, uid)
        blocked_by_reader, blocked_by_user = relations.of("blocked", reader), relations.of("blocked", uid)
        if uid in blocked_by_reader:
            record |= {"blockedByMe": True, "blockedByMeAt": blocked_by_reader[uid]}
        if reader in blocked_by_user:
            record |= {"hasBlockedMe": True, "blockedAt": blocked_by_user[reader]}
    return record


def update_user(call: ServiceCall) -> Document:
    uid = path_user(call)
    updated = apply_changes(tagged_user(call, uid), call.body)
    call.store.people.users[uid] = updated | {"updatedAt": call.now}
    return tagged_user(call, uid)


def delete_user(call: ServiceCall) -> Document:
    """Switch a user off, or remove it for good where the body says `permanent`; its messages stay."""
    uid, store = call.path["uid"], call.store
    if not call.body.get("permanent"):
        user_record(call, uid)
        store.people.users[uid]["deactivatedAt"] = call.now
        return ack(f"The user with UID {uid} has been deleted.")
    if uid not in store.people.users:
        raise no_such_user(uid, store.people)
    for guid in store.members.guids(uid):
        store.members.remove(guid, uid)
    store.relations.remove_user(uid)
    store.auth_tokens.of(uid).clear()
    store.people.remove_user(uid)
    return ack(f"The user with UID {uid} has been deleted permanently.")


def deactivate_users(call: ServiceCall) -> Document:
    people = call.store.people
    uids = [uid for uid in dict.fromkeys(call.body["uidsToDeactivate"]) if people.user(uid) is not None]
    for uid in uids:
        people.users[uid]["deactivatedAt"] = call.now
    return {"deactivatedUids": uids}


def reactivate_users(call: ServiceCall) -> Document:
    uids = [uid for uid in dict.fromkeys(call.body["uidsToActivate"]) if uid in call.store.people.users]
    for uid in uids:
        call.store.people.users[uid].pop("deactivatedAt", None)
    return {"nonDeactivatedUids": uids}


def related_users(call: ServiceCall, kind: Relation, owner: str) -> list[Document]:
    """Return the users in a relation to a user, or to a group, in the order of its beginnings.

    `searchKey` begins uid or name, without regard to case.
    """
    text, people = call.query.get("searchKey", ""), call.store.people
    users = [people.user(uid) for uid in call.store.relations.of(kind, owner)]
    return [user for user in users if user and has_text(user, text, ("uid", "name"))]


def add_friends(call: ServiceCall) -> Document:
    uid, relations = path_user(call), call.store.relations

    def befriend(friend: str) -> str:
        if friend == uid:
            raise refusal("ERR_CANNOT_FORM_SELF_RELATION", uid)
        user_record(call, friend)
        if friend in relations.of("friend", uid):
            raise refusal("ERR_ALREADY_FRIEND", friend, uid)
        relations.add("friend", uid, friend, call.now)
        relations.add("friend", friend, uid, call.now)
        return f"The user with UID {friend} is a friend of {uid} now."

    return {"accepted": act_on_each(call.body["accepted"], befriend)}


def remove_friends(call: ServiceCall) -> Document:
    """End friendships; where one of the users is no friend, none of them ends."""
    uid, friends, relations = path_user(call), call.body["friends"], call.store.relations
    for friend in friends:
        if friend not in relations.of("friend", uid):
            raise refusal("ERR_NOT_A_FRIEND", friend, uid)
    for friend in friends:
        relations.of("friend", uid).pop(friend, None)
        relations.of("friend", friend).pop(uid, None)
    return ack(f"The friends of the user with UID {uid} have been removed.")


def list_blocked(call: ServiceCall) -> list[Document]:
    times = call.store.relations.of("blocked", path_user(call))
    return [
        user | {"blockedByMe": True, "blockedByMeAt": times[user["uid"]], "blockedAt": times[user["uid"]]}
        for user in related_users(call, "blocked", path_user(call))
    ]


def change_blocks(call: ServiceCall) -> Document:
    uid, relations = path_user(call), call.store.relations
    is_block = call.endpoint.name == "blocked_users.block"

    def change_block(other: str) -> str:
        if is_block and other == uid:
            raise refusal("ERR_CANNOT_BLOCK_SELF", uid)
        user_record(call, other)
        if is_block:
            relations.add("blocked", uid, other, call.now)
        else:
            relations.of("blocked", uid).pop(other, None)
        verb = "blocked" if is_block else "unblocked"
        return f"The user with UID {uid} has {verb} the user with UID {other}."

    return act_on_each(call.body["blockedUids"], change_block)


HANDLERS: Final[dict[str, Handler]] = {
    "users.list": list_users,
    "users.create": create_user,
    "users.get": get_user,
    "users.update": update_user,
    "users.delete": delete_user,
    "users.deactivate": deactivate_users,
    "users.reactivate": reactivate_users,
    "friends.list": lambda call: related_users(call, "friend", path_user(call)),
    "friends.add": add_friends,
    "friends.remove": remove_friends,
    "blocked_users.list": list_blocked,
    "blocked_users.block": change_blocks,
    "blocked_users.unblock": change_blocks,
}
