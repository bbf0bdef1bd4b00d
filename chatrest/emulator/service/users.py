"""The operations of users."""

from typing import Any, Final

from msgspec import field
from msgspec.json import decode, encode

from ..store.directory import spliced
from ..store.message_index import conversation_id
from .arguments import Arguments
from .bodies import Body, Name, Tags, read_body
from .conditions import Conditions
from .context import Call, Context, Handler
from .envelopes import one_reply
from .numbered_pages import page_number, record_page_reply
from .refusals import bad_request, no_user

_SEARCHED: Final = {"uid": "folded_uid", "name": "folded_name"}


class UserBody(Body, omit_defaults=True):
    """POST /users."""

    uid: Name
    name: Name
    avatar: str | None = None
    link: str | None = None
    role: str = "default"
    status_message: str | None = None
    metadata: dict[str, Any] | None = None
    tags: Tags = field(default_factory=list)
    with_auth_token: bool = False


def user_record(context: Context, uid: str) -> bytes:
    """Return a user's record; 404 for no such user, or one that is switched off."""
    record = context.store.people.user(uid)
    if record is None:
        raise no_user(uid)
    return record


def list_users(context: Context, call: Call) -> bytes:
    """A page of users.

    `searchKey` matches the beginning of uid or name (or of what `searchIn` names), without regard to
    case; one of `tags` and one of `roles` must match; users switched off are left out by default.
    `count=true` leaves the records out: `meta.pagination.total` is the count (the specification names no
    shape).
    """
    query = call.query
    conditions = _conditions(query)
    number, with_tags, count = page_number(query), query.flag("withTags"), query.flag("count")
    query.check()
    page = context.store.people.list_users(conditions.sql, conditions.values, *number, with_tags=with_tags)
    return record_page_reply(page, number, count_only=count)


def create_user(context: Context, call: Call) -> bytes:
    """Add a user; the reply has `tags` and, with `withAuthToken`, `authToken`."""
    body, directory = read_body(call.body, UserBody), context.store.people
    if directory.is_taken(body.uid):
        raise bad_request({"uid": ["The uid has already been taken."]})
    optional = {"avatar": body.avatar, "link": body.link, "metadata": body.metadata}
    fields: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
    fields |= {"role": body.role, "createdAt": context.now, "tags": body.tags}
    context.store.add_user(body.uid, body.name, **fields)
    record = spliced(user_record(context, body.uid), "tags", encode(body.tags))
    if body.with_auth_token:
        token = decode(directory.token(body.uid, context.now, {}, fresh=True))
        record = spliced(record, "authToken", encode(token["authToken"]))
    return one_reply(record)


def get_user(context: Context, call: Call) -> bytes:
    """A user; to another user with the id of their conversation."""
    uid, reader = call.path["uid"], call.acting_user
    record = user_record(context, uid)
    if reader and reader != uid:
        record = spliced(record, "conversationId", encode(conversation_id(reader, uid)))
    return one_reply(record)


def _conditions(query: Arguments) -> Conditions:
    """Return which users a list shows."""
    conditions = Conditions(query)
    if query.flag("onlyDeactivated"):
        conditions.add("deactivated")
    elif not query.flag("withDeactivated"):
        conditions.add("NOT deactivated")
    conditions.any_of("status", "status", ("available", "offline"))
    conditions.equals("role", "role")
    conditions.any_of("roles", "role")
    conditions.tagged("tags", "tags")
    conditions.search(_SEARCHED)
    conditions.bounds("createdAt", "created_at")
    conditions.bounds("updatedAt", "updated_at")
    return conditions


HANDLERS: Final[dict[str, Handler]] = {
    "users.list": list_users,
    "users.create": create_user,
    "users.get": get_user,
}
